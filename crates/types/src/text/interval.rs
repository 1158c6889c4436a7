//! Intervals: `1 year 2 mons 3 days 04:05:06.7`, `P1Y2M3DT4H5M6S`, `1-2 3 4:05:06`, `3 weeks ago`.
//!
//! A fraction of a unit is carried over to smaller ones; a month has 30 days and a day 24 hours.

mod iso;
mod sums;
mod units;

use std::borrow::Cow;

use super::{
    is_blank,
    moment::{Failure, read_clock, write_clock},
};
use crate::{Interval, IntervalFields, Sink, datetime::MICROSECONDS_PER_HOUR};
use sums::Sums;
use units::{Unit, Units, unit};

/// Reads an interval; a bare number has the unit of the last of `fields`.
pub(super) fn read(text: &str, fields: Option<IntervalFields>) -> crate::Result<Interval> {
    let trimmed = text.trim_matches(is_blank);
    let read = match trimmed.strip_prefix('P') {
        Some(rest) => iso::read(rest),
        None => read_verbose(&with_signs_joined(trimmed), fields),
    };
    read.map_err(|failure| failure.error("interval", text))
}

/// Removes the blanks between a sign and its number: `1 month - 1 second`.
fn with_signs_joined(text: &str) -> Cow<'_, str> {
    let is_sign = |character: char| matches!(character, '+' | '-');
    if !text.contains(is_sign) {
        return Cow::Borrowed(text);
    }
    let mut joined = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_sign) {
        joined.push_str(if joined.ends_with(is_sign) {
            piece.trim_start_matches(is_blank)
        } else {
            piece
        });
    }
    Cow::Owned(joined)
}

/// A piece of PostgreSQL's or SQL's form.
#[derive(Debug, Clone, Copy)]
enum Token<'t> {
    /// A number with its sign and fraction.
    Number(&'t str),
    /// A time with its sign and colons.
    Time(&'t str),
    /// Years and months, with their sign: `1-2`.
    YearMonth(&'t str),
    Word(&'t str),
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, Failure> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|first| is_blank(first) || first == '@' || first == ',');
        let Some(first) = rest.bytes().next() else {
            return Ok(tokens);
        };
        let run = |from: usize, belongs: &dyn Fn(u8) -> bool| {
            let bytes = &rest.as_bytes()[from..];
            from + bytes
                .iter()
                .position(|byte| !belongs(*byte))
                .unwrap_or(bytes.len())
        };
        let end = if first.is_ascii_alphabetic() {
            let end = run(0, &|byte| byte.is_ascii_alphabetic());
            tokens.push(Token::Word(&rest[..end]));
            end
        } else {
            let start = usize::from(matches!(first, b'+' | b'-'));
            let digits = run(start, &|byte| byte.is_ascii_digit() || byte == b'.');
            if digits == start || (start == 1 && rest.as_bytes()[1] == b'.') {
                return Err(Failure::Syntax);
            }
            match rest.as_bytes().get(digits) {
                Some(b':') => {
                    let end = run(digits, &|byte| {
                        byte.is_ascii_digit() || byte == b':' || byte == b'.'
                    });
                    tokens.push(Token::Time(&rest[..end]));
                    end
                }
                Some(b'-')
                    if rest[digits + 1..].starts_with(|next: char| next.is_ascii_digit()) =>
                {
                    let end = run(digits + 1, &|byte| byte.is_ascii_digit());
                    tokens.push(Token::YearMonth(&rest[..end]));
                    end
                }
                _ => {
                    tokens.push(Token::Number(&rest[..digits]));
                    digits
                }
            }
        };
        rest = &rest[end..];
    }
}

/// Returns the unit of a number at the end without one.
fn bare_unit(fields: Option<IntervalFields>) -> Unit {
    match fields {
        Some(IntervalFields::Year) => Unit::Year,
        Some(IntervalFields::Month | IntervalFields::YearToMonth) => Unit::Month,
        Some(IntervalFields::Day) => Unit::Day,
        Some(IntervalFields::Hour | IntervalFields::DayToHour) => Unit::Hour,
        Some(
            IntervalFields::Minute | IntervalFields::DayToMinute | IntervalFields::HourToMinute,
        ) => Unit::Minute,
        _ => Unit::Second,
    }
}

/// Reads tokens from the last, since a number's unit is behind it.
fn read_verbose(text: &str, fields: Option<IntervalFields>) -> Result<Interval, Failure> {
    let tokens = tokens(text)?;
    let mut sums = Sums::default();
    let mut seen = Units::default();
    // The unit of the numbers before: a number without one has that of the number behind it.
    let mut unit_before = bare_unit(fields);
    let mut ago = false;
    let mut has_field = false;
    for token in tokens.iter().rev() {
        match *token {
            Token::Word(word) if word.eq_ignore_ascii_case("ago") => {
                ago = true;
            }
            Token::Word(word) => unit_before = unit(word).ok_or(Failure::Syntax)?,
            Token::Number(number) => {
                sums.add(number, unit_before)?;
                seen.see(unit_before.fields(number.contains('.')))?;
                has_field = true;
            }
            Token::Time(time) => {
                seen.see(&[
                    Unit::Hour,
                    Unit::Minute,
                    Unit::Second,
                    Unit::Millisecond,
                    Unit::Microsecond,
                ])?;
                let is_short = fields == Some(IntervalFields::MinuteToSecond)
                    && time.matches(':').count() == 1;
                if is_short && !time.contains('.') {
                    // Minutes and seconds, as if these had a fraction.
                    sums.add_microseconds(read_time(&format!("{time}.0"))?)?;
                } else {
                    sums.add_microseconds(read_time(time)?)?;
                }
                // A number before a time is days.
                unit_before = Unit::Day;
                has_field = true;
            }
            Token::YearMonth(text) => {
                sums.add_year_month(text)?;
                seen.see(&[Unit::Month])?;
                unit_before = Unit::Month;
                has_field = true;
            }
        }
    }
    if !has_field {
        return Err(Failure::Syntax);
    }
    sums.finish(ago)
}

/// Maximum hours that fit in 64 bits.
const HOURS_MAX: i64 = i64::MAX / MICROSECONDS_PER_HOUR;

/// Reads a time with its sign; the number of hours is not limited to a day.
fn read_time(text: &str) -> Result<i64, Failure> {
    let (negative, text) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = read_clock(text, HOURS_MAX).map_err(|failure| match failure {
        Failure::Field => Failure::Interval,
        other => other,
    })?;
    let time = if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    };
    time.ok_or(Failure::Interval)
}

/// Writes `1 year 2 mons -3 days +04:05:06`.
pub(super) fn write(interval: Interval, out: &mut impl Sink) {
    let mut writer = Writer {
        is_first: true,
        was_negative: false,
        out,
    };
    writer.part(interval.months / 12, "year");
    writer.part(interval.months % 12, "mon");
    writer.part(interval.days, "day");
    writer.clock(interval.microseconds);
}

struct Writer<'o, S> {
    is_first: bool,
    was_negative: bool,
    out: &'o mut S,
}

impl<S: Sink> Writer<'_, S> {
    fn part(&mut self, value: i32, name: &str) {
        if value == 0 {
            return;
        }
        self.separate();
        // After a negative part, a sign marks a positive one.
        if self.was_negative && value > 0 {
            self.out.put_byte(b'+');
        }
        self.out.put(itoa::Buffer::new().format(value).as_bytes());
        self.out.put_byte(b' ');
        self.out.put(name.as_bytes());
        if value != 1 {
            self.out.put_byte(b's');
        }
        self.was_negative = value < 0;
        self.is_first = false;
    }

    fn clock(&mut self, microseconds: i64) {
        if microseconds == 0 && !self.is_first {
            return;
        }
        self.separate();
        if microseconds < 0 {
            self.out.put_byte(b'-');
        } else if self.was_negative {
            self.out.put_byte(b'+');
        }
        write_clock(microseconds.unsigned_abs(), self.out);
    }

    fn separate(&mut self) {
        if !self.is_first {
            self.out.put_byte(b' ');
        }
    }
}
