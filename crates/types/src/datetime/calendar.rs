//! Days and the dates of the Gregorian calendar.
//!
//! The conversion counts in eras of 400 years that begin in March (Howard Hinnant,
//! "chrono-Compatible Low-Level Date Algorithms"): leap days are then at the end of years, and
//! there is no table. `jiff`'s own dates end with the year 9999.

/// A date: year, with 0 for 1 BC, month and day from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// Year, 0 for 1 BC.
    pub year: i32,
    /// Month from 1 to 12.
    pub month: u32,
    /// Day from 1.
    pub day: u32,
}

const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 2000-01-01.
const EPOCH: i64 = 730_425;

impl Civil {
    /// Returns the date `days` days after 2000-01-01.
    ///
    /// Works for days outside of `DATE_MIN` to `DATE_MAX` too, within the years that `i32`
    /// has.
    pub fn from_days(days: i64) -> Self {
        let days = days + EPOCH;
        let era = days.div_euclid(DAYS_PER_ERA);
        let of_era = days.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (of_era - of_era / 1460 + of_era / 36524 - of_era / (DAYS_PER_ERA - 1)) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self {
            year: year as i32,
            month: month as u32,
            day: day as u32,
        }
    }
}

/// Counts days from 2000-01-01 to a date. The month is 1 to 12; the day may be outside of the
/// month.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = i64::from((month + 9) % 12);
    let of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * DAYS_PER_ERA + of_era - EPOCH
}

/// Returns whether February has 29 days.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the number of days of a month from 1 to 12.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
