//! `sqrt`, `ln`, `log` and `exp`, with PostgreSQL's scales.

use num_bigint::BigInt;

use super::{
    Finite, Numeric, Unpacked,
    arithmetic::{DIGITS_PER_GROUP, DISPLAY_SCALE_MAX, SIGNIFICANT_DIGITS_MIN, first_group},
    fixed,
    integer::{Integer, big_power},
    overflow,
};
use crate::{Result, Scratch, SqlError, SqlState};

/// Digits computed beyond those of the result, so that rounding is right.
pub(super) const GUARD_DIGITS: u32 = 12;
/// Greatest exponent whose exponential is not too large.
const EXPONENT_MAX: f64 = 6000.0;
/// Bound on estimates of a result's size.
const WEIGHT_MAX: f64 = 2000.0;

impl<'a> Numeric<'a> {
    /// Returns the square root.
    ///
    /// # Errors
    /// `2201F` if the number is negative.
    pub fn sqrt(self, scratch: &'a Scratch) -> Result<Self> {
        let scale = match self.unpack() {
            Unpacked::Finite(number) => {
                let (weight, _) = first_group(&number);
                display_scale((weight + 1) * DIGITS_PER_GROUP / 2 - 1, &[&number])
            }
            _ => 0,
        };
        self.sqrt_to_scale(scale as u16, scratch)
    }

    /// Returns the square root with `scale` digits after the point, at most
    /// [`NUMERIC_SCALE_MAX`](crate::NUMERIC_SCALE_MAX).
    ///
    /// # Errors
    /// `2201F` if the number is negative.
    pub fn sqrt_to_scale(self, scale: u16, scratch: &'a Scratch) -> Result<Self> {
        if self.signum() < 0 {
            return Err(SqlError::new(
                SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "cannot take square root of a negative number",
            ));
        }
        let Unpacked::Finite(number) = self.unpack() else {
            return Ok(self);
        };
        // One digit more, and rounded: no square root is exactly between two numbers.
        let digits = u32::from(scale) + 1;
        Finite {
            mantissa: Integer::new(number.at_scale(2 * digits).sqrt()),
            scale: digits,
        }
        .rounded(scale.into())
        .pack(scratch)
    }

    /// Returns the natural logarithm.
    ///
    /// # Errors
    /// `2201E` if the number is not positive.
    pub fn ln(self, scratch: &'a Scratch) -> Result<Self> {
        let Some(number) = self.logarithm_argument()? else {
            return Ok(self);
        };
        let scale = display_scale(logarithm_weight(&number), &[&number]);
        logarithm(&number, scale + GUARD_DIGITS)
            .rounded(scale)
            .pack(scratch)
    }

    /// Returns the logarithm to base 10.
    ///
    /// # Errors
    /// `2201E` if the number is not positive.
    pub fn log10(self, scratch: &'a Scratch) -> Result<Self> {
        let Some(number) = self.logarithm_argument()? else {
            return Ok(self);
        };
        let scale = display_scale(logarithm_weight(&number), &[&number]);
        let digits = scale + GUARD_DIGITS;
        let ten = Finite {
            mantissa: Integer::Small(10),
            scale: 0,
        };
        let (one, two) = (logarithm(&number, digits), logarithm(&ten, digits));
        Finite {
            mantissa: one.mantissa.shift(scale).divide_rounded(two.mantissa),
            scale,
        }
        .pack(scratch)
    }

    /// Returns the logarithm of `self` to `base`.
    ///
    /// # Errors
    /// `2201E` if a number is not positive, `22012` if the base is 1.
    pub fn log(self, base: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        if self.is_nan() || base.is_nan() {
            return Ok(Self::NAN);
        }
        match (base.logarithm_argument()?, self.logarithm_argument()?) {
            (None, None) => Ok(Self::NAN),
            (None, Some(_)) => Ok(Self::ZERO),
            (Some(_), None) => Ok(Self::INFINITY),
            (Some(base), Some(number)) => {
                let base_weight = logarithm_weight(&base);
                let weight = logarithm_weight(&number) - base_weight;
                let scale = display_scale(weight, &[&base, &number]);
                // An error of the dividend affects the quotient the more the smaller the divisor is, and an error
                // of the divisor still more the larger the quotient is.
                let guard = i64::from(GUARD_DIGITS);
                let digits = (i64::from(scale) + guard - base_weight).max(guard) as u32;
                let more = weight.max(0) as u32;
                let (one, two) = (logarithm(&number, digits), logarithm(&base, digits + more));
                if two.mantissa.is_zero() {
                    return Err(super::arithmetic::division_by_zero());
                }
                Finite {
                    mantissa: one
                        .mantissa
                        .shift(scale + more)
                        .divide_rounded(two.mantissa),
                    scale,
                }
                .pack(scratch)
            }
        }
    }

    /// Returns e to the power of the number.
    ///
    /// # Errors
    /// `22003` if the result is too large.
    pub fn exp(self, scratch: &'a Scratch) -> Result<Self> {
        let number = match self.unpack() {
            Unpacked::Finite(number) => number,
            Unpacked::Infinite(true) => return Ok(Self::ZERO),
            _ => return Ok(self),
        };
        let weight = decimal_weight(self.to_f64() * std::f64::consts::LOG10_E);
        let scale = display_scale(weight, &[&number]);
        exponential(number, scale)?.pack(scratch)
    }

    /// Returns the number if its logarithm is finite; `None` for NaN and infinity.
    fn logarithm_argument(self) -> Result<Option<Finite>> {
        let fail = |message: &'static str| {
            Err(SqlError::new(
                SqlState::INVALID_ARGUMENT_FOR_LOGARITHM,
                message,
            ))
        };
        match (self.unpack(), self.signum()) {
            (Unpacked::NaN, _) => Ok(None),
            (_, ..0) => fail("cannot take logarithm of a negative number"),
            (_, 0) => fail("cannot take logarithm of zero"),
            (Unpacked::Finite(number), _) => Ok(Some(number)),
            (Unpacked::Infinite(_), _) => Ok(None),
        }
    }
}

/// Returns the scale of a result whose first digit has about this weight: 16 significant digits, but no less than
/// the operands display.
pub(super) fn display_scale(weight: i64, operands: &[&Finite]) -> u32 {
    let displayed = operands
        .iter()
        .map(|operand| i64::from(operand.scale))
        .max()
        .unwrap_or(0);
    (SIGNIFICANT_DIGITS_MIN - weight)
        .max(displayed)
        .clamp(0, DISPLAY_SCALE_MAX) as u32
}

/// Limits an estimate of a decimal weight to the bounds of estimates.
pub(super) fn decimal_weight(estimate: f64) -> i64 {
    estimate.clamp(-WEIGHT_MAX, WEIGHT_MAX) as i64
}

impl Finite {
    /// Approximates the number: a float to be multiplied by the power of ten that is returned too.
    pub(super) fn approximate(&self) -> (f64, i64) {
        let surplus = self.mantissa.digits().saturating_sub(17);
        let leading = match self.mantissa.clone().split(surplus).0 {
            Integer::Small(small) => small as f64,
            Integer::Big(_) => f64::NAN,
        };
        (leading, i64::from(surplus) - i64::from(self.scale))
    }

    /// Returns the number as a fixed-point number, cut off.
    pub(super) fn at_scale(&self, digits: u32) -> BigInt {
        match digits.checked_sub(self.scale) {
            Some(more) => self.mantissa.clone().shift(more),
            None => self.mantissa.clone().split(self.scale - digits).0,
        }
        .into_big()
    }
}

/// Returns PostgreSQL's estimate of the weight of the first digit of a logarithm.
pub(super) fn logarithm_weight(number: &Finite) -> i64 {
    let one = Finite {
        mantissa: Integer::Small(1),
        scale: 0,
    };
    let (this, unit, scale) = number.clone().aligned(one);
    let difference = Finite {
        mantissa: this.add(unit.negate()),
        scale,
    };
    let (leading, exponent) = difference.approximate();
    if leading.abs() * 10f64.powi(exponent.clamp(-400, 400) as i32) <= 0.1 {
        // ln(1 + x) is about x.
        return difference.exponent().unwrap_or(0);
    }
    let (leading, exponent) = number.approximate();
    let logarithm = leading.ln() + exponent as f64 * std::f64::consts::LN_10;
    logarithm.abs().log10() as i64
}

/// Returns the natural logarithm of a positive number, with some more digits than are right.
pub(super) fn logarithm(number: &Finite, digits: u32) -> Finite {
    let exponent = number.exponent().unwrap_or(0);
    let inner = digits + 8;
    // A number from 1 to 10: the argument divided by a power of ten.
    let scaled = i64::from(inner) - i64::from(number.scale) - exponent;
    let mantissa = number.mantissa.clone();
    let first = match u32::try_from(scaled) {
        Ok(more) => mantissa.shift(more),
        Err(_) => mantissa.split(scaled.unsigned_abs() as u32).0,
    };
    let mut sum = fixed::logarithm(&first.into_big(), inner);
    if exponent != 0 {
        let ten = big_power(inner + 1);
        sum += fixed::logarithm(&ten, inner) * exponent;
    }
    Finite {
        mantissa: Integer::new(sum),
        scale: inner,
    }
}

/// Returns e to the power of a number, rounded to a scale.
pub(super) fn exponential(number: Finite, scale: u32) -> Result<Finite> {
    let (leading, exponent) = number.approximate();
    let estimate = leading * 10f64.powi(exponent.clamp(-400, 400) as i32);
    if estimate.abs() >= EXPONENT_MAX {
        return if estimate > 0.0 {
            Err(overflow())
        } else {
            Ok(Finite {
                mantissa: Integer::ZERO,
                scale,
            })
        };
    }
    let whole_digits = (estimate.abs() * std::f64::consts::LOG10_E) as u32 + 1;
    let digits = scale + whole_digits + GUARD_DIGITS;
    let negative = number.mantissa.is_negative();
    let magnitude = Finite {
        mantissa: number.mantissa.absolute(),
        scale: number.scale,
    };
    let power = fixed::exponential(&magnitude.at_scale(digits), digits);
    let mantissa = if negative {
        big_power(2 * digits) / power
    } else {
        power
    };
    Ok(Finite {
        mantissa: Integer::new(mantissa),
        scale: digits,
    }
    .rounded(scale))
}
