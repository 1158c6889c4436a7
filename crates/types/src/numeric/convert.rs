//! Conversions between numbers and integers or floats.

use std::fmt::Write as _;

use super::{Finite, Numeric, Unpacked, integer::Integer};
use crate::{Result, Scratch, SqlError, SqlState};

/// Powers of ten that floats represent exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl<'a> Numeric<'a> {
    /// Converts a float, with the 15 digits that a `double precision` certainly has.
    ///
    /// # Errors
    /// None that a float can cause: the result is a [`Result`] like that of all conversions.
    pub fn from_f64(float: f64, scratch: &'a Scratch) -> Result<Self> {
        Self::from_float(float, 15, scratch)
    }

    /// Converts a `real`, with the 6 digits that it certainly has.
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
        // `d.ddde5`: zeros at the end of the digits are no part of the given number.
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let mut trimmed = bumpalo::collections::String::new_in(scratch);
        let _ = write!(trimmed, "{mantissa}e{exponent}");
        Self::parse(&trimmed, scratch)
    }

    /// Returns the nearest float; infinities and NaN stay.
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

    /// Returns the nearest `real`; infinities and NaN stay.
    pub fn to_f32(self) -> f32 {
        let mut text = Vec::new();
        self.write_text(&mut text);
        std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(f32::NAN)
    }

    /// Converts to `bigint`, rounded.
    ///
    /// # Errors
    /// `22003` if it is out of range, `0A000` for infinities and NaN.
    pub fn to_i64(self) -> Result<i64> {
        self.to_integer("bigint")
    }

    /// Converts to `integer`, rounded.
    ///
    /// # Errors
    /// `22003` if it is out of range, `0A000` for infinities and NaN.
    pub fn to_i32(self) -> Result<i32> {
        self.to_integer("integer")
    }

    /// Converts to `smallint`, rounded.
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

    /// Returns the decimal digits of the mantissa, without its sign; none if the number is not
    /// finite.
    pub(crate) fn digits(self) -> String {
        match self.unpack() {
            Unpacked::Finite(number) => number.mantissa.magnitude().to_string(),
            _ => String::new(),
        }
    }

    /// Passes the digits to `use_groups` in groups of four, as in PostgreSQL's binary form:
    /// the groups from the most significant, and the weight of the first, a power of 10000.
    /// Zero has no groups.
    pub(crate) fn with_groups<R>(self, use_groups: impl FnOnce(&[u16], i32) -> R) -> R {
        let Unpacked::Finite(number) = self.unpack() else {
            return use_groups(&[], 0);
        };
        // Whole groups after the point.
        let padding = (4 - number.scale % 4) % 4;
        let after = (number.scale + padding) / 4;
        match number.mantissa.shift(padding) {
            Integer::Small(small) => {
                let mut groups = [0; SMALL_GROUPS];
                let mut first = SMALL_GROUPS;
                let mut rest = small.unsigned_abs();
                while rest > 0 {
                    first -= 1;
                    groups[first] = (rest % 10_000) as u16;
                    rest /= 10_000;
                }
                use_trimmed(&groups[first..], after, use_groups)
            }
            Integer::Big(big) => {
                let digits = big.magnitude().to_string();
                let (first, rest) = digits.as_bytes().split_at(digits.len() % 4);
                let group = |digits: &[u8]| {
                    digits
                        .iter()
                        .fold(0, |group, digit| group * 10 + u16::from(digit - b'0'))
                };
                let mut groups = Vec::with_capacity(digits.len() / 4 + 1);
                if !first.is_empty() {
                    groups.push(group(first));
                }
                groups.extend(rest.chunks(4).map(group));
                use_trimmed(&groups, after, use_groups)
            }
        }
    }

    /// Returns the number that these groups of four digits make; the inverse of
    /// [`with_groups`](Self::with_groups). Digits beyond the scale are cut off.
    pub(crate) fn from_groups(
        negative: bool,
        groups: impl ExactSizeIterator<Item = u16>,
        weight: i32,
        scale: u16,
        scratch: &'a Scratch,
    ) -> Result<Self> {
        // Number of digits after the point in the groups.
        let after = (groups.len() as i64 - 1 - i64::from(weight)) * 4;
        let mantissa = if groups.len() < SMALL_GROUPS {
            Integer::Small(groups.fold(0, |sum, group| sum * 10_000 + i128::from(group)))
        } else {
            let mut digits = String::with_capacity(groups.len() * 4);
            for group in groups {
                let _ = write!(digits, "{group:04}");
            }
            Integer::new(digits.parse().map_err(|_| super::overflow())?)
        };
        let mantissa = if negative {
            mantissa.negate()
        } else {
            mantissa
        };
        let number = match u32::try_from(after) {
            Ok(after) => Finite {
                mantissa,
                scale: after,
            },
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

/// Maximum groups that fit in 128 bits.
const SMALL_GROUPS: usize = 10;

/// Removes zeros at both ends; `after` groups are after the point.
fn use_trimmed<R>(groups: &[u16], after: u32, use_groups: impl FnOnce(&[u16], i32) -> R) -> R {
    let is_some = |group: &u16| *group != 0;
    let Some(first) = groups.iter().position(is_some) else {
        return use_groups(&[], 0);
    };
    let last = groups.iter().rposition(is_some).unwrap_or(first);
    let weight = (groups.len() - first) as i32 - 1 - after as i32;
    use_groups(&groups[first..=last], weight)
}
