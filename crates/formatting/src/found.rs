//! Fields that `to_date` and `to_timestamp` found in a text, and the day and time that they
//! mean.

use types::{
    Result, SqlError, SqlState,
    datetime::{
        Civil, JULIAN_OF_EPOCH, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR,
        MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, check_timestamp, days_from_civil,
        days_in_month, iso_year_begin,
    },
};

use super::read::invalid;

/// Calendar that the fields of a pattern belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Convention {
    Gregorian,
    IsoWeek,
}

/// Fields found in the text; 0 for a field that was not found, as in PostgreSQL.
#[derive(Default)]
pub(super) struct Found {
    pub(super) convention: Option<Convention>,
    pub(super) century: i64,
    pub(super) year: i64,
    /// Number of digits that the pattern has for the year.
    pub(super) year_digits: usize,
    pub(super) before: bool,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) day_of_year: i64,
    /// Day of the week from 1, Sunday.
    pub(super) day_of_week: i64,
    pub(super) week: i64,
    pub(super) week_of_month: i64,
    pub(super) julian: i64,
    pub(super) hour: i64,
    pub(super) twelve: bool,
    pub(super) afternoon: bool,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) milliseconds: i64,
    pub(super) microseconds: i64,
    pub(super) seconds_of_day: i64,
    /// Digits of a second that the result is rounded to.
    pub(super) precision: Option<u32>,
    /// 1 or -1, if there is an offset.
    pub(super) offset_sign: i64,
    pub(super) offset_hours: i64,
    pub(super) offset_minutes: i64,
}

pub(super) fn out_of_range(text: &str) -> SqlError {
    SqlError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("date/time field value out of range: \"{text}\""),
    )
}

/// Returns the year nearest to 2020 with these last digits.
pub(super) fn guessed(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        year => year,
    }
}

impl Found {
    /// Returns the year, counted through 0 for 1 BC; `None` if neither a year nor a century
    /// was found.
    fn counted_year(&self) -> Option<i64> {
        let century = if self.before {
            -self.century
        } else {
            self.century
        };
        if self.year == 0 {
            return match century {
                0 => None,
                1.. => Some((century - 1) * 100 + 1),
                _ => Some(century * 100 + 1),
            };
        }
        if century != 0 && self.year_digits <= 2 {
            return Some(match (self.year % 100, century) {
                (0, 1..) => century * 100,
                (0, _) => century * 100 + 1,
                (year, 1..) => year + (century - 1) * 100,
                (year, _) => (century + 1) * 100 - year + 1,
            });
        }
        let year = if self.before { -self.year } else { self.year };
        Some(if year < 0 { year + 1 } else { year })
    }

    /// Returns the day, counted from 2000-01-01.
    pub(super) fn days(&self, text: &str) -> Result<i64> {
        let wrong = || out_of_range(text);
        let found_year = self.counted_year();
        let year = i32::try_from(found_year.unwrap_or(0)).map_err(|_| wrong())?;
        // Beyond all dates, and far enough from the end of numbers.
        if year.abs() > 10_000_000 {
            return Err(wrong());
        }
        let is_iso = self.convention == Some(Convention::IsoWeek);
        let (mut year, mut month, mut day) = (year, 1, 1);
        let set = |days: i64| {
            let date = Civil::from_days(days);
            (date.year, i64::from(date.month), i64::from(date.day))
        };
        let (mut has_month, mut has_day) = (false, false);
        if self.julian != 0 {
            let days = self.julian - JULIAN_OF_EPOCH;
            if days.abs() > 1 << 40 {
                return Err(wrong());
            }
            (year, month, day) = set(days);
        }
        let mut day_of_year = self.day_of_year;
        if self.week != 0 {
            if is_iso {
                // Monday is 2, and Sunday ends the week.
                let of_week = match self.day_of_week {
                    0 => 0,
                    1 => 6,
                    day => day - 2,
                };
                (year, month, day) = set(iso_year_begin(year) + (self.week - 1) * 7 + of_week);
            } else {
                day_of_year = (self.week - 1) * 7 + 1;
            }
        }
        if self.week_of_month != 0 {
            (day, has_day) = ((self.week_of_month - 1) * 7 + 1, true);
        }
        if self.day != 0 {
            (day, has_day) = (self.day, true);
        }
        if self.month != 0 {
            (month, has_month) = (self.month, true);
        }
        if day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && !self.before {
                return Err(invalid(
                    "cannot calculate day of year without year information".to_owned(),
                ));
            }
            if is_iso {
                (year, month, day) = set(iso_year_begin(year) + day_of_year - 1);
            } else {
                let date = days_from_civil(year, 1, 1) + day_of_year - 1;
                if !(days_from_civil(year, 1, 1)..days_from_civil(year + 1, 1, 1)).contains(&date) {
                    return Err(wrong());
                }
                let (_, of_month, of_day) = set(date);
                if month <= 1 {
                    (month, has_month) = (of_month, true);
                }
                if day <= 1 {
                    (day, has_day) = (of_day, true);
                }
            }
        }
        let number = u32::try_from(month)
            .ok()
            .filter(|month| (1..=12).contains(month));
        let month = number.ok_or_else(wrong)?;
        let last = match found_year.is_some() && has_month && has_day {
            true => days_in_month(year, month),
            false => 31,
        };
        if !(1..=i64::from(last)).contains(&day) {
            return Err(wrong());
        }
        Ok(days_from_civil(year, month, 1) + day - 1)
    }

    /// Returns the time of the day.
    pub(super) fn time(&self, text: &str) -> Result<i64> {
        let of_day = self.seconds_of_day;
        let or = |found: i64, otherwise: i64| if found == 0 { otherwise } else { found };
        let mut hour = or(self.hour, of_day / 3600);
        let minute = or(self.minute, of_day / 60 % 60);
        let second = or(self.second, of_day % 60);
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return Err(
                    invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                        .hint("Use the 24-hour clock, or give an hour between 1 and 12."),
                );
            }
            match self.afternoon {
                true if hour < 12 => hour += 12,
                false if hour == 12 => hour = 0,
                _ => {}
            }
        }
        let fraction = self.milliseconds * 1000 + self.microseconds;
        if !(0..24).contains(&hour)
            || !(0..60).contains(&minute)
            || !(0..60).contains(&second)
            || !(-MICROSECONDS_PER_SECOND + 1..MICROSECONDS_PER_SECOND).contains(&fraction)
        {
            return Err(out_of_range(text));
        }
        Ok(hour * MICROSECONDS_PER_HOUR
            + minute * MICROSECONDS_PER_MINUTE
            + second * MICROSECONDS_PER_SECOND
            + fraction)
    }

    /// Returns the microseconds east of Greenwich, if the text gives an offset.
    pub(super) fn offset(&self, text: &str) -> Result<Option<i64>> {
        if self.offset_sign == 0 {
            return Ok(None);
        }
        if !(0..=15).contains(&self.offset_hours) || !(0..60).contains(&self.offset_minutes) {
            return Err(out_of_range(text));
        }
        let minutes = self.offset_hours * 60 + self.offset_minutes;
        Ok(Some(self.offset_sign * minutes * MICROSECONDS_PER_MINUTE))
    }

    pub(super) fn local(&self, text: &str) -> Result<i64> {
        self.days(text)?
            .checked_mul(MICROSECONDS_PER_DAY)
            .and_then(|midnight| midnight.checked_add(self.time(text).ok()?))
            .ok_or_else(|| out_of_range(text))
            .and_then(check_timestamp)
    }
}
