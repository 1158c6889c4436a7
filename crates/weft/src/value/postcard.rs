//! Values of any type that serde knows.

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};

use super::Value;
use crate::error::DecodeError;

/// A value that serde encodes, in postcard's compact binary format.
///
/// The table's type tag only says "postcard": a change of `T` that postcard
/// cannot read is noticed when a value is decoded ([`crate::Error::Decode`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Postcard<T>(pub T);

impl<T: Serialize + DeserializeOwned + Send + 'static> Value for Postcard<T> {
    type Encoded<'v> = Vec<u8>;

    fn type_name() -> Cow<'static, str> {
        "postcard".into()
    }

    /// Returns the value as bytes.
    ///
    /// # Panics
    /// Panics if the type's own `Serialize` fails.
    fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.0).expect("values that are stored can be serialised")
    }

    fn decode(bytes: &[u8]) -> Result<Postcard<T>, DecodeError> {
        postcard::from_bytes(bytes)
            .map(Postcard)
            .map_err(DecodeError::new)
    }
}
