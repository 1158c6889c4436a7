//! The end of a transaction. What makes it visible, or undoes it, never suspends; a
//! commit may wait before that for room in the log, and afterwards for the device.

use interleave::{Sequential, run_inline};

use super::{State, Transaction};
use crate::{
    error::Error,
    log::{Durability, LaneWriter, format},
    session::WriteKind,
    timestamp::Timestamp,
};

impl Transaction {
    /// Commits. Read-only transactions have no timestamp of their own and get
    /// their snapshot's.
    ///
    /// Others see the transaction at once; the answer comes when it is as durable
    /// as [`Transaction::durability`] asks for. The same goes for a read-only
    /// transaction and what it saw.
    ///
    /// # Errors
    /// [`Error::Abort`] or [`Error::Ended`] if the transaction is over already.
    /// [`Error::StorageFull`], [`Error::TransactionTooLarge`]: it was rolled back.
    /// [`Error::Poisoned`]: whether it is durable is unknown.
    ///
    /// # Suspension
    /// An event wait, if there is a log. No snapshot is held meanwhile.
    ///
    /// # Cancellation
    /// Dropping the future rolls back, or leaves the transaction committed.
    #[inline]
    pub async fn commit(self) -> Result<Timestamp, Error> {
        self.check_open()?;
        let Some(lane) = self.session.lane() else {
            return Ok(self.end(None));
        };
        if !self.context.writes.borrow().is_empty() {
            self.session.database.check_writable()?;
            lane.room_for(self.log_bytes()).await?;
            self.check_open()?;
        }
        let timestamp = self.end(Some(lane));
        if self.durability.get() != Durability::Synchronous {
            return Ok(timestamp);
        }
        let depends_on = self.depends_on(timestamp);
        if depends_on <= lane.log().frontier.reached() && !lane.log().is_poisoned() {
            return Ok(timestamp);
        }
        let session = self.session.clone();
        drop(self);
        session.durable(depends_on).await?;
        Ok(timestamp)
    }

    /// What must be durable before the answer of a transaction that committed at
    /// `timestamp` leaves.
    fn depends_on(&self, timestamp: Timestamp) -> Timestamp {
        if self.context.writes.borrow().is_empty() {
            self.seen.get()
        } else {
            timestamp
        }
    }

    /// Bytes of the transaction in the log.
    fn log_bytes(&self) -> usize {
        let writes = self.context.writes.borrow();
        let bytes = writes.iter().map(|write| {
            let (start, end) = write.key;
            let value = write.version.payload().map_or(0, <[u8]>::len);
            format::write_bytes((end - start) as usize, value)
        });
        format::transaction_bytes() + bytes.sum::<usize>()
    }

    /// Makes the transaction visible, without suspending.
    #[inline]
    fn end(&self, lane: Option<&LaneWriter>) -> Timestamp {
        let timestamp = if self.context.writes.borrow().is_empty() {
            self.snapshot()
        } else {
            self.commit_writes(lane)
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
        timestamp
    }

    fn commit_writes(&self, lane: Option<&LaneWriter>) -> Timestamp {
        let session = &*self.session;
        let status = session.database.statuses.of(self.id);
        let commit = || status.commit(self.id.sequence(), &session.database.horizon.clock);
        let writes = self.context.writes.borrow();
        let keys = self.context.keys.borrow();
        let timestamp = match lane {
            None => commit(),
            Some(lane) => lane.append(self.durability.get(), commit, |appending| {
                for write in writes.iter() {
                    appending.write(write.table, write.key(&keys), write.version.payload());
                }
            }),
        };
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
