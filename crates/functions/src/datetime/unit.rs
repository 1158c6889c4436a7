//! Names of the parts of dates and times.

use types::{Names, NoNames, Result, SqlError, SqlState, Type};

/// A part of a date, a time or an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    Julian,
    Epoch,
    Zone,
    ZoneHour,
    ZoneMinute,
}

impl Unit {
    /// Returns the unit of a name in any case, for a value of a type.
    ///
    /// # Errors
    ///
    /// 22023 if there is none.
    pub(super) fn parse(name: &str, ty: Type) -> Result<Self> {
        let lower = name.to_ascii_lowercase();
        Ok(match lower.as_str() {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds"
            | "microsecon" => Self::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds"
            | "millisecon" => Self::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "mons" | "month" | "months" => Self::Month,
            "qtr" | "quarter" => Self::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            "dec" | "decs" | "decade" | "decades" => Self::Decade,
            "c" | "cent" | "century" | "centuries" => Self::Century,
            "mil" | "mils" | "millennium" | "millennia" => Self::Millennium,
            "dow" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "doy" => Self::DayOfYear,
            "isoyear" => Self::IsoYear,
            "j" | "jd" | "julian" => Self::Julian,
            "epoch" => Self::Epoch,
            "timezone" => Self::Zone,
            "timezone_hour" | "timezone_h" => Self::ZoneHour,
            "timezone_minute" | "timezone_m" => Self::ZoneMinute,
            _ => return Err(unrecognized(name, ty)),
        })
    }

    /// Returns the unit of a name, if it is a length of time, to which something can
    /// be cut.
    ///
    /// # Errors
    ///
    /// 22023 if there is none.
    pub(super) fn parse_length(name: &str, ty: Type) -> Result<Self> {
        match Self::parse(name, ty)? {
            Self::DayOfWeek
            | Self::IsoDayOfWeek
            | Self::DayOfYear
            | Self::IsoYear
            | Self::Julian
            | Self::Epoch => Err(unrecognized(name, ty)),
            unit => Ok(unit),
        }
    }
}

fn display(ty: Type) -> String {
    let names: &dyn Names = &NoNames;
    ty.name(names).into_owned()
}

#[cold]
fn unrecognized(name: &str, ty: Type) -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("unit \"{name}\" not recognized for type {}", display(ty)),
    )
}

/// Returns 0A000: the type has no such part.
#[cold]
pub(super) fn unsupported(name: &str, ty: Type) -> SqlError {
    SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("unit \"{name}\" not supported for type {}", display(ty)),
    )
}
