//! Where keys of several parts are put together.

use smallvec::SmallVec;

/// Keys up to this length need no allocation.
const INLINE_BYTES: usize = 64;

/// The bytes of an encoded key. Up to 64 of them need no allocation.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBuffer(SmallVec<[u8; INLINE_BYTES]>);

impl KeyBuffer {
    /// No bytes yet.
    #[inline]
    pub fn new() -> KeyBuffer {
        KeyBuffer::default()
    }

    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends a byte.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Replaces the contents.
    #[inline]
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.extend(bytes);
    }
}

impl AsRef<[u8]> for KeyBuffer {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for KeyBuffer {
    fn from(bytes: &[u8]) -> KeyBuffer {
        KeyBuffer(SmallVec::from_slice(bytes))
    }
}

impl std::fmt::Debug for KeyBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyBuffer({:02x?})", self.as_ref())
    }
}
