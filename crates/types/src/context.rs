//! What the text of values depends on beside the values: settings, names, the clock.

use crate::{Names, TimeZone};

/// Which of the first two numbers of `01/02/2024` is the month: the second part of `DateStyle`,
/// whose first is always `ISO`.
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

/// A session's settings that matter to the text of values.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `TimeZone`: in which `timestamp with time zone` is displayed, and read if it names none.
    pub time_zone: TimeZone,
    /// How dates are read that are not ISO's.
    pub date_order: DateOrder,
}

/// What reading and writing of text may depend on.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    /// The session's settings.
    pub settings: &'c Settings,
    /// The names of what users made.
    pub names: &'c dyn Names,
    /// When the transaction began, in microseconds since 2000-01-01 UTC: what `now` means.
    pub now: i64,
}
