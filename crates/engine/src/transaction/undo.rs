//! Undo: writes are taken back, newest first, without suspending.

use interleave::{Sequential, run_inline};

use super::Transaction;
use crate::{
    session::{State, Write, WriteKind},
    timestamp::Begin,
    version::Version,
};

impl Transaction {
    /// Ends the transaction without effect.
    pub(crate) fn undo(&self, end: State) {
        debug_assert!(matches!(
            self.context.state.get(),
            State::Open | State::Doomed(_)
        ));
        self.context.state.set(end);
        self.undo_effects(0);
        // Without a name it has written nothing.
        if let Some(id) = self.context.id.get() {
            let status = self.session.database.statuses.of(id);
            status.abort(id.sequence());
            self.take_writes_back(0);
            self.drop_saved();
            self.end_locks();
        }
    }

    /// Takes back what was written from the given place on, newest first.
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

    /// Takes a write back that is not in the list any more, and hands the record over if
    /// somebody waits for it.
    pub(super) fn take_back(&self, write: &Write, key: &[u8]) {
        let session = &*self.session;
        let pin = session.memory.pin();
        // SAFETY: tables live as long as the database, which the session keeps, and
        // their slots never move.
        let slot = unsafe { &*write.slot };
        self.context.command.took_back(slot);
        let is_marked = match write.kind {
            WriteKind::Version => {
                let old = write.version.next().expect("a version replaces another");
                let is_marked = slot.replace_own(write.version, old);
                // Whoever queued the tombstone may have found it covered, and
                // forgotten it.
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

    /// Frees a version of this transaction's own that is in no chain any more.
    pub(super) fn discard(&self, version: Version) {
        self.context.remove_version(version);
        // Readers that hold it walk on.
        version.stamp_never();
        // SAFETY: unlinked; readers pinned before may still hold it.
        unsafe { version.retire(&self.session.memory) };
    }

    /// Frees what was kept for savepoints. At the end: before the context can be
    /// another transaction's, so that nobody waits for these to be stamped.
    #[inline]
    pub(super) fn drop_saved(&self) {
        let mut savepoints = self.context.savepoints.borrow_mut();
        if !savepoints.is_empty() {
            for version in savepoints.end() {
                self.discard(version);
            }
        }
    }

    /// Frees up to so many of these; whether there are more.
    pub(super) fn drop_some_saved(&self, versions_max: usize) -> bool {
        let mut savepoints = self.context.savepoints.borrow_mut();
        for version in savepoints.end().take(versions_max) {
            self.discard(version);
        }
        !savepoints.is_empty()
    }
}
