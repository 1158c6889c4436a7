//! Keys that a transaction wrote: one after the other in parts that never move ([`KeptKeys`]), and
//! each named by its place there and its length, in one word ([`KeptKey`]).
//!
//! A key does not cross the end of a part: the rest of the part, shorter than a key may be, stays
//! unused. Keys have at most 2^15 bytes, so 16 bits for the length leave 2^48 places.

use memory::PART_BYTES;

const LENGTH_BITS: u32 = 16;
const _: () = assert!(crate::KEY_BYTES_MAX < 1 << LENGTH_BITS);
// The unused bytes at the end of a part are few.
const _: () = assert!(crate::KEY_BYTES_MAX <= PART_BYTES / 32);

/// Name of a key among those of a transaction. The default is no key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptKey(u64);

impl KeptKey {
    /// Returns the name of a key of `bytes` that begins at `start`.
    fn new(start: usize, bytes: usize) -> KeptKey {
        KeptKey((start as u64) << LENGTH_BITS | bytes as u64)
    }

    fn len(self) -> usize {
        (self.0 & ((1 << LENGTH_BITS) - 1)) as usize
    }

    fn start(self) -> usize {
        (self.0 >> LENGTH_BITS) as usize
    }
}

/// Keys of a transaction: see the module text.
#[derive(Debug, Default)]
pub(crate) struct KeptKeys {
    /// Parts to which no key is added any more.
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl KeptKeys {
    /// Keeps a key, and returns its name.
    pub(crate) fn keep(&mut self, key: &[u8]) -> KeptKey {
        if self.will_grow(key.len()) {
            self.grow(key.len());
        }
        let start = self.end();
        self.last.extend_from_slice(key);
        KeptKey::new(start, key.len())
    }

    /// Whether a key of `key_bytes` makes the list take more memory.
    #[inline(always)]
    pub(crate) fn will_grow(&self, key_bytes: usize) -> bool {
        self.last.capacity() - self.last.len() < key_bytes
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let needed = self.last.len() + more;
        if needed > PART_BYTES {
            let next = Vec::with_capacity(PART_BYTES);
            self.full.push(std::mem::replace(&mut self.last, next));
        } else {
            // At most a part, even where a vector would grow to more.
            let wish = (self.last.len() * 2).clamp(64, PART_BYTES).max(needed);
            self.last.reserve_exact(wish - self.last.len());
        }
    }

    /// Returns a key that was kept.
    #[inline]
    pub(crate) fn get(&self, key: KeptKey) -> &[u8] {
        let (part, from) = (key.start() / PART_BYTES, key.start() % PART_BYTES);
        let part = self.full.get(part).unwrap_or(&self.last);
        &part[from..from + key.len()]
    }

    /// Returns the place behind the last key.
    pub(crate) fn end(&self) -> usize {
        self.full.len() * PART_BYTES + self.last.len()
    }

    /// Forgets the keys that were kept since [`KeptKeys::end`] was `end`.
    pub(crate) fn truncate(&mut self, end: usize) {
        while self.end() > end {
            let start = self.full.len() * PART_BYTES;
            self.last.truncate(end.saturating_sub(start));
            if start <= end {
                return;
            }
            self.last = self.full.pop().unwrap_or_default();
        }
    }

    /// Forgets all keys, and gives back all memory but that of one part.
    pub(crate) fn clear(&mut self) {
        self.full = Vec::new();
        self.last.clear();
    }

    /// Forgets the keys of the last part, and gives back its memory unless it is the only part.
    /// Returns whether there are more.
    pub(crate) fn drop_part(&mut self) -> bool {
        match self.full.pop() {
            Some(before) => self.last = before,
            None => self.last.clear(),
        }
        !self.last.is_empty()
    }

    /// Returns the bytes of memory.
    pub(super) fn capacity_bytes(&self) -> usize {
        self.full.len() * PART_BYTES
            + self.full.capacity() * size_of::<Vec<u8>>()
            + self.last.capacity()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::KEY_BYTES_MAX;

    /// A name was once a range of two halves of a word, which wrapped in a transaction with 4 GiB
    /// of keys.
    #[test]
    fn a_key_may_lie_beyond_four_gigabytes() {
        let far = KeptKey::new((5 << 30) + 3, KEY_BYTES_MAX);
        assert_eq!((far.len(), far.start()), (KEY_BYTES_MAX, (5 << 30) + 3));
        let keys = KeptKeys::default();
        assert_eq!(keys.get(KeptKey::default()), b"");
    }

    #[test]
    fn keys_are_found_in_all_parts_and_forgotten_from_any_place_on() {
        let mut keys = KeptKeys::default();
        let key_at = |at: usize| vec![at as u8; at * 7919 % KEY_BYTES_MAX];
        let mut kept = Vec::new();
        for at in 0..300 {
            kept.push((keys.end(), keys.keep(&key_at(at))));
        }
        assert!(keys.full.len() > 2);
        let all = |keys: &KeptKeys, kept: &[(usize, KeptKey)]| {
            (kept.iter().enumerate()).all(|(at, (_, key))| keys.get(*key) == key_at(at))
        };
        assert!(all(&keys, &kept));
        for left in [299, 200, 150, 149, 20, 1] {
            keys.truncate(kept[left].0);
            kept.truncate(left);
            kept.push((keys.end(), keys.keep(&key_at(left))));
            assert!(all(&keys, &kept), "{left}");
        }
        while keys.drop_part() {}
        assert_eq!(keys.end(), 0);
        assert!(keys.capacity_bytes() <= 2 * PART_BYTES);
    }

    #[test]
    fn a_part_is_filled_to_its_last_byte() {
        let mut keys = KeptKeys::default();
        let key = vec![7; KEY_BYTES_MAX];
        while keys.end() + key.len() <= PART_BYTES {
            keys.keep(&key);
        }
        let rest = vec![8; PART_BYTES - keys.end()];
        let last = keys.keep(&rest);
        let end = keys.end();
        assert_eq!((end, keys.full.len()), (PART_BYTES, 0));
        let next = keys.keep(b"next");
        assert_eq!((keys.get(last), keys.get(next)), (&rest[..], &b"next"[..]));
        keys.truncate(end);
        assert_eq!((keys.end(), keys.get(last)), (end, &rest[..]));
    }
}
