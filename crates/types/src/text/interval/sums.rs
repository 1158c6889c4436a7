//! Adding up the fields of an interval.

use super::{Failure, units::Unit};
use crate::{
    Interval,
    datetime::{
        MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
        MICROSECONDS_PER_SECOND,
    },
};

const DAYS_PER_MONTH: f64 = 30.0;

/// Sums of the fields so far.
#[derive(Debug, Default)]
pub(super) struct Sums {
    years: i64,
    months: i64,
    days: i64,
    microseconds: i64,
}

impl Sums {
    /// Adds a number of `unit`s with its sign and fraction.
    pub(super) fn add(&mut self, number: &str, unit: Unit) -> Result<(), Failure> {
        let (whole, fraction) = split(number)?;
        match unit {
            Unit::Microsecond => self.add_time(whole, fraction, 1),
            Unit::Millisecond => self.add_time(whole, fraction, 1000),
            Unit::Second => self.add_time(whole, fraction, MICROSECONDS_PER_SECOND),
            Unit::Minute => self.add_time(whole, fraction, MICROSECONDS_PER_MINUTE),
            Unit::Hour => self.add_time(whole, fraction, MICROSECONDS_PER_HOUR),
            Unit::Day => {
                self.add_days(whole)?;
                self.add_fraction_of_time(fraction, MICROSECONDS_PER_DAY)
            }
            Unit::Week => {
                self.add_days(whole.checked_mul(7).ok_or(Failure::Interval)?)?;
                self.add_fraction_of_days(fraction, 7.0)
            }
            Unit::Month => {
                self.add_months(whole)?;
                self.add_fraction_of_days(fraction, DAYS_PER_MONTH)
            }
            Unit::Year => self.add_years(whole, fraction, 1),
            Unit::Decade => self.add_years(whole, fraction, 10),
            Unit::Century => self.add_years(whole, fraction, 100),
            Unit::Millennium => self.add_years(whole, fraction, 1000),
        }
    }

    /// Adds `1-2`, years and months, with the sign of the whole before it.
    pub(super) fn add_year_month(&mut self, text: &str) -> Result<(), Failure> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (years, months) = text.split_once('-').ok_or(Failure::Syntax)?;
        let number = |text: &str| text.parse::<i64>().map_err(|_| Failure::Interval);
        let (years, months) = (number(years)?, number(months)?);
        if months >= 12 {
            return Err(Failure::Interval);
        }
        let total = years
            .checked_mul(12)
            .and_then(|total| total.checked_add(months));
        let total = total.ok_or(Failure::Interval)?;
        self.add_months(if negative { -total } else { total })
    }

    pub(super) fn add_microseconds(&mut self, microseconds: i64) -> Result<(), Failure> {
        let sum = self.microseconds.checked_add(microseconds);
        self.microseconds = sum.ok_or(Failure::Interval)?;
        Ok(())
    }

    fn add_days(&mut self, days: i64) -> Result<(), Failure> {
        self.days = self.days.checked_add(days).ok_or(Failure::Interval)?;
        Ok(())
    }

    fn add_months(&mut self, months: i64) -> Result<(), Failure> {
        self.months = self.months.checked_add(months).ok_or(Failure::Interval)?;
        Ok(())
    }

    fn add_whole_years(&mut self, years: i64) -> Result<(), Failure> {
        self.years = self.years.checked_add(years).ok_or(Failure::Interval)?;
        Ok(())
    }

    /// Adds years; a fraction of them becomes months, rounded.
    fn add_years(&mut self, whole: i64, fraction: f64, years: i64) -> Result<(), Failure> {
        self.add_whole_years(whole.checked_mul(years).ok_or(Failure::Interval)?)?;
        self.add_months((fraction * (years * 12) as f64).round_ties_even() as i64)
    }

    fn add_fraction_of_days(&mut self, fraction: f64, days: f64) -> Result<(), Failure> {
        let days = fraction * days;
        self.add_days(days.trunc() as i64)?;
        self.add_fraction_of_time(days.fract(), MICROSECONDS_PER_DAY)
    }

    fn add_time(&mut self, whole: i64, fraction: f64, unit: i64) -> Result<(), Failure> {
        let microseconds = whole.checked_mul(unit).ok_or(Failure::Interval)?;
        self.add_microseconds(microseconds)?;
        self.add_fraction_of_time(fraction, unit)
    }

    /// Adds a fraction of a unit of time, rounded to the nearest microsecond,
    /// halves towards zero.
    fn add_fraction_of_time(&mut self, fraction: f64, unit: i64) -> Result<(), Failure> {
        let exact = fraction * unit as f64;
        let rest = exact.fract();
        let nudge = if rest > 0.5 {
            1
        } else if rest < -0.5 {
            -1
        } else {
            0
        };
        self.add_microseconds(exact.trunc() as i64 + nudge)
    }

    /// Returns the interval; `ago` negates it.
    pub(super) fn finish(self, ago: bool) -> Result<Interval, Failure> {
        let turn = |value: i64| {
            if ago {
                value.checked_neg().ok_or(Failure::Interval)
            } else {
                Ok(value)
            }
        };
        let narrow = |value: i64| i32::try_from(value).map_err(|_| Failure::Interval);
        let (years, months) = (narrow(self.years)?, narrow(self.months)?);
        let months = i64::from(years) * 12 + i64::from(months);
        Ok(Interval {
            microseconds: turn(self.microseconds)?,
            days: narrow(turn(self.days)?)?,
            months: i32::try_from(turn(months)?).map_err(|_| Failure::Length)?,
        })
    }
}

/// Splits into the whole part, and the fraction with the same sign.
fn split(number: &str) -> Result<(i64, f64), Failure> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') {
        return Err(Failure::Syntax);
    }
    let negative = whole.starts_with('-');
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    if digits.is_empty() && fraction.is_empty() {
        return Err(Failure::Syntax);
    }
    let value = match digits {
        "" => 0,
        _ => whole.parse().map_err(|_| Failure::Interval)?,
    };
    let fraction: f64 = format!("0.{fraction}0")
        .parse()
        .map_err(|_| Failure::Syntax)?;
    Ok((value, if negative { -fraction } else { fraction }))
}
