//! Where a transaction keeps a key that it wrote: a range of its key buffer, in one word.
//! Keys have at most 2^15 bytes, so 16 bits for the length leave the buffer 2^48.

const LENGTH_BITS: u32 = 16;
const _: () = assert!(crate::KEY_BYTES_MAX < 1 << LENGTH_BITS);

/// See the module text. The default is no key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptKey(u64);

impl KeptKey {
    /// A key of `bytes` that begins at `start`.
    pub(crate) fn new(start: usize, bytes: usize) -> KeptKey {
        KeptKey((start as u64) << LENGTH_BITS | bytes as u64)
    }

    pub(crate) fn len(self) -> usize {
        (self.0 & ((1 << LENGTH_BITS) - 1)) as usize
    }

    /// The key, among all that the transaction keeps.
    #[inline]
    pub(crate) fn among(self, keys: &[u8]) -> &[u8] {
        let start = (self.0 >> LENGTH_BITS) as usize;
        &keys[start..start + self.len()]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Ranges were two halves of a word, and wrapped in a transaction with 4 GiB of keys.
    #[test]
    fn a_key_may_lie_beyond_four_gigabytes() {
        let far = KeptKey::new((5 << 30) + 3, crate::KEY_BYTES_MAX);
        assert_eq!(far.len(), crate::KEY_BYTES_MAX);
        assert_eq!(far.0 >> LENGTH_BITS, (5 << 30) + 3);
        assert_eq!(KeptKey::new(1, 2).among(b"abcd"), b"bc");
        assert_eq!(KeptKey::default().among(b""), b"");
    }
}
