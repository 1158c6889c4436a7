//! `+` and `-` between dates, times and intervals; intervals times numbers.

use types::{
    Interval, Result, SqlError,
    datetime::{
        Civil, DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND, TimeZone,
        check_timestamp, days_from_civil, days_in_month, is_finite_date, is_finite_timestamp,
        timestamp_out_of_range,
    },
};

use super::{midnight, out_of_range, time_of};
use crate::{
    Context,
    argument::{Date, Time, TimeTz, Timestamp, TimestampTz},
    function::{
        DATE, FLOAT8, Function, INT4, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ, entry,
    },
    integer::division_by_zero,
};

#[cold]
pub(super) fn interval_out_of_range() -> SqlError {
    out_of_range("interval out of range")
}

/// Adds months to a local time; a day that the month does not have becomes its last day.
pub(super) fn add_months(time: i64, months: i32) -> Result<i64> {
    if months == 0 {
        return Ok(time);
    }
    let date = Civil::from_days(time.div_euclid(MICROSECONDS_PER_DAY));
    let of_year = i64::from(date.month) - 1 + i64::from(months);
    let year = i32::try_from(i64::from(date.year) + of_year.div_euclid(12))
        .map_err(|_| timestamp_out_of_range())?;
    let month = of_year.rem_euclid(12) as u32 + 1;
    let day = date.day.min(days_in_month(year, month));
    days_from_civil(year, month, day)
        .checked_mul(MICROSECONDS_PER_DAY)
        .and_then(|midnight| midnight.checked_add(time_of(time)))
        .ok_or_else(timestamp_out_of_range)
}

/// Adds an interval to a local time: months, then days, then the rest.
pub(crate) fn add_local(time: i64, interval: Interval) -> Result<i64> {
    if !is_finite_timestamp(time) {
        return Ok(time);
    }
    let with_months = add_months(time, interval.months)?;
    let sum = i64::from(interval.days)
        .checked_mul(MICROSECONDS_PER_DAY)
        .and_then(|days| with_months.checked_add(days))
        .and_then(|time| time.checked_add(interval.microseconds));
    check_timestamp(sum.ok_or_else(timestamp_out_of_range)?)
}

/// Adds an interval to a moment: months and days are those of the zone.
pub(crate) fn add_zoned(zone: &TimeZone, time: i64, interval: Interval) -> Result<i64> {
    if !is_finite_timestamp(time) {
        return Ok(time);
    }
    let mut time = time;
    if interval.months != 0 || interval.days != 0 {
        let local = zone.to_local(time).ok_or_else(timestamp_out_of_range)?;
        let moved = add_local(
            local,
            Interval {
                microseconds: 0,
                ..interval
            },
        )?;
        time = zone.to_utc(moved).ok_or_else(timestamp_out_of_range)?;
    }
    let sum = time.checked_add(interval.microseconds);
    check_timestamp(sum.ok_or_else(timestamp_out_of_range)?)
}

pub(crate) fn negated(interval: Interval) -> Result<Interval> {
    let negated = (|| {
        Some(Interval {
            microseconds: interval.microseconds.checked_neg()?,
            days: interval.days.checked_neg()?,
            months: interval.months.checked_neg()?,
        })
    })();
    negated.ok_or_else(interval_out_of_range)
}

pub(crate) fn add_intervals(left: Interval, right: Interval) -> Result<Interval> {
    let sum = (|| {
        Some(Interval {
            microseconds: left.microseconds.checked_add(right.microseconds)?,
            days: left.days.checked_add(right.days)?,
            months: left.months.checked_add(right.months)?,
        })
    })();
    sum.ok_or_else(interval_out_of_range)
}

pub(crate) fn subtract_intervals(left: Interval, right: Interval) -> Result<Interval> {
    let difference = (|| {
        Some(Interval {
            microseconds: left.microseconds.checked_sub(right.microseconds)?,
            days: left.days.checked_sub(right.days)?,
            months: left.months.checked_sub(right.months)?,
        })
    })();
    difference.ok_or_else(interval_out_of_range)
}

/// Rounds seconds to microseconds, halves to even.
fn to_microseconds(seconds: f64) -> f64 {
    (seconds * MICROSECONDS_PER_SECOND as f64).round_ties_even() / MICROSECONDS_PER_SECOND as f64
}

/// Multiplies the months, days and rest of an interval; a fraction of a month is carried over
/// to days, 30 to a month, and a fraction of a day to the rest.
pub(crate) fn scale(interval: Interval, scaled: impl Fn(f64) -> f64) -> Result<Interval> {
    const DAYS_PER_MONTH: f64 = 30.0;
    const SECONDS_PER_DAY: f64 = 86_400.0;
    let whole = |number: f64| {
        let fits = number.is_finite() && number.abs() <= f64::from(i32::MAX);
        fits.then_some(number as i32)
            .ok_or_else(interval_out_of_range)
    };
    let exact_months = scaled(interval.months.into());
    let months = whole(exact_months)?;
    let exact_days = scaled(interval.days.into());
    let days = whole(exact_days)?;
    let month_days = to_microseconds((exact_months - f64::from(months)) * DAYS_PER_MONTH);
    let mut seconds = to_microseconds(
        (exact_days - f64::from(days) + month_days - month_days.trunc()) * SECONDS_PER_DAY,
    );
    let mut days = i64::from(days);
    // The fractions of days may make a whole day together.
    if seconds.abs() >= SECONDS_PER_DAY {
        days += (seconds / SECONDS_PER_DAY) as i64;
        seconds -= (seconds / SECONDS_PER_DAY).trunc() * SECONDS_PER_DAY;
    }
    days += month_days as i64;
    let exact = scaled(interval.microseconds as f64) + seconds * MICROSECONDS_PER_SECOND as f64;
    let microseconds = exact.round_ties_even();
    if !(-(2f64.powi(63))..2f64.powi(63)).contains(&microseconds) {
        return Err(interval_out_of_range());
    }
    Ok(Interval {
        microseconds: microseconds as i64,
        days: i32::try_from(days).map_err(|_| interval_out_of_range())?,
        months,
    })
}

fn multiply(interval: Interval, factor: f64) -> Result<Interval> {
    scale(interval, |part| part * factor)
}

fn divide(interval: Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(division_by_zero());
    }
    scale(interval, |part| part / divisor)
}

fn add_days(date: Date, days: i32) -> Result<Date> {
    if !is_finite_date(date.0) {
        return Ok(date);
    }
    date.0
        .checked_add(days)
        .filter(|days| (DATE_MIN..=DATE_MAX).contains(days))
        .map(Date)
        .ok_or_else(|| out_of_range("date out of range"))
}

fn subtract_days(date: Date, days: i32) -> Result<Date> {
    match days.checked_neg() {
        Some(days) => add_days(date, days),
        None if is_finite_date(date.0) => Err(out_of_range("date out of range")),
        None => Ok(date),
    }
}

fn days_between(left: Date, right: Date) -> Result<i32> {
    if !is_finite_date(left.0) || !is_finite_date(right.0) {
        return Err(out_of_range("cannot subtract infinite dates"));
    }
    Ok(left.0.wrapping_sub(right.0))
}

fn date_and_time(date: Date, time: Time) -> Result<Timestamp> {
    let midnight = midnight(date.0)?;
    if !is_finite_timestamp(midnight) {
        return Ok(Timestamp(midnight));
    }
    check_timestamp(midnight + time.0).map(Timestamp)
}

fn date_and_timetz(date: Date, time: TimeTz) -> Result<TimestampTz> {
    let midnight = midnight(date.0)?;
    if !is_finite_timestamp(midnight) {
        return Ok(TimestampTz(midnight));
    }
    check_timestamp(midnight + time.0 + i64::from(time.1) * MICROSECONDS_PER_SECOND)
        .map(TimestampTz)
}

fn date_interval(date: Date, interval: Interval) -> Result<Timestamp> {
    add_local(midnight(date.0)?, interval).map(Timestamp)
}

fn time_interval(time: Time, interval: Interval) -> Time {
    Time(time_of(
        time.0
            .wrapping_add(interval.microseconds % MICROSECONDS_PER_DAY),
    ))
}

fn timetz_interval(time: TimeTz, interval: Interval) -> TimeTz {
    TimeTz(time_interval(Time(time.0), interval).0, time.1)
}

fn time_minus(time: Time, interval: Interval) -> Time {
    Time(time_of(
        time.0 - interval.microseconds % MICROSECONDS_PER_DAY,
    ))
}

fn timestamp_interval(time: Timestamp, interval: Interval) -> Result<Timestamp> {
    add_local(time.0, interval).map(Timestamp)
}

fn timestamptz_interval(
    context: &Context<'_>,
    time: TimestampTz,
    interval: Interval,
) -> Result<TimestampTz> {
    add_zoned(&context.settings.time_zone, time.0, interval).map(TimestampTz)
}

/// Returns the time between moments: whole days and the rest.
pub(crate) fn between(left: i64, right: i64) -> Result<Interval> {
    if !is_finite_timestamp(left) || !is_finite_timestamp(right) {
        return Err(out_of_range("cannot subtract infinite timestamps"));
    }
    let difference = left.checked_sub(right).ok_or_else(interval_out_of_range)?;
    Ok(Interval {
        microseconds: difference % MICROSECONDS_PER_DAY,
        days: (difference / MICROSECONDS_PER_DAY) as i32,
        months: 0,
    })
}

fn times_between(left: Time, right: Time) -> Interval {
    Interval {
        microseconds: left.0 - right.0,
        days: 0,
        months: 0,
    }
}

pub(super) static OPERATORS: &[Function] = &[
    entry!("+"(DATE, INT4) -> DATE, add_days),
    entry!("+"(INT4, DATE) -> DATE, |days, date| add_days(date, days)),
    entry!("-"(DATE, INT4) -> DATE, subtract_days),
    entry!("-"(DATE, DATE) -> INT4, days_between),
    entry!("+"(DATE, TIME) -> TIMESTAMP, date_and_time),
    entry!("+"(TIME, DATE) -> TIMESTAMP, |time, date| date_and_time(date, time)),
    entry!("+"(DATE, TIMETZ) -> TIMESTAMPTZ, date_and_timetz),
    entry!("+"(TIMETZ, DATE) -> TIMESTAMPTZ, |time, date| date_and_timetz(date, time)),
    entry!("+"(DATE, INTERVAL) -> TIMESTAMP, date_interval),
    entry!("+"(INTERVAL, DATE) -> TIMESTAMP, |interval, date| date_interval(date, interval)),
    entry!("-"(DATE, INTERVAL) -> TIMESTAMP, |date, interval| {
        date_interval(date, negated(interval)?)
    }),
    entry!("+"(TIME, INTERVAL) -> TIME, time_interval),
    entry!("+"(INTERVAL, TIME) -> TIME, |interval, time| time_interval(time, interval)),
    entry!("-"(TIME, INTERVAL) -> TIME, time_minus),
    entry!("-"(TIME, TIME) -> INTERVAL, times_between),
    entry!("+"(TIMETZ, INTERVAL) -> TIMETZ, timetz_interval),
    entry!("+"(INTERVAL, TIMETZ) -> TIMETZ, |interval, time| timetz_interval(time, interval)),
    entry!("-"(TIMETZ, INTERVAL) -> TIMETZ, |time: TimeTz, interval| {
        TimeTz(time_minus(Time(time.0), interval).0, time.1)
    }),
    entry!("+"(TIMESTAMP, INTERVAL) -> TIMESTAMP, timestamp_interval),
    entry!("+"(INTERVAL, TIMESTAMP) -> TIMESTAMP, |interval, time| {
        timestamp_interval(time, interval)
    }),
    entry!("-"(TIMESTAMP, INTERVAL) -> TIMESTAMP, |time, interval| {
        timestamp_interval(time, negated(interval)?)
    }),
    entry!("-"(TIMESTAMP, TIMESTAMP) -> INTERVAL, |left: Timestamp, right: Timestamp| {
        between(left.0, right.0)
    }),
    entry!("+"(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ, in context timestamptz_interval).stable(),
    entry!("+"(INTERVAL, TIMESTAMPTZ) -> TIMESTAMPTZ, in context
        |context: &Context<'_>, interval, time| timestamptz_interval(context, time, interval))
    .stable(),
    entry!("-"(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ, in context
    |context: &Context<'_>, time, interval| {
        timestamptz_interval(context, time, negated(interval)?)
    })
    .stable(),
    entry!("-"(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL, |left: TimestampTz, right: TimestampTz| {
        between(left.0, right.0)
    }),
    entry!("+"(INTERVAL, INTERVAL) -> INTERVAL, add_intervals),
    entry!("-"(INTERVAL, INTERVAL) -> INTERVAL, subtract_intervals),
    entry!("-"(INTERVAL) -> INTERVAL, negated),
    entry!("*"(INTERVAL, FLOAT8) -> INTERVAL, multiply),
    entry!("*"(FLOAT8, INTERVAL) -> INTERVAL, |factor, interval| multiply(interval, factor)),
    entry!("/"(INTERVAL, FLOAT8) -> INTERVAL, divide),
];
