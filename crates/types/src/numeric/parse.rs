//! Numbers from text.

use num_bigint::BigInt;

use super::{Finite, Numeric, SCALE_MAX, WHOLE_DIGITS_MAX, integer::Integer, overflow};
use crate::{Result, Scratch, SqlError, SqlState};

/// Greatest exponent that may belong to a number, with any digits before it.
const EXPONENT_MAX: i64 = (i32::MAX / 2) as i64;

impl<'a> Numeric<'a> {
    /// Reads `12.50`, `-.5e3`, `NaN`, `inf`, with blanks around.
    ///
    /// # Errors
    /// `22P02` if it is not a number, `22003` if `numeric` has no such number.
    pub fn parse(text: &str, scratch: &'a Scratch) -> Result<Self> {
        let invalid = || {
            SqlError::new(
                SqlState::INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type numeric: \"{text}\""),
            )
        };
        let trimmed = text.trim_matches(crate::text::is_blank);
        let (negative, unsigned) = match trimmed.as_bytes() {
            [b'-', ..] => (true, &trimmed[1..]),
            [b'+', ..] => (false, &trimmed[1..]),
            _ => (false, trimmed),
        };
        if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return if trimmed.eq_ignore_ascii_case("nan") {
                Ok(Self::NAN)
            } else if unsigned.eq_ignore_ascii_case("infinity")
                || unsigned.eq_ignore_ascii_case("inf")
            {
                Ok(Self::infinite(negative))
            } else {
                Err(invalid())
            };
        }
        let (digits, exponent) = match unsigned.find(['e', 'E']) {
            None => (unsigned, 0),
            Some(at) => (
                &unsigned[..at],
                parse_exponent(&unsigned[at + 1..]).ok_or_else(invalid)?,
            ),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.len() + fraction.len() == 0
            || !whole
                .bytes()
                .chain(fraction.bytes())
                .all(|byte| byte.is_ascii_digit())
        {
            return Err(invalid());
        }
        if exponent.abs() >= EXPONENT_MAX {
            return Err(overflow());
        }
        if exponent == 0 && whole.len() + fraction.len() <= 18 {
            let mantissa = whole
                .bytes()
                .chain(fraction.bytes())
                .fold(0i64, |mantissa, digit| {
                    mantissa * 10 + i64::from(digit - b'0')
                });
            return Ok(Self::small(
                if negative { -mantissa } else { mantissa },
                fraction.len() as u16,
            ));
        }
        parse_long(negative, whole, fraction, exponent)?.pack(scratch)
    }
}

/// Parses an exponent with its sign; one too large for 64 bits is merely too large.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX);
    Some(if negative { -magnitude } else { magnitude })
}

fn parse_long(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Result<Finite> {
    let mut digits = String::with_capacity(whole.len() + fraction.len());
    digits.push_str(whole);
    digits.push_str(fraction);
    let significant = digits.trim_start_matches('0');
    // The number is its digits divided by 10 to the power of this.
    let scale = fraction.len() as i64 - exponent;
    if scale.max(0) > SCALE_MAX.into() {
        return Err(overflow());
    }
    if !significant.is_empty() && significant.len() as i64 - scale > i64::from(WHOLE_DIGITS_MAX) {
        return Err(overflow());
    }
    let mantissa = match significant.len() {
        0 => Integer::ZERO,
        1..=38 => Integer::Small(significant.parse().map_err(|_| overflow())?),
        _ => Integer::new(BigInt::parse_bytes(significant.as_bytes(), 10).ok_or_else(overflow)?),
    };
    let mantissa = if negative {
        mantissa.negate()
    } else {
        mantissa
    };
    Ok(match u32::try_from(scale) {
        Ok(scale) => Finite { mantissa, scale },
        Err(_) => Finite {
            mantissa: mantissa.shift(scale.unsigned_abs() as u32),
            scale: 0,
        },
    })
}
