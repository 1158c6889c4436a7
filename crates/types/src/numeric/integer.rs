//! Integers that outgrow a machine word: 128 bits while they fit, `num-bigint` beyond.
//!
//! Arithmetic on them knows nothing of scales; see `finite.rs`.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

/// An integer, in 128 bits if it fits.
#[derive(Debug, Clone)]
pub(super) enum Integer {
    Small(i128),
    Big(BigInt),
}

/// Returns 10 to the power of `exponent`, if it fits in 128 bits.
pub(super) fn small_power(exponent: u32) -> Option<i128> {
    (exponent <= 38).then(|| 10i128.pow(exponent))
}

/// Returns 10 to the power of `exponent`.
pub(super) fn big_power(exponent: u32) -> BigInt {
    BigInt::from(10u8).pow(exponent)
}

impl Integer {
    pub(super) const ZERO: Self = Self::Small(0);

    pub(super) fn new(big: BigInt) -> Self {
        match i128::try_from(&big) {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Big(big),
        }
    }

    /// Returns an integer from a sign and a magnitude in little-endian bytes.
    pub(super) fn from_bytes(negative: bool, magnitude: &[u8]) -> Self {
        if magnitude.len() < 16 {
            let mut bytes = [0; 16];
            bytes[..magnitude.len()].copy_from_slice(magnitude);
            let small = i128::from_le_bytes(bytes);
            return Self::Small(if negative { -small } else { small });
        }
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Self::new(BigInt::from_bytes_le(sign, magnitude))
    }

    pub(super) fn into_big(self) -> BigInt {
        match self {
            Self::Small(small) => BigInt::from(small),
            Self::Big(big) => big,
        }
    }

    pub(super) fn magnitude(&self) -> BigUint {
        match self {
            Self::Small(small) => BigUint::from(small.unsigned_abs()),
            Self::Big(big) => big.magnitude().clone(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Self::Small(0))
    }

    pub(super) fn is_negative(&self) -> bool {
        match self {
            Self::Small(small) => *small < 0,
            Self::Big(big) => big.sign() == Sign::Minus,
        }
    }

    pub(super) fn negate(self) -> Self {
        match self {
            Self::Small(small) => match small.checked_neg() {
                Some(negated) => Self::Small(negated),
                None => Self::Big(-BigInt::from(small)),
            },
            Self::Big(big) => Self::new(-big),
        }
    }

    pub(super) fn add(self, other: Self) -> Self {
        if let (Self::Small(one), Self::Small(two)) = (&self, &other)
            && let Some(sum) = one.checked_add(*two)
        {
            return Self::Small(sum);
        }
        Self::new(self.into_big() + other.into_big())
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        if let (Self::Small(one), Self::Small(two)) = (&self, &other)
            && let Some(product) = one.checked_mul(*two)
        {
            return Self::Small(product);
        }
        Self::new(self.into_big() * other.into_big())
    }

    /// Multiplies by 10 to the power of `exponent`.
    pub(super) fn shift(self, exponent: u32) -> Self {
        if exponent == 0 || self.is_zero() {
            return self;
        }
        if let Self::Small(small) = &self
            && let Some(product) = small_power(exponent).and_then(|power| small.checked_mul(power))
        {
            return Self::Small(product);
        }
        Self::new(self.into_big() * big_power(exponent))
    }

    /// Returns the quotient, truncated towards zero, and the remainder, which has the
    /// sign of `self`.
    ///
    /// # Panics
    /// Panics if the divisor is zero.
    pub(super) fn divide(self, divisor: Self) -> (Self, Self) {
        if let (Self::Small(one), Self::Small(two)) = (&self, &divisor)
            && let (Some(quotient), Some(remainder)) =
                (one.checked_div(*two), one.checked_rem(*two))
        {
            return (Self::Small(quotient), Self::Small(remainder));
        }
        let (one, two) = (self.into_big(), divisor.into_big());
        let quotient = &one / &two;
        let remainder = one - &quotient * two;
        (Self::new(quotient), Self::new(remainder))
    }

    /// Returns the quotient by 10 to the power of `exponent`, truncated, and the
    /// remainder.
    pub(super) fn split(self, exponent: u32) -> (Self, Self) {
        match small_power(exponent) {
            Some(power) => self.divide(Self::Small(power)),
            None => self.divide(Self::Big(big_power(exponent))),
        }
    }

    /// Returns the quotient, rounded to the nearest, halves away from zero.
    ///
    /// # Panics
    /// Panics if the divisor is zero.
    pub(super) fn divide_rounded(self, divisor: Self) -> Self {
        let negative = self.is_negative() != divisor.is_negative();
        let limit = divisor.clone().absolute();
        let (quotient, remainder) = self.divide(divisor);
        let twice = remainder.absolute().multiply(Self::Small(2));
        match twice.compare(&limit) {
            Ordering::Less => quotient,
            _ => quotient.add(Self::Small(if negative { -1 } else { 1 })),
        }
    }

    pub(super) fn absolute(self) -> Self {
        if self.is_negative() {
            self.negate()
        } else {
            self
        }
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(one), Self::Small(two)) => one.cmp(two),
            // A number that does not fit is beyond all that fit.
            (Self::Small(_), Self::Big(big)) => sign_order(big).reverse(),
            (Self::Big(big), Self::Small(_)) => sign_order(big),
            (Self::Big(one), Self::Big(two)) => one.cmp(two),
        }
    }

    /// Returns the number of bits of the magnitude; 0 for zero.
    pub(super) fn bits(&self) -> u64 {
        match self {
            Self::Small(small) => (i128::BITS - small.unsigned_abs().leading_zeros()).into(),
            Self::Big(big) => big.bits(),
        }
    }

    /// Returns how often the integer can be divided by two; `u64::MAX` for zero.
    pub(super) fn twos(&self) -> u64 {
        match self {
            Self::Small(0) => u64::MAX,
            Self::Small(small) => small.trailing_zeros().into(),
            Self::Big(big) => big.trailing_zeros().unwrap_or(u64::MAX),
        }
    }

    /// Returns the number of decimal digits; 0 for zero.
    pub(super) fn digits(&self) -> u32 {
        match self {
            Self::Small(small) => small
                .unsigned_abs()
                .checked_ilog10()
                .map_or(0, |log| log + 1),
            Self::Big(big) => {
                // At most the number of digits, and at most one less.
                let estimate = ((big.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
                let mut digits = estimate.max(1);
                while *big.magnitude() >= *big_power(digits).magnitude() {
                    digits += 1;
                }
                digits
            }
        }
    }
}

fn sign_order(big: &BigInt) -> Ordering {
    match big.sign() {
        Sign::Minus => Ordering::Less,
        _ => Ordering::Greater,
    }
}
