//! `numeric`: decimal numbers of any size that PostgreSQL allows, infinities and NaN.
//!
//! A [`Numeric`] is an integer, the mantissa, divided by a power of ten, its scale; the scale
//! counts the digits that are displayed after the point, so that `1.0` and `1.00` are equal and
//! differ. A mantissa of 64 bits is in the value itself. A larger mantissa is borrowed, in the
//! stored form:
//!
//! ```text
//! byte 0 and 1, little-endian               then
//! ┌──────────────┬─────────┬─────────────┐  ┌──────────────────────────────────────┐
//! │ 15: negative │ 14: 0   │ 0-13: scale │  │ magnitude, little-endian, no zeros at │
//! └──────────────┴─────────┴─────────────┘  │ the end                               │
//! │              │ 14: 1   │ 0: NaN, 1: ∞│  └──────────────────────────────────────┘
//! ```
//!
//! Invariant `small if it fits`: a mantissa that has room in 64 bits is never borrowed.
//!
//! Arithmetic is on machine words while these suffice, and on `num-bigint` beyond. Results have
//! PostgreSQL's scales.

mod arithmetic;
mod convert;
mod display;
mod exponential;
mod finite;
mod fixed;
mod integer;
mod order;
mod parse;
mod power;
mod round;

use crate::{Result, Scratch, Sink, SqlError, SqlState};
pub(crate) use finite::{Finite, Unpacked};
use integer::Integer;

/// Maximum digits before the point.
pub(crate) const WHOLE_DIGITS_MAX: u32 = 131_072;
/// Maximum digits after the point.
pub const SCALE_MAX: u16 = 16_383;

const NEGATIVE: u16 = 1 << 15;
const SPECIAL: u16 = 1 << 14;
const SCALE_MASK: u16 = SPECIAL - 1;
const HEADER_NAN: u16 = SPECIAL;
const HEADER_INFINITY: u16 = SPECIAL | 1;
const HEADER_NEGATIVE_INFINITY: u16 = NEGATIVE | SPECIAL | 1;

const _: () = assert!(SCALE_MAX == SCALE_MASK);

/// A number of type `numeric`.
///
/// It has no `==`: see [`compare`](Self::compare), for which `1.0` and `1.00` are equal.
#[derive(Debug, Clone, Copy)]
pub struct Numeric<'a>(Repr<'a>);

#[derive(Debug, Clone, Copy)]
enum Repr<'a> {
    Small {
        mantissa: i64,
        scale: u16,
    },
    /// The stored form; see the module's drawing.
    Large(&'a [u8]),
    NaN,
    Infinity,
    NegativeInfinity,
}

impl<'a> Numeric<'a> {
    /// Not a number: greater than all others, and equal to itself.
    pub const NAN: Self = Self(Repr::NaN);
    /// Infinity.
    pub const INFINITY: Self = Self(Repr::Infinity);
    /// Negative infinity.
    pub const NEGATIVE_INFINITY: Self = Self(Repr::NegativeInfinity);
    /// Zero.
    pub const ZERO: Self = Self::small(0, 0);

    /// Returns `mantissa` divided by 10 to the power of `scale`.
    ///
    /// # Panics
    /// Panics if the scale is greater than [`SCALE_MAX`].
    pub const fn small(mantissa: i64, scale: u16) -> Self {
        assert!(scale <= SCALE_MAX);
        Self(Repr::Small { mantissa, scale })
    }

    /// Returns the mantissa and the scale, if the number is finite and its mantissa fits.
    pub fn as_small(self) -> Option<(i64, u16)> {
        match self.0 {
            Repr::Small { mantissa, scale } => Some((mantissa, scale)),
            _ => None,
        }
    }

    /// Returns `mantissa` divided by 10 to the power of `scale`.
    ///
    /// # Errors
    /// `22003` if `numeric` has no such number.
    pub fn from_i128(mantissa: i128, scale: u16, scratch: &'a Scratch) -> Result<Self> {
        match i64::try_from(mantissa) {
            Ok(mantissa) if scale <= SCALE_MAX => Ok(Self::small(mantissa, scale)),
            _ => Finite {
                mantissa: Integer::Small(mantissa),
                scale: u32::from(scale),
            }
            .pack(scratch),
        }
    }

    /// Returns whether the value is not a number.
    pub fn is_nan(self) -> bool {
        matches!(self.0, Repr::NaN)
    }

    /// Returns whether the number is an infinity.
    pub fn is_infinite(self) -> bool {
        matches!(self.0, Repr::Infinity | Repr::NegativeInfinity)
    }

    /// Returns the digits after the point that are displayed; `None` for infinities and NaN.
    pub fn scale(self) -> Option<u16> {
        match self.0 {
            Repr::Small { scale, .. } => Some(scale),
            Repr::Large(bytes) => Some(header(bytes) & SCALE_MASK),
            _ => None,
        }
    }

    /// Returns -1, 0 or 1; 1 for NaN.
    pub fn signum(self) -> i32 {
        match self.0 {
            Repr::Small { mantissa, .. } => mantissa.signum() as i32,
            Repr::Large(bytes) if header(bytes) & NEGATIVE != 0 => -1,
            Repr::NegativeInfinity => -1,
            _ => 1,
        }
    }

    /// Copies the number into `scratch`.
    pub(crate) fn copied<'s>(self, scratch: &'s Scratch) -> Numeric<'s> {
        Numeric(match self.0 {
            Repr::Small { mantissa, scale } => Repr::Small { mantissa, scale },
            Repr::Large(bytes) => Repr::Large(scratch.alloc_slice_copy(bytes)),
            Repr::NaN => Repr::NaN,
            Repr::Infinity => Repr::Infinity,
            Repr::NegativeInfinity => Repr::NegativeInfinity,
        })
    }

    /// Appends the stored form.
    pub fn write_stored(self, out: &mut impl Sink) {
        let special = match self.0 {
            Repr::Small { mantissa, scale } => {
                let sign = if mantissa < 0 { NEGATIVE } else { 0 };
                out.put(&(scale | sign).to_le_bytes());
                let magnitude = mantissa.unsigned_abs();
                let length = 8 - magnitude.leading_zeros() as usize / 8;
                out.put(&magnitude.to_le_bytes()[..length]);
                return;
            }
            Repr::Large(bytes) => {
                out.put(bytes);
                return;
            }
            Repr::NaN => HEADER_NAN,
            Repr::Infinity => HEADER_INFINITY,
            Repr::NegativeInfinity => HEADER_NEGATIVE_INFINITY,
        };
        out.put(&special.to_le_bytes());
    }

    /// Returns whether the number borrows its digits.
    #[inline]
    pub fn borrows(self) -> bool {
        matches!(self.0, Repr::Large(_))
    }

    /// Returns the bytes of the digits that the number borrows.
    pub fn bytes(self) -> usize {
        match self.0 {
            Repr::Large(stored) => stored.len(),
            _ => 0,
        }
    }

    /// Reads the stored form, which is all of `bytes`.
    ///
    /// # Errors
    /// `XX001` if `bytes` was not written by [`write_stored`](Self::write_stored).
    pub fn from_stored(bytes: &'a [u8]) -> Result<Self> {
        let Some((first, magnitude)) = bytes.split_first_chunk::<2>() else {
            return Err(corrupted());
        };
        let header = u16::from_le_bytes(*first);
        if header & SPECIAL != 0 {
            return match header {
                _ if !magnitude.is_empty() => Err(corrupted()),
                HEADER_NAN => Ok(Self::NAN),
                HEADER_INFINITY => Ok(Self::INFINITY),
                HEADER_NEGATIVE_INFINITY => Ok(Self::NEGATIVE_INFINITY),
                _ => Err(corrupted()),
            };
        }
        if magnitude.last() == Some(&0) {
            return Err(corrupted());
        }
        let negative = header & NEGATIVE != 0;
        if magnitude.len() <= 8 {
            let magnitude = word(magnitude);
            let small = if negative {
                0i64.checked_sub_unsigned(magnitude)
            } else {
                i64::try_from(magnitude).ok()
            };
            if let Some(mantissa) = small {
                return Ok(Self::small(mantissa, header & SCALE_MASK));
            }
        }
        Ok(Self(Repr::Large(bytes)))
    }
}

/// Returns the number in up to eight bytes, little-endian. Bytes are read by their number, a few at a time: a copy of
/// a length that is not known would be a call.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    let shift = |byte: usize| 8 * byte as u32;
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // Both halves agree where they overlap.
        (Some(low), Some(high)) => {
            let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
            u64::from(low) | u64::from(high) << shift(bytes.len() - 4)
        }
        _ => {
            let places = (0..).zip(bytes);
            places.fold(0, |word, (place, byte)| {
                word | u64::from(*byte) << shift(place)
            })
        }
    }
}

/// Returns the header of a stored form that is known to have one.
fn header(stored: &[u8]) -> u16 {
    match stored {
        [low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

fn corrupted() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "stored numeric is corrupted")
}

/// Returns the error for a result that `numeric` cannot have.
#[cold]
pub(crate) fn overflow() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value overflows numeric format",
    )
}

impl From<i16> for Numeric<'_> {
    fn from(integer: i16) -> Self {
        Self::small(integer.into(), 0)
    }
}

impl From<i32> for Numeric<'_> {
    fn from(integer: i32) -> Self {
        Self::small(integer.into(), 0)
    }
}

impl From<i64> for Numeric<'_> {
    fn from(integer: i64) -> Self {
        Self::small(integer, 0)
    }
}

#[cfg(test)]
mod tests;
