//! Values of the standard library's types.

use std::borrow::Cow;

use super::{BorrowValue, Value};
use crate::error::DecodeError;

macro_rules! numbers {
    ($($type:ty, $name:literal;)*) => {$(
        impl Value for $type {
            type Encoded<'v> = [u8; size_of::<$type>()];

            fn type_name() -> Cow<'static, str> {
                $name.into()
            }

            #[inline]
            fn encode(&self) -> [u8; size_of::<$type>()] {
                self.to_le_bytes()
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$type, DecodeError> {
                match bytes.try_into() {
                    Ok(array) => Ok(<$type>::from_le_bytes(array)),
                    Err(_) => Err(DecodeError::length($name, size_of::<$type>(), bytes.len())),
                }
            }
        }
    )*};
}

numbers! {
    u8, "u8";
    u16, "u16";
    u32, "u32";
    u64, "u64";
    u128, "u128";
    i8, "i8";
    i16, "i16";
    i32, "i32";
    i64, "i64";
    i128, "i128";
    f32, "f32";
    f64, "f64";
}

impl Value for bool {
    type Encoded<'v> = [u8; 1];

    fn type_name() -> Cow<'static, str> {
        "bool".into()
    }

    fn encode(&self) -> [u8; 1] {
        [u8::from(*self)]
    }

    fn decode(bytes: &[u8]) -> Result<bool, DecodeError> {
        match bytes {
            [0] => Ok(false),
            [1] => Ok(true),
            other => Err(DecodeError::new(format_args!("{other:?} is not a bool"))),
        }
    }
}

impl Value for () {
    type Encoded<'v> = [u8; 0];

    fn type_name() -> Cow<'static, str> {
        "nothing".into()
    }

    fn encode(&self) -> [u8; 0] {
        []
    }

    fn decode(bytes: &[u8]) -> Result<(), DecodeError> {
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::length("nothing", 0, bytes.len()))
        }
    }
}

impl<const N: usize> Value for [u8; N] {
    type Encoded<'v> = &'v [u8; N];

    fn type_name() -> Cow<'static, str> {
        format!("[u8; {N}]").into()
    }

    #[inline]
    fn encode(&self) -> &[u8; N] {
        self
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<[u8; N], DecodeError> {
        Self::borrow(bytes).copied()
    }
}

impl<const N: usize> BorrowValue for [u8; N] {
    type Borrowed = [u8; N];

    #[inline]
    fn borrow(bytes: &[u8]) -> Result<&[u8; N], DecodeError> {
        bytes
            .try_into()
            .map_err(|_| DecodeError::length("byte array", N, bytes.len()))
    }
}

impl Value for Vec<u8> {
    type Encoded<'v> = &'v [u8];

    fn type_name() -> Cow<'static, str> {
        "bytes".into()
    }

    #[inline]
    fn encode(&self) -> &[u8] {
        self
    }

    fn decode(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
        Ok(bytes.to_vec())
    }
}

impl BorrowValue for Vec<u8> {
    type Borrowed = [u8];

    #[inline]
    fn borrow(bytes: &[u8]) -> Result<&[u8], DecodeError> {
        Ok(bytes)
    }
}

impl Value for String {
    type Encoded<'v> = &'v [u8];

    fn type_name() -> Cow<'static, str> {
        "string".into()
    }

    #[inline]
    fn encode(&self) -> &[u8] {
        self.as_bytes()
    }

    fn decode(bytes: &[u8]) -> Result<String, DecodeError> {
        Self::borrow(bytes).map(str::to_owned)
    }
}

impl BorrowValue for String {
    type Borrowed = str;

    #[inline]
    fn borrow(bytes: &[u8]) -> Result<&str, DecodeError> {
        std::str::from_utf8(bytes).map_err(DecodeError::new)
    }
}
