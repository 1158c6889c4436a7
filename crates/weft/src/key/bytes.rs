//! Bytes and text as keys.
//!
//! Inside a tuple the end of bytes or text must be told from the next part. Each 0 byte becomes 0
//! 255 and the end is 0 0: the end sorts before every continuation, as the shorter of two strings
//! must, and no encoding is the beginning of another.

use std::borrow::Cow;

use super::{AsKey, Key, KeyBuffer, take, whole};
use crate::error::DecodeError;

const END: u8 = 0;
const ESCAPED_ZERO: u8 = 255;

fn escape(bytes: &[u8], key: &mut KeyBuffer) {
    for run in bytes.split_inclusive(|&byte| byte == 0) {
        key.extend(run);
        if run.ends_with(&[0]) {
            key.push(ESCAPED_ZERO);
        }
    }
    key.extend(&[0, END]);
}

fn unescape(bytes: &mut &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut unescaped = Vec::new();
    loop {
        let zero = bytes.iter().position(|&byte| byte == 0);
        let Some((zero, &kind)) = zero.and_then(|at| Some((at, bytes.get(at + 1)?))) else {
            return Err(DecodeError::new("a part of a key has no end"));
        };
        unescaped.extend_from_slice(&bytes[..zero]);
        *bytes = &bytes[zero + 2..];
        match kind {
            END => return Ok(unescaped),
            ESCAPED_ZERO => unescaped.push(0),
            other => {
                return Err(DecodeError::new(format_args!(
                    "a zero in a part of a key is followed by {other}"
                )));
            }
        }
    }
}

/// Implements one kind of key for all forms in which bytes or text come.
macro_rules! as_key {
    ($($type:ty as $key:ty, |$value:ident| $bytes:expr;)*) => {$(
        impl AsKey<$key> for $type {
            type Encoded<'k> = &'k [u8];

            #[inline]
            fn encode_key(&self) -> &[u8] {
                let $value = self;
                $bytes
            }

            #[inline]
            fn encode_part(&self, key: &mut KeyBuffer) {
                let $value = self;
                escape($bytes, key);
            }
        }
    )*};
}

as_key! {
    Vec<u8> as Vec<u8>, |bytes| bytes;
    [u8] as Vec<u8>, |bytes| bytes;
    String as String, |text| text.as_bytes();
    str as String, |text| text.as_bytes();
}

impl<const N: usize> AsKey<Vec<u8>> for [u8; N] {
    type Encoded<'k> = &'k [u8];

    #[inline]
    fn encode_key(&self) -> &[u8] {
        self
    }

    fn encode_part(&self, key: &mut KeyBuffer) {
        escape(self, key);
    }
}

impl Key for Vec<u8> {
    fn type_name() -> Cow<'static, str> {
        "bytes".into()
    }

    fn decode_key(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
        Ok(bytes.to_vec())
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<Vec<u8>, DecodeError> {
        unescape(bytes)
    }
}

impl Key for String {
    fn type_name() -> Cow<'static, str> {
        "string".into()
    }

    fn decode_key(bytes: &[u8]) -> Result<String, DecodeError> {
        String::from_utf8(bytes.to_vec()).map_err(DecodeError::new)
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<String, DecodeError> {
        String::from_utf8(unescape(bytes)?).map_err(DecodeError::new)
    }
}

impl<const N: usize> AsKey<[u8; N]> for [u8; N] {
    type Encoded<'k> = &'k [u8; N];

    #[inline]
    fn encode_key(&self) -> &[u8; N] {
        self
    }

    #[inline]
    fn encode_part(&self, key: &mut KeyBuffer) {
        key.extend(self);
    }
}

impl<const N: usize> Key for [u8; N] {
    fn type_name() -> Cow<'static, str> {
        format!("[u8; {N}]").into()
    }

    fn decode_key(bytes: &[u8]) -> Result<[u8; N], DecodeError> {
        whole(bytes)
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(take(bytes, N, "byte array")?);
        Ok(array)
    }
}
