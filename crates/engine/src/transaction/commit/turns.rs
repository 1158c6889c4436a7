//! Commits of large transactions, in turns with other tasks, and the steps that all commits share
//! with them: the size of the log record, and the stamping.
//!
//! 1. The new places of moved rows are determined (`moves.rs`). The writes to log are counted and,
//!    if they are larger than a buffer, put together (`log/lane/large.rs`). The transaction is
//!    still open.
//! 2. The commit itself, which never suspends ([`Transaction::commit_writes`]).
//! 3. Its versions are stamped. Until then they name their maker, whose status says since when they
//!    are visible (`status.rs`): a reader that meets such a version resolves it, and no reader
//!    waits for the stamp. The context stays the transaction's, with its snapshot and its locks, so
//!    that no version is collected, and no waiter let in, before the last version is stamped.
//! 4. Its locks are released one by one, with the same effect as a release in one go: a transaction
//!    that gets one of them finds all versions committed and stamped. Then the memory of the lists
//!    is freed, by parts.
//!
//! A transaction that has written nothing and has many locks is certified first, while no other
//! transaction can change the records that it has locked; then its locks are released, and it ends.
//! A commit that fails before step 2 leaves an open transaction, which is undone in turns
//! (`in_turns.rs`); step 2 itself undoes it in one go, since other transactions spin for a commit
//! that has begun.

use std::ops::{ControlFlow, Range};

use super::{Log, Transaction};
use crate::{
    catalog::{EVENTS, Effect},
    cold::Patience,
    device_room::Purse,
    error::Error,
    log::{LaneWriter, LargeTransaction, format},
    timestamp::Timestamp,
    transaction::in_turns::{WRITES_PER_LOOK, give_way},
};

/// Minimum of bytes logged between two checks whether a turn is over.
const BYTES_PER_LOOK: usize = 64 << 10;
/// Bytes that a transaction which drops a table or an index may write into catalogs and still count
/// as one that makes room.
const DROPPED_BYTES_MIN: usize = 64 << 10;

/// Size of a transaction in the log.
pub(super) struct LogSize {
    /// Bytes in all.
    pub(super) bytes: usize,
    /// Bytes of keys and values that the transaction writes.
    written: usize,
    /// Bytes of keys that the transaction deletes.
    deleted: usize,
    /// Number of writes counted so far.
    counted: usize,
}

impl Default for LogSize {
    fn default() -> LogSize {
        LogSize {
            bytes: format::transaction_bytes(),
            written: 0,
            deleted: 0,
            counted: 0,
        }
    }
}

impl LogSize {
    /// Counts at most `writes_max` more writes, and the events once all writes are counted. Returns
    /// whether all are counted.
    pub(super) fn add_some(&mut self, transaction: &Transaction, writes_max: usize) -> bool {
        let writes = transaction.write_count();
        let end = writes.min(self.counted.saturating_add(writes_max));
        transaction.each_write(self.counted..end, |_, key, value| {
            let value_bytes = value.map_or(0, <[u8]>::len);
            self.bytes += format::write_bytes(key.len(), value_bytes);
            match value {
                Some(value) => self.written += key.len() + value.len(),
                None => self.deleted += key.len(),
            }
            ControlFlow::Continue(())
        });
        self.counted = end;
        if end < writes {
            return false;
        }
        transaction.each_event(|key, value| {
            self.bytes += format::write_bytes(key.len(), value.len());
        });
        true
    }

    /// Returns the purse whose room of the device the transaction may use. A transaction that drops
    /// a table or an index, or deletes more than it writes, leaves less for the next checkpoint to
    /// write.
    pub(super) fn purse(&self, transaction: &Transaction) -> Purse {
        let effects = transaction.context.effects.borrow();
        let drops =
            |effect: &Effect| matches!(effect, Effect::Gone { .. } | Effect::IndexGone { .. });
        let dropped = match effects.iter().any(drops) {
            true => DROPPED_BYTES_MIN,
            false => 0,
        };
        match self.written < self.deleted + dropped {
            true => Purse::Reserve,
            false => Purse::Free,
        }
    }
}

impl Transaction {
    /// Commits in turns; see the module text.
    pub(super) async fn commit_in_turns(self) -> Result<Timestamp, Error> {
        let (timestamp, depends_on) = match self.has_only_read() {
            true => self.commit_locks().await?,
            false => self.commit_all().await?,
        };
        let session = self.session.clone();
        // No snapshot is held during the wait for the device.
        drop(self);
        if let Some(depends_on) = depends_on {
            session.durable(depends_on).await?;
        }
        Ok(timestamp)
    }

    /// Commits and stamps the writes. Returns the commit timestamp, and the timestamp whose
    /// durability the result must wait for.
    async fn commit_all(&self) -> Result<(Timestamp, Option<Timestamp>), Error> {
        self.condense_moves_in_turns().await;
        let committed = match self.session.lane() {
            None => self.commit_writes(Log::None),
            Some(lane) => self.commit_logged(lane).await,
        };
        let mut stamping = match committed {
            Ok(stamping) => stamping,
            Err(error) => {
                if self.check_open().is_ok() {
                    self.take_all_back_in_turns().await;
                }
                return Err(error);
            }
        };
        let timestamp = stamping.timestamp;
        while stamping.step(WRITES_PER_LOOK) {
            give_way().await;
        }
        while self.release_some_locks(0, WRITES_PER_LOOK) {
            give_way().await;
        }
        while self.drop_some_saved(WRITES_PER_LOOK) {
            give_way().await;
        }
        drop(stamping);
        self.forget_in_turns().await;
        Ok((timestamp, self.waits_for(timestamp)?))
    }

    /// Determines the new places of moved rows, for the commit to publish.
    async fn condense_moves_in_turns(&self) {
        while self.condense_some_moves() {
            self.session.account.charge(&self.context);
            give_way().await;
        }
    }

    fn condense_some_moves(&self) -> bool {
        let mut moves = self.context.moves.borrow_mut();
        moves.condense_some(WRITES_PER_LOOK)
    }

    /// Commits a transaction that has written nothing and has many locks.
    async fn commit_locks(&self) -> Result<(Timestamp, Option<Timestamp>), Error> {
        self.check_open()?;
        // Before other transactions can change the records that were read.
        self.certify_what_was_read()?;
        while self.release_some_locks(0, WRITES_PER_LOOK) {
            give_way().await;
        }
        self.forget_places_in_turns().await;
        self.end_reads()
    }

    async fn commit_logged(&self, lane: &LaneWriter) -> Result<Stamping<'_>, Error> {
        let mut size = LogSize::default();
        // Most writes may be to indexes, and not be logged. At most as many are logged as fit into
        // a buffer.
        let mut logged: Vec<Range<usize>> = Vec::new();
        loop {
            let (from, before) = (size.counted, size.bytes);
            let is_all = size.add_some(self, WRITES_PER_LOOK);
            if size.bytes > before && !lane.is_large(size.bytes) {
                match logged.last_mut().filter(|last| last.end == from) {
                    Some(last) => last.end = size.counted,
                    None => logged.push(from..size.counted),
                }
            }
            if is_all {
                break;
            }
            give_way().await;
        }
        let purse = size.purse(self);
        if !lane.is_large(size.bytes) {
            loop {
                lane.room_for(size.bytes, purse).await?;
                self.check_open()?;
                if self.has_room(lane, &size)? {
                    return self.commit_writes(Log::Buffer(lane, &logged));
                }
            }
        }
        let mut large = self.put_together(lane, size.bytes).await?;
        large.room(purse).await?;
        self.check_open()?;
        self.session.database.check_writable()?;
        self.commit_writes(Log::Large(lane, large))
    }

    /// Begins to put the transaction together once there is memory for `bytes` bytes: records leave for it.
    ///
    /// # Errors
    /// [`Error::TransactionTooLarge`]; [`Error::MemoryExhausted`] if records cannot leave, or have left too little
    /// after some seconds.
    async fn begin_large<'l>(
        &self,
        lane: &'l LaneWriter,
        bytes: usize,
    ) -> Result<LargeTransaction<'l>, Error> {
        let database = &self.session.database;
        let owner = &self.context.room_owner;
        let mut patience = Patience::default();
        loop {
            match lane.begin_large(bytes) {
                Err(Error::MemoryExhausted) => {}
                begun => return begun,
            }
            // Housekeeping may have forgotten the wish of the last attempt.
            database.want_memory_room(LaneWriter::large_bytes(bytes));
            self.session.wait_for_room(owner, &mut patience).await?;
            self.check_open()?;
        }
    }

    async fn put_together<'l>(
        &self,
        lane: &'l LaneWriter,
        bytes: usize,
    ) -> Result<LargeTransaction<'l>, Error> {
        let mut large = self.begin_large(lane, bytes).await?;
        let mut failed = None;
        self.each_event(|key, value| {
            failed = failed.or(large.write(EVENTS, key, Some(value)).err());
        });
        let (mut next, writes) = (0, self.write_count());
        while failed.is_none() && next < writes {
            let enough = large.bytes() + BYTES_PER_LOOK;
            let some = next..writes.min(next + WRITES_PER_LOOK);
            next = self.each_write(some, |table, key, value| {
                failed = large.write(table, key, value).err();
                match failed.is_some() || large.bytes() >= enough {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            give_way().await;
        }
        failed.map_or(Ok(large), Err)
    }
}

/// Committed transaction, some of whose versions are not stamped yet. Its drop stamps them and ends
/// the transaction.
pub(super) struct Stamping<'t> {
    transaction: &'t Transaction,
    pub(super) timestamp: Timestamp,
    successor: Timestamp,
    /// Number of versions that are stamped.
    stamped: usize,
    /// Number of writes whose records were handed over, once all are stamped; none if no
    /// transaction waits.
    handed_over: Option<usize>,
}

impl<'t> Stamping<'t> {
    pub(super) fn begin(
        transaction: &'t Transaction,
        timestamp: Timestamp,
        successor: Timestamp,
    ) -> Stamping<'t> {
        Stamping {
            transaction,
            timestamp,
            successor,
            stamped: 0,
            handed_over: None,
        }
    }

    /// Handles at most `writes_max` more writes. Returns whether there are more.
    fn step(&mut self, writes_max: usize) -> bool {
        let context = &self.transaction.context;
        let writes = context.writes.borrow().len();
        if self.stamped < writes {
            let end = writes.min(self.stamped.saturating_add(writes_max));
            self.stamp(end);
            if end < writes {
                return true;
            }
            let session = &self.transaction.session;
            let status = session.database.statuses.of(self.transaction.id());
            self.handed_over = status.is_watched().then_some(0);
            return self.handed_over.is_some();
        }
        let Some(handed_over) = self.handed_over else {
            return false;
        };
        let end = writes.min(handed_over.saturating_add(writes_max));
        self.transaction.release_written_in(handed_over..end);
        self.handed_over = Some(end);
        end < writes
    }

    fn stamp(&mut self, end: usize) {
        let context = &self.transaction.context;
        let (writes, keys) = (context.writes.borrow(), context.keys.borrow());
        let mut garbage = self.transaction.session.garbage.borrow_mut();
        for write in writes.range(self.stamped..end) {
            let is_tombstone = write.version.is_tombstone();
            write.version.stamp(self.timestamp, self.successor);
            if let Some((old, block_bytes)) = write.old {
                garbage.superseded(self.timestamp, old, block_bytes);
            }
            if is_tombstone {
                let (table, rid, key) = (write.table, write.rid, write.key(&keys));
                garbage.deleted(self.timestamp, table, rid, write.version, key);
            }
        }
        self.stamped = end;
    }
}

impl Drop for Stamping<'_> {
    fn drop(&mut self) {
        while self.step(usize::MAX) {}
        self.transaction.drop_saved();
        self.transaction.ended();
    }
}
