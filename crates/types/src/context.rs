//! Context that the text of values depends on beside the values: settings, names, the clock.

use crate::{Names, Result, SqlError, SqlState, TimeZone};

/// Order of the numbers in `01/02/2024`: the second part of `DateStyle`, whose first is always
/// `ISO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    MonthDayYear,
    /// Day, month, year.
    DayMonthYear,
    /// Year, month, day.
    YearMonthDay,
}

impl DateOrder {
    /// Returns the order that a value of `DateStyle` asks for: `ISO, DMY`, `iso`, `european`. A
    /// value that names no order leaves it unchanged.
    ///
    /// # Errors
    /// `22023` if it is no style, `0A000` if it asks for another form than ISO's.
    pub fn with_style(self, style: &str) -> Result<Self> {
        let mut order = self;
        for word in style.split(',').map(str::trim) {
            order = match word.to_ascii_lowercase().as_str() {
                "iso" => order,
                "dmy" | "euro" | "european" => Self::DayMonthYear,
                "mdy" | "us" | "noneuro" | "noneuropean" | "default" => Self::MonthDayYear,
                "ymd" => Self::YearMonthDay,
                "sql" | "postgres" | "german" => {
                    return Err(SqlError::unsupported(format!("DateStyle \"{word}\"")));
                }
                _ => {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid value for parameter \"DateStyle\": \"{style}\""),
                    ));
                }
            };
        }
        Ok(order)
    }

    /// Returns the value of `DateStyle`, as `SHOW` displays it.
    pub fn style(self) -> &'static str {
        match self {
            Self::MonthDayYear => "ISO, MDY",
            Self::DayMonthYear => "ISO, DMY",
            Self::YearMonthDay => "ISO, YMD",
        }
    }
}

/// Settings of a session that matter to the text of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// `TimeZone`: the zone in which `timestamp with time zone` is displayed, and read if it
    /// names none.
    pub time_zone: TimeZone,
    /// Order in which dates other than ISO's are read.
    pub date_order: DateOrder,
}

/// Context that reading and writing of text may depend on.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    /// Settings of the session.
    pub settings: &'c Settings,
    /// Names of user-defined objects.
    pub names: &'c dyn Names,
    /// Time at which the transaction began, in microseconds since 2000-01-01 UTC: the meaning
    /// of `now`.
    pub now: i64,
}

#[cfg(test)]
mod tests;
