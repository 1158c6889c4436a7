//! `power`, with PostgreSQL's scales.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::{
    Finite, Numeric, Unpacked, WHOLE_DIGITS_MAX,
    arithmetic::{DISPLAY_SCALE_MAX, SIGNIFICANT_DIGITS_MIN},
    exponential::{
        GUARD_DIGITS, decimal_weight, display_scale, exponential, logarithm, logarithm_weight,
    },
    integer::{Integer, big_power},
    overflow,
};
use crate::{Result, Scratch, SqlError, SqlState};

/// Greatest exponent whose exponential is not too large, with room for the error of an estimate.
const EXPONENT_MAX: f64 = 6020.0;

impl<'a> Numeric<'a> {
    /// Returns `self` to the power of `exponent`.
    ///
    /// # Errors
    /// `2201F` if zero is raised to a negative power, or a negative number to a power that is no integer;
    /// `22003` if the result is too large.
    pub fn power(self, exponent: Numeric<'_>, scratch: &'a Scratch) -> Result<Self> {
        let one = Self::small(1, 0);
        if self.is_nan() {
            return Ok(if !exponent.is_nan() && exponent.signum() == 0 {
                one
            } else {
                Self::NAN
            });
        }
        if exponent.is_nan() {
            return Ok(if self.compare(one).is_eq() {
                one
            } else {
                Self::NAN
            });
        }
        let fail = |message: &'static str| {
            Err(SqlError::new(
                SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                message,
            ))
        };
        if self.signum() == 0 && exponent.signum() < 0 {
            return fail("zero raised to a negative power is undefined");
        }
        let parity = parity(exponent);
        if self.signum() < 0 && parity.is_none() {
            return fail("a negative number raised to a non-integer power yields a complex result");
        }
        match (self.unpack(), exponent.unpack()) {
            (Unpacked::Finite(base), Unpacked::Finite(power)) => {
                let is_odd = parity == Some(Parity::Odd);
                match integer_exponent(&power) {
                    Some(integer) => integer_power(base, integer)?,
                    None => general_power(base, power, is_odd)?,
                }
                .pack(scratch)
            }
            _ => Ok(self.infinite_power(exponent, parity == Some(Parity::Odd))),
        }
    }

    /// Computes the power if one of the numbers is infinite, by POSIX's rules for `pow`.
    fn infinite_power(self, exponent: Numeric<'_>, is_odd: bool) -> Self {
        let one = Self::small(1, 0);
        if self.compare(one).is_eq() || exponent.signum() == 0 {
            return one;
        }
        if self.signum() == 0 {
            return Self::ZERO;
        }
        if exponent.is_infinite() {
            let grows = match (self.compare(one), self.compare(Numeric::small(-1, 0))) {
                (_, Ordering::Equal) => return one,
                (Ordering::Greater, _) | (_, Ordering::Less) => true,
                _ => false,
            };
            return if grows == (exponent.signum() > 0) {
                Self::INFINITY
            } else {
                Self::ZERO
            };
        }
        match (self.signum() < 0, exponent.signum() < 0) {
            (_, true) => Self::ZERO,
            (negative, false) => Self::infinite(negative && is_odd),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parity {
    Even,
    Odd,
}

/// Returns whether an integer is odd; `None` for a number that is no integer. Infinities are even.
fn parity(number: Numeric<'_>) -> Option<Parity> {
    let Unpacked::Finite(number) = number.unpack() else {
        return Some(Parity::Even);
    };
    let (whole, rest) = number.mantissa.split(number.scale);
    if !rest.is_zero() {
        return None;
    }
    let (_, odd) = whole.divide(Integer::Small(2));
    Some(if odd.is_zero() {
        Parity::Even
    } else {
        Parity::Odd
    })
}

/// Returns the exponent, if it is an integer of 32 bits.
fn integer_exponent(number: &Finite) -> Option<i32> {
    let (whole, rest) = number.mantissa.clone().split(number.scale);
    match whole {
        Integer::Small(small) if rest.is_zero() => i32::try_from(small).ok(),
        _ => None,
    }
}

fn integer_power(base: Finite, exponent: i32) -> Result<Finite> {
    let is_zero = base.mantissa.is_zero();
    let weight = if is_zero {
        0.0
    } else {
        let (leading, power) = base.approximate();
        f64::from(exponent) * (leading.abs().log10() + power as f64)
    };
    if weight > f64::from(WHOLE_DIGITS_MAX) {
        return Err(overflow());
    }
    // The number counts digits after the point, not significant digits.
    let scale = SIGNIFICANT_DIGITS_MIN
        .max(base.scale.into())
        .clamp(0, DISPLAY_SCALE_MAX) as u32;
    let vanishes = weight + 1.0 < -f64::from(scale);
    if vanishes || is_zero && exponent != 0 {
        return Ok(Finite {
            mantissa: Integer::ZERO,
            scale,
        });
    }
    // As many digits as the result displays, and some for the errors of each step.
    let digits = f64::from(scale) + weight.abs() + f64::from(GUARD_DIGITS) + 24.0;
    let magnitude = Floating::new(base).raised(exponent.unsigned_abs(), digits as u32);
    let result = if exponent < 0 {
        magnitude.reciprocal(digits as u32)
    } else {
        magnitude
    };
    Ok(result.rounded(scale))
}

/// A number of limited digits: a mantissa times a power of ten.
struct Floating {
    mantissa: BigInt,
    exponent: i64,
}

impl Floating {
    fn new(number: Finite) -> Self {
        Self {
            mantissa: number.mantissa.into_big(),
            exponent: -i64::from(number.scale),
        }
    }

    fn times(&self, other: &Self, digits: u32) -> Self {
        let mut product = Self {
            mantissa: &self.mantissa * &other.mantissa,
            exponent: self.exponent + other.exponent,
        };
        let length = (product.mantissa.bits() as f64 * std::f64::consts::LOG10_2) as u32;
        if let Some(surplus @ 1..) = length.checked_sub(digits) {
            product.mantissa /= big_power(surplus);
            product.exponent += i64::from(surplus);
        }
        product
    }

    fn raised(self, exponent: u32, digits: u32) -> Self {
        let mut result = Self {
            mantissa: BigInt::from(1),
            exponent: 0,
        };
        let mut square = self;
        let mut rest = exponent;
        while rest > 0 {
            if rest & 1 == 1 {
                result = result.times(&square, digits);
            }
            rest >>= 1;
            if rest > 0 {
                square = square.times(&square, digits);
            }
        }
        result
    }

    fn reciprocal(self, digits: u32) -> Self {
        let length = (self.mantissa.bits() as f64 * std::f64::consts::LOG10_2) as u32 + 1;
        let shift = length + digits;
        Self {
            mantissa: big_power(shift) / self.mantissa,
            exponent: -self.exponent - i64::from(shift),
        }
    }

    fn rounded(self, scale: u32) -> Finite {
        let mantissa = Integer::new(self.mantissa);
        match u32::try_from(-self.exponent) {
            Ok(from) => Finite {
                mantissa,
                scale: from,
            },
            Err(_) => Finite {
                mantissa: mantissa.shift(self.exponent.unsigned_abs() as u32),
                scale: 0,
            },
        }
        .rounded(scale)
    }
}

/// Computes the power by the logarithm of the base.
fn general_power(base: Finite, power: Finite, is_odd: bool) -> Result<Finite> {
    if base.mantissa.is_zero() {
        return Ok(Finite {
            mantissa: Integer::ZERO,
            scale: SIGNIFICANT_DIGITS_MIN as u32,
        });
    }
    let negative = base.mantissa.is_negative() && is_odd;
    let base = Finite {
        mantissa: base.mantissa.absolute(),
        scale: base.scale,
    };
    let weight = logarithm_weight(&base);
    let times = |logarithm: Finite| Finite {
        mantissa: logarithm.mantissa.multiply(power.mantissa.clone()),
        scale: logarithm.scale + power.scale,
    };
    // Rounded as PostgreSQL rounds its estimate, on which the scale depends.
    let rough_scale = (8 - weight).max(0) as u32;
    let rough = logarithm(&base, rough_scale).rounded(rough_scale);
    let (leading, exponent) = times(rough).rounded(rough_scale).approximate();
    let estimate = leading * 10f64.powi(exponent.clamp(-400, 400) as i32);
    if estimate.abs() > EXPONENT_MAX {
        return if estimate > 0.0 {
            Err(overflow())
        } else {
            Ok(Finite {
                mantissa: Integer::ZERO,
                scale: DISPLAY_SCALE_MAX as u32,
            })
        };
    }
    let exponent = estimate * std::f64::consts::LOG10_E;
    let scale = display_scale(decimal_weight(exponent), &[&base, &power]);
    // An error of the logarithm is multiplied by the power and by the result, at any number of digits.
    let result_digits = exponent.abs() as u32 + 1;
    let digits = scale + result_digits + power.exponent().unwrap_or(0).max(0) as u32 + GUARD_DIGITS;
    let result = exponential(times(logarithm(&base, digits)), scale)?;
    Ok(if negative {
        Finite {
            mantissa: result.mantissa.negate(),
            scale: result.scale,
        }
    } else {
        result
    })
}
