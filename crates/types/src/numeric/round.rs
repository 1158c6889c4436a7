//! Rounding, and the limits that a column's precision and scale set.

use super::{Finite, Numeric, SCALE_MAX, Unpacked, integer::Integer};
use crate::{Result, Scratch, SqlError, SqlState};

/// Digits before the point beyond which rounding gives zero.
const WHOLE_MAX: i32 = super::WHOLE_DIGITS_MAX as i32 + 1;

impl<'a> Numeric<'a> {
    /// Returns `round(self, scale)`: halves away from zero. A negative scale rounds before
    /// the point.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn round(self, scale: i32, scratch: &'a Scratch) -> Result<Self> {
        if self.scale().map(i32::from) == Some(scale) {
            return Ok(self);
        }
        self.with_finite(scratch, |number| round_to(number, scale))
    }

    /// Returns `trunc(self, scale)`: towards zero.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn truncate(self, scale: i32, scratch: &'a Scratch) -> Result<Self> {
        if self.scale().map(i32::from) == Some(scale) {
            return Ok(self);
        }
        self.with_finite(scratch, |number| {
            let scale = scale.clamp(-WHOLE_MAX, SCALE_MAX.into());
            match u32::try_from(scale) {
                Ok(scale) if scale >= number.scale => number.rounded(scale),
                Ok(scale) => Finite {
                    mantissa: number.mantissa.split(number.scale - scale).0,
                    scale,
                },
                Err(_) => {
                    let zeros = scale.unsigned_abs();
                    Finite {
                        mantissa: number.mantissa.split(number.scale + zeros).0.shift(zeros),
                        scale: 0,
                    }
                }
            }
        })
    }

    /// Returns the least integer that is not less.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn ceil(self, scratch: &'a Scratch) -> Result<Self> {
        self.with_finite(scratch, |number| whole(number, 1))
    }

    /// Returns the greatest integer that is not greater.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn floor(self, scratch: &'a Scratch) -> Result<Self> {
        self.with_finite(scratch, |number| whole(number, -1))
    }

    /// Removes zeros at the end of the digits after the point: `trim_scale`.
    pub fn trim_scale(self, scratch: &'a Scratch) -> Result<Self> {
        self.with_finite(scratch, Finite::trimmed)
    }

    /// Adapts the number to a column of `numeric(precision, scale)`: rounds it to the scale.
    ///
    /// # Errors
    /// `22003` if the number has more digits before the point than the scale leaves.
    pub fn limit(self, precision: i32, scale: i32, scratch: &'a Scratch) -> Result<Self> {
        let overflow = |detail: String| {
            SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "numeric field overflow",
            )
            .detail(detail)
        };
        match self.unpack() {
            Unpacked::NaN => Ok(self),
            Unpacked::Infinite(_) => Err(overflow(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            ))),
            Unpacked::Finite(number) => {
                let rounded = round_to(number, scale);
                let whole_digits = precision - scale;
                match rounded.exponent() {
                    Some(exponent) if exponent >= i64::from(whole_digits) => {
                        let limit = match whole_digits {
                            0 => "1".to_owned(),
                            digits => format!("10^{digits}"),
                        };
                        Err(overflow(format!(
                            "A field with precision {precision}, scale {scale} must round to an \
                             absolute value less than {limit}."
                        )))
                    }
                    _ => rounded.pack(scratch),
                }
            }
        }
    }

    /// Applies `operation` to a finite number; returns infinities and NaN unchanged.
    pub(super) fn with_finite(
        self,
        scratch: &'a Scratch,
        operation: impl FnOnce(Finite) -> Finite,
    ) -> Result<Self> {
        match self.unpack() {
            Unpacked::Finite(number) => operation(number).pack(scratch),
            _ => Ok(self),
        }
    }
}

fn round_to(number: Finite, scale: i32) -> Finite {
    let scale = scale.clamp(-WHOLE_MAX, SCALE_MAX.into());
    match u32::try_from(scale) {
        Ok(scale) => number.rounded(scale),
        Err(_) => {
            let zeros = scale.unsigned_abs();
            let hundreds = Finite {
                mantissa: number.mantissa,
                scale: number.scale + zeros,
            };
            Finite {
                mantissa: hundreds.rounded(0).mantissa.shift(zeros),
                scale: 0,
            }
        }
    }
}

/// Returns the next integer in the direction of `sign`, or the number itself.
fn whole(number: Finite, sign: i128) -> Finite {
    let negative = number.mantissa.is_negative();
    let (quotient, remainder) = number.mantissa.split(number.scale);
    let mantissa = if remainder.is_zero() || negative == (sign > 0) {
        quotient
    } else {
        quotient.add(Integer::Small(sign))
    };
    Finite { mantissa, scale: 0 }
}
