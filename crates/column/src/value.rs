//! Values of columns.
//!
//! A [`Value`] is the form that an application hands in and out; a *key* is the form that is stored
//! and compared; a [`Store`] is the pair of dictionaries for a kind of keys: keys of one size, or
//! byte strings.
//!
//! | value | key | order |
//! | --- | --- | --- |
//! | `i8` to `i64`, `u8` to `u64` | itself | numbers |
//! | [`Decimal`] | its unscaled `i128` | numbers: a column has one scale |
//! | [`Date`], [`Timestamp`] | days, microseconds | time |
//! | `f64`, `f32` | `TotalF64`, `TotalF32` | IEEE 754 totalOrder: -0.0 before 0.0; NaN has a place and equals itself |
//! | `String`, `Vec<u8>` | bytes | bytes, which for UTF-8 is the order of the characters |

use std::fmt;

use index::sorted::{TotalF32, TotalF64};

use crate::{
    decimal::Decimal,
    store::{Fixed, Store, Strings},
};

/// Types of the values that a column may hold.
pub trait Value: Clone + fmt::Debug + Send + Sync + 'static {
    /// A value that lies elsewhere, or a copy of a small one.
    type Ref<'v>: Element<Key = Key<'v, Self>>;

    /// Dictionaries for the keys of this type.
    type Store: Store;

    /// Returns the value, borrowed.
    fn borrow(&self) -> Self::Ref<'_>;

    /// Returns an owned copy of the value.
    fn of_ref(value: Self::Ref<'_>) -> Self;
}

/// Stored form of a value.
pub type Key<'k, V> = <<V as Value>::Store as Store>::Key<'k>;

/// Form in which a value is handed in and out.
pub trait Element: Copy + fmt::Debug {
    /// Stored form of the value.
    type Key;

    /// Returns the stored form of the value.
    fn key(self) -> Self::Key;

    /// Returns the value whose stored form is `key`.
    fn of_key(key: Self::Key) -> Self;
}

/// A value that is looked up in a part of a column of `V`.
#[derive(Debug)]
pub struct Sought<'v, V: Value>(pub V::Ref<'v>);

impl<V: Value> Clone for Sought<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Value> Copy for Sought<'_, V> {}

macro_rules! fixed_values {
    ($([$($parameter:tt)*] $type:ty, $key:ty, $value:ident => $to_key:expr, $stored:ident => $of_key:expr;)*) => {$(
        impl<$($parameter)*> Value for $type {
            type Ref<'v> = $type;
            type Store = Fixed<$key>;

            #[inline(always)]
            fn borrow(&self) -> $type {
                *self
            }

            #[inline(always)]
            fn of_ref(value: $type) -> $type {
                value
            }
        }

        impl<$($parameter)*> Element for $type {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                let $value = self;
                $to_key
            }

            #[inline(always)]
            fn of_key($stored: $key) -> $type {
                $of_key
            }
        }
    )*};
}

fixed_values! {
    [] i8, i8, value => value, key => key;
    [] i16, i16, value => value, key => key;
    [] i32, i32, value => value, key => key;
    [] i64, i64, value => value, key => key;
    [] u8, u8, value => value, key => key;
    [] u16, u16, value => value, key => key;
    [] u32, u32, value => value, key => key;
    [] u64, u64, value => value, key => key;
    [] f32, TotalF32, value => TotalF32::from(value), key => key.get();
    [] f64, TotalF64, value => TotalF64::from(value), key => key.get();
    [] Date, i32, value => value.days, key => Date { days: key };
    [] Timestamp, i64, value => value.microseconds, key => Timestamp { microseconds: key };
    [const SCALE: u8] Decimal<SCALE>, i128, value => value.unscaled(), key => Decimal::new(key);
}

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// Days since 1970-01-01, in the proleptic Gregorian calendar.
    pub days: i32,
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Microseconds since 1970-01-01 00:00:00 UTC, without leap seconds.
    pub microseconds: i64,
}

impl Value for Vec<u8> {
    type Ref<'v> = &'v [u8];
    type Store = Strings;

    fn borrow(&self) -> &[u8] {
        self
    }

    fn of_ref(value: &[u8]) -> Vec<u8> {
        value.to_vec()
    }
}

impl<'v> Element for &'v [u8] {
    type Key = &'v [u8];

    #[inline(always)]
    fn key(self) -> &'v [u8] {
        self
    }

    #[inline(always)]
    fn of_key(key: &'v [u8]) -> &'v [u8] {
        key
    }
}

impl Value for String {
    type Ref<'v> = &'v str;
    type Store = Strings;

    fn borrow(&self) -> &str {
        self
    }

    fn of_ref(value: &str) -> String {
        value.to_owned()
    }
}

impl<'v> Element for &'v str {
    type Key = &'v [u8];

    #[inline(always)]
    fn key(self) -> &'v [u8] {
        self.as_bytes()
    }

    /// Returns the string whose stored form is `key`.
    ///
    /// # Panics
    /// Panics if `key` is not UTF-8: keys of a column of strings are those of strings.
    fn of_key(key: &'v [u8]) -> &'v str {
        std::str::from_utf8(key).expect("the keys of strings are UTF-8")
    }
}
