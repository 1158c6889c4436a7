//! Functions of intervals, and of the time between two moments.

use types::{
    Interval, Result,
    datetime::{Civil, MICROSECONDS_PER_DAY, days_in_month, is_finite_date, is_finite_timestamp},
};

use super::{arithmetic::interval_out_of_range, out_of_range, time_of, to_local};
use crate::{
    Context,
    argument::{Date, Time, Timestamp, TimestampTz},
    function::{BOOL, DATE, Function, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, entry},
};

/// Returns the age in years, months, days and the rest, as on a calendar.
fn age(later: i64, earlier: i64) -> Result<Interval> {
    if !is_finite_timestamp(later) || !is_finite_timestamp(earlier) {
        return Err(out_of_range("timestamp out of range"));
    }
    let sign = if later < earlier { -1 } else { 1 };
    let date = |time: i64| Civil::from_days(time.div_euclid(MICROSECONDS_PER_DAY));
    let (one, two) = (date(later), date(earlier));
    let mut microseconds = i64::from(sign) * (time_of(later) - time_of(earlier));
    let mut days = sign * (one.day as i32 - two.day as i32);
    let mut months = sign * ((one.year - two.year) * 12 + one.month as i32 - two.month as i32);
    if microseconds < 0 {
        microseconds += MICROSECONDS_PER_DAY;
        days -= 1;
    }
    // Days are borrowed from the month of the earlier of the two.
    let lender = if sign < 0 { one } else { two };
    while days < 0 {
        days += days_in_month(lender.year, lender.month) as i32;
        months -= 1;
    }
    Ok(Interval {
        microseconds: i64::from(sign) * microseconds,
        days: sign * days,
        months: sign * months,
    })
}

fn age_of_moments(
    context: &Context<'_>,
    later: TimestampTz,
    earlier: TimestampTz,
) -> Result<Interval> {
    age(to_local(context, later.0)?, to_local(context, earlier.0)?)
}

fn today(context: &Context<'_>) -> Result<i64> {
    let now = to_local(context, context.environment.transaction_time())?;
    Ok(now - time_of(now))
}

fn justified_hours(interval: Interval) -> Result<Interval> {
    let days = interval.microseconds / MICROSECONDS_PER_DAY;
    let total = i64::from(interval.days) + days;
    let mut result = Interval {
        microseconds: interval.microseconds % MICROSECONDS_PER_DAY,
        days: i32::try_from(total).map_err(|_| interval_out_of_range())?,
        months: interval.months,
    };
    if result.days > 0 && result.microseconds < 0 {
        result.microseconds += MICROSECONDS_PER_DAY;
        result.days -= 1;
    } else if result.days < 0 && result.microseconds > 0 {
        result.microseconds -= MICROSECONDS_PER_DAY;
        result.days += 1;
    }
    Ok(result)
}

fn justified_days(interval: Interval) -> Result<Interval> {
    const DAYS_PER_MONTH: i32 = 30;
    let months = interval
        .months
        .checked_add(interval.days / DAYS_PER_MONTH)
        .ok_or_else(interval_out_of_range)?;
    let mut result = Interval {
        days: interval.days % DAYS_PER_MONTH,
        months,
        ..interval
    };
    if result.months > 0 && result.days < 0 {
        result.days += DAYS_PER_MONTH;
        result.months -= 1;
    } else if result.months < 0 && result.days > 0 {
        result.days -= DAYS_PER_MONTH;
        result.months += 1;
    }
    Ok(result)
}

/// Justifies both parts, with one sign for all.
fn justified(interval: Interval) -> Result<Interval> {
    const DAYS_PER_MONTH: i32 = 30;
    let mut days = i64::from(interval.days) + interval.microseconds / MICROSECONDS_PER_DAY;
    let mut microseconds = interval.microseconds % MICROSECONDS_PER_DAY;
    let mut months = i64::from(interval.months) + days / i64::from(DAYS_PER_MONTH);
    days %= i64::from(DAYS_PER_MONTH);
    if months > 0 && (days < 0 || (days == 0 && microseconds < 0)) {
        days += i64::from(DAYS_PER_MONTH);
        months -= 1;
    } else if months < 0 && (days > 0 || (days == 0 && microseconds > 0)) {
        days -= i64::from(DAYS_PER_MONTH);
        months += 1;
    }
    if days > 0 && microseconds < 0 {
        microseconds += MICROSECONDS_PER_DAY;
        days -= 1;
    } else if days < 0 && microseconds > 0 {
        microseconds -= MICROSECONDS_PER_DAY;
        days += 1;
    }
    Ok(Interval {
        microseconds,
        days: days as i32,
        months: i32::try_from(months).map_err(|_| interval_out_of_range())?,
    })
}

/// Returns whether two spans of time have a moment in common. Ends may come first; a span of no
/// length is a moment.
fn overlap(one: (i64, i64), two: (i64, i64)) -> bool {
    let ordered = |(from, to): (i64, i64)| (from.min(to), from.max(to));
    let (one, two) = (ordered(one), ordered(two));
    if one.0 == two.0 {
        return true;
    }
    one.0 < two.1 && two.0 < one.1
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("age"(TIMESTAMP, TIMESTAMP) -> INTERVAL, |later: Timestamp, earlier: Timestamp| {
        age(later.0, earlier.0)
    }),
    entry!("age"(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL, in context age_of_moments).stable(),
    entry!("age"(TIMESTAMP) -> INTERVAL, in context |context: &Context<'_>, time: Timestamp| {
        age(today(context)?, time.0)
    })
    .stable(),
    entry!("age"(TIMESTAMPTZ) -> INTERVAL, in context |context: &Context<'_>, time: TimestampTz| {
        age(today(context)?, to_local(context, time.0)?)
    })
    .stable(),
    entry!("justify_hours"(INTERVAL) -> INTERVAL, justified_hours),
    entry!("justify_days"(INTERVAL) -> INTERVAL, justified_days),
    entry!("justify_interval"(INTERVAL) -> INTERVAL, justified),
    entry!("isfinite"(DATE) -> BOOL, |date: Date| is_finite_date(date.0)),
    entry!("isfinite"(TIMESTAMP) -> BOOL, |time: Timestamp| is_finite_timestamp(time.0)),
    entry!("isfinite"(TIMESTAMPTZ) -> BOOL, |time: TimestampTz| is_finite_timestamp(time.0)),
    entry!("isfinite"(INTERVAL) -> BOOL, |_: Interval| true),
    entry!("overlaps"(TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP) -> BOOL,
        |a: Timestamp, b: Timestamp, c: Timestamp, d: Timestamp| overlap((a.0, b.0), (c.0, d.0))),
    entry!("overlaps"(TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL,
    |a: TimestampTz, b: TimestampTz, c: TimestampTz, d: TimestampTz| {
        overlap((a.0, b.0), (c.0, d.0))
    }),
    entry!("overlaps"(TIME, TIME, TIME, TIME) -> BOOL, |a: Time, b: Time, c: Time, d: Time| {
        overlap((a.0, b.0), (c.0, d.0))
    }),
    entry!("overlaps"(TIMESTAMP, INTERVAL, TIMESTAMP, INTERVAL) -> BOOL,
    |a: Timestamp, b: Interval, c: Timestamp, d: Interval| -> Result<bool> {
        let (to, until) = (super::add_local(a.0, b)?, super::add_local(c.0, d)?);
        Ok(overlap((a.0, to), (c.0, until)))
    }),
];
