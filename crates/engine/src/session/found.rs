//! Place of the record that a statement has found last, to write or lock it next: [`Found`].
//!
//! # Why the place is still valid
//! A noted record was committed, and visible at the snapshot that is noted with it. As long as a
//! transaction has that snapshot open, no newer deletion has passed the horizon, so the record
//! keeps its RID. If the snapshot was given up meanwhile and is taken again, nothing was committed
//! in between. The caller has a pin before it asks: should the snapshot be given up after that, the
//! RID gets no other record before the pin is gone.
//!
//! An own record of the transaction is not noted: a return to a savepoint could remove it. The
//! context forgets the note of an earlier transaction when it is used again.

use std::cell::{Cell, RefCell};

use crate::{indirection::Rid, timestamp::Timestamp};

/// Place found last: see the module text.
#[derive(Default)]
pub(crate) struct Found {
    at: Cell<Option<(u32, Timestamp, Rid)>>,
    /// Key of the record, at most [`KEY_BYTES_NOTED`] bytes.
    key: RefCell<Vec<u8>>,
}

/// Maximum bytes of a noted key, so that contexts, of which there may be many, keep little.
const KEY_BYTES_NOTED: usize = 256;

impl Found {
    /// Notes that the record `rid`, with `key`, is visible at `snapshot` in the table numbered
    /// `table`.
    #[inline]
    pub(crate) fn note(&self, table: u32, key: &[u8], snapshot: Timestamp, rid: Rid) {
        if key.len() > KEY_BYTES_NOTED {
            return self.forget();
        }
        self.at.set(Some((table, snapshot, rid)));
        let mut noted = self.key.borrow_mut();
        noted.clear();
        noted.extend_from_slice(key);
    }

    pub(crate) fn forget(&self) {
        self.at.set(None);
    }

    /// Returns the RID of the record if it was found last, at this `snapshot`. The caller must hold
    /// a pin, and the snapshot, if it is one, must be open.
    #[inline]
    pub(crate) fn place(&self, table: u32, key: &[u8], snapshot: Timestamp) -> Option<Rid> {
        let (of, at, rid) = self.at.get()?;
        (of == table && at == snapshot && *self.key.borrow() == key).then_some(rid)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_the_record_that_was_found_last_is_known_at_its_snapshot() {
        let found = Found::default();
        let (rid, snapshot) = (Rid(3), Timestamp(7));
        assert_eq!(found.place(1, b"", Timestamp(0)), None);
        found.note(1, b"long key", snapshot, Rid(2));
        found.note(1, b"key", snapshot, rid);
        assert_eq!(found.place(1, b"key", snapshot), Some(rid));
        assert_eq!(found.place(1, b"long key", snapshot), None);
        assert_eq!(found.place(2, b"key", snapshot), None);
        assert_eq!(found.place(1, b"key", Timestamp(8)), None);
        found.note(1, &[b'k'; KEY_BYTES_NOTED + 1], snapshot, rid);
        assert_eq!(found.place(1, b"key", snapshot), None);
    }
}
