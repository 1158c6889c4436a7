//! Dates, times and time zones: the arithmetic that text, casts and functions share.
//!
//! Days count from 2000-01-01, microseconds from its midnight, as in PostgreSQL. The calendar is
//! the Gregorian one, also for the time before it. Rules of time zones come from `jiff`.

mod calendar;
mod counting;
mod limits;
mod zone;

pub use calendar::{Civil, days_from_civil, days_in_month, is_leap_year};
pub use counting::{
    JULIAN_OF_EPOCH, century, day_of_week, day_of_year, decade, iso_day_of_week, iso_week,
    iso_year_begin, millennium, shown_year,
};
pub use limits::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_NEGATIVE_INFINITY, MICROSECONDS_PER_DAY,
    MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, TIMESTAMP_INFINITY,
    TIMESTAMP_MAX, TIMESTAMP_MIN, TIMESTAMP_NEGATIVE_INFINITY, check_timestamp, is_finite_date,
    is_finite_timestamp, round_microseconds, timestamp_out_of_range,
};
pub use zone::TimeZone;

#[cfg(test)]
mod tests;
