//! Keys and values that one step of a scan hands out.

use crate::node::{BORDER_SLOTS, Entry};

/// Keys and values of one step, in scan order. Reuse a batch: its buffers grow to the longest keys
/// met and then stay.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    items: Vec<(u32, u64)>,
    /// The border as it was at one version, while its suffixes are fetched.
    pub(super) entries: Entries,
}

/// Up to a border's worth of entries, kept here and not in the scan's future.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) all: [Entry; BORDER_SLOTS],
    pub(super) len: usize,
}

impl Default for Entries {
    fn default() -> Entries {
        Entries {
            all: [Entry::NONE; BORDER_SLOTS],
            len: 0,
        }
    }
}

impl Batch {
    /// Returns a batch without content.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Returns the number of keys.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether there are no keys.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Forgets the content, keeps the buffers.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    /// Returns the key and the value at `index`, counted in scan order.
    ///
    /// # Panics
    /// Panics if `index` is not below [`Batch::len`].
    #[inline]
    pub fn get(&self, index: usize) -> (&[u8], u64) {
        let start = match index {
            0 => 0,
            _ => self.items[index - 1].0,
        };
        let (end, value) = self.items[index];
        (&self.bytes[start as usize..end as usize], value)
    }

    /// Returns the keys and values in scan order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(super) fn last_key(&self) -> Option<&[u8]> {
        Some(self.get(self.len().checked_sub(1)?).0)
    }

    /// Adds a key made of three parts.
    #[inline]
    pub(super) fn push(&mut self, prefix: &[u8], piece: &[u8], suffix: &[u8], value: u64) {
        self.bytes.extend_from_slice(prefix);
        self.bytes.extend_from_slice(piece);
        self.bytes.extend_from_slice(suffix);
        self.items.push((self.bytes.len() as u32, value));
    }

    /// Takes the last key back.
    pub(super) fn pop(&mut self) {
        self.items.pop();
        let end = self.items.last().map_or(0, |item| item.0);
        self.bytes.truncate(end as usize);
    }
}
