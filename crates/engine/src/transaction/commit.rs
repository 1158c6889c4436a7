//! The end of a transaction. Neither commit nor undo ever suspends.

use interleave::{Sequential, run_inline};

use super::{State, Transaction};
use crate::{error::Error, session::WriteKind, timestamp::Timestamp};

impl Transaction {
    /// Commits. Read-only transactions have no timestamp of their own and get
    /// their snapshot's.
    ///
    /// # Errors
    /// [`Error::Abort`] or [`Error::Ended`] if the transaction is over already.
    #[inline]
    pub fn commit(self) -> Result<Timestamp, Error> {
        self.check_open()?;
        let timestamp = if self.context.writes.borrow().is_empty() {
            self.snapshot()
        } else {
            self.commit_writes()
        };
        self.state.set(State::Ended);
        let counters = &self.session.counters;
        let (reads, writes, scanned) = (self.reads.get(), self.writes.get(), self.scanned.get());
        counters.update(|stats| {
            stats.commits += 1;
            stats.reads += reads;
            stats.writes += writes;
            stats.scanned += scanned;
        });
        // A scanned record costs a fraction of a point operation.
        counters
            .useful
            .set(counters.useful.get() + reads + writes + scanned / 8 + 1);
        Ok(timestamp)
    }

    fn commit_writes(&self) -> Timestamp {
        let session = &*self.session;
        let status = session.database.statuses.of(self.id);
        let timestamp = status.commit(self.id.sequence(), &session.database.horizon.clock);
        let writes = self.context.writes.borrow();
        let keys = self.context.keys.borrow();
        let mut garbage = session.garbage.borrow_mut();
        for write in writes.iter() {
            let is_tombstone = write.version.is_tombstone();
            write.version.stamp(timestamp);
            if let Some((old, block_bytes)) = write.old {
                garbage.superseded(timestamp, old, block_bytes);
            }
            if is_tombstone {
                let key = write.key(&keys);
                garbage.deleted(timestamp, write.table, write.rid, write.version, key);
            }
        }
        timestamp
    }

    /// Rolls back. Dropping the transaction does the same.
    pub fn rollback(self) {
        drop(self);
    }

    /// Ends the transaction without effect.
    pub(super) fn undo(&self, end: State) {
        debug_assert_eq!(self.state.get(), State::Open);
        self.state.set(end);
        self.session
            .database
            .statuses
            .of(self.id)
            .abort(self.id.sequence());
        self.take_writes_back();
    }

    /// Takes every write back, newest first.
    pub(super) fn take_writes_back(&self) {
        let session = &*self.session;
        let keys = self.context.keys.borrow();
        for write in self.context.writes.borrow_mut().drain(..).rev() {
            let pin = session.memory.pin();
            // SAFETY: tables live as long as the database, which the session
            // keeps, and their slots never move.
            let slot = unsafe { &*write.slot };
            match write.kind {
                WriteKind::Version => {
                    let old = write.version.next().expect("a version replaces another");
                    let replaced = slot.replace(write.version, old);
                    debug_assert!(
                        replaced,
                        "an uncommitted head is replaced by its maker alone"
                    );
                    // Whoever queued the tombstone may have found it covered, and
                    // forgotten it.
                    if old.is_tombstone()
                        && let crate::timestamp::Begin::Committed(timestamp) = old.begin()
                    {
                        let key = write.key(&keys);
                        session.garbage.borrow_mut().deleted(
                            timestamp,
                            write.table,
                            write.rid,
                            old,
                            key,
                        );
                    }
                }
                WriteKind::Record => {
                    let killed = slot.kill(write.version);
                    debug_assert!(killed, "an uncommitted head is replaced by its maker alone");
                    let key = write.key(&keys);
                    if let Some(table) = session.database.table_by_number(write.table) {
                        let removal = table.index.remove::<Sequential>(
                            &session.memory,
                            &pin,
                            key,
                            Some(write.rid.0),
                        );
                        run_inline(removal);
                    }
                    let stamp = session.memory.stamp();
                    session
                        .rids
                        .borrow_mut()
                        .retire(write.table, write.rid, stamp);
                }
            }
            // Readers that hold it walk on.
            write.version.stamp_never();
            // SAFETY: unlinked just now; readers pinned before may still hold it.
            unsafe { write.version.retire(&session.memory) };
        }
    }
}
