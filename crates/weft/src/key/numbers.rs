//! Numbers, truth values and characters as keys.

use std::borrow::Cow;

use super::{AsKey, Key, KeyBuffer, take, whole};
use crate::error::DecodeError;

/// Implements both traits for a type of fixed length, given the conversions to
/// and from its bytes.
macro_rules! fixed {
    ($($type:ty, $name:literal, $bytes:literal,
       |$value:ident| $encode:expr, |$array:ident| $decode:expr;)*) => {$(
        impl AsKey<$type> for $type {
            type Encoded<'k> = [u8; $bytes];

            #[inline]
            fn encode_key(&self) -> [u8; $bytes] {
                let $value = *self;
                $encode
            }

            #[inline]
            fn encode_part(&self, key: &mut KeyBuffer) {
                key.extend(&self.encode_key());
            }
        }

        impl Key for $type {
            fn type_name() -> Cow<'static, str> {
                $name.into()
            }

            fn is_prefix_free() -> bool {
                true
            }

            #[inline]
            fn decode_key(bytes: &[u8]) -> Result<$type, DecodeError> {
                whole(bytes)
            }

            #[inline]
            fn decode_part(bytes: &mut &[u8]) -> Result<$type, DecodeError> {
                let mut $array = [0; $bytes];
                $array.copy_from_slice(take(bytes, $bytes, $name)?);
                $decode
            }
        }
    )*};
}

macro_rules! integers {
    ($($unsigned:ty, $signed:ty, $unsigned_name:literal, $signed_name:literal, $bytes:literal;)*) => {
        fixed! {$(
            $unsigned, $unsigned_name, $bytes,
                |value| value.to_be_bytes(),
                |array| Ok(<$unsigned>::from_be_bytes(array));
            $signed, $signed_name, $bytes,
                |value| (value ^ <$signed>::MIN).to_be_bytes(),
                |array| Ok(<$signed>::from_be_bytes(array) ^ <$signed>::MIN);
        )*}
    };
}

integers! {
    u8, i8, "u8", "i8", 1;
    u16, i16, "u16", "i16", 2;
    u32, i32, "u32", "i32", 4;
    u64, i64, "u64", "i64", 8;
    u128, i128, "u128", "i128", 16;
}

fixed! {
    bool, "bool", 1,
        |value| [u8::from(value)],
        |array| match array {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(DecodeError::new(format_args!("{other} is not a bool"))),
        };
    char, "char", 4,
        |value| u32::from(value).to_be_bytes(),
        |array| char::try_from(u32::from_be_bytes(array)).map_err(DecodeError::new);
    f32, "f32", 4,
        |value| ordered_f32(value.to_bits()).to_be_bytes(),
        |array| Ok(f32::from_bits(unordered_f32(u32::from_be_bytes(array))));
    f64, "f64", 8,
        |value| ordered_f64(value.to_bits()).to_be_bytes(),
        |array| Ok(f64::from_bits(unordered_f64(u64::from_be_bytes(array))));
}

// Floating-point numbers compare as sign and magnitude: negative ones are inverted as a whole, the
// others get the sign bit set. The result is the order of `total_cmp`, in which -0 precedes 0 and
// NaNs lie at both ends.

fn ordered_f32(bits: u32) -> u32 {
    if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    }
}

fn unordered_f32(bits: u32) -> u32 {
    if bits >> 31 == 1 {
        bits & !(1 << 31)
    } else {
        !bits
    }
}

fn ordered_f64(bits: u64) -> u64 {
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn unordered_f64(bits: u64) -> u64 {
    if bits >> 63 == 1 {
        bits & !(1 << 63)
    } else {
        !bits
    }
}
