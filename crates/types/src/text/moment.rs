//! Dates, times and timestamps, in the forms that clients send.
//!
//! Text is cut into [tokens], which are [decoded](decode) into a date, a time and a zone, in any
//! order; parts that a type does not have are ignored, missing ones taken from the clock. ISO
//! 8601 and SQL's forms, names of months, `infinity`, `epoch`, `now`, `today` and the like are
//! understood.

mod clock;
mod date;
mod decode;
mod tokens;
mod words;
mod write;

use crate::{
    Context, Result, SqlError, SqlState,
    datetime::{
        Civil, DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_NEGATIVE_INFINITY, MICROSECONDS_PER_DAY,
        MICROSECONDS_PER_SECOND, TIMESTAMP_INFINITY, TIMESTAMP_MAX, TIMESTAMP_MIN,
        TIMESTAMP_NEGATIVE_INFINITY, days_from_civil,
    },
};
pub(super) use clock::{Failure, read_clock};
use decode::{Decoded, Moment, Zone, decode};
pub(super) use write::{write_clock, write_date, write_time, write_timestamp, write_timestamp_tz};

/// Days from 2000-01-01 back to 1970-01-01.
const UNIX_EPOCH_DAYS: i64 = -10_957;

pub(super) fn read_date(text: &str, context: &Context<'_>) -> Result<i32> {
    let decoded = decode(text, context, false).map_err(|failure| failure.error("date", text))?;
    let days = match decoded.moment {
        Moment::Infinity => return Ok(DATE_INFINITY),
        Moment::NegativeInfinity => return Ok(DATE_NEGATIVE_INFINITY),
        Moment::Epoch => UNIX_EPOCH_DAYS,
        Moment::Now => local_now(context).div_euclid(MICROSECONDS_PER_DAY),
        Moment::Fields { date: None, .. } => {
            return Err(Failure::Syntax.error("date", text));
        }
        Moment::Fields {
            date: Some(date), ..
        } => days_of(date),
    };
    match i32::try_from(days) {
        Ok(days @ DATE_MIN..=DATE_MAX) => Ok(days),
        _ => Err(out_of_range("date", text)),
    }
}

pub(super) fn read_timestamp(text: &str, context: &Context<'_>) -> Result<i64> {
    let name = "timestamp";
    let decoded = decode(text, context, false).map_err(|failure| failure.error(name, text))?;
    match decoded.moment {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Moment::Epoch => Ok(UNIX_EPOCH_DAYS * MICROSECONDS_PER_DAY),
        Moment::Now => Ok(local_now(context)),
        Moment::Fields { date: None, .. } => Err(Failure::Syntax.error(name, text)),
        // A zone is read and ignored.
        Moment::Fields {
            date: Some(date),
            time,
        } => timestamp(date, time.unwrap_or(0)).ok_or_else(|| out_of_range(name, text)),
    }
}

pub(super) fn read_timestamp_tz(text: &str, context: &Context<'_>) -> Result<i64> {
    let name = "timestamp with time zone";
    let decoded = decode(text, context, false).map_err(|failure| failure.error(name, text))?;
    match decoded.moment {
        Moment::Infinity => Ok(TIMESTAMP_INFINITY),
        Moment::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Moment::Epoch => Ok(UNIX_EPOCH_DAYS * MICROSECONDS_PER_DAY),
        Moment::Now => Ok(context.now),
        Moment::Fields { date: None, .. } => Err(Failure::Syntax.error(name, text)),
        Moment::Fields {
            date: Some(date),
            time,
        } => {
            let days = days_of(date);
            let local = days
                .checked_mul(MICROSECONDS_PER_DAY)
                .and_then(|midnight| midnight.checked_add(time.unwrap_or(0)));
            let moment = local.and_then(|local| {
                let offset = decoded.zone.offset(local, context);
                local.checked_sub(i64::from(offset) * MICROSECONDS_PER_SECOND)
            });
            moment
                .filter(|moment| (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(moment))
                .ok_or_else(|| out_of_range("timestamp", text))
        }
    }
}

pub(super) fn read_time(text: &str, context: &Context<'_>) -> Result<i64> {
    time_of(text, "time", context).map(|(time, _)| time)
}

/// Reads the time, and the zone in seconds west of Greenwich.
pub(super) fn read_time_tz(text: &str, context: &Context<'_>) -> Result<(i64, i32)> {
    let (time, decoded) = time_of(text, "time with time zone", context)?;
    // A zone whose offset changes has the offset of the date, or of today.
    let days = match decoded.moment {
        Moment::Fields {
            date: Some(date), ..
        } => days_of(date),
        _ => local_now(context).div_euclid(MICROSECONDS_PER_DAY),
    };
    let local = days
        .saturating_mul(MICROSECONDS_PER_DAY)
        .saturating_add(time);
    Ok((time, -decoded.zone.offset(local, context)))
}

fn time_of(text: &str, name: &str, context: &Context<'_>) -> Result<(i64, Decoded)> {
    let decoded = decode(text, context, true).map_err(|failure| failure.error(name, text))?;
    let time = match decoded.moment {
        Moment::Fields {
            time: Some(time), ..
        } => time,
        Moment::Now => local_now(context).rem_euclid(MICROSECONDS_PER_DAY),
        _ => return Err(Failure::Syntax.error(name, text)),
    };
    Ok((time, decoded))
}

fn local_now(context: &Context<'_>) -> i64 {
    let zone = &context.settings.time_zone;
    zone.to_local(context.now).unwrap_or(context.now)
}

fn days_of(date: Civil) -> i64 {
    days_from_civil(date.year, date.month, date.day)
}

fn timestamp(date: Civil, time: i64) -> Option<i64> {
    let microseconds = days_of(date)
        .checked_mul(MICROSECONDS_PER_DAY)?
        .checked_add(time)?;
    (TIMESTAMP_MIN..=TIMESTAMP_MAX)
        .contains(&microseconds)
        .then_some(microseconds)
}

impl Zone {
    /// Returns the seconds east of Greenwich at a local time in microseconds since 2000-01-01.
    fn offset(&self, local: i64, context: &Context<'_>) -> i32 {
        match self {
            Self::Session => context.settings.time_zone.offset_at_local(local),
            Self::Fixed(seconds) => *seconds,
            Self::Named(zone) => zone.offset_at_local(local),
        }
    }
}

#[cold]
fn out_of_range(name: &str, text: &str) -> SqlError {
    SqlError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("{name} out of range: \"{text}\""),
    )
}
