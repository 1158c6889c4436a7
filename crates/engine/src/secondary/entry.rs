//! Bytes of entries, and the index keys of a record.
//!
//! ```text
//!  key of a unique index:      index key
//!  key of a non-unique index:  index key [delimited] | RID, 8 bytes big-endian
//!  payload:                    RID, 8 bytes | length, 2 bytes | primary key | covered bytes
//! ```
//! The RID in the key breaks the symmetry between records with one index key (paper 004, section
//! 2.1.2). Entries sort by index key first only if no index key is the beginning of another; unless
//! the index says that none is, each zero byte is written as 0 255, and the key ends with 0 0.
//!
//! If the table has a TTL, the payload is stored behind its record's expiry, like the record's
//! value (`ttl.rs`).

use std::ops::Bound;

use crate::{
    indirection::Rid,
    secondary::IndexOptions,
    ttl::{WallTime, put_expiry},
};

const RID_BYTES: usize = 8;
const DELIMITER: u8 = 0;
const ESCAPED: u8 = 255;

/// Index keys of one record, as an extractor gives them.
///
/// Two values are equal if they have the same keys in the same order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct IndexKeys {
    bytes: Vec<u8>,
    /// Ends of each key and of its covered bytes.
    ends: Vec<(usize, usize)>,
}

impl IndexKeys {
    /// Adds an index key. A record without any key is not in the index. A key that was added before
    /// counts once.
    pub fn push(&mut self, key: &[u8]) {
        self.push_covering(key, &[]);
    }

    /// Adds an index key with bytes that scans of the index can read without the record.
    pub fn push_covering(&mut self, key: &[u8], covered: &[u8]) {
        if self.find(key).is_some() {
            return;
        }
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(covered);
        self.ends.push((key_end, self.bytes.len()));
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the key at place `at`, and its covered bytes.
    pub(crate) fn get(&self, at: usize) -> (&[u8], &[u8]) {
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1].1,
        };
        let (key_end, end) = self.ends[at];
        (&self.bytes[start..key_end], &self.bytes[key_end..end])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Returns the covered bytes of a key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<&[u8]> {
        let mut all = self.iter();
        all.find_map(|(other, covered)| (other == key).then_some(covered))
    }
}

/// Writes the key of an entry to `out`.
pub(crate) fn encode_key(options: IndexOptions, key: &[u8], rid: Rid, out: &mut Vec<u8>) {
    out.clear();
    delimit(options, key, out);
    if !options.unique {
        out.extend_from_slice(&rid.0.to_be_bytes());
    }
}

/// Appends an index key such that no key is the beginning of another, where that matters.
fn delimit(options: IndexOptions, key: &[u8], out: &mut Vec<u8>) {
    if options.unique || options.prefix_free {
        out.extend_from_slice(key);
        return;
    }
    for &byte in key {
        out.push(byte);
        if byte == DELIMITER {
            out.push(ESCAPED);
        }
    }
    out.extend_from_slice(&[DELIMITER; 2]);
}

/// Returns the index key in the key of an entry. A delimited key is decoded into `out`.
pub(crate) fn decode_key<'b>(
    options: IndexOptions,
    entry_key: &'b [u8],
    out: &'b mut Vec<u8>,
) -> &'b [u8] {
    if options.unique {
        return entry_key;
    }
    let key = &entry_key[..entry_key.len().saturating_sub(RID_BYTES)];
    if options.prefix_free {
        return key;
    }
    out.clear();
    let mut rest = key.iter();
    while let Some(&byte) = rest.next() {
        if byte == DELIMITER && rest.next() != Some(&ESCAPED) {
            break;
        }
        out.push(byte);
    }
    out
}

/// Returns the entries of a range of index keys, as a range of entry keys.
pub(crate) fn encode_range(
    options: IndexOptions,
    (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    // Before and behind all entries of an index key: RIDs are smaller than the largest number.
    let before = |key: &[u8]| {
        let mut bound = Vec::with_capacity(key.len() + 2 + RID_BYTES);
        delimit(options, key, &mut bound);
        bound
    };
    let behind = |key: &[u8]| {
        let mut bound = before(key);
        if !options.unique {
            bound.extend_from_slice(&[u8::MAX; RID_BYTES]);
        }
        bound
    };
    let lower = match lower {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(before(key)),
        Bound::Excluded(key) => Bound::Excluded(behind(key)),
    };
    let upper = match upper {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(behind(key)),
        Bound::Excluded(key) => Bound::Excluded(before(key)),
    };
    (lower, upper)
}

/// Content of an entry: the record that it leads to, and the covered bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'b> {
    pub(crate) rid: Rid,
    pub(crate) primary_key: &'b [u8],
    pub(crate) covered: &'b [u8],
}

impl<'b> Entry<'b> {
    /// Writes the stored form of an entry to `out`: the payload, behind its record's expiry if the
    /// record has one.
    pub(crate) fn encode(&self, expiry: Option<WallTime>, out: &mut Vec<u8>) {
        out.clear();
        put_expiry(out, expiry);
        out.extend_from_slice(&self.rid.0.to_le_bytes());
        out.extend_from_slice(&(self.primary_key.len() as u16).to_le_bytes());
        out.extend_from_slice(self.primary_key);
        out.extend_from_slice(self.covered);
    }

    /// Decodes a payload.
    ///
    /// # Panics
    /// If the bytes are no payload.
    #[inline]
    pub(crate) fn decode(payload: &'b [u8]) -> Entry<'b> {
        let (length, rest) = payload[RID_BYTES..]
            .split_first_chunk()
            .expect("entries have a primary key");
        let (primary_key, covered) = rest.split_at(u16::from_le_bytes(*length).into());
        Entry {
            rid: Entry::rid(payload),
            primary_key,
            covered,
        }
    }

    /// Returns the RID in a payload.
    ///
    /// # Panics
    /// If the bytes are no payload.
    #[inline]
    pub(crate) fn rid(payload: &[u8]) -> Rid {
        let rid = payload.first_chunk().expect("entries have a RID");
        Rid(u64::from_le_bytes(*rid))
    }
}

/// Entries on their way: RID, key and payload of each, in order.
#[derive(Default)]
pub(crate) struct Gathered {
    bytes: Vec<u8>,
    /// RID, end of the entry's key, and end of its payload.
    ends: Vec<(Rid, usize, usize)>,
}

impl Gathered {
    pub(crate) fn push(&mut self, rid: Rid, key: &[u8], payload: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        let end = self.bytes.len();
        self.ends.push((rid, key_end, end));
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of all keys and payloads.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns how many bytes of keys and payloads the memory has room for.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn room(&self) -> usize {
        self.bytes.capacity()
    }

    pub(crate) fn rids(&self) -> impl Iterator<Item = Rid> + Clone {
        self.ends.iter().map(|entry| entry.0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Rid, &[u8], &[u8])> {
        self.ends.iter().scan(0, |start, &(rid, key_end, end)| {
            let entry = (rid, &self.bytes[*start..key_end], &self.bytes[key_end..end]);
            *start = end;
            Some(entry)
        })
    }
}

const _: () = assert!(crate::KEY_BYTES_MAX <= u16::MAX as usize);

/// Memory for what an operation by index gathers, used again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Index keys of the old record; `new_keys` are those of the new one.
    pub(crate) old_keys: IndexKeys,
    pub(crate) new_keys: IndexKeys,
    /// Key and payload of an entry.
    pub(crate) key: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KEYS: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0\xff", b"a", b"a\0", b"a\0b", b"ab"];

    fn options(unique: bool) -> IndexOptions {
        IndexOptions {
            unique,
            prefix_free: false,
        }
    }

    #[test]
    fn entries_sort_by_index_key_and_then_by_record() {
        let mut entries = Vec::new();
        for (at, key) in KEYS.iter().enumerate() {
            for rid in [0, 1, 255, 256, u64::MAX - 1] {
                let mut entry = Vec::new();
                encode_key(options(false), key, Rid(rid), &mut entry);
                let mut decoded = Vec::new();
                assert_eq!(decode_key(options(false), &entry, &mut decoded), *key);
                entries.push((entry, at, rid));
            }
        }
        assert!(entries.is_sorted_by_key(|entry| entry.0.clone()));
        for unique in [false, true] {
            for (low, low_key) in KEYS.iter().enumerate() {
                let mut entry = Vec::new();
                encode_key(options(unique), low_key, Rid(7), &mut entry);
                use Bound::{Excluded, Included, Unbounded};
                for (other, &key) in KEYS.iter().enumerate() {
                    let range = |bounds| encode_range(options(unique), bounds);
                    let inside = |bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)| {
                        std::ops::RangeBounds::<Vec<u8>>::contains(&bounds, &entry)
                    };
                    assert_eq!(inside(range((Included(key), Unbounded))), low >= other);
                    assert_eq!(inside(range((Excluded(key), Unbounded))), low > other);
                    assert_eq!(inside(range((Unbounded, Included(key)))), low <= other);
                    assert_eq!(inside(range((Unbounded, Excluded(key)))), low < other);
                }
            }
        }
    }

    #[test]
    fn an_index_key_counts_once() {
        let mut keys = IndexKeys::default();
        keys.push(b"b");
        keys.push_covering(b"", b"covered");
        keys.push(b"b");
        assert_eq!(
            keys.iter().collect::<Vec<_>>(),
            [(&b"b"[..], &b""[..]), (&b""[..], &b"covered"[..])]
        );
    }

    #[test]
    fn payloads_are_read_as_they_were_written() {
        let entry = Entry {
            rid: Rid(1 << 40),
            primary_key: b"key",
            covered: b"covered",
        };
        let mut payload = Vec::new();
        entry.encode(None, &mut payload);
        assert_eq!(Entry::decode(&payload), entry);
    }
}
