//! Floating-point numbers with a total order.

macro_rules! total_float {
    ($(#[$doc:meta])* $name:ident, $float:ty, $bits:ty) => {
        $(#[$doc])*
        ///
        /// The order of IEEE 754's totalOrder: negative NaNs, negative infinity, .., -0.0, 0.0, ..,
        /// infinity, NaNs. Kept as an integer of the same order, so that comparing is as cheap.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($bits);

        impl $name {
            /// The number.
            pub fn get(self) -> $float {
                <$float>::from_bits(ordered(self.0) as _)
            }
        }

        impl From<$float> for $name {
            #[inline(always)]
            fn from(number: $float) -> Self {
                Self(ordered(number.to_bits() as $bits))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.get().fmt(f)
            }
        }
    };
}

/// Turns the order of the magnitudes of negative numbers round; its own inverse.
trait Ordered {
    fn ordered(self) -> Self;
}

impl Ordered for i64 {
    #[inline(always)]
    fn ordered(self) -> Self {
        self ^ ((self >> 63) as u64 >> 1) as i64
    }
}

impl Ordered for i32 {
    #[inline(always)]
    fn ordered(self) -> Self {
        self ^ ((self >> 31) as u32 >> 1) as i32
    }
}

#[inline(always)]
fn ordered<T: Ordered>(bits: T) -> T {
    bits.ordered()
}

total_float!(
    /// A number of 64 bits.
    TotalF64, f64, i64
);
total_float!(
    /// A number of 32 bits.
    TotalF32, f32, i32
);

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn the_order_is_that_of_total_cmp_and_nothing_is_lost() {
        let all = [
            -f64::NAN,
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        for one in all {
            assert_eq!(TotalF64::from(one).get().to_bits(), one.to_bits());
            let narrow = one as f32;
            assert_eq!(TotalF32::from(narrow).get().to_bits(), narrow.to_bits());
            for other in all {
                let expected = one.total_cmp(&other);
                assert_eq!(TotalF64::from(one).cmp(&TotalF64::from(other)), expected);
                let expected = narrow.total_cmp(&(other as f32));
                let ordering: Ordering = TotalF32::from(narrow).cmp(&TotalF32::from(other as f32));
                assert_eq!(ordering, expected);
            }
        }
    }
}
