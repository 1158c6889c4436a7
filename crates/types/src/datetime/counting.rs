//! Weeks and the other countings of days.

use super::{Civil, days_from_civil};

/// The Julian day of 2000-01-01.
pub const JULIAN_OF_EPOCH: i64 = 2_451_545;

/// Counts the days of the week from 0, Sunday.
pub fn day_of_week(days: i64) -> i64 {
    // 2000-01-01 was a Saturday.
    (days + 6).rem_euclid(7)
}

/// Counts the days of the week from 1, Monday.
pub fn iso_day_of_week(days: i64) -> i64 {
    (day_of_week(days) + 6) % 7 + 1
}

/// Finds the Monday on which ISO's year begins.
pub fn iso_year_begin(year: i32) -> i64 {
    // The week of the fourth of January is the first.
    let fourth = days_from_civil(year, 1, 4);
    fourth - (iso_day_of_week(fourth) - 1)
}

/// Finds ISO's year and week of a day.
pub fn iso_week(days: i64) -> (i32, i64) {
    let mut year = Civil::from_days(days).year;
    if days < iso_year_begin(year) {
        year -= 1;
    } else if days >= iso_year_begin(year + 1) {
        year += 1;
    }
    (year, (days - iso_year_begin(year)) / 7 + 1)
}

/// Counts the days of the year from 1.
pub fn day_of_year(days: i64) -> i64 {
    days - days_from_civil(Civil::from_days(days).year, 1, 1) + 1
}

/// Counts years as people do: 1 BC is -1, and there is no year 0.
pub fn shown_year(year: i32) -> i64 {
    if year > 0 {
        year.into()
    } else {
        i64::from(year) - 1
    }
}

/// Counts centuries, the first from 1, those before Christ negative.
pub fn century(year: i32) -> i64 {
    let year = i64::from(year);
    if year > 0 {
        (year + 99) / 100
    } else {
        -((99 - (year - 1)) / 100)
    }
}

/// Counts millennia like centuries.
pub fn millennium(year: i32) -> i64 {
    let year = i64::from(year);
    if year > 0 {
        (year + 999) / 1000
    } else {
        -((999 - (year - 1)) / 1000)
    }
}

/// Counts decades, which begin with the years that end with 0.
pub fn decade(year: i32) -> i64 {
    i64::from(year).div_euclid(10)
}
