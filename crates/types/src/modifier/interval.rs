//! Fields of intervals as modifiers: `interval day to second(3)`, `interval '90' day`.
//!
//! Fields give the unit of a bare number, and cut off units smaller than the last field.

use super::TypeModifier;
use crate::{
    Interval, Result, Scalar,
    datetime::{MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE},
};

/// The fields that an interval may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalFields {
    /// `YEAR`
    Year,
    /// `MONTH`
    Month,
    /// `DAY`
    Day,
    /// `HOUR`
    Hour,
    /// `MINUTE`
    Minute,
    /// `SECOND`
    Second,
    /// `YEAR TO MONTH`
    YearToMonth,
    /// `DAY TO HOUR`
    DayToHour,
    /// `DAY TO MINUTE`
    DayToMinute,
    /// `DAY TO SECOND`
    DayToSecond,
    /// `HOUR TO MINUTE`
    HourToMinute,
    /// `HOUR TO SECOND`
    HourToSecond,
    /// `MINUTE TO SECOND`
    MinuteToSecond,
}

/// Bits of PostgreSQL's fields.
const MONTH: i32 = 1 << 1;
const YEAR: i32 = 1 << 2;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
/// Any number of digits.
const FULL_PRECISION: i32 = 0xffff;

impl IntervalFields {
    const ALL: [Self; 13] = [
        Self::Year,
        Self::Month,
        Self::Day,
        Self::Hour,
        Self::Minute,
        Self::Second,
        Self::YearToMonth,
        Self::DayToHour,
        Self::DayToMinute,
        Self::DayToSecond,
        Self::HourToMinute,
        Self::HourToSecond,
        Self::MinuteToSecond,
    ];

    fn mask(self) -> i32 {
        match self {
            Self::Year => YEAR,
            Self::Month => MONTH,
            Self::Day => DAY,
            Self::Hour => HOUR,
            Self::Minute => MINUTE,
            Self::Second => SECOND,
            Self::YearToMonth => YEAR | MONTH,
            Self::DayToHour => DAY | HOUR,
            Self::DayToMinute => DAY | HOUR | MINUTE,
            Self::DayToSecond => DAY | HOUR | MINUTE | SECOND,
            Self::HourToMinute => HOUR | MINUTE,
            Self::HourToSecond => HOUR | MINUTE | SECOND,
            Self::MinuteToSecond => MINUTE | SECOND,
        }
    }

    /// Returns the fields in SQL's spelling, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
            Self::YearToMonth => "year to month",
            Self::DayToHour => "day to hour",
            Self::DayToMinute => "day to minute",
            Self::DayToSecond => "day to second",
            Self::HourToMinute => "hour to minute",
            Self::HourToSecond => "hour to second",
            Self::MinuteToSecond => "minute to second",
        }
    }

    /// Returns the fields of SQL's spelling `name`, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|fields| fields.name().eq_ignore_ascii_case(name))
    }

    /// Cuts off units smaller than the last field.
    pub(super) fn cut(self, interval: Interval) -> Interval {
        let whole = |unit: i64| interval.microseconds / unit * unit;
        let (months, days, microseconds) = match self {
            Self::Year => (interval.months / 12 * 12, 0, 0),
            Self::Month | Self::YearToMonth => (interval.months, 0, 0),
            Self::Day => (interval.months, interval.days, 0),
            Self::Hour | Self::DayToHour => {
                (interval.months, interval.days, whole(MICROSECONDS_PER_HOUR))
            }
            Self::Minute | Self::DayToMinute | Self::HourToMinute => (
                interval.months,
                interval.days,
                whole(MICROSECONDS_PER_MINUTE),
            ),
            Self::Second | Self::DayToSecond | Self::HourToSecond | Self::MinuteToSecond => {
                return interval;
            }
        };
        Interval {
            microseconds,
            days,
            months,
        }
    }
}

impl TypeModifier {
    /// Returns the modifier of an interval with these fields, and this many digits after
    /// the point of seconds.
    ///
    /// # Errors
    /// `22023` if `digits` is negative.
    pub fn interval(fields: IntervalFields, digits: Option<i32>) -> Result<Self> {
        let digits = match digits {
            Some(digits) => Self::new(Scalar::Interval, &[digits])?.0 & FULL_PRECISION,
            None => FULL_PRECISION,
        };
        Ok(Self(fields.mask() << 16 | digits))
    }

    /// Returns the fields of an interval, if it may not have all.
    pub fn interval_fields(self) -> Option<IntervalFields> {
        if self.0 < 0 {
            return None;
        }
        let mask = self.0 >> 16 & 0x7fff;
        IntervalFields::ALL
            .into_iter()
            .find(|fields| fields.mask() == mask)
    }
}
