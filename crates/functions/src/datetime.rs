//! Functions and operators of dates, times and intervals.
//!
//! The calendar and the zones are `types::datetime`'s; this module has SQL's use of
//! them.

mod arithmetic;
mod extract;
mod make;
mod now;
mod span;
mod truncate;
mod unit;
mod zone;

pub(crate) use arithmetic::{
    add_intervals, add_local, add_zoned, negated, scale, subtract_intervals,
};

use types::{
    Result, SqlError, SqlState,
    datetime::{
        DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROSECONDS_PER_DAY, TIMESTAMP_INFINITY,
        TIMESTAMP_NEGATIVE_INFINITY, check_timestamp, timestamp_out_of_range,
    },
};

use crate::{Context, Function};

pub(crate) use zone::named as zone_named;

pub(crate) static FUNCTIONS: &[&[Function]] = &[
    extract::FUNCTIONS,
    make::FUNCTIONS,
    now::FUNCTIONS,
    span::FUNCTIONS,
    truncate::FUNCTIONS,
    zone::FUNCTIONS,
];
pub(crate) static OPERATORS: &[&[Function]] = &[arithmetic::OPERATORS];

/// Returns 22008 with a message.
#[cold]
pub(crate) fn out_of_range(what: &'static str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, what)
}

/// Returns the day of a local time; infinities stay.
pub(crate) fn date_of(time: i64) -> i32 {
    match time {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_NEGATIVE_INFINITY => DATE_NEGATIVE_INFINITY,
        time => time.div_euclid(MICROSECONDS_PER_DAY) as i32,
    }
}

/// Returns the time of the day.
pub(crate) fn time_of(time: i64) -> i64 {
    time.rem_euclid(MICROSECONDS_PER_DAY)
}

/// Returns the local time at which a day begins; infinities stay.
pub(crate) fn midnight(days: i32) -> Result<i64> {
    match days {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_NEGATIVE_INFINITY => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        days => i64::from(days)
            .checked_mul(MICROSECONDS_PER_DAY)
            .and_then(|time| check_timestamp(time).ok())
            .ok_or_else(|| out_of_range("date out of range for timestamp")),
    }
}

/// Converts a moment to the session's zone; infinities stay.
pub(crate) fn to_local(context: &Context<'_>, time: i64) -> Result<i64> {
    context
        .settings
        .time_zone
        .to_local(time)
        .ok_or_else(timestamp_out_of_range)
}

/// Converts a local time of the session's zone to a moment; infinities stay.
pub(crate) fn to_utc(context: &Context<'_>, time: i64) -> Result<i64> {
    context
        .settings
        .time_zone
        .to_utc(time)
        .ok_or_else(timestamp_out_of_range)
}
