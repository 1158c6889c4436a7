//! Buffer in which keys of several parts are put together.
//!
//! The type exists because it is on the path of every operation: a part of a known length becomes a
//! store or two. (Appending to a `smallvec` is two calls of `memmove` for each part; keys of TPC-C
//! have three.)

use std::{cmp::Ordering, fmt, hash};

/// Length up to which keys need no allocation: with them the buffer is a cache line.
const INLINE_BYTES: usize = 62;

/// The bytes of an encoded key. Up to 62 of them need no allocation.
#[derive(Clone)]
pub struct KeyBuffer(Bytes);

#[derive(Clone)]
enum Bytes {
    Inline {
        length: u8,
        bytes: [u8; INLINE_BYTES],
    },
    Heap(Vec<u8>),
}

const _: () = assert!(size_of::<KeyBuffer>() == 64);

impl KeyBuffer {
    /// Returns an empty buffer.
    #[inline]
    pub fn new() -> KeyBuffer {
        KeyBuffer(Bytes::Inline {
            length: 0,
            bytes: [0; INLINE_BYTES],
        })
    }

    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, more: &[u8]) {
        if let Bytes::Inline { length, bytes } = &mut self.0 {
            let start = usize::from(*length);
            if let Some(room) = bytes[start..].get_mut(..more.len()) {
                room.copy_from_slice(more);
                *length += more.len() as u8;
                return;
            }
        }
        self.extend_beyond(more);
    }

    #[cold]
    fn extend_beyond(&mut self, more: &[u8]) {
        match &mut self.0 {
            Bytes::Heap(bytes) => bytes.extend_from_slice(more),
            Bytes::Inline { .. } => self.0 = Bytes::Heap([self.as_ref(), more].concat()),
        }
    }

    /// Appends a byte.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    /// Replaces the contents.
    #[inline]
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Bytes::Heap(heap) => heap.clear(),
            Bytes::Inline { length, .. } => *length = 0,
        }
        self.extend(bytes);
    }
}

impl Default for KeyBuffer {
    fn default() -> KeyBuffer {
        KeyBuffer::new()
    }
}

impl AsRef<[u8]> for KeyBuffer {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Heap(bytes) => bytes,
            Bytes::Inline { length, bytes } => &bytes[..usize::from(*length)],
        }
    }
}

impl From<&[u8]> for KeyBuffer {
    fn from(bytes: &[u8]) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        key.extend(bytes);
        key
    }
}

impl PartialEq for KeyBuffer {
    fn eq(&self, other: &KeyBuffer) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for KeyBuffer {}

impl PartialOrd for KeyBuffer {
    fn partial_cmp(&self, other: &KeyBuffer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBuffer {
    fn cmp(&self, other: &KeyBuffer) -> Ordering {
        self.as_ref().cmp(other.as_ref())
    }
}

impl hash::Hash for KeyBuffer {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl fmt::Debug for KeyBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyBuffer({:02x?})", self.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of all lengths, one after another, up to and beyond the length that lies inline.
    #[test]
    fn parts_follow_each_other_wherever_they_lie() {
        for part in 0..=2 * INLINE_BYTES {
            let mut key = KeyBuffer::new();
            let mut expected = Vec::new();
            for number in 0..5_u8 {
                key.extend(&vec![number; part]);
                key.push(255);
                expected.extend(vec![number; part]);
                expected.push(255);
                assert_eq!(key.as_ref(), expected);
                assert_eq!(key, KeyBuffer::from(&expected[..]));
            }
            let longer = key.clone();
            key.set(b"short");
            assert_eq!(key.as_ref(), b"short");
            assert_eq!(longer < key, part > 0);
            key.extend(&[7; 100]);
            assert_eq!(key.as_ref(), [&b"short"[..], &[7; 100]].concat());
        }
    }
}
