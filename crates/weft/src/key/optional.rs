//! Keys that may be missing. `None` sorts before everything else.

use std::borrow::Cow;

use super::{AsKey, Key, KeyBuffer, at_end, take};
use crate::error::DecodeError;

const NONE: u8 = 0;
const SOME: u8 = 1;

impl<K: Key, Q: AsKey<K>> AsKey<Option<K>> for Option<Q> {
    type Encoded<'k>
        = KeyBuffer
    where
        Self: 'k;

    fn encode_key(&self) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        self.encode_last(&mut key);
        key
    }

    fn encode_part(&self, key: &mut KeyBuffer) {
        match self {
            None => key.push(NONE),
            Some(some) => {
                key.push(SOME);
                some.encode_part(key);
            }
        }
    }

    fn encode_last(&self, key: &mut KeyBuffer) {
        match self {
            None => key.push(NONE),
            Some(some) => {
                key.push(SOME);
                some.encode_last(key);
            }
        }
    }
}

fn is_some(bytes: &mut &[u8]) -> Result<bool, DecodeError> {
    match take(bytes, 1, "optional key")? {
        [NONE] => Ok(false),
        [SOME] => Ok(true),
        other => Err(DecodeError::new(format_args!(
            "an optional key begins with {other:?}"
        ))),
    }
}

impl<K: Key> Key for Option<K> {
    fn type_name() -> Cow<'static, str> {
        format!("optional {}", K::type_name()).into()
    }

    fn is_prefix_free() -> bool {
        K::is_prefix_free()
    }

    fn decode_key(mut bytes: &[u8]) -> Result<Option<K>, DecodeError> {
        if is_some(&mut bytes)? {
            K::decode_key(bytes).map(Some)
        } else {
            at_end(bytes, Self::type_name).map(|()| None)
        }
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<Option<K>, DecodeError> {
        if is_some(bytes)? {
            K::decode_part(bytes).map(Some)
        } else {
            Ok(None)
        }
    }
}
