//! Dates, times and intervals from their parts.

use types::{
    Interval, Result, SqlError, SqlState, TimeZone,
    datetime::{
        DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
        MICROSECONDS_PER_SECOND, check_timestamp, days_from_civil, days_in_month,
        timestamp_out_of_range,
    },
};

use super::{arithmetic::interval_out_of_range, out_of_range, to_utc, zone};
use crate::{
    Context,
    argument::{Date, Time, Timestamp, TimestampTz, take},
    function::{DATE, FLOAT8, Function, INT4, INTERVAL, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, entry},
};

fn make_date(year: i32, month: i32, day: i32) -> Result<Date> {
    let wrong = || {
        SqlError::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("date field value out of range: {year}-{month:02}-{day:02}"),
        )
    };
    // Years before Christ are negative, and there is no year 0.
    let counted = match year {
        0 => return Err(wrong()),
        ..0 => year.checked_add(1).ok_or_else(wrong)?,
        _ => year,
    };
    let of_month = u32::try_from(month)
        .ok()
        .filter(|month| (1..=12).contains(month))
        .ok_or_else(wrong)?;
    let of_day = u32::try_from(day)
        .ok()
        .filter(|day| *day >= 1 && *day <= days_in_month(counted, of_month))
        .ok_or_else(wrong)?;
    let days = days_from_civil(counted, of_month, of_day);
    i32::try_from(days)
        .ok()
        .filter(|days| (DATE_MIN..=DATE_MAX).contains(days))
        .map(Date)
        .ok_or_else(|| out_of_range("date out of range"))
}

fn make_time(hour: i32, minute: i32, second: f64) -> Result<Time> {
    let wrong = || {
        SqlError::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("time field value out of range: {hour}:{minute:02}:{second:02}"),
        )
    };
    let valid =
        (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !valid || (hour == 24 && (minute > 0 || second > 0.0)) {
        return Err(wrong());
    }
    let microseconds = (second * MICROSECONDS_PER_SECOND as f64).round_ties_even() as i64;
    let time = i64::from(hour) * MICROSECONDS_PER_HOUR
        + i64::from(minute) * MICROSECONDS_PER_MINUTE
        + microseconds;
    if time > MICROSECONDS_PER_DAY {
        return Err(wrong());
    }
    Ok(Time(time))
}

fn make_timestamp(
    year: i32,
    month: i32,
    day: i32,
    hour: i32,
    minute: i32,
    second: f64,
) -> Result<Timestamp> {
    let date = make_date(year, month, day)?;
    let time = make_time(hour, minute, second)?;
    i64::from(date.0)
        .checked_mul(MICROSECONDS_PER_DAY)
        .and_then(|midnight| midnight.checked_add(time.0))
        .ok_or_else(timestamp_out_of_range)
        .and_then(check_timestamp)
        .map(Timestamp)
}

fn make_timestamptz(
    context: &Context<'_>,
    year: i32,
    month: i32,
    day: i32,
    hour: i32,
    minute: i32,
    second: f64,
) -> Result<TimestampTz> {
    let local = make_timestamp(year, month, day, hour, minute, second)?;
    to_utc(context, local.0).map(TimestampTz)
}

/// Returns a zone by its name, or by its offset with the sign that it has in times: `+2` is
/// east of Greenwich, where `AT TIME ZONE '+2'` is west of it, as in POSIX.
fn zone_of(zone: &str) -> Result<TimeZone> {
    if zone.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{zone}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(hint));
    }
    let Some(digits) = zone.strip_prefix(['+', '-']) else {
        return zone::named(zone);
    };
    match types::text::parse_offset(zone) {
        Some(east) => Ok(TimeZone::fixed(east)),
        None if digits.starts_with(|first: char| first.is_ascii_digit()) => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("numeric time zone \"{zone}\" out of range"),
        )),
        None => zone::named(zone),
    }
}

fn make_in_zone(
    year: i32,
    month: i32,
    day: i32,
    hour: i32,
    minute: i32,
    second: f64,
    zone: &str,
) -> Result<TimestampTz> {
    let local = make_timestamp(year, month, day, hour, minute, second)?;
    zone_of(zone)?
        .to_utc(local.0)
        .map(TimestampTz)
        .ok_or_else(timestamp_out_of_range)
}

/// Takes years, months, weeks, days, hours, minutes, seconds; all may be left out.
fn make_interval<'a>(_: &Context<'a>, arguments: &[types::Value<'a>]) -> Result<types::Value<'a>> {
    let number = |position: usize| match position < arguments.len() {
        true => take::<i32>(arguments, position),
        false => Ok(0),
    };
    let seconds = match arguments.len() {
        7 => take::<f64>(arguments, 6)?,
        _ => 0.0,
    };
    let microseconds = (seconds * MICROSECONDS_PER_SECOND as f64).round_ties_even();
    if !(-(2f64.powi(63))..2f64.powi(63)).contains(&microseconds) {
        return Err(interval_out_of_range());
    }
    let interval = (|| {
        let hours = i64::from(number(4).ok()?) * MICROSECONDS_PER_HOUR;
        let minutes = i64::from(number(5).ok()?) * MICROSECONDS_PER_MINUTE;
        Some(Interval {
            microseconds: hours
                .checked_add(minutes)?
                .checked_add(microseconds as i64)?,
            days: number(2)
                .ok()?
                .checked_mul(7)?
                .checked_add(number(3).ok()?)?,
            months: number(0)
                .ok()?
                .checked_mul(12)?
                .checked_add(number(1).ok()?)?,
        })
    })();
    interval
        .map(types::Value::Interval)
        .ok_or_else(interval_out_of_range)
}

/// Converts seconds since 1970 to a moment.
fn from_seconds(seconds: f64) -> Result<TimestampTz> {
    const EPOCH: f64 = 946_684_800.0;
    if seconds.is_nan() {
        return Err(out_of_range("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(TimestampTz(if seconds > 0.0 { i64::MAX } else { i64::MIN }));
    }
    let since_2000 = (seconds - EPOCH) * MICROSECONDS_PER_SECOND as f64;
    let microseconds = since_2000.round_ties_even();
    let fits = (-(2f64.powi(63))..2f64.powi(63)).contains(&microseconds);
    fits.then_some(microseconds as i64)
        .and_then(|time| check_timestamp(time).ok())
        .map(TimestampTz)
        .ok_or_else(|| {
            SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("timestamp out of range: \"{seconds}\""),
            )
        })
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("make_date"(INT4, INT4, INT4) -> DATE, make_date),
    entry!("make_time"(INT4, INT4, FLOAT8) -> TIME, make_time),
    entry!("make_timestamp"(INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMP, make_timestamp),
    entry!("make_timestamptz"(INT4, INT4, INT4, INT4, INT4, FLOAT8) -> TIMESTAMPTZ,
        in context make_timestamptz)
    .stable(),
    entry!("make_timestamptz"(INT4, INT4, INT4, INT4, INT4, FLOAT8, TEXT) -> TIMESTAMPTZ,
        make_in_zone)
    .stable(),
    Function::scalar(
        "make_interval",
        &[INT4, INT4, INT4, INT4, INT4, INT4, FLOAT8],
        INTERVAL,
        make_interval,
    )
    .optional(7),
    entry!("to_timestamp"(FLOAT8) -> TIMESTAMPTZ, from_seconds),
];
