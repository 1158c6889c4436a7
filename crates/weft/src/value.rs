//! Values: types with a codec.
//!
//! | type | encoding |
//! | --- | --- |
//! | integers, `f32`, `f64` | little-endian |
//! | `bool` | 0 or 1 |
//! | `[u8; N]`, `Vec<u8>`, `String` | unchanged |
//! | `()` | nothing |
//! | `Postcard<T>` (feature `postcard`) | serde's encoding of `T`, in postcard's format |
//!
//! [`AsValue<V>`] lists the types that can be written where a `V` is expected: `str` for `String`,
//! `[u8]` for `Vec<u8>`.

mod plain;
#[cfg(feature = "postcard")]
mod postcard;

use std::borrow::Cow;

#[cfg(feature = "postcard")]
pub use self::postcard::Postcard;
use crate::error::DecodeError;

/// A type that can be a table's value.
///
/// ```
/// use std::borrow::Cow;
/// use weft::{DecodeError, Value};
///
/// struct Point { x: i32, y: i32 }
///
/// impl Value for Point {
///     type Encoded<'v> = [u8; 8];
///     fn type_name() -> Cow<'static, str> {
///         "Point".into()
///     }
///     fn encode(&self) -> [u8; 8] {
///         let both = (self.x as u32 as u64) << 32 | self.y as u32 as u64;
///         both.to_le_bytes()
///     }
///     fn decode(bytes: &[u8]) -> Result<Point, DecodeError> {
///         let both = u64::decode(bytes)?;
///         Ok(Point { x: (both >> 32) as i32, y: both as i32 })
///     }
/// }
/// ```
pub trait Value: Sized + Send + 'static {
    /// The encoded value: an array for values of fixed length, a borrowed slice for bytes and text,
    /// else a `Vec<u8>`.
    type Encoded<'v>: AsRef<[u8]>
    where
        Self: 'v;

    /// Returns the type's name in a table's [`crate::TypeTag`]. It must never change for a given
    /// encoding, so it is not the compiler's name of the type.
    fn type_name() -> Cow<'static, str>;

    /// Returns the value as bytes.
    fn encode(&self) -> Self::Encoded<'_>;

    /// Reads the encoding that [`Value::encode`] has written.
    ///
    /// # Errors
    /// Fails if the bytes are not an encoding of this type.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;
}

/// A value that can be read in place, without copying.
pub trait BorrowValue: Value {
    /// Borrowed form of the stored bytes: `str` for `String`, `[u8]` for `Vec<u8>`.
    type Borrowed: ?Sized;

    /// Returns the bytes as the borrowed form.
    ///
    /// # Errors
    /// Fails if the bytes are not an encoding of this type.
    fn borrow(bytes: &[u8]) -> Result<&Self::Borrowed, DecodeError>;
}

/// A type that can be written where a value of type `V` is expected: `V` itself, and borrowed forms
/// of it.
#[diagnostic::on_unimplemented(message = "`{Self}` cannot be written as a value of type `{V}`")]
pub trait AsValue<V> {
    /// The encoded value.
    type Encoded<'v>: AsRef<[u8]>
    where
        Self: 'v;

    /// Returns the value as bytes.
    fn encode_value(&self) -> Self::Encoded<'_>;
}

impl<V: Value> AsValue<V> for V {
    type Encoded<'v> = <V as Value>::Encoded<'v>;

    #[inline]
    fn encode_value(&self) -> <V as Value>::Encoded<'_> {
        self.encode()
    }
}

impl AsValue<String> for str {
    type Encoded<'v> = &'v [u8];

    #[inline]
    fn encode_value(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsValue<Vec<u8>> for [u8] {
    type Encoded<'v> = &'v [u8];

    #[inline]
    fn encode_value(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> AsValue<Vec<u8>> for [u8; N] {
    type Encoded<'v> = &'v [u8];

    #[inline]
    fn encode_value(&self) -> &[u8] {
        self
    }
}
