//! Floats in their total order.
//!
//! A float is kept as an integer whose order is the floats': comparing floats is comparing integers.

use std::fmt;

macro_rules! total_float {
    ($name:ident, $float:ident, $bits:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The order is that of `total_cmp` (IEEE 754, `totalOrder`): negative NaNs, negative infinity, negative
        /// numbers, `-0.0`, `0.0`, positive numbers, infinity, NaNs; NaNs by their payloads. Only floats of the same
        /// bits are equal: `-0.0` is not `0.0`, and a NaN equals itself.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($bits);

        impl $name {
            /// Wraps a float.
            #[inline(always)]
            pub const fn new(float: $float) -> $name {
                $name($name::turn(float.to_bits().cast_signed()))
            }

            /// Returns the float, bit for bit as it was given.
            #[inline(always)]
            pub const fn get(self) -> $float {
                $float::from_bits($name::turn(self.0).cast_unsigned())
            }

            /// Reverses the order of the negative floats, whose magnitude counts the other way. The function is its own
            /// inverse.
            #[inline(always)]
            const fn turn(bits: $bits) -> $bits {
                bits ^ ((bits >> ($bits::BITS - 1)) & $bits::MAX)
            }
        }

        impl From<$float> for $name {
            fn from(float: $float) -> $name {
                $name::new(float)
            }
        }

        impl From<$name> for $float {
            fn from(float: $name) -> $float {
                float.get()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.get().fmt(f)
            }
        }
    };
}

total_float!(TotalF64, f64, i64, "A float of 64 bits in the total order.");
total_float!(TotalF32, f32, i32, "A float of 32 bits in the total order.");

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_total_cmp() {
        let quiet = f64::NAN;
        let mut floats = vec![quiet, -quiet, f64::from_bits(quiet.to_bits() | 1)];
        for float in [0.0, 5e-324, 1e-300, 1.0, 1.5, f64::MAX, f64::INFINITY] {
            floats.extend([float, -float]);
        }
        for &one in &floats {
            assert_eq!(TotalF64::new(one).get().to_bits(), one.to_bits());
            let narrow = one as f32;
            assert_eq!(TotalF32::new(narrow).get().to_bits(), narrow.to_bits());
            for &other in &floats {
                let order = TotalF64::new(one).cmp(&TotalF64::new(other));
                assert_eq!(order, one.total_cmp(&other), "{one} {other}");
                let order = TotalF32::new(narrow).cmp(&TotalF32::new(other as f32));
                assert_eq!(order, narrow.total_cmp(&(other as f32)), "{one} {other}");
            }
        }
    }
}
