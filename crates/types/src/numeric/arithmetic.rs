//! `+ - * / %`, with PostgreSQL's scales for their results.

use super::{
    Finite, Numeric, Repr, Unpacked,
    integer::{Integer, small_power},
};
use crate::{Result, Scratch, SqlError, SqlState};

/// Least significant digits of a division's result.
pub(super) const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// Most digits after the point of a division's result.
pub(super) const DISPLAY_SCALE_MAX: i64 = 1000;
/// Decimal digits in one of PostgreSQL's own digits, which shows in the scales it picks.
pub(super) const DIGITS_PER_GROUP: i64 = 4;

impl<'a> Numeric<'a> {
    /// Returns `self + other`, with the greater scale.
    ///
    /// # Errors
    /// `22003` on overflow.
    pub fn add(self, other: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        if let (Some((one, scale)), Some((two, other_scale))) = (self.as_small(), other.as_small())
            && scale == other_scale
            && let Some(sum) = one.checked_add(two)
        {
            return Ok(Self::small(sum, scale));
        }
        match (self.unpack(), other.unpack()) {
            (Unpacked::NaN, _) | (_, Unpacked::NaN) => Ok(Self::NAN),
            (Unpacked::Infinite(one), Unpacked::Infinite(two)) if one != two => Ok(Self::NAN),
            (Unpacked::Infinite(negative), _) | (_, Unpacked::Infinite(negative)) => {
                Ok(Self::infinite(negative))
            }
            (Unpacked::Finite(one), Unpacked::Finite(two)) => {
                let (one, two, scale) = one.aligned(two);
                Finite {
                    mantissa: one.add(two),
                    scale,
                }
                .pack(scratch)
            }
        }
    }

    /// Returns `self - other`, with the greater scale.
    ///
    /// # Errors
    /// `22003` on overflow.
    pub fn subtract(self, other: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        // A negated operand lives no longer than the sum needs it.
        let negated = match other.0 {
            Repr::Large(_) => None,
            _ => Some(other),
        };
        match negated {
            Some(small) => self.add(small.negate(scratch), scratch),
            None => match (self.unpack(), other.unpack()) {
                (Unpacked::Finite(one), Unpacked::Finite(two)) => {
                    let (one, two, scale) = one.aligned(two);
                    Finite {
                        mantissa: one.add(two.negate()),
                        scale,
                    }
                    .pack(scratch)
                }
                (Unpacked::Infinite(negative), _) => Ok(Self::infinite(negative)),
                _ => Ok(Self::NAN),
            },
        }
    }

    /// Returns `self * other`, with the sum of the scales.
    ///
    /// # Errors
    /// `22003` on overflow.
    pub fn multiply(self, other: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        if let (Some((one, scale)), Some((two, other_scale))) = (self.as_small(), other.as_small())
            && scale + other_scale <= super::SCALE_MAX
            && let Some(product) = one.checked_mul(two)
        {
            return Ok(Self::small(product, scale + other_scale));
        }
        match (self.unpack(), other.unpack()) {
            (Unpacked::NaN, _) | (_, Unpacked::NaN) => Ok(Self::NAN),
            (Unpacked::Finite(one), Unpacked::Finite(two)) => Finite {
                mantissa: one.mantissa.multiply(two.mantissa),
                scale: one.scale + two.scale,
            }
            .pack(scratch),
            _ => match self.signum() * other.signum() {
                0 => Ok(Self::NAN),
                sign => Ok(Self::infinite(sign < 0)),
            },
        }
    }

    /// Returns `self / other`, rounded, with at least 16 significant digits and the scales of
    /// both.
    ///
    /// # Errors
    /// `22012` if `other` is zero, `22003` on overflow.
    pub fn divide(self, other: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        match (self.unpack(), other.unpack()) {
            (Unpacked::NaN, _) | (_, Unpacked::NaN) => Ok(Self::NAN),
            (Unpacked::Infinite(_), Unpacked::Infinite(_)) => Ok(Self::NAN),
            (Unpacked::Infinite(negative), Unpacked::Finite(_)) => match other.signum() {
                0 => Err(division_by_zero()),
                sign => Ok(Self::infinite(negative != (sign < 0))),
            },
            (Unpacked::Finite(_), Unpacked::Infinite(_)) => Ok(Self::ZERO),
            (Unpacked::Finite(one), Unpacked::Finite(two)) => {
                if two.mantissa.is_zero() {
                    return Err(division_by_zero());
                }
                let scale = quotient_scale(&one, &two);
                let shift = i64::from(scale + two.scale) - i64::from(one.scale);
                let dividend = one.mantissa.shift(shift.max(0) as u32);
                let divisor = two.mantissa.shift((-shift).max(0) as u32);
                Finite {
                    mantissa: dividend.divide_rounded(divisor),
                    scale,
                }
                .pack(scratch)
            }
        }
    }

    /// Returns `self / other` truncated to an integer: `div`.
    ///
    /// # Errors
    /// `22012` if `other` is zero, `22003` on overflow.
    pub fn divide_truncated(self, other: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        match (self.unpack(), other.unpack()) {
            (Unpacked::Finite(one), Unpacked::Finite(two)) => {
                if two.mantissa.is_zero() {
                    return Err(division_by_zero());
                }
                let (one, two, _) = one.aligned(two);
                Finite {
                    mantissa: one.divide(two).0,
                    scale: 0,
                }
                .pack(scratch)
            }
            _ => self.divide(other, scratch),
        }
    }

    /// Returns the remainder of the truncated division, which has the sign of `self`, with the
    /// greater scale.
    ///
    /// # Errors
    /// `22012` if `other` is zero.
    pub fn remainder(self, other: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        match (self.unpack(), other.unpack()) {
            (Unpacked::NaN, _) | (_, Unpacked::NaN) => Ok(Self::NAN),
            (Unpacked::Infinite(_), _) if other.signum() == 0 => Err(division_by_zero()),
            (Unpacked::Infinite(_), _) => Ok(Self::NAN),
            (Unpacked::Finite(one), Unpacked::Infinite(_)) => one.pack(scratch),
            (Unpacked::Finite(one), Unpacked::Finite(two)) => {
                if two.mantissa.is_zero() {
                    return Err(division_by_zero());
                }
                let (one, two, scale) = one.aligned(two);
                Finite {
                    mantissa: one.divide(two).1,
                    scale,
                }
                .pack(scratch)
            }
        }
    }

    /// Returns `-self`.
    pub fn negate(self, scratch: &'a Scratch) -> Self {
        match self.0 {
            Repr::Small { mantissa, scale } => match mantissa.checked_neg() {
                Some(negated) => Self::small(negated, scale),
                None => Self::from_i128(-i128::from(mantissa), scale, scratch).unwrap_or(Self::NAN),
            },
            Repr::Large(bytes) => {
                let negated = scratch.alloc_slice_copy(bytes);
                if let Some(high) = negated.get_mut(1) {
                    *high ^= 0x80;
                }
                // The magnitude of the least integer of 64 bits is large, and the integer itself
                // is not.
                Self::from_stored(negated).unwrap_or(Self::NAN)
            }
            Repr::NaN => Self::NAN,
            Repr::Infinity => Self::NEGATIVE_INFINITY,
            Repr::NegativeInfinity => Self::INFINITY,
        }
    }

    /// Returns the absolute value.
    pub fn absolute(self, scratch: &'a Scratch) -> Self {
        if self.signum() < 0 {
            self.negate(scratch)
        } else {
            self
        }
    }

    pub(super) fn infinite(negative: bool) -> Self {
        if negative {
            Self::NEGATIVE_INFINITY
        } else {
            Self::INFINITY
        }
    }
}

/// Returns PostgreSQL's scale for a quotient: 16 significant digits, counted in its own groups of
/// four, but no less than either operand displays.
fn quotient_scale(one: &Finite, two: &Finite) -> u32 {
    let (one_weight, one_first) = first_group(one);
    let (two_weight, two_first) = first_group(two);
    let mut weight = one_weight - two_weight;
    if one_first <= two_first {
        weight -= 1;
    }
    (SIGNIFICANT_DIGITS_MIN - weight * DIGITS_PER_GROUP)
        .max(one.scale.into())
        .max(two.scale.into())
        .clamp(0, DISPLAY_SCALE_MAX) as u32
}

/// Returns the weight of the first of PostgreSQL's base-10000 digits, and that digit; zeros for
/// zero.
pub(super) fn first_group(number: &Finite) -> (i64, i64) {
    let Some(exponent) = number.exponent() else {
        return (0, 0);
    };
    let weight = exponent.div_euclid(DIGITS_PER_GROUP);
    // Number of decimal digits in the first group.
    let leading = (exponent - weight * DIGITS_PER_GROUP + 1) as u32;
    let digits = number.mantissa.digits();
    let first = match digits.checked_sub(leading) {
        Some(rest) => number.mantissa.clone().split(rest).0,
        None => number.mantissa.clone().shift(leading - digits),
    };
    match first.absolute() {
        Integer::Small(small) => (weight, small as i64),
        Integer::Big(_) => (weight, small_power(4).unwrap_or(0) as i64),
    }
}

#[cold]
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}
