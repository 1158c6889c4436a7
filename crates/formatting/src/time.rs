//! `to_char` of dates, times and intervals.

use std::fmt::Write as _;

use types::{
    Interval, Result, SqlError, TimeZone,
    datetime::{
        Civil, JULIAN_OF_EPOCH, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR,
        MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, century, day_of_week, day_of_year,
        is_finite_timestamp, iso_day_of_week, iso_week, iso_year_begin, shown_year,
        timestamp_out_of_range,
    },
};

use super::{
    roman::roman,
    token::{Case, Field, Token, Tokens},
};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Fields of a time or interval that is written.
struct Fields {
    year: i64,
    /// Whether the year is before Christ.
    before: bool,
    /// Month; may be negative for an interval.
    month: i64,
    /// Month for Roman numerals, if any; for an interval, counted backwards from the year's end.
    numeral: u32,
    day: i64,
    /// Days since 2000-01-01, for a date.
    days: Option<i64>,
    century: i64,
    /// Microseconds of the day, or of the interval.
    microseconds: i64,
    /// Seconds east of Greenwich.
    offset: Option<i32>,
    /// Name of the zone at that time; empty without a zone.
    zone: String,
}

impl Fields {
    fn of_local(local: i64, offset: Option<i32>) -> Self {
        let days = local.div_euclid(MICROSECONDS_PER_DAY);
        let date = Civil::from_days(days);
        Self {
            year: shown_year(date.year).abs(),
            before: date.year <= 0,
            month: date.month.into(),
            numeral: date.month,
            day: date.day.into(),
            days: Some(days),
            century: century(date.year),
            microseconds: local.rem_euclid(MICROSECONDS_PER_DAY),
            offset,
            zone: String::new(),
        }
    }

    fn of_interval(interval: Interval) -> Self {
        let year = i64::from(interval.months / 12);
        let month = interval.months % 12;
        let numeral = match month {
            0 if interval.months == 0 => 0,
            0 if interval.months < 0 => 1,
            0 => 12,
            ..0 => (13 + month).unsigned_abs(),
            _ => month.unsigned_abs(),
        };
        Self {
            year,
            before: false,
            month: month.into(),
            numeral,
            day: interval.days.into(),
            days: None,
            century: year / 100,
            microseconds: interval.microseconds,
            offset: None,
            zone: String::new(),
        }
    }

    fn hour(&self) -> i64 {
        self.microseconds / MICROSECONDS_PER_HOUR
    }

    fn fraction(&self) -> i64 {
        self.microseconds % MICROSECONDS_PER_SECOND
    }
}

/// Returns the days of a date; fails for an interval.
fn calendar(fields: &Fields) -> Result<i64> {
    fields.days.ok_or_else(|| {
        SqlError::new(
            types::SqlState::INVALID_DATETIME_FORMAT,
            "invalid format specification for an interval value",
        )
        .hint("Intervals are not tied to specific calendar dates.")
    })
}

/// Pads a number to `width` with zeros in front, unless `fill` is set.
fn padded(number: i64, width: usize, fill: bool) -> String {
    if fill {
        return number.to_string();
    }
    format!("{number:0width$}")
}

/// Pads like [`padded`] times and years, whose sign has a place of its own.
fn padded_behind_sign(number: i64, width: usize, fill: bool) -> String {
    padded(number, if number < 0 { width + 1 } else { width }, fill)
}

fn named(name: &str, case: Case, fill: bool, width: usize) -> String {
    let name = case.apply(name);
    if fill {
        name
    } else {
        format!("{name:<width$}")
    }
}

fn last_digits(year: i64, digits: usize, fill: bool) -> String {
    match digits {
        4 => padded_behind_sign(year, 4, fill),
        digits => padded(year % 10i64.pow(digits as u32), digits, fill),
    }
}

fn dotted(letters: &str, dots: bool, case: Case) -> String {
    let text = if dots {
        letters.chars().flat_map(|letter| [letter, '.']).collect()
    } else {
        letters.to_owned()
    };
    case.apply(&text)
}

fn signed_hours(offset: i32) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{sign}{:02}", offset.abs() / 3600)
}

fn field(fields: &Fields, field: Field, case: Case, fill: bool) -> Result<String> {
    let time = fields.microseconds;
    Ok(match field {
        Field::Hour12 => {
            let hour = fields.hour() % 12;
            padded_behind_sign(if hour == 0 { 12 } else { hour }, 2, fill)
        }
        Field::Hour24 => padded_behind_sign(fields.hour(), 2, fill),
        Field::Minute => padded_behind_sign(
            time % MICROSECONDS_PER_HOUR / MICROSECONDS_PER_MINUTE,
            2,
            fill,
        ),
        Field::Second => padded_behind_sign(
            time % MICROSECONDS_PER_MINUTE / MICROSECONDS_PER_SECOND,
            2,
            fill,
        ),
        Field::Millisecond => padded_behind_sign(fields.fraction() / 1000, 3, fill),
        Field::Microsecond => padded_behind_sign(fields.fraction(), 6, fill),
        Field::Fraction(digits) => padded_behind_sign(
            fields.fraction() / 10i64.pow(6 - digits),
            digits as usize,
            fill,
        ),
        Field::SecondsOfDay => (time / MICROSECONDS_PER_SECOND).to_string(),
        Field::Meridiem { dots } => {
            let afternoon = fields.hour() % 24 >= 12;
            let case = if case == Case::Capital {
                Case::Upper
            } else {
                case
            };
            dotted(if afternoon { "PM" } else { "AM" }, dots, case)
        }
        Field::YearWithComma => {
            let thousands = fields.year / 1000;
            format!("{thousands},{:03}", fields.year % 1000)
        }
        Field::Year(digits) => last_digits(fields.year, digits, fill),
        Field::IsoYear(digits) => {
            let year = shown_year(iso_week(calendar(fields)?).0).abs();
            last_digits(year, digits, fill)
        }
        Field::Era { dots } => {
            calendar(fields)?;
            dotted(if fields.before { "BC" } else { "AD" }, dots, case)
        }
        Field::Month | Field::MonthShort => {
            calendar(fields)?;
            let name = MONTHS[(fields.month - 1) as usize];
            match field {
                Field::Month => named(name, case, fill, 9),
                _ => case.apply(&name[..3]),
            }
        }
        Field::MonthRoman if fields.numeral == 0 => String::new(),
        Field::MonthRoman => named(&roman(fields.numeral), case, fill, 4),
        Field::MonthNumber => padded_behind_sign(fields.month, 2, fill),
        Field::Day => named(DAYS[day_of_week(calendar(fields)?) as usize], case, fill, 9),
        Field::DayShort => case.apply(&DAYS[day_of_week(calendar(fields)?) as usize][..3]),
        Field::DayOfYear => match fields.days {
            Some(days) => padded(day_of_year(days), 3, fill),
            None => padded(fields.day + fields.month * 30 + fields.year * 360, 3, fill),
        },
        Field::IsoDayOfYear => {
            let days = calendar(fields)?;
            padded(days - iso_year_begin(iso_week(days).0) + 1, 3, fill)
        }
        Field::DayOfMonth => padded(fields.day, 2, fill),
        Field::DayOfWeek => (day_of_week(calendar(fields)?) + 1).to_string(),
        Field::IsoDayOfWeek => iso_day_of_week(calendar(fields)?).to_string(),
        Field::WeekOfMonth => ((fields.day - 1) / 7 + 1).to_string(),
        Field::WeekOfYear => padded((day_of_year(calendar(fields)?) - 1) / 7 + 1, 2, fill),
        Field::IsoWeek => padded(iso_week(calendar(fields)?).1, 2, fill),
        Field::Century => padded_behind_sign(fields.century, 2, fill),
        Field::Julian => (calendar(fields)? + JULIAN_OF_EPOCH).to_string(),
        Field::Quarter => match fields.month {
            0 => String::new(),
            month => ((month - 1) / 3 + 1).to_string(),
        },
        Field::ZoneName => {
            calendar(fields)?;
            let case = if case == Case::Capital {
                Case::Upper
            } else {
                case
            };
            case.apply(&fields.zone)
        }
        Field::ZoneHour => signed_hours(fields.offset.unwrap_or(0)),
        Field::ZoneMinute => format!("{:02}", fields.offset.unwrap_or(0).abs() / 60 % 60),
        Field::Offset => {
            calendar(fields)?;
            let offset = fields.offset.unwrap_or(0);
            let mut text = signed_hours(offset);
            if offset % 3600 != 0 {
                // Writing to a string does not fail.
                let _ = write!(text, ":{:02}", offset.abs() / 60 % 60);
            }
            text
        }
    })
}

/// Returns the suffix of an ordinal.
pub(super) fn ordinal(digits: &str) -> &'static str {
    let number: u32 = digits
        .get(digits.len().saturating_sub(2)..)
        .and_then(|last| last.trim().parse().ok())
        .unwrap_or(0);
    match number {
        11..=13 => "th",
        number => match number % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    }
}

fn format(fields: &Fields, pattern: &str) -> Result<Option<String>> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let mut out = String::new();
    for token in Tokens::of(pattern) {
        match token {
            Token::Quoted(character) | Token::Plain(character) => out.push(character),
            Token::Field {
                field: wanted,
                case,
                fill,
                ordinal: suffix,
            } => {
                let text = field(fields, wanted, case, fill)?;
                out.push_str(&text);
                if let Some(case) = suffix
                    && text.ends_with(|last: char| last.is_ascii_digit())
                {
                    out.push_str(&case.apply(ordinal(&text)));
                }
            }
        }
    }
    Ok(Some(out))
}

/// Writes a local time; returns `None` for infinities and an empty pattern.
///
/// # Errors
/// None: a local time has every field that a pattern can ask for.
pub fn write_local(time: i64, pattern: &str) -> Result<Option<String>> {
    if !is_finite_timestamp(time) {
        return Ok(None);
    }
    format(&Fields::of_local(time, None), pattern)
}

/// Writes a moment as it is in `zone`; returns `None` for infinities and an empty pattern.
///
/// # Errors
/// 22008 if there is no such time in the zone.
pub fn write_moment(time: i64, zone: &TimeZone, pattern: &str) -> Result<Option<String>> {
    if !is_finite_timestamp(time) {
        return Ok(None);
    }
    let local = zone.to_local(time).ok_or_else(timestamp_out_of_range)?;
    let mut fields = Fields::of_local(local, Some(zone.offset_at(time)));
    fields.zone = zone.abbreviation_at(time).into_owned();
    format(&fields, pattern)
}

/// Writes an interval; returns `None` for an empty pattern.
///
/// # Errors
/// 22007 if the pattern asks for a field that only dates have.
pub fn write_interval(interval: Interval, pattern: &str) -> Result<Option<String>> {
    format(&Fields::of_interval(interval), pattern)
}
