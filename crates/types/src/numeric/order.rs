//! The order of numbers, and their hash.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use super::{Finite, Numeric, Repr, Unpacked, integer::Integer};

impl Numeric<'_> {
    /// Compares by PostgreSQL's order: numbers by value at any scale, NaN after all of them.
    pub fn compare(self, other: Numeric<'_>) -> Ordering {
        if let (Some((one, one_scale)), Some((two, two_scale))) =
            (self.as_small(), other.as_small())
        {
            if one_scale == two_scale {
                return one.cmp(&two);
            }
            if one.signum() != two.signum() {
                return one.cmp(&two);
            }
        }
        match (self.unpack(), other.unpack()) {
            (Unpacked::Finite(one), Unpacked::Finite(two)) => {
                let sign = |number: &Integer| match number {
                    Integer::Small(small) => small.signum() as i32,
                    Integer::Big(_) if number.is_negative() => -1,
                    Integer::Big(_) => 1,
                };
                let signs = (sign(&one.mantissa), sign(&two.mantissa));
                if signs.0 != signs.1 || signs.0 == 0 {
                    return signs.0.cmp(&signs.1);
                }
                if let Some(by_size) = compare_sizes(&one, &two) {
                    return match signs.0 < 0 {
                        true => by_size.reverse(),
                        false => by_size,
                    };
                }
                let (one, two, _) = one.aligned(two);
                one.compare(&two)
            }
            (one, two) => rank(&one).cmp(&rank(&two)),
        }
    }

    /// Feeds a hasher with bytes that are the same for equal numbers.
    pub fn feed_hasher<H: Hasher>(self, state: &mut H) {
        match self.0 {
            Repr::Small { mantissa, scale } => {
                let (mut mantissa, mut scale) = (mantissa, scale);
                while scale > 0 && mantissa % 10 == 0 {
                    if mantissa == 0 {
                        scale = 0;
                    } else {
                        mantissa /= 10;
                        scale -= 1;
                    }
                }
                (mantissa, scale).hash(state);
            }
            Repr::Large(_) => {
                if let Unpacked::Finite(number) = self.unpack() {
                    let number = number.trimmed();
                    match number.mantissa {
                        Integer::Small(small) => match i64::try_from(small) {
                            Ok(mantissa) => (mantissa, number.scale as u16).hash(state),
                            Err(_) => (small, number.scale as u16).hash(state),
                        },
                        Integer::Big(big) => (big, number.scale as u16).hash(state),
                    }
                }
            }
            Repr::NaN => u8::MAX.hash(state),
            Repr::Infinity => 1u8.hash(state),
            Repr::NegativeInfinity => 2u8.hash(state),
        }
    }
}

/// Compares the magnitudes of two numbers, neither of them zero, if their bits decide: then nothing is multiplied,
/// however far the scales are apart.
fn compare_sizes(one: &Finite, two: &Finite) -> Option<Ordering> {
    // The binary exponent of the number, rounded down: it is at least this power of 2, and below twice as much.
    let least = |number: &Finite| {
        (number.mantissa.bits() as f64 - 1.0) - f64::from(number.scale) * std::f64::consts::LOG2_10
    };
    let difference = least(one) - least(two);
    // The errors of the estimates are far smaller than the margin beyond 1.
    (difference.abs() > 1.01).then(|| difference.total_cmp(&0.0))
}

fn rank(number: &Unpacked) -> u8 {
    match number {
        Unpacked::Infinite(true) => 0,
        Unpacked::Finite(_) => 1,
        Unpacked::Infinite(false) => 2,
        Unpacked::NaN => 3,
    }
}
