//! `date_trunc` and `date_bin`.

use types::{
    Interval, Result, Scalar, SqlError, SqlState, TimeZone, Type,
    datetime::{
        Civil, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
        MICROSECONDS_PER_SECOND, check_timestamp, days_from_civil, is_finite_timestamp,
        iso_day_of_week, timestamp_out_of_range,
    },
};

use super::{
    arithmetic::interval_out_of_range,
    unit::{Unit, unsupported},
};
use crate::{
    Context,
    argument::{Timestamp, TimestampTz},
    function::{Function, INTERVAL, TEXT, TIMESTAMP, TIMESTAMPTZ, entry},
};

/// Returns the length of a unit that is the same at all times.
fn length(unit: Unit) -> Option<i64> {
    match unit {
        Unit::Microsecond => Some(1),
        Unit::Millisecond => Some(1000),
        Unit::Second => Some(MICROSECONDS_PER_SECOND),
        Unit::Minute => Some(MICROSECONDS_PER_MINUTE),
        Unit::Hour => Some(MICROSECONDS_PER_HOUR),
        Unit::Day => Some(MICROSECONDS_PER_DAY),
        _ => None,
    }
}

/// Returns the first year of the decade, century or millennium.
fn first_year(year: i32, unit: Unit) -> i32 {
    match unit {
        Unit::Decade => year.div_euclid(10) * 10,
        Unit::Century => (year - 1).div_euclid(100) * 100 + 1,
        Unit::Millennium => (year - 1).div_euclid(1000) * 1000 + 1,
        _ => year,
    }
}

/// Returns the beginning of the unit in which a local time lies.
fn truncate(local: i64, name: &str, ty: Type) -> Result<i64> {
    if !is_finite_timestamp(local) {
        return Ok(local);
    }
    let unit = Unit::parse_length(name, ty)?;
    if let Some(length) = length(unit) {
        return Ok(local.div_euclid(length) * length);
    }
    let days = local.div_euclid(MICROSECONDS_PER_DAY);
    let date = Civil::from_days(days);
    let first = match unit {
        Unit::Week => days - (iso_day_of_week(days) - 1),
        Unit::Month => days_from_civil(date.year, date.month, 1),
        Unit::Quarter => days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1),
        Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium => {
            days_from_civil(first_year(date.year, unit), 1, 1)
        }
        _ => return Err(unsupported(name, ty)),
    };
    first
        .checked_mul(MICROSECONDS_PER_DAY)
        .ok_or_else(timestamp_out_of_range)
        .and_then(check_timestamp)
}

fn truncate_timestamp(name: &str, time: Timestamp) -> Result<Timestamp> {
    truncate(time.0, name, Scalar::Timestamp.into()).map(Timestamp)
}

fn in_zone(name: &str, time: TimestampTz, zone: &TimeZone) -> Result<TimestampTz> {
    let ty = Type::Scalar(Scalar::TimestampTz);
    // A unit shorter than a day is the same in the zone and outside, unless the zone's offset
    // is odd; but a change of the clock must not move it.
    if !is_finite_timestamp(time.0) {
        return Ok(time);
    }
    let unit = Unit::parse_length(name, ty)?;
    if matches!(unit, Unit::Microsecond | Unit::Millisecond | Unit::Second) {
        return truncate(time.0, name, ty).map(TimestampTz);
    }
    let local = zone.to_local(time.0).ok_or_else(timestamp_out_of_range)?;
    let truncated = truncate(local, name, ty)?;
    if matches!(unit, Unit::Minute | Unit::Hour) {
        return Ok(TimestampTz(time.0 - (local - truncated)));
    }
    zone.to_utc(truncated)
        .map(TimestampTz)
        .ok_or_else(timestamp_out_of_range)
}

fn truncate_timestamptz(
    context: &Context<'_>,
    name: &str,
    time: TimestampTz,
) -> Result<TimestampTz> {
    in_zone(name, time, &context.settings.time_zone)
}

fn truncate_in_zone(name: &str, time: TimestampTz, zone: &str) -> Result<TimestampTz> {
    in_zone(name, time, &super::zone::named(zone)?)
}

fn truncate_interval(name: &str, interval: Interval) -> Result<Interval> {
    let ty = Type::Scalar(Scalar::Interval);
    let unit = Unit::parse_length(name, ty)?;
    let whole = |length: i64| interval.microseconds / length * length;
    let months = |length: i32| Interval {
        microseconds: 0,
        days: 0,
        months: interval.months / length * length,
    };
    Ok(match unit {
        Unit::Day => Interval {
            microseconds: 0,
            ..interval
        },
        Unit::Month => months(1),
        Unit::Quarter => months(3),
        Unit::Year => months(12),
        Unit::Decade => months(120),
        Unit::Century => months(1200),
        Unit::Millennium => months(12_000),
        unit => match length(unit) {
            Some(length) => Interval {
                microseconds: whole(length),
                ..interval
            },
            None => return Err(unsupported(name, ty)),
        },
    })
}

/// Returns the beginning of the bin in which a time lies; one bin begins at the origin.
fn bin(stride: Interval, time: i64, origin: i64) -> Result<i64> {
    if !is_finite_timestamp(time) {
        return Ok(time);
    }
    if !is_finite_timestamp(origin) {
        return Err(super::out_of_range("origin out of range"));
    }
    if stride.months != 0 {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let stride = i64::from(stride.days)
        .checked_mul(MICROSECONDS_PER_DAY)
        .and_then(|days| days.checked_add(stride.microseconds))
        .ok_or_else(interval_out_of_range)?;
    if stride <= 0 {
        return Err(super::out_of_range("stride must be greater than zero"));
    }
    let distance = time.checked_sub(origin).ok_or_else(interval_out_of_range)?;
    Ok(origin + distance.div_euclid(stride) * stride)
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("date_trunc"(TEXT, TIMESTAMP) -> TIMESTAMP, truncate_timestamp),
    entry!("date_trunc"(TEXT, TIMESTAMPTZ) -> TIMESTAMPTZ, in context truncate_timestamptz)
        .stable(),
    entry!("date_trunc"(TEXT, TIMESTAMPTZ, TEXT) -> TIMESTAMPTZ, truncate_in_zone).stable(),
    entry!("date_trunc"(TEXT, INTERVAL) -> INTERVAL, truncate_interval),
    entry!("date_bin"(INTERVAL, TIMESTAMP, TIMESTAMP) -> TIMESTAMP,
        |stride, time: Timestamp, origin: Timestamp| bin(stride, time.0, origin.0).map(Timestamp)),
    entry!("date_bin"(INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> TIMESTAMPTZ,
    |stride, time: TimestampTz, origin: TimestampTz| {
        bin(stride, time.0, origin.0).map(TimestampTz)
    }),
];
