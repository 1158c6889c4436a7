//! What `to_date` and `to_timestamp` found in a text, and the day and time that it means.

use types::{
    Result, SqlError, SqlState,
    datetime::{
        MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
        MICROSECONDS_PER_SECOND, days_from_civil, days_in_month,
    },
};

use super::read::invalid;
use crate::datetime::{JULIAN_OF_EPOCH, check, iso_year_begin};

/// What was found in the text.
#[derive(Default)]
pub(super) struct Found {
    pub(super) year: Option<i64>,
    /// The year has fewer than four digits, so that the century is to be guessed.
    pub(super) short_year: bool,
    pub(super) before: bool,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) day_of_year: Option<i64>,
    pub(super) julian: Option<i64>,
    pub(super) iso_year: Option<i64>,
    pub(super) iso_week: Option<i64>,
    pub(super) iso_day: Option<i64>,
    pub(super) hour: i64,
    pub(super) twelve: bool,
    pub(super) afternoon: Option<bool>,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) microsecond: i64,
    pub(super) seconds_of_day: Option<i64>,
    pub(super) offset_hours: Option<i64>,
    pub(super) offset_minutes: i64,
}

pub(super) fn out_of_range(text: &str) -> SqlError {
    SqlError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// The year nearest to 2020 with these last digits.
fn guessed(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        year => year,
    }
}

impl Found {
    pub(super) fn days(&self, text: &str) -> Result<i64> {
        let wrong = || out_of_range(text);
        if let Some(julian) = self.julian {
            return Ok(julian - JULIAN_OF_EPOCH);
        }
        let to_i32 = |number: i64| i32::try_from(number).map_err(|_| wrong());
        if let (Some(year), Some(week)) = (self.iso_year, self.iso_week) {
            let day = self.iso_day.unwrap_or(1);
            return Ok(iso_year_begin(to_i32(year)?) + (week - 1) * 7 + day - 1);
        }
        let mut year = self.year.unwrap_or(0);
        if self.short_year {
            year = guessed(year);
        }
        // A negative year is one before Christ, and there is no year 0.
        let before = self.before ^ (year < 0);
        year = year.abs();
        if before {
            year = 1 - year;
        } else if self.year.is_none() || year == 0 {
            // PostgreSQL begins with 1 BC.
            year = 0;
        }
        let year = to_i32(year)?;
        if let Some(day) = self.day_of_year {
            return Ok(days_from_civil(year, 1, 1) + day - 1);
        }
        let month = u32::try_from(self.month.unwrap_or(1)).map_err(|_| wrong())?;
        if !(1..=12).contains(&month) {
            return Err(wrong());
        }
        let day = u32::try_from(self.day.unwrap_or(1)).map_err(|_| wrong())?;
        if !(1..=days_in_month(year, month)).contains(&day) {
            return Err(wrong());
        }
        Ok(days_from_civil(year, month, day))
    }

    pub(super) fn time(&self, text: &str) -> Result<i64> {
        let wrong = || out_of_range(text);
        if let Some(seconds) = self.seconds_of_day {
            return Ok(seconds * MICROSECONDS_PER_SECOND);
        }
        let mut hour = self.hour;
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return Err(
                    invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                        .hint("Use the 24-hour clock, or give an hour between 1 and 12."),
                );
            }
            match self.afternoon {
                Some(true) if hour < 12 => hour += 12,
                Some(false) if hour == 12 => hour = 0,
                _ => {}
            }
        }
        if !(0..24).contains(&hour)
            || !(0..60).contains(&self.minute)
            || !(0..60).contains(&self.second)
        {
            return Err(wrong());
        }
        Ok(hour * MICROSECONDS_PER_HOUR
            + self.minute * MICROSECONDS_PER_MINUTE
            + self.second * MICROSECONDS_PER_SECOND
            + self.microsecond)
    }

    pub(super) fn local(&self, text: &str) -> Result<i64> {
        self.days(text)?
            .checked_mul(MICROSECONDS_PER_DAY)
            .and_then(|midnight| midnight.checked_add(self.time(text).ok()?))
            .ok_or_else(|| out_of_range(text))
            .and_then(check)
    }
}
