//! Undo: writes are taken back, newest first, without suspending.

use interleave::{Sequential, run_inline};

use super::Transaction;
use crate::{
    session::{State, Write, WriteKind},
    timestamp::Begin,
    version::Version,
};

impl Transaction {
    /// Ends the transaction in the state `end` and without effect.
    pub(crate) fn undo(&self, end: State) {
        debug_assert!(matches!(
            self.context.state.get(),
            State::Open | State::Doomed(_)
        ));
        self.context.state.set(end);
        self.undo_effects(0);
        // A transaction without a name has written nothing.
        if let Some(id) = self.context.id.get() {
            let status = self.session.database.statuses.of(id);
            status.abort(id.sequence());
            self.take_writes_back(0);
            self.drop_saved();
            self.end_locks();
        }
    }

    /// Undoes the writes from the place `from` in the list on, newest first.
    pub(super) fn take_writes_back(&self, from: usize) {
        let keys = self.context.keys.borrow();
        let mut writes = self.context.writes.borrow_mut();
        while writes.len() > from
            && let Some(write) = writes.pop()
        {
            self.take_back(&write, write.key(&keys));
        }
        self.context.places.borrow_mut().cut(writes.len());
    }

    /// Undoes a write that is not in the list any more, and hands the record over if another
    /// transaction waits for it.
    pub(super) fn take_back(&self, write: &Write, key: &[u8]) {
        let session = &*self.session;
        let pin = session.memory.pin();
        // SAFETY: slots never move, and the anchor of the transaction keeps those of a table that
        // it has written.
        let slot = unsafe { &*write.slot };
        self.context.command.took_back(slot);
        let is_marked = match write.kind {
            WriteKind::Version => {
                let old = write.version.next().expect("a version replaces another");
                let is_marked = slot.replace_own(write.version, old);
                // The session that queued the tombstone may have found it covered, and forgotten
                // it.
                if old.is_tombstone()
                    && let Begin::Committed(timestamp) = old.begin()
                {
                    session.garbage.borrow_mut().deleted(
                        timestamp,
                        write.table,
                        write.rid,
                        old,
                        key,
                    );
                }
                is_marked
            }
            WriteKind::Record => {
                // The mark may come or go meanwhile.
                let locks = &session.database.locks;
                while !slot.kill(write.version) {
                    if locks.kill(slot, write.version) {
                        self.forget_lock(slot);
                        break;
                    }
                }
                if let Some(table) = session.database.table_by_number(write.table) {
                    let removal = table.index.remove_observed::<Sequential, _>(
                        &session.memory,
                        &pin,
                        key,
                        Some(write.rid.0),
                        self.tracker(&table),
                    );
                    run_inline(removal);
                }
                let stamp = session.memory.stamp();
                session
                    .rids
                    .borrow_mut()
                    .retire(write.table, write.rid, stamp);
                false
            }
        };
        self.discard(write.version);
        if is_marked {
            self.release_written(slot);
        }
    }

    /// Frees an own version of this transaction that is in no chain any more.
    pub(super) fn discard(&self, version: Version) {
        self.context.remove_version(version);
        // Readers that hold the version walk on.
        version.stamp_never();
        // SAFETY: unlinked; readers pinned before may still hold it.
        unsafe { version.retire(&self.session.memory) };
    }

    /// Frees the versions kept for savepoints. At the end of a transaction: before another
    /// transaction can take the context, so that no transaction waits for these versions to be
    /// stamped.
    #[inline]
    pub(super) fn drop_saved(&self) {
        let mut savepoints = self.context.savepoints.borrow_mut();
        if !savepoints.is_empty() {
            for version in savepoints.end() {
                self.discard(version);
            }
        }
    }

    /// Frees at most `versions_max` of the versions kept for savepoints. Returns whether there are
    /// more.
    pub(super) fn drop_some_saved(&self, versions_max: usize) -> bool {
        let mut savepoints = self.context.savepoints.borrow_mut();
        for version in savepoints.end().take(versions_max) {
            self.discard(version);
        }
        !savepoints.is_empty()
    }
}
