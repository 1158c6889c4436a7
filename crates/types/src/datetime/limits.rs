//! Units, and the limits of dates and timestamps.

use crate::{Result, SqlError, SqlState};

/// Microseconds of a second.
pub const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MICROSECONDS_PER_MINUTE: i64 = 60 * MICROSECONDS_PER_SECOND;
/// Microseconds of an hour.
pub const MICROSECONDS_PER_HOUR: i64 = 60 * MICROSECONDS_PER_MINUTE;
/// Microseconds of a day without a change of the clock.
pub const MICROSECONDS_PER_DAY: i64 = 24 * MICROSECONDS_PER_HOUR;

/// The date `infinity`.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date `-infinity`.
pub const DATE_NEGATIVE_INFINITY: i32 = i32::MIN;
/// The first date: 4714-11-24 BC, the Julian day 0.
pub const DATE_MIN: i32 = -2_451_545;
/// The last date: 5874897-12-31.
pub const DATE_MAX: i32 = 2_145_031_948;

/// The timestamp `infinity`.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp `-infinity`.
pub const TIMESTAMP_NEGATIVE_INFINITY: i64 = i64::MIN;
/// The first timestamp: the midnight of the first date.
pub const TIMESTAMP_MIN: i64 = DATE_MIN as i64 * MICROSECONDS_PER_DAY;
/// The last timestamp: the end of 294276-12-31.
pub const TIMESTAMP_MAX: i64 = 106_751_983 * MICROSECONDS_PER_DAY - 1;

/// Returns whether the date is a day, not an infinity.
pub fn is_finite_date(days: i32) -> bool {
    days != DATE_INFINITY && days != DATE_NEGATIVE_INFINITY
}

/// Returns whether the timestamp is a moment, not an infinity.
pub fn is_finite_timestamp(microseconds: i64) -> bool {
    microseconds != TIMESTAMP_INFINITY && microseconds != TIMESTAMP_NEGATIVE_INFINITY
}

/// Returns the error (22008) for a moment that is no timestamp.
#[cold]
pub fn timestamp_out_of_range() -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

/// Returns `time`, if there is such a timestamp.
///
/// # Errors
/// 22008 otherwise, also for infinities.
pub fn check_timestamp(time: i64) -> Result<i64> {
    if (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&time) {
        Ok(time)
    } else {
        Err(timestamp_out_of_range())
    }
}

/// Rounds to `digits` of a second, 0 to 6, halves away from zero.
pub fn round_microseconds(microseconds: i64, digits: i32) -> i64 {
    let Ok(digits @ 0..6) = u32::try_from(digits) else {
        return microseconds;
    };
    let unit = 10i64.pow(6 - digits);
    let half = if microseconds < 0 {
        -unit / 2
    } else {
        unit / 2
    };
    microseconds.saturating_add(half) / unit * unit
}
