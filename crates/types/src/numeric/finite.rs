//! Numbers taken apart for arithmetic, and put together again.

use super::{
    NEGATIVE, Numeric, Repr, SCALE_MASK, SCALE_MAX, WHOLE_DIGITS_MAX, header, integer::Integer,
    overflow,
};
use crate::{Result, Scratch};

/// A finite number: the mantissa divided by 10 to the power of the scale.
///
/// The scale may temporarily be greater than a [`Numeric`] can have.
#[derive(Debug, Clone)]
pub(crate) struct Finite {
    pub(super) mantissa: Integer,
    pub(super) scale: u32,
}

/// A number taken apart.
#[derive(Debug, Clone)]
pub(crate) enum Unpacked {
    Finite(Finite),
    NaN,
    /// An infinity; true for the negative one.
    Infinite(bool),
}

impl Numeric<'_> {
    pub(crate) fn unpack(self) -> Unpacked {
        match self.0 {
            Repr::Small { mantissa, scale } => Unpacked::Finite(Finite {
                mantissa: Integer::Small(mantissa.into()),
                scale: scale.into(),
            }),
            Repr::Large(bytes) => {
                let header = header(bytes);
                Unpacked::Finite(Finite {
                    mantissa: Integer::from_bytes(
                        header & NEGATIVE != 0,
                        bytes.get(2..).unwrap_or_default(),
                    ),
                    scale: u32::from(header & SCALE_MASK),
                })
            }
            Repr::NaN => Unpacked::NaN,
            Repr::Infinity => Unpacked::Infinite(false),
            Repr::NegativeInfinity => Unpacked::Infinite(true),
        }
    }
}

impl Finite {
    /// Puts the number together. Digits beyond the greatest scale are rounded away.
    ///
    /// # Errors
    /// `22003` if the number has more digits before the point than `numeric` allows.
    pub(crate) fn pack<'a>(self, scratch: &'a Scratch) -> Result<Numeric<'a>> {
        if self.scale > SCALE_MAX.into() {
            return self.rounded(SCALE_MAX.into()).pack(scratch);
        }
        let scale = self.scale as u16;
        match &self.mantissa {
            Integer::Small(small) => {
                if let Ok(mantissa) = i64::try_from(*small) {
                    return Ok(Numeric::small(mantissa, scale));
                }
                Ok(pack_large(
                    *small < 0,
                    scale,
                    &small.unsigned_abs().to_le_bytes(),
                    scratch,
                ))
            }
            Integer::Big(big) => {
                // Digits are counted exactly only if it matters.
                let may_be_too_large = big.bits() > u64::from(WHOLE_DIGITS_MAX) * 3;
                if may_be_too_large && self.mantissa.digits() > WHOLE_DIGITS_MAX + self.scale {
                    return Err(overflow());
                }
                let negative = self.mantissa.is_negative();
                Ok(pack_large(
                    negative,
                    scale,
                    &big.magnitude().to_bytes_le(),
                    scratch,
                ))
            }
        }
    }

    /// Rounds to `scale` digits after the point, halves away from zero.
    pub(super) fn rounded(self, scale: u32) -> Self {
        let mantissa = match scale.checked_sub(self.scale) {
            Some(more) => self.mantissa.shift(more),
            None => {
                let fewer = self.scale - scale;
                match super::integer::small_power(fewer) {
                    Some(power) => self.mantissa.divide_rounded(Integer::Small(power)),
                    None => self
                        .mantissa
                        .divide_rounded(Integer::Big(super::integer::big_power(fewer))),
                }
            }
        };
        Self { mantissa, scale }
    }

    /// Brings both numbers to the greater of their scales.
    pub(super) fn aligned(self, other: Self) -> (Integer, Integer, u32) {
        let scale = self.scale.max(other.scale);
        (
            self.mantissa.shift(scale - self.scale),
            other.mantissa.shift(scale - other.scale),
            scale,
        )
    }

    /// Removes zeros at the end of the digits after the point.
    pub(super) fn trimmed(mut self) -> Self {
        while self.scale > 0 {
            // Large steps first: numbers may have thousands of zeros. Each takes a two.
            let most = self.mantissa.twos().min(self.scale.into());
            let step = [1024, 32, 1].into_iter().find_map(|step| {
                if u64::from(step) > most {
                    return None;
                }
                let (quotient, remainder) = self.mantissa.clone().split(step);
                remainder.is_zero().then_some((step, quotient))
            });
            match step {
                Some((step, quotient)) => {
                    self.mantissa = quotient;
                    self.scale -= step;
                }
                None => break,
            }
        }
        self
    }

    /// Returns the power of ten of the first digit: 0 for 1 to 9, -1 for 0.1; `None`
    /// for zero.
    pub(super) fn exponent(&self) -> Option<i64> {
        match self.mantissa.digits() {
            0 => None,
            digits => Some(i64::from(digits) - 1 - i64::from(self.scale)),
        }
    }
}

fn pack_large<'a>(
    negative: bool,
    scale: u16,
    magnitude: &[u8],
    scratch: &'a Scratch,
) -> Numeric<'a> {
    let length = magnitude
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let header = scale | if negative { NEGATIVE } else { 0 };
    let stored = scratch.alloc_slice_fill_copy(2 + length, 0u8);
    stored[..2].copy_from_slice(&header.to_le_bytes());
    stored[2..].copy_from_slice(&magnitude[..length]);
    Numeric(Repr::Large(stored))
}
