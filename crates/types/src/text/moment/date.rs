//! Dates from numbers and names of months, in the order of the setting.

use super::{Failure, words};
use crate::{
    DateOrder,
    datetime::{Civil, days_from_civil, days_in_month},
};

/// Parts of a date that are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts {
    year: Option<i32>,
    month: Option<u32>,
    day: Option<u32>,
    month_was_named: bool,
    /// Whether the year has two digits, and so means one of this century or the last.
    short_year: bool,
    /// Whether the year is as the calendar counts it, 0 for 1 BC.
    is_counted: bool,
}

impl Parts {
    pub(super) fn is_empty(&self) -> bool {
        self.year.is_none() && self.month.is_none() && self.day.is_none()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.year.is_some() && self.month.is_some() && self.day.is_some()
    }

    /// Takes the name of a month.
    pub(super) fn name_month(&mut self, month: u32) -> Result<(), Failure> {
        match self.month {
            None => self.month = Some(month),
            // The number before was a day, which looked like a month: `8 January`.
            Some(number) if self.day.is_none() && !self.month_was_named => {
                self.day = Some(number);
                self.month = Some(month);
            }
            Some(_) => return Err(Failure::Syntax),
        }
        self.month_was_named = true;
        Ok(())
    }

    /// Takes all parts of a date with separators.
    pub(super) fn separated(&mut self, text: &str) -> Result<(), Failure> {
        let fields = || {
            text.split(['-', '/', '.'])
                .filter(|field| !field.is_empty())
        };
        if fields().count() > 3 {
            return Err(Failure::Syntax);
        }
        // Names first, because they are unambiguous.
        for field in fields() {
            if field.starts_with(|first: char| first.is_ascii_alphabetic()) {
                self.name_month(words::month(field).ok_or(Failure::Syntax)?)?;
            }
        }
        Ok(())
    }

    /// Takes the numbers of a date with separators, after its names.
    pub(super) fn separated_numbers(
        &mut self,
        text: &str,
        order: DateOrder,
    ) -> Result<(), Failure> {
        for field in text
            .split(['-', '/', '.'])
            .filter(|field| !field.is_empty())
        {
            if field.starts_with(|first: char| first.is_ascii_digit()) {
                self.number(field, order)?;
            }
        }
        Ok(())
    }

    /// Takes a number: its meaning depends on its length, on the known parts, and on the
    /// order.
    pub(super) fn number(&mut self, text: &str, order: DateOrder) -> Result<(), Failure> {
        let value: i32 = text.parse().map_err(|_| {
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                Failure::Field
            } else {
                Failure::Syntax
            }
        })?;
        let is_year = text.len() >= 3;
        match (self.year, self.month, self.day) {
            (None, None, None) => match order {
                _ if is_year => self.set_year(value, text),
                DateOrder::YearMonthDay => self.set_year(value, text),
                DateOrder::DayMonthYear => self.day = Some(value as u32),
                DateOrder::MonthDayYear => self.month = Some(value as u32),
            },
            // The number is the day of the year.
            (Some(year), None, None) if text.len() == 3 && (1..=366).contains(&value) => {
                let first = days_from_civil(year, 1, 1);
                let date = Civil::from_days(first + i64::from(value) - 1);
                self.month = Some(date.month);
                self.day = Some(date.day);
            }
            (Some(_), None, None) => self.month = Some(value as u32),
            (None, Some(_), None) if self.month_was_named => {
                if is_year || order == DateOrder::YearMonthDay {
                    self.set_year(value, text);
                } else {
                    self.day = Some(value as u32);
                }
            }
            (None, Some(_), None) => self.day = Some(value as u32),
            (Some(year), Some(_), None) => {
                if self.month_was_named && is_year && self.short_year {
                    // The first number was the day.
                    self.day = Some(year as u32);
                    self.set_year(value, text);
                } else {
                    self.day = Some(value as u32);
                }
            }
            (None, None, Some(_)) => self.month = Some(value as u32),
            (None, Some(_), Some(_)) => self.set_year(value, text),
            _ => return Err(Failure::Syntax),
        }
        Ok(())
    }

    /// Takes `20240131` or `240131`.
    pub(super) fn concatenated(&mut self, digits: &str) -> Result<(), Failure> {
        let (rest, day) = digits.split_at(digits.len() - 2);
        let (year, month) = rest.split_at(rest.len() - 2);
        let number = |text: &str| text.parse::<i32>().map_err(|_| Failure::Field);
        self.set_year(number(year)?, year);
        self.month = Some(number(month)? as u32);
        self.day = Some(number(day)? as u32);
        Ok(())
    }

    pub(super) fn set(&mut self, date: Civil) {
        self.year = Some(date.year);
        self.month = Some(date.month);
        self.day = Some(date.day);
        self.is_counted = true;
    }

    fn set_year(&mut self, year: i32, text: &str) {
        self.short_year = text.len() <= 2;
        self.year = Some(year);
    }

    /// Returns the date, if it is one.
    pub(super) fn finish(self, before_christ: bool) -> Result<Option<Civil>, Failure> {
        if self.is_empty() {
            return Ok(None);
        }
        let is_month = |month| (1..=12).contains(&month);
        let is_day = |day| (1..=31).contains(&day);
        if !self.month.is_none_or(is_month) || !self.day.is_none_or(is_day) {
            return Err(Failure::MonthOrDay);
        }
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(Failure::Syntax);
        };
        let year = if self.is_counted {
            year
        } else if before_christ {
            if year <= 0 {
                return Err(Failure::Field);
            }
            1 - year
        } else if self.short_year {
            year + if year < 70 { 2000 } else { 1900 }
        } else {
            year
        };
        // There is no year 0; 1 BC has become it only just now.
        if !before_christ && !self.is_counted && year <= 0 {
            return Err(Failure::Field);
        }
        if day > days_in_month(year, month) {
            return Err(Failure::Field);
        }
        Ok(Some(Civil { year, month, day }))
    }
}
