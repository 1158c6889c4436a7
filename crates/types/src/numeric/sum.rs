//! Sums of many numbers: `sum` and `avg`.

use super::{Finite, Numeric, Unpacked, integer::Integer};
use crate::{Result, Scratch};

/// A sum that grows, without anything in the arena until it is asked for.
///
/// Its scale is the greatest of what was added, as if each had been added to the last sum.
#[derive(Debug, Clone)]
pub struct NumericSum {
    finite: Finite,
    special: Special,
}

/// What infinities and NaN have made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    None,
    Infinite(bool),
    NaN,
}

impl Default for NumericSum {
    fn default() -> Self {
        Self {
            finite: Finite {
                mantissa: Integer::ZERO,
                scale: 0,
            },
            special: Special::None,
        }
    }
}

impl NumericSum {
    /// Adds a number. No allocation while the sum has room in 128 bits.
    pub fn add(&mut self, number: Numeric<'_>) {
        match number.unpack() {
            Unpacked::Finite(number) => self.add_finite(number),
            Unpacked::Infinite(negative) => self.add_special(Special::Infinite(negative)),
            Unpacked::NaN => self.special = Special::NaN,
        }
    }

    /// Adds an integer.
    pub fn add_integer(&mut self, integer: i64) {
        self.add(integer.into());
    }

    /// Adds another sum: of another part of the same numbers.
    pub fn merge(&mut self, other: &Self) {
        self.add_finite(other.finite.clone());
        self.add_special(other.special);
    }

    fn add_finite(&mut self, number: Finite) {
        let sum = Finite {
            mantissa: std::mem::replace(&mut self.finite.mantissa, Integer::ZERO),
            scale: self.finite.scale,
        };
        let (sum, number, scale) = sum.aligned(number);
        self.finite = Finite {
            mantissa: sum.add(number),
            scale,
        };
    }

    fn add_special(&mut self, special: Special) {
        self.special = match (self.special, special) {
            (Special::None, other) | (other, Special::None) => other,
            (one, other) if one == other => one,
            _ => Special::NaN,
        };
    }

    /// The sum; of nothing, zero.
    ///
    /// # Errors
    /// `22003` on overflow.
    pub fn finish<'a>(&self, scratch: &'a Scratch) -> Result<Numeric<'a>> {
        match self.special {
            Special::None => self.finite.clone().pack(scratch),
            Special::Infinite(negative) => Ok(Numeric::infinite(negative)),
            Special::NaN => Ok(Numeric::NAN),
        }
    }
}
