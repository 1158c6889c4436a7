//! Truth values, integers and floats.

use std::{
    fmt::{LowerExp, Write},
    str::FromStr,
};

use super::{invalid, is_blank};
use crate::{Result, Scalar, Sink, SqlError, SqlState};

/// Reads any unambiguous prefix of `true`, `false`, `yes`, `no`; `on`, `off`, `1`, `0`.
pub(super) fn read_bool(text: &str) -> Result<bool> {
    let trimmed = text.trim_matches(is_blank);
    let begins = |word: &str| {
        !trimmed.is_empty()
            && word
                .as_bytes()
                .get(..trimmed.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(trimmed.as_bytes()))
    };
    if begins("true") || begins("yes") || trimmed.eq_ignore_ascii_case("on") || trimmed == "1" {
        Ok(true)
    } else if begins("false")
        || begins("no")
        || (trimmed.len() > 1 && begins("off"))
        || trimmed == "0"
    {
        Ok(false)
    } else {
        Err(invalid("boolean", text))
    }
}

/// Reads an integer of the width of `scalar`, which is `T`'s.
pub(super) fn read_integer<T: TryFrom<i64>>(text: &str, scalar: Scalar) -> Result<T> {
    let name = scalar.name(&crate::NoNames);
    let trimmed = text.trim_matches(is_blank);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid(&name, text));
    }
    trimmed
        .parse::<i64>()
        .ok()
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| {
            SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("value \"{text}\" is out of range for type {name}"),
            )
        })
}

/// Reads an object identifier; a negative number counts from the end, as C's `strtoul` has it.
pub(super) fn read_oid(text: &str) -> Result<u32> {
    let trimmed = text.trim_matches(is_blank);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid("oid", text));
    }
    let value = trimmed.parse::<i64>().ok();
    value
        .and_then(|value| match value {
            0.. => u32::try_from(value).ok(),
            _ => i32::try_from(value).ok().map(|value| value as u32),
        })
        .ok_or_else(|| {
            SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("value \"{text}\" is out of range for type oid"),
            )
        })
}

pub(super) fn read_float8(text: &str) -> Result<f64> {
    let number = float_text(text, "double precision")?;
    let value: f64 = number
        .parse()
        .map_err(|_| invalid("double precision", text))?;
    if is_lost(number, value.is_infinite(), value == 0.0) {
        return Err(out_of_range(text, "double precision"));
    }
    Ok(value)
}

pub(super) fn read_float4(text: &str) -> Result<f32> {
    let number = float_text(text, "real")?;
    let value: f32 = number.parse().map_err(|_| invalid("real", text))?;
    if is_lost(number, value.is_infinite(), value == 0.0) {
        return Err(out_of_range(text, "real"));
    }
    Ok(value)
}

/// Returns the text of a float, which Rust reads as C does, apart from hexadecimal digits.
fn float_text<'t>(text: &'t str, name: &str) -> Result<&'t str> {
    let trimmed = text.trim_matches(is_blank);
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let is_word = ["nan", "inf", "infinity"]
        .iter()
        .any(|word| unsigned.eq_ignore_ascii_case(word));
    if is_word || unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        Ok(trimmed)
    } else {
        Err(invalid(name, text))
    }
}

/// Returns whether a number became infinite or zero that was neither.
fn is_lost(number: &str, is_infinite: bool, is_zero: bool) -> bool {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let has_digits = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    (is_infinite && has_digits)
        || (is_zero && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
}

#[cold]
fn out_of_range(text: &str, name: &str) -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!(
            "\"{}\" is out of range for type {name}",
            text.trim_matches(is_blank)
        ),
    )
}

/// Writes a float's shortest text that is read as the same float.
pub(super) fn write_float8(value: f64, out: &mut impl Sink) {
    if let Some(special) = special(value) {
        return out.put(special);
    }
    let text = if (1e13..1e40).contains(&value.abs()) {
        shortest(&value, value.to_bits() & 1 == 0)
    } else {
        Text::of(format_args!("{value:e}"))
    };
    write_scientific(&text, 15, out);
}

pub(super) fn write_float4(value: f32, out: &mut impl Sink) {
    if let Some(special) = special(value.into()) {
        return out.put(special);
    }
    let text = if (1e5..1e20).contains(&value.abs()) {
        shortest(&value, value.to_bits() & 1 == 0)
    } else {
        Text::of(format_args!("{value:e}"))
    };
    write_scientific(&text, 6, out);
}

/// Returns the shortest digits, in the form `-1.25e-7`.
///
/// Rust's digits differ from PostgreSQL's in two cases, both for a number in the middle between
/// two others, which only floats of certain sizes have nearby:
///
/// - A number exactly between two floats is read as the even one, so Rust uses it for that
///   float. PostgreSQL does not rely on it: `1e23` is `9.999999999999999e+22`.
/// - If two numbers are equally near to a float, Rust takes the greater, and PostgreSQL the one
///   with the even digit.
fn shortest<F: LowerExp + FromStr + PartialEq>(value: &F, is_even: bool) -> Text {
    let text = Text::of(format_args!("{value:e}"));
    if is_even && text.is_halfway(value) {
        let longer = (1..17)
            .map(|digits| Text::of(format_args!("{value:.digits$e}")))
            .find(|text| text.is_read_as(value) && !text.is_halfway(value));
        return longer.unwrap_or(text);
    }
    match text.lower_neighbour() {
        Some(lower) if lower.is_read_as(value) && text.is_tied(value) => lower,
        _ => text,
    }
}

fn special(value: f64) -> Option<&'static [u8]> {
    if value.is_nan() {
        Some(b"NaN")
    } else if value == f64::INFINITY {
        Some(b"Infinity")
    } else if value == f64::NEG_INFINITY {
        Some(b"-Infinity")
    } else {
        None
    }
}

/// Writes `-1.25e-7` as PostgreSQL does: without an exponent from -4 to below `limit`, else with
/// an exponent of at least two digits.
fn write_scientific(scientific: &Text, limit: i32, out: &mut impl Sink) {
    let (sign, rest) = match scientific.as_str().as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let at = rest.iter().position(|byte| *byte == b'e');
    let (mantissa, exponent) = rest.split_at(at.unwrap_or(rest.len()));
    let exponent: i32 = exponent
        .get(1..)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0);
    let (first, fraction) = match mantissa {
        [first, b'.', fraction @ ..] => (*first, fraction),
        [first, ..] => (*first, &[][..]),
        [] => (b'0', &[][..]),
    };
    if sign {
        out.put_byte(b'-');
    }
    if exponent < -4 || exponent >= limit {
        out.put_byte(first);
        if !fraction.is_empty() {
            out.put_byte(b'.');
            out.put(fraction);
        }
        out.put(if exponent < 0 { b"e-" } else { b"e+" });
        super::write_two(exponent.unsigned_abs(), out);
    } else if exponent < 0 {
        out.put(b"0.");
        for _ in exponent..-1 {
            out.put_byte(b'0');
        }
        out.put_byte(first);
        out.put(fraction);
    } else {
        let whole = exponent as usize;
        out.put_byte(first);
        match fraction.split_at_checked(whole) {
            Some((whole, fraction)) => {
                out.put(whole);
                if !fraction.is_empty() {
                    out.put_byte(b'.');
                    out.put(fraction);
                }
            }
            None => {
                out.put(fraction);
                for _ in fraction.len()..whole {
                    out.put_byte(b'0');
                }
            }
        }
    }
}

/// A float's text before it is put into PostgreSQL's form.
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    /// Formats text of at most 17 digits, a point, a sign and an exponent of five characters,
    /// which have room.
    fn of(text: std::fmt::Arguments<'_>) -> Self {
        let mut this = Self {
            bytes: [0; 32],
            length: 0,
        };
        let _ = this.write_fmt(text);
        this
    }

    fn as_str(&self) -> &str {
        // Only whole strings were written.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    fn is_read_as<F: FromStr + PartialEq>(&self, value: &F) -> bool {
        self.as_str().parse().is_ok_and(|read: F| read == *value)
    }

    /// Returns the sign, the digits as an integer, and the power of ten that it is to be
    /// multiplied by.
    fn parts(&self) -> (&'static str, u64, i32) {
        let (mantissa, exponent) = self.as_str().split_once('e').unwrap_or_default();
        let sign = if mantissa.starts_with('-') { "-" } else { "" };
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, digits)| digits.len());
        let digits = mantissa
            .bytes()
            .filter(u8::is_ascii_digit)
            .fold(0, |digits, byte| digits * 10 + u64::from(byte - b'0'));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        (sign, digits, exponent - fraction as i32)
    }

    /// Returns whether a number that is hardly smaller or greater is read as another float.
    fn is_halfway<F: FromStr + PartialEq>(&self, value: &F) -> bool {
        let (sign, number, exponent) = self.parts();
        let differs = |number: u64, tail: &str| {
            let near = format!("{sign}{number}{tail}e{}", exponent - tail.len() as i32);
            near.parse::<F>().is_ok_and(|near| near != *value)
        };
        // No number of 17 digits is nearer to the middle without being it.
        differs(number, &format!("{:040}", 1)) || differs(number - 1, &"9".repeat(40))
    }

    /// Returns the text with the last digit less by one, if it is odd.
    fn lower_neighbour(&self) -> Option<Self> {
        let (sign, number, exponent) = self.parts();
        if number % 2 == 0 {
            return None;
        }
        let (lower, digits) = (number - 1, number.ilog10());
        let exponent = exponent + digits as i32;
        let whole = lower / 10u64.pow(digits);
        let fraction = lower % 10u64.pow(digits);
        Some(Self::of(format_args!(
            "{sign}{whole}.{fraction:0width$}e{exponent}",
            width = digits as usize
        )))
    }

    /// Returns whether the value is exactly in the middle of this number and the one below.
    fn is_tied<F: LowerExp>(&self, value: &F) -> bool {
        let (_, number, _) = self.parts();
        let exact = format!("{value:.50e}");
        let (mantissa, _) = exact.split_once('e').unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_end_matches('0') == format!("{}5", number - 1)
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self
            .bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
