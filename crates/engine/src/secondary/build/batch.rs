//! A batch of records that a builder has read of the table and not yet brought into the index.

use crate::{
    indirection::Rid,
    secondary::{
        Index,
        entry::{self, Entry, Gathered, IndexKeys},
    },
};

/// Entries to claim.
#[derive(Default)]
pub(in crate::secondary) struct Batch {
    pub(in crate::secondary) records: usize,
    pub(in crate::secondary) last_key: Vec<u8>,
    pub(in crate::secondary) entries: Gathered,
    /// Keys of records to delete.
    pub(in crate::secondary) expired: Vec<Vec<u8>>,
    keys: IndexKeys,
    /// Key and payload of one entry.
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl Batch {
    /// Empties the batch, and keeps its memory for the next one.
    pub(in crate::secondary) fn clear(&mut self) {
        self.records = 0;
        self.entries.clear();
        self.expired.clear();
    }

    fn count(&mut self, key: &[u8]) {
        self.records += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    pub(in crate::secondary) fn add_expired(&mut self, key: &[u8]) {
        self.count(key);
        self.expired.push(key.to_vec());
    }

    pub(in crate::secondary) fn add(
        &mut self,
        Index { base, core: index }: &Index,
        key: &[u8],
        rid: Rid,
        stored: &[u8],
    ) {
        self.count(key);
        let (expiry, value) = base.split(stored);
        self.keys.clear();
        (index.extract)(key, value, &mut self.keys);
        for (index_key, covered) in self.keys.iter() {
            entry::encode_key(index.options, index_key, rid, &mut self.key);
            let entry = Entry {
                rid,
                primary_key: key,
                covered,
            };
            entry.encode(expiry, &mut self.payload);
            self.entries.push(rid, &self.key, &self.payload);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A batch once dropped the memory of its entries whenever it was emptied, although it is kept
    /// for the next records.
    #[test]
    fn a_batch_that_is_emptied_keeps_its_memory() {
        let mut batch = Batch::default();
        batch.entries.push(Rid(1), b"key", b"payload");
        let room = batch.entries.room();
        batch.clear();
        assert_eq!(batch.entries.len(), 0);
        assert!(room > 0 && batch.entries.room() == room);
    }
}
