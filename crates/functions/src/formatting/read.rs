//! `to_date`, `to_timestamp`, `to_number`: text by a pattern.

use types::{
    Numeric, Result, SqlError, SqlState,
    datetime::{MICROSECONDS_PER_DAY, MICROSECONDS_PER_MINUTE},
};

use super::{
    found::{Found, out_of_range},
    time::{DAYS, MONTHS},
    token::{Field, Token, Tokens},
};
use crate::{
    Context,
    argument::{Date, TimestampTz},
    datetime::{check, date_of, to_utc},
    function::{DATE, Function, NUMERIC, TEXT, TIMESTAMPTZ, entry},
};

pub(super) fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// A number of at most so many digits, and how many it has.
    fn number(&mut self, digits: usize, what: &str) -> Result<(i64, usize)> {
        self.skip_blanks();
        let length = self
            .rest
            .bytes()
            .take(digits)
            .take_while(u8::is_ascii_digit)
            .count();
        let text = &self.rest[..length];
        let number = text.parse().map_err(|_| {
            invalid(format!("invalid value \"{}\" for \"{what}\"", self.rest))
                .detail("Value must be an integer.")
        })?;
        self.rest = &self.rest[length..];
        Ok((number, length))
    }

    /// One of several names, in any case.
    fn name<'n>(&mut self, names: impl Iterator<Item = &'n str>, what: &str) -> Result<usize> {
        self.skip_blanks();
        for (position, name) in names.enumerate() {
            let begins = self
                .rest
                .get(..name.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(name));
            if begins {
                self.rest = &self.rest[name.len()..];
                return Ok(position);
            }
        }
        Err(
            invalid(format!("invalid value \"{}\" for \"{what}\"", self.rest))
                .detail("The given value did not match any of the allowed values for this field."),
        )
    }

    /// Separators stand for any separator, or none; but a sign may belong to what follows.
    fn skip_separator(&mut self, signed: bool) {
        let mut characters = self.rest.chars();
        let skipped = characters
            .next()
            .is_some_and(|next| !next.is_alphanumeric() && (!signed || !matches!(next, '+' | '-')));
        if skipped {
            self.rest = characters.as_str();
        }
    }

    fn sign(&mut self) -> i64 {
        self.skip_blanks();
        let sign = self.rest.chars().next();
        if matches!(sign, Some('+' | '-')) {
            self.rest = &self.rest[1..];
        }
        if sign == Some('-') { -1 } else { 1 }
    }
}

/// Fields that must be so many digits wide where another number follows at once.
fn width(next_is_number: bool, digits: usize) -> usize {
    if next_is_number { digits } else { 18 }
}

fn read_field(
    reader: &mut Reader<'_>,
    field: Field,
    next_is_number: bool,
    found: &mut Found,
) -> Result<()> {
    let short = |names: &'static [&'static str]| names.iter().map(|name| &name[..3]);
    match field {
        Field::Hour12 => {
            found.hour = reader.number(width(next_is_number, 2), "HH")?.0;
            found.twelve = true;
        }
        Field::Hour24 => found.hour = reader.number(width(next_is_number, 2), "HH24")?.0,
        Field::Minute => found.minute = reader.number(width(next_is_number, 2), "MI")?.0,
        Field::Second => found.second = reader.number(width(next_is_number, 2), "SS")?.0,
        Field::Millisecond => {
            let (number, digits) = reader.number(3, "MS")?;
            found.microsecond = number * 10i64.pow(6 - digits as u32);
        }
        Field::Microsecond => {
            let (number, digits) = reader.number(6, "US")?;
            found.microsecond = number * 10i64.pow(6 - digits as u32);
        }
        Field::Fraction(most) => {
            let (number, digits) = reader.number(most as usize, "FF")?;
            found.microsecond = number * 10i64.pow(6 - digits as u32);
        }
        Field::SecondsOfDay => found.seconds_of_day = Some(reader.number(5, "SSSS")?.0),
        Field::Meridiem { dots } => {
            let names: &[&str] = if dots {
                &["A.M.", "P.M."]
            } else {
                &["AM", "PM"]
            };
            found.afternoon = Some(reader.name(names.iter().copied(), "AM")? == 1);
        }
        Field::Era { dots } => {
            let names: &[&str] = if dots {
                &["A.D.", "B.C."]
            } else {
                &["AD", "BC"]
            };
            found.before = reader.name(names.iter().copied(), "BC")? == 1;
        }
        Field::Year(digits) => {
            let sign = reader.sign();
            let (year, length) = reader.number(width(next_is_number, digits), "YYYY")?;
            found.year = Some(sign * year);
            found.short_year = length < 4 && digits < 4;
        }
        Field::IsoYear(digits) => {
            found.iso_year = Some(reader.number(width(next_is_number, digits), "IYYY")?.0);
        }
        Field::YearWithComma => {
            let (thousands, _) = reader.number(9, "Y,YYY")?;
            reader.rest = reader.rest.strip_prefix(',').unwrap_or(reader.rest);
            found.year = Some(thousands * 1000 + reader.number(3, "Y,YYY")?.0);
        }
        Field::Month => {
            found.month = Some(reader.name(MONTHS.into_iter(), "Month")? as i64 + 1);
        }
        Field::MonthShort => found.month = Some(reader.name(short(&MONTHS), "Mon")? as i64 + 1),
        Field::MonthNumber => {
            found.month = Some(reader.number(width(next_is_number, 2), "MM")?.0);
        }
        Field::Day => {
            reader.name(DAYS.into_iter(), "Day")?;
        }
        Field::DayShort => {
            reader.name(short(&DAYS), "Dy")?;
        }
        Field::DayOfMonth => found.day = Some(reader.number(width(next_is_number, 2), "DD")?.0),
        Field::DayOfYear => {
            found.day_of_year = Some(reader.number(width(next_is_number, 3), "DDD")?.0);
        }
        Field::IsoWeek => found.iso_week = Some(reader.number(width(next_is_number, 2), "IW")?.0),
        Field::IsoDayOfWeek => found.iso_day = Some(reader.number(1, "ID")?.0),
        Field::DayOfWeek => {
            reader.number(1, "D")?;
        }
        Field::Julian => found.julian = Some(reader.number(18, "J")?.0),
        Field::Quarter => {
            reader.number(1, "Q")?;
        }
        Field::ZoneHour => {
            let sign = reader.sign();
            found.offset_hours = Some(sign * reader.number(2, "TZH")?.0);
        }
        Field::ZoneMinute => found.offset_minutes = reader.number(2, "TZM")?.0,
        _ => return Err(SqlError::unsupported("this field of a pattern in to_date")),
    }
    Ok(())
}

fn read(text: &str, pattern: &str) -> Result<Found> {
    let mut found = Found::default();
    let mut reader = Reader { rest: text };
    let tokens: Vec<_> = Tokens::of(pattern).collect();
    for (position, token) in tokens.iter().enumerate() {
        match token {
            Token::Field { field, ordinal, .. } => {
                if reader.rest.trim_start().is_empty() {
                    break;
                }
                let next_is_number = matches!(tokens.get(position + 1), Some(Token::Field { .. }));
                read_field(&mut reader, *field, next_is_number, &mut found)?;
                if ordinal.is_some() {
                    reader.rest = reader.rest.get(2..).unwrap_or("");
                }
            }
            Token::Quoted(text) => {
                let characters = text.chars().count();
                let end = reader.rest.char_indices().nth(characters);
                reader.rest = end.map_or("", |(end, _)| &reader.rest[end..]);
            }
            Token::Plain(_) => {
                let signed = matches!(
                    tokens.get(position + 1),
                    Some(Token::Field {
                        field: Field::ZoneHour,
                        ..
                    })
                );
                reader.skip_separator(signed);
            }
        }
    }
    Ok(found)
}

fn to_date(text: &str, pattern: &str) -> Result<Date> {
    let found = read(text, pattern)?;
    let days = found.days(text)?;
    found.time(text)?;
    let midnight = days
        .checked_mul(MICROSECONDS_PER_DAY)
        .ok_or_else(|| out_of_range(text))?;
    check(midnight)?;
    Ok(Date(date_of(midnight)))
}

fn to_timestamp(context: &Context<'_>, text: &str, pattern: &str) -> Result<TimestampTz> {
    let found = read(text, pattern)?;
    found.time(text)?;
    let local = found.local(text)?;
    if let Some(hours) = found.offset_hours {
        let minutes = hours * 60 + hours.signum() * found.offset_minutes;
        return check(local - minutes * MICROSECONDS_PER_MINUTE).map(TimestampTz);
    }
    to_utc(context, local).map(TimestampTz)
}

/// The digits, the point and the sign of a text; what else is there does not count.
fn to_number<'a>(context: &Context<'a>, text: &str, pattern: &str) -> Result<Option<Numeric<'a>>> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let (mut digits, mut negative) = (String::new(), false);
    for character in text.chars() {
        match character {
            '0'..='9' => digits.push(character),
            '.' if !digits.contains('.') => digits.push('.'),
            '-' | '<' => negative = true,
            _ => {}
        }
    }
    if !digits.contains(|character: char| character.is_ascii_digit()) {
        return Err(SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type numeric: \"{text}\""),
        ));
    }
    let upper = pattern.to_ascii_uppercase();
    let scale = upper.split_once(['.', 'D']).map_or(0, |(_, after)| {
        after
            .bytes()
            .filter(|byte| matches!(byte, b'9' | b'0'))
            .count()
    });
    let number = Numeric::parse(digits.trim_end_matches('.'), context.scratch)?;
    let number = if number
        .scale()
        .is_some_and(|found| usize::from(found) > scale)
    {
        number.truncate(scale as i32, context.scratch)?
    } else {
        number
    };
    Ok(Some(if negative {
        number.negate(context.scratch)
    } else {
        number
    }))
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("to_date"(TEXT, TEXT) -> DATE, to_date).stable(),
    entry!("to_timestamp"(TEXT, TEXT) -> TIMESTAMPTZ, in context to_timestamp).stable(),
    entry!("to_number"(TEXT, TEXT) -> NUMERIC, in context to_number).stable(),
];
