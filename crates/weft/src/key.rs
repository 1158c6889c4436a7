//! Keys: types whose encodings sort as their values do.
//!
//! The engine orders records by the bytes of their keys. A [`Key`] is a type with
//! an encoding such that comparing encodings byte by byte compares the values:
//!
//! | type | encoding |
//! | --- | --- |
//! | `u8` to `u128` | big-endian |
//! | `i8` to `i128` | big-endian, sign bit flipped |
//! | `f32`, `f64` | in the order of `total_cmp` |
//! | `bool` | 0 or 1 |
//! | `char` | its scalar value as `u32` |
//! | `[u8; N]` | unchanged |
//! | `String`, `Vec<u8>` alone or last in a tuple | unchanged |
//! | `String`, `Vec<u8>` elsewhere in a tuple | each 0 byte as 0 255, then 0 0 at the end |
//! | `Option<K>` | 0 for `None` (which sorts first), or 1 and the key |
//! | tuples of up to six keys | one after another |
//!
//! The forms used inside tuples are *prefix-free* (no encoding is the beginning of
//! another), hence tuples sort by their first part, then by their second, and so
//! on.
//!
//! [`AsKey<K>`] lists the types that can be looked up where a `K` is expected: `str` for `String`,
//! `[u8]` for `Vec<u8>`, `(u64, &str)` for `(u64, String)`.

mod buffer;
mod bytes;
mod numbers;
mod optional;
mod prefix;
mod range;
mod tuples;

use std::borrow::Cow;

pub use self::{
    buffer::KeyBuffer,
    prefix::{KeyPrefix, Prefix},
    range::KeyRange,
};
use crate::error::DecodeError;

/// A type that can be a table's key.
///
/// To make a type of your own a key, implement [`AsKey`] for itself and this
/// trait, mostly by passing on to a key that exists:
///
/// ```
/// use std::borrow::Cow;
/// use weft::{AsKey, DecodeError, Key, KeyBuffer};
///
/// #[derive(Debug, PartialEq)]
/// struct AccountId(u64);
///
/// impl AsKey<AccountId> for AccountId {
///     type Encoded<'k> = [u8; 8];
///     fn encode_key(&self) -> [u8; 8] {
///         self.0.encode_key()
///     }
///     fn encode_part(&self, key: &mut KeyBuffer) {
///         self.0.encode_part(key);
///     }
/// }
///
/// impl Key for AccountId {
///     fn type_name() -> Cow<'static, str> {
///         "AccountId".into()
///     }
///     fn decode_key(bytes: &[u8]) -> Result<AccountId, DecodeError> {
///         u64::decode_key(bytes).map(AccountId)
///     }
///     fn decode_part(bytes: &mut &[u8]) -> Result<AccountId, DecodeError> {
///         u64::decode_part(bytes).map(AccountId)
///     }
/// }
/// ```
pub trait Key: AsKey<Self> + Sized + Send + 'static {
    /// Returns the type's name in a table's [`crate::TypeTag`]. It must never change for a given
    /// encoding, so it is not the compiler's name of the type.
    fn type_name() -> Cow<'static, str>;

    /// Returns whether no encoding of a whole key is the beginning of another, as with keys of
    /// fixed length. Indexes are then a little smaller; `false` is always right.
    fn is_prefix_free() -> bool {
        false
    }

    /// Reads the encoding that [`AsKey::encode_key`] has written.
    ///
    /// # Errors
    /// Fails if the bytes are not an encoding of this type.
    fn decode_key(bytes: &[u8]) -> Result<Self, DecodeError>;

    /// Reads the encoding that [`AsKey::encode_part`] has written from the front of `bytes` and
    /// moves them past it.
    ///
    /// # Errors
    /// Fails if the bytes do not begin with an encoding of this type.
    fn decode_part(bytes: &mut &[u8]) -> Result<Self, DecodeError>;
}

/// A type that can be looked up where a key of type `K` is expected: `K` itself, and borrowed forms
/// of it.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be used as a key of type `{K}`")]
pub trait AsKey<K> {
    /// The bytes of a whole key: an array for keys of fixed length, a borrowed slice for bytes and
    /// text, else a [`KeyBuffer`].
    type Encoded<'k>: AsRef<[u8]>
    where
        Self: 'k;

    /// Encodes a whole key. The order of the bytes is the order of the keys.
    fn encode_key(&self) -> Self::Encoded<'_>;

    /// Appends the key as a part of a tuple that others may follow, in a form in which no encoding
    /// is the beginning of another.
    fn encode_part(&self, key: &mut KeyBuffer);

    /// Appends the key as the last part of a tuple.
    fn encode_last(&self, key: &mut KeyBuffer) {
        key.extend(self.encode_key().as_ref());
    }
}

impl<K, Q: AsKey<K> + ?Sized> AsKey<K> for &Q {
    type Encoded<'k>
        = Q::Encoded<'k>
    where
        Self: 'k;

    fn encode_key(&self) -> Self::Encoded<'_> {
        (**self).encode_key()
    }

    fn encode_part(&self, key: &mut KeyBuffer) {
        (**self).encode_part(key);
    }

    fn encode_last(&self, key: &mut KeyBuffer) {
        (**self).encode_last(key);
    }
}

/// Takes `length` bytes from the front.
fn take<'b>(bytes: &mut &'b [u8], length: usize, type_name: &str) -> Result<&'b [u8], DecodeError> {
    match bytes.split_at_checked(length) {
        Some((taken, rest)) => {
            *bytes = rest;
            Ok(taken)
        }
        None => Err(DecodeError::length(type_name, length, bytes.len())),
    }
}

/// Reads a whole key whose last part needs no delimiter.
fn whole<K: Key>(mut bytes: &[u8]) -> Result<K, DecodeError> {
    let key = K::decode_part(&mut bytes)?;
    at_end(bytes, K::type_name)?;
    Ok(key)
}

fn at_end(bytes: &[u8], type_name: impl Fn() -> Cow<'static, str>) -> Result<(), DecodeError> {
    if bytes.is_empty() {
        return Ok(());
    }
    Err(DecodeError::new(format_args!(
        "{} bytes follow a key of type {}",
        bytes.len(),
        type_name()
    )))
}
