//! `to_date`, `to_timestamp`, `to_number`: text by a pattern.

use types::{
    Numeric, Result, Scratch, SqlError, SqlState, TimeZone,
    datetime::{MICROSECONDS_PER_DAY, check_timestamp, timestamp_out_of_range},
};

use super::{
    found::{Convention, Found, guessed, out_of_range},
    roman::roman,
    time::{DAYS, MONTHS},
    token::{Field, Token, Tokens},
};

pub(super) fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

struct Reader<'t> {
    rest: &'t str,
}

/// Width of a number in characters.
#[derive(Clone, Copy)]
enum Width {
    /// Exactly this many, because another number follows at once.
    Exactly(usize),
    /// As many as there are.
    Any,
}

impl Reader<'_> {
    /// Skips blanks, and returns their number.
    fn skip_blanks(&mut self) -> i64 {
        let rest = self.rest.trim_start();
        let skipped = self.rest.len() - rest.len();
        self.rest = rest;
        skipped as i64
    }

    /// Reads a number, which may have a sign; returns it and its length in characters.
    fn number(&mut self, width: Width, what: &str) -> Result<(i64, usize)> {
        self.skip_blanks();
        let remaining = |wanted: usize| self.rest.chars().take(wanted).count();
        let text = match width {
            Width::Any => self.rest,
            Width::Exactly(wanted) if remaining(wanted) < wanted => {
                let remaining = remaining(wanted);
                let message = format!("source string too short for \"{what}\" formatting field");
                return Err(invalid(message).detail(format!(
                    "Field requires {wanted} characters, but only {remaining} remain."
                )));
            }
            Width::Exactly(wanted) => {
                let end = self.rest.char_indices().nth(wanted);
                end.map_or(self.rest, |(end, _)| &self.rest[..end])
            }
        };
        let blanks = text.len() - text.trim_start().len();
        let sign = usize::from(text[blanks..].starts_with(['-', '+']));
        let digits = text[blanks + sign..].bytes();
        let digits = digits.take_while(u8::is_ascii_digit).count();
        let length = blanks + sign + digits;
        if digits == 0 {
            let shown: String = text.chars().take(20).collect();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{what}\""))
                .detail("Value must be an integer."));
        }
        if let Width::Exactly(wanted) = width
            && length < wanted
        {
            return Err(
                invalid(format!("invalid value \"{text}\" for \"{what}\"")).detail(format!(
                    "Field requires {wanted} characters, but only {length} could be parsed."
                )),
            );
        }
        let number = text[blanks..length].parse::<i32>().map_err(|_| {
            let message = format!("value for \"{what}\" in source string is out of range");
            SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
        })?;
        self.rest = &self.rest[length..];
        Ok((number.into(), length))
    }

    /// Reads one of several names, in any case; returns its position.
    fn name<'n>(&mut self, names: impl Iterator<Item = &'n str>, what: &str) -> Result<usize> {
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

    /// Skips one character.
    fn skip_character(&mut self) {
        let mut characters = self.rest.chars();
        characters.next();
        self.rest = characters.as_str();
    }
}

/// Sets a field, unless it has another value already.
fn set(field: &mut i64, value: i64, what: &str) -> Result<()> {
    if *field != 0 && *field != value {
        let message = format!("conflicting values for \"{what}\" field in formatting string");
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(invalid(message).detail(detail));
    }
    *field = value;
    Ok(())
}

/// Returns the calendar that a field belongs to.
fn convention(field: Field) -> Option<Convention> {
    match field {
        Field::IsoYear(_) | Field::IsoDayOfYear | Field::IsoDayOfWeek | Field::IsoWeek => {
            Some(Convention::IsoWeek)
        }
        Field::Year(_)
        | Field::YearWithComma
        | Field::Month
        | Field::MonthShort
        | Field::MonthNumber
        | Field::MonthRoman
        | Field::DayOfMonth
        | Field::DayOfYear
        | Field::DayOfWeek
        | Field::WeekOfMonth
        | Field::WeekOfYear => Some(Convention::Gregorian),
        _ => None,
    }
}

fn agree(field: Field, found: &mut Found) -> Result<()> {
    let Some(convention) = convention(field) else {
        return Ok(());
    };
    if *found.convention.get_or_insert(convention) != convention {
        let message = "invalid combination of date conventions".to_owned();
        return Err(invalid(message)
            .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
    }
    Ok(())
}

/// Scales the digits behind the point of a second to thousandths or millionths.
fn scaled(number: i64, digits: usize, places: u32) -> i64 {
    let missing = places.saturating_sub(u32::try_from(digits).unwrap_or(u32::MAX));
    number * 10i64.pow(missing)
}

fn read_field(
    reader: &mut Reader<'_>,
    field: Field,
    alone: bool,
    swallowed_minus: bool,
    found: &mut Found,
) -> Result<()> {
    agree(field, found)?;
    let width = |digits: usize| match alone {
        true => Width::Any,
        false => Width::Exactly(digits),
    };
    let short = |names: &'static [&'static str]| names.iter().map(|name| &name[..3]);
    let mut number = |digits: usize, what: &str| reader.number(width(digits), what);
    match field {
        Field::Hour12 => {
            let hour = number(2, "HH12")?.0;
            set(&mut found.hour, hour, "HH12")?;
            found.twelve = true;
        }
        Field::Hour24 => set(&mut found.hour, number(2, "HH24")?.0, "HH24")?,
        Field::Minute => set(&mut found.minute, number(2, "MI")?.0, "MI")?,
        Field::Second => set(&mut found.second, number(2, "SS")?.0, "SS")?,
        Field::Millisecond => {
            let (value, digits) = number(3, "MS")?;
            set(&mut found.milliseconds, scaled(value, digits, 3), "MS")?;
        }
        Field::Microsecond => {
            let (value, digits) = number(6, "US")?;
            set(&mut found.microseconds, scaled(value, digits, 6), "US")?;
        }
        Field::Fraction(most) => {
            let (value, digits) = number(most as usize, "FF")?;
            set(&mut found.microseconds, scaled(value, digits, 6), "FF")?;
            found.precision = Some(most);
        }
        Field::SecondsOfDay => set(&mut found.seconds_of_day, number(5, "SSSSS")?.0, "SSSSS")?,
        Field::Meridiem { dots } => {
            let names: &[&str] = if dots {
                &["A.M.", "P.M."]
            } else {
                &["AM", "PM"]
            };
            found.afternoon = reader.name(names.iter().copied(), "AM")? == 1;
            found.twelve = true;
        }
        Field::Era { dots } => {
            let names: &[&str] = if dots {
                &["A.D.", "B.C."]
            } else {
                &["AD", "BC"]
            };
            found.before = reader.name(names.iter().copied(), "BC")? == 1;
        }
        Field::Year(digits) | Field::IsoYear(digits) => {
            let (year, length) = number(digits, "YYYY")?;
            let is_short = length < 4 && digits < 4;
            let year = if is_short { guessed(year) } else { year };
            set(&mut found.year, year, "YYYY")?;
            found.year_digits = digits;
        }
        Field::YearWithComma => {
            let (thousands, _) = reader.number(Width::Any, "Y,YYY")?;
            reader.rest = reader
                .rest
                .strip_prefix(',')
                .ok_or_else(|| invalid("invalid input string for \"Y,YYY\"".to_owned()))?;
            let (year, _) = reader.number(Width::Any, "Y,YYY")?;
            set(&mut found.year, thousands * 1000 + year, "Y,YYY")?;
            found.year_digits = 4;
        }
        Field::Month => {
            let month = reader.name(MONTHS.into_iter(), "Month")? as i64 + 1;
            set(&mut found.month, month, "Month")?;
        }
        Field::MonthShort => {
            let month = reader.name(short(&MONTHS), "Mon")? as i64 + 1;
            set(&mut found.month, month, "Mon")?;
        }
        Field::MonthNumber => set(&mut found.month, number(2, "MM")?.0, "MM")?,
        Field::MonthRoman => {
            // Longer numerals before their prefixes.
            let numerals = [8, 3, 7, 2, 12, 6, 4, 11, 9, 1, 5, 10];
            let names: Vec<String> = numerals.iter().map(|month| roman(*month)).collect();
            let at = reader.name(names.iter().map(String::as_str), "RM")?;
            set(&mut found.month, numerals[at].into(), "RM")?;
        }
        Field::Day => {
            let day = reader.name(DAYS.into_iter(), "Day")? as i64 + 1;
            set(&mut found.day_of_week, day, "Day")?;
        }
        Field::DayShort => {
            let day = reader.name(short(&DAYS), "Dy")? as i64 + 1;
            set(&mut found.day_of_week, day, "Dy")?;
        }
        Field::DayOfMonth => set(&mut found.day, number(2, "DD")?.0, "DD")?,
        Field::DayOfYear | Field::IsoDayOfYear => {
            set(&mut found.day_of_year, number(3, "DDD")?.0, "DDD")?;
        }
        Field::WeekOfYear | Field::IsoWeek => set(&mut found.week, number(2, "WW")?.0, "WW")?,
        Field::WeekOfMonth => set(&mut found.week_of_month, number(1, "W")?.0, "W")?,
        Field::DayOfWeek => set(&mut found.day_of_week, number(1, "D")?.0, "D")?,
        Field::IsoDayOfWeek => {
            // Sunday is 7 here, and 1 elsewhere.
            let day = number(1, "ID")?.0 + 1;
            set(&mut found.day_of_week, if day > 7 { 1 } else { day }, "ID")?;
        }
        Field::Century => set(&mut found.century, number(2, "CC")?.0, "CC")?,
        Field::Julian => set(&mut found.julian, number(1, "J")?.0, "J")?,
        Field::Quarter => {
            number(1, "Q")?;
        }
        Field::ZoneHour => {
            let sign = reader.rest.chars().next();
            found.offset_sign = if matches!(sign, Some('+' | '-' | ' ')) {
                reader.skip_character();
                if sign == Some('-') { -1 } else { 1 }
            } else if swallowed_minus {
                -1
            } else {
                1
            };
            let hours = reader.number(width(2), "TZH")?.0;
            set(&mut found.offset_hours, hours, "TZH")?;
        }
        Field::ZoneMinute => {
            if found.offset_sign == 0 {
                found.offset_sign = 1;
            }
            set(&mut found.offset_minutes, number(2, "TZM")?.0, "TZM")?;
        }
        Field::ZoneName | Field::Offset => {
            return Err(SqlError::unsupported(
                "a name or an offset of a time zone in to_timestamp",
            ));
        }
    }
    Ok(())
}

fn is_separator(character: char) -> bool {
    character.is_ascii_graphic() && !character.is_ascii_alphanumeric()
}

/// Returns whether a number before a token may have any number of digits, because no digit follows.
fn ends_number(next: Option<&Token>) -> bool {
    match next {
        Some(Token::Field { field, .. }) => matches!(
            field,
            Field::Meridiem { .. }
                | Field::Era { .. }
                | Field::Month
                | Field::MonthShort
                | Field::MonthRoman
                | Field::Day
                | Field::DayShort
                | Field::ZoneName
                | Field::ZoneHour
                | Field::Offset
        ),
        Some(Token::Quoted(character) | Token::Plain(character)) => !character.is_ascii_digit(),
        None => true,
    }
}

/// Reads a text as PostgreSQL does without `FX`: blanks before and behind fields do not matter, and
/// a separator of the pattern stands for any separator or none.
fn read(text: &str, pattern: &str) -> Result<Found> {
    let mut found = Found::default();
    let mut reader = Reader { rest: text };
    let tokens: Vec<_> = Tokens::of(pattern).collect();
    // Number of characters skipped beyond those that the pattern has.
    let mut surplus = 0i64;
    for (position, token) in tokens.iter().enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        if position == 0 || matches!(token, Token::Field { .. }) {
            surplus += reader.skip_blanks();
        }
        match token {
            Token::Field {
                field,
                fill,
                ordinal,
                ..
            } => {
                let alone = *fill || ordinal.is_some() || ends_number(tokens.get(position + 1));
                let before = &text[..text.len() - reader.rest.len()];
                let swallowed_minus = surplus > 0 && before.ends_with('-');
                read_field(&mut reader, *field, alone, swallowed_minus, &mut found)?;
                if ordinal.is_some() {
                    reader.rest = reader.rest.get(2..).unwrap_or("");
                }
                surplus = reader.skip_blanks();
            }
            Token::Plain(character) if character.is_whitespace() || is_separator(*character) => {
                surplus -= 1;
                let next = reader.rest.chars().next();
                if next.is_some_and(|next| next.is_whitespace() || is_separator(next)) {
                    reader.skip_character();
                    surplus += 1;
                }
            }
            Token::Quoted(_) | Token::Plain(_) => {
                if surplus > 0 {
                    surplus -= 1;
                } else {
                    reader.skip_character();
                }
            }
        }
    }
    Ok(found)
}

/// Reads a date, and returns the time at which it begins.
///
/// # Errors
/// 22007 for a text or a pattern that has no date, 22008 for a date that is out of range.
pub fn read_date(text: &str, pattern: &str) -> Result<i64> {
    let found = read(text, pattern)?;
    let days = found.days(text)?;
    found.time(text)?;
    let midnight = days
        .checked_mul(MICROSECONDS_PER_DAY)
        .ok_or_else(|| out_of_range(text))?;
    check_timestamp(midnight)
}

/// Reads a moment, in `zone` if the text has no offset from Greenwich.
///
/// # Errors
/// 22007 for a text or a pattern that has no date, 22008 for one that is out of range; 0A000 for a zone's name.
pub fn read_moment(text: &str, pattern: &str, zone: &TimeZone) -> Result<i64> {
    let found = read(text, pattern)?;
    found.time(text)?;
    let local = found.local(text)?;
    let moment = match found.offset(text)? {
        Some(east) => check_timestamp(local - east)?,
        None => zone.to_utc(local).ok_or_else(timestamp_out_of_range)?,
    };
    let Some(digits) = found.precision else {
        return Ok(moment);
    };
    // Halves are rounded away from zero.
    let unit = 10i64.pow(6u32.saturating_sub(digits));
    let half = if moment < 0 { -unit / 2 } else { unit / 2 };
    check_timestamp((moment + half) / unit * unit)
}

/// Reads the digits, the point and the sign of a text, and ignores the rest. Returns `None` for an empty pattern.
///
/// # Errors
/// 22P02 for a text without digits, 42601 for a pattern with two decimal points.
pub fn read_number<'a>(
    text: &str,
    pattern: &str,
    scratch: &'a Scratch,
) -> Result<Option<Numeric<'a>>> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let upper = pattern.to_ascii_uppercase();
    if upper.matches(['.', 'D']).count() > 1 {
        return Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "multiple decimal points",
        ));
    }
    let places = |text: &str| {
        let digits = text.bytes().filter(|byte| matches!(byte, b'9' | b'0'));
        digits.count()
    };
    // Each place of the pattern takes one digit or the point.
    let mut left = places(&upper) + upper.matches(['.', 'D']).count();
    let (mut digits, mut negative) = (String::new(), false);
    for character in text.chars() {
        match character {
            '0'..='9' | '.' if left == 0 => break,
            '0'..='9' => digits.push(character),
            '.' if !digits.contains('.') => digits.push('.'),
            '-' | '<' => negative = true,
            _ => {}
        }
        left -= usize::from(character.is_ascii_digit() || character == '.');
    }
    if !digits.contains(|character: char| character.is_ascii_digit()) {
        return Err(SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type numeric: \"{text}\""),
        ));
    }
    let scale = upper
        .split_once(['.', 'D'])
        .map_or(0, |(_, after)| places(after));
    let number = Numeric::parse(digits.trim_end_matches('.'), scratch)?;
    let number = if number
        .scale()
        .is_some_and(|found| usize::from(found) > scale)
    {
        number.truncate(scale as i32, scratch)?
    } else {
        number
    };
    let shift = upper.split_once('V').map_or(0, |(_, after)| places(after));
    let number = if shift == 0 {
        number
    } else {
        let unit = Numeric::small(10, 0)
            .power(Numeric::from_i128(-(shift as i128), 0, scratch)?, scratch)?;
        number.multiply(unit, scratch)?
    };
    Ok(Some(if negative {
        number.negate(scratch)
    } else {
        number
    }))
}
