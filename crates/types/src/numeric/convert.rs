//! Between numbers and integers or floats.

use std::fmt::Write as _;

use super::{Finite, Numeric, Unpacked, integer::Integer};
use crate::{Result, Scratch, SqlError, SqlState};

/// Powers of ten that floats have exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl<'a> Numeric<'a> {
    /// From a float, with the 15 digits that a `double precision` certainly has.
    ///
    /// # Errors
    /// None that a float can cause: the result is [`Result`] as of all conversions.
    pub fn from_f64(float: f64, scratch: &'a Scratch) -> Result<Self> {
        Self::from_float(float, 15, scratch)
    }

    /// From a `real`, with the 6 digits that it certainly has.
    ///
    /// # Errors
    /// None that a float can cause.
    pub fn from_f32(float: f32, scratch: &'a Scratch) -> Result<Self> {
        Self::from_float(float.into(), 6, scratch)
    }

    fn from_float(float: f64, digits: usize, scratch: &'a Scratch) -> Result<Self> {
        if float.is_nan() {
            return Ok(Self::NAN);
        }
        if float.is_infinite() {
            return Ok(Self::infinite(float < 0.0));
        }
        let mut text = bumpalo::collections::String::new_in(scratch);
        // Writing to memory does not fail.
        let _ = write!(text, "{float:.*e}", digits - 1);
        // `d.ddde5`: zeros at the end of the digits are no part of what was given.
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let mut trimmed = bumpalo::collections::String::new_in(scratch);
        let _ = write!(trimmed, "{mantissa}e{exponent}");
        Self::parse(&trimmed, scratch)
    }

    /// The nearest float; infinities and NaN as such.
    pub fn to_f64(self) -> f64 {
        if let Some((mantissa, scale)) = self.as_small()
            && mantissa.unsigned_abs() < 1 << 53
            && let Some(power) = EXACT_POWERS.get(usize::from(scale))
        {
            // Both are exact, so that the quotient is rounded once.
            return mantissa as f64 / power;
        }
        let mut text = Vec::new();
        self.write_text(&mut text);
        std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(f64::NAN)
    }

    /// As `bigint`, rounded.
    ///
    /// # Errors
    /// `22003` if it is out of range, `0A000` for infinities and NaN.
    pub fn to_i64(self) -> Result<i64> {
        self.to_integer("bigint")
    }

    /// As `integer`, rounded.
    ///
    /// # Errors
    /// `22003` if it is out of range, `0A000` for infinities and NaN.
    pub fn to_i32(self) -> Result<i32> {
        self.to_integer("integer")
    }

    /// As `smallint`, rounded.
    ///
    /// # Errors
    /// `22003` if it is out of range, `0A000` for infinities and NaN.
    pub fn to_i16(self) -> Result<i16> {
        self.to_integer("smallint")
    }

    fn to_integer<T: TryFrom<i128>>(self, name: &str) -> Result<T> {
        let special = |what| {
            SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot convert {what} to {name}"),
            )
        };
        let number = match self.unpack() {
            Unpacked::Finite(number) => number,
            Unpacked::NaN => return Err(special("NaN")),
            Unpacked::Infinite(_) => return Err(special("infinity")),
        };
        match number.rounded(0).mantissa {
            Integer::Small(small) => T::try_from(small).ok(),
            Integer::Big(_) => None,
        }
        .ok_or_else(|| {
            SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{name} out of range"),
            )
        })
    }

    /// The digits in groups of four, as PostgreSQL's binary form has them: the groups from the
    /// most significant, and the weight of the first, a power of 10000. None of zero.
    pub(crate) fn groups(self) -> Option<(Vec<u16>, i32)> {
        let Unpacked::Finite(number) = self.unpack() else {
            return None;
        };
        // Whole groups after the point.
        let padding = (4 - number.scale % 4) % 4;
        let after = (number.scale + padding) / 4;
        let digits = number.mantissa.shift(padding).magnitude().to_string();
        let first = digits.len() % 4;
        let mut groups = Vec::with_capacity(digits.len() / 4 + 1);
        let group = |text: &str| text.parse().unwrap_or(0);
        if first > 0 {
            groups.push(group(&digits[..first]));
        }
        let mut rest = &digits[first..];
        while !rest.is_empty() {
            let (next, others) = rest.split_at(4);
            groups.push(group(next));
            rest = others;
        }
        let mut weight = groups.len() as i32 - 1 - after as i32;
        while groups.last() == Some(&0) {
            groups.pop();
        }
        let zeros = groups.iter().take_while(|group| **group == 0).count();
        groups.drain(..zeros);
        weight -= zeros as i32;
        (!groups.is_empty()).then_some((groups, weight))
    }

    /// From groups of four digits; the inverse of [`groups`](Self::groups). Digits beyond the
    /// scale are cut off.
    pub(crate) fn from_groups(
        negative: bool,
        groups: &[u16],
        weight: i32,
        scale: u16,
        scratch: &'a Scratch,
    ) -> Result<Self> {
        let mut digits = String::with_capacity(groups.len() * 4);
        for group in groups {
            let _ = write!(digits, "{group:04}");
        }
        let mantissa = match digits.trim_start_matches('0') {
            "" => Integer::ZERO,
            digits => Integer::new(digits.parse().map_err(|_| super::overflow())?),
        };
        let mantissa = if negative {
            mantissa.negate()
        } else {
            mantissa
        };
        // What is before the point of the last group.
        let after = (groups.len() as i64 - 1 - i64::from(weight)) * 4;
        let number = match u32::try_from(after) {
            Ok(after) => Finite {
                mantissa,
                scale: after,
            },
            Err(_) if after < -2 * i64::from(super::WHOLE_DIGITS_MAX) => {
                return Err(super::overflow());
            }
            Err(_) => Finite {
                mantissa: mantissa.shift(after.unsigned_abs() as u32),
                scale: 0,
            },
        };
        let scale = u32::from(scale);
        let cut = if number.scale > scale {
            Finite {
                mantissa: number.mantissa.split(number.scale - scale).0,
                scale,
            }
        } else {
            number.rounded(scale)
        };
        cut.pack(scratch)
    }
}
