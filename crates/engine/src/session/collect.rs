//! Cooperative collection: what commits leave behind, freed by the same worker
//! a little at a time.
//!
//! Two queues, in commit order but for large transactions, which enter what they have replaced
//! while others commit (that only delays who comes behind them):
//! - *superseded versions*: unreachable once the horizon has reached the commit
//!   that replaced them (see `version.rs` on dangling `next`),
//! - *tombstones*: once the horizon has reached a deletion, nobody can see the
//!   record, and its index entry and RID go too. Not before the deletion is
//!   durable: who finds nothing must know what his answer depends on.
//!
//! # Removing a deleted record
//! 1. The tombstone `T` is still the slot's head and still stamped with the
//!    deletion's timestamp (else somebody inserted the key again: then `T` is a
//!    superseded version in his queue). `T` cannot have been freed and its memory
//!    reused in between: that takes a horizon beyond a commit that is newer than
//!    this session's announced floor.
//!    A record that the lock table has comes back to the end of the queue.
//! 2. Slot: `T` → `DEAD`. From now on inserts of the key that meet the slot wait
//!    for step 3; readers see nothing, as before.
//! 3. The index entry is removed if it still names this RID.
//! 4. RID and `T` are retired; readers pinned before step 3 may still hold them.
//!
//! Records of a table that is gone are gone with it (`catalog/graveyard.rs`): their
//! tombstones and RIDs are skipped.
//!
//! The removals of a call are a group (`interleave::together`): the way to a key that
//! nobody has asked for in a while is one cache miss after the other.

use std::{collections::VecDeque, sync::atomic::Ordering};

use interleave::{Grouped, Point, Policy, run_inline, together};

use crate::{
    database::Database,
    device_room::Purse,
    indirection::{Head, Rid},
    log::{Durability, format},
    session::{RidStock, Session},
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

/// Entries looked at per call, at least.
const BUDGET: usize = 1024;

/// What a session has to free.
#[derive(Default)]
pub(crate) struct Garbage {
    versions: VecDeque<(Timestamp, Version, u32)>,
    tombstones: VecDeque<Tombstone>,
}

// SAFETY: garbage is unreachable but for its owner, see the module text; it is
// handed over whole when a session ends.
unsafe impl Send for Garbage {}

struct Tombstone {
    timestamp: Timestamp,
    table: u32,
    rid: Rid,
    version: Version,
    key: Box<[u8]>,
}

impl Garbage {
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.tombstones.is_empty()
    }

    /// `version` was replaced by a commit at `timestamp`.
    #[inline]
    pub(crate) fn superseded(&mut self, timestamp: Timestamp, version: Version, block_bytes: u32) {
        self.versions.push_back((timestamp, version, block_bytes));
    }

    /// `version` deleted the record at `timestamp`.
    pub(crate) fn deleted(
        &mut self,
        timestamp: Timestamp,
        table: u32,
        rid: Rid,
        version: Version,
        key: &[u8],
    ) {
        self.tombstones.push_back(Tombstone {
            timestamp,
            table,
            rid,
            version,
            key: key.into(),
        });
    }

    /// Bytes of the queues, keys of tombstones not included.
    pub(super) fn list_bytes(&self) -> usize {
        self.versions.capacity() * size_of::<(Timestamp, Version, u32)>()
            + self.tombstones.capacity() * size_of::<Tombstone>()
    }

    fn merge(&mut self, other: Garbage) {
        self.versions.extend(other.versions);
        self.tombstones.extend(other.tombstones);
    }
}

impl Session {
    /// Frees a bounded amount of what nobody can see any more.
    pub(super) fn collect(&self) {
        self.database.inherit(self);
        self.reuse_rids();
        self.repay_commit();
        let tick = || self.move_clock();
        self.database.dig(&self.digging, &self.memory, tick);
        let horizon = || self.database.horizon.horizon();
        self.database.moves.collect(horizon);
        if self.garbage.borrow().is_empty() {
            return;
        }
        let horizon = self.database.horizon.horizon();
        self.collect_versions(horizon);
        let durable = self.database.log().map(|log| log.frontier.reached());
        self.collect_tombstones(durable.map_or(horizon, |durable| durable.min(horizon)));
    }

    /// Moves the clock. Where there is a log, that is a commit of nothing, so that all that
    /// the clock counts becomes durable; without room in the log, that follows.
    fn move_clock(&self) -> Timestamp {
        if let Some(at) = self.commit_nothing() {
            return at;
        }
        let at = self.next_timestamp();
        if self.database.storage().is_some() {
            // Release, after the clock moved: pairs with `repay_commit`, whose commit is newer.
            let owes_commit = &self.database.catalog.owes_commit;
            owes_commit.store(true, Ordering::Release);
        }
        at
    }

    /// Commits for a clock that was moved without.
    fn repay_commit(&self) {
        let owes_commit = &self.database.catalog.owes_commit;
        if !owes_commit.load(Ordering::Relaxed) {
            return;
        }
        // Acquire: pairs with `move_clock`.
        if owes_commit.swap(false, Ordering::Acquire) && self.commit_nothing().is_none() {
            owes_commit.store(true, Ordering::Release);
        }
    }

    /// An empty transaction of the log, if that has room.
    pub(crate) fn commit_nothing(&self) -> Option<Timestamp> {
        let lane = self.lane()?;
        self.database.check_writable().ok()?;
        let has_room = lane.has_room(format::transaction_bytes(), Purse::Reserve);
        has_room.ok().filter(|&has_room| has_room)?;
        let (at, ()) = lane.append(Durability::Relaxed, || self.next_timestamp(), |_, _| ());
        Some(at)
    }

    fn next_timestamp(&self) -> Timestamp {
        let clock = &self.database.horizon.clock;
        Timestamp(clock.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn collect_versions(&self, horizon: Timestamp) {
        let mut garbage = self.garbage.borrow_mut();
        // A quarter of the queue, so that no rate of production outruns it.
        let budget = BUDGET.max(garbage.versions.len() / 4);
        let mut collected = 0;
        while collected < budget {
            match garbage.versions.front() {
                Some(&(timestamp, version, block_bytes)) if timestamp <= horizon => {
                    // SAFETY: every open or future snapshot is at least the
                    // horizon and sees the version that replaced this one.
                    unsafe { version.free(&self.memory, block_bytes as usize) };
                    garbage.versions.pop_front();
                    collected += 1;
                }
                _ => break,
            }
        }
        self.counters
            .update(|stats| stats.versions_collected += collected as u64);
    }

    fn collect_tombstones(&self, up_to: Timestamp) {
        let queued = self.garbage.borrow().tombstones.len();
        let budget = BUDGET.max(queued / 4).min(queued);
        let due = || {
            let mut garbage = self.garbage.borrow_mut();
            let front = garbage.tombstones.front()?;
            (front.timestamp <= up_to)
                .then(|| garbage.tombstones.pop_front())
                .flatten()
        };
        let removals = std::iter::from_fn(due)
            .take(budget)
            .map(|tombstone| self.remove_record::<Grouped>(tombstone));
        run_inline(together::<Grouped, _>(removals, drop));
    }

    /// Removes a deleted record.
    ///
    /// # Suspension
    /// Memory waits. Between steps 2 and 3 others may come by, as they may anyway: those
    /// of other threads.
    async fn remove_record<P: Policy>(&self, tombstone: Tombstone) {
        // First: while it is open, a table that is found stays (`catalog/graveyard.rs`).
        let pin = self.memory.pin();
        let Some(table) = self.database.table_by_number(tombstone.table) else {
            return;
        };
        let slot = table.records.slot(tombstone.rid);
        let version = tombstone.version;
        P::prefetch(version.address(), HEADER_BYTES);
        P::touch(
            Point::new("engine: deleted record"),
            slot,
            size_of_val(slot),
        )
        .await;
        if slot.head() != Head::Version(version)
            || version.begin() != Begin::Committed(tombstone.timestamp)
        {
            return;
        }
        if !slot.kill(version) {
            if slot.is_marked() {
                self.garbage.borrow_mut().tombstones.push_back(tombstone);
            }
            return;
        }
        let (rid, key) = (tombstone.rid, &tombstone.key);
        let removal = table
            .index
            .remove::<P>(&self.memory, &pin, key, Some(rid.0));
        removal.await;
        self.rids
            .borrow_mut()
            .retire(tombstone.table, rid, self.memory.stamp());
        // SAFETY: unlinked by `kill`, which succeeded for us alone.
        unsafe { version.retire(&self.memory) };
        self.counters.update(|stats| {
            stats.records_removed += 1;
            stats.versions_collected += 1;
        });
    }

    fn reuse_rids(&self) {
        let mut rids = self.rids.borrow_mut();
        let gone = self.database.catalog.gone();
        if self.gone.replace(gone) != gone {
            rids.forget(|table| self.database.table_by_number(table).is_none());
        }
        let _pin = rids.is_waiting().then(|| self.memory.pin());
        while let Some((table, rid)) = rids.next_reusable(&self.memory) {
            if let Some(table) = self.database.table_by_number(table) {
                table.records.slot(rid).clear();
                rids.put_back(table.number(), rid);
            }
        }
    }
}

/// What ended sessions left, for the next that collects.
#[derive(Default)]
pub(crate) struct Estate {
    garbage: Garbage,
    rids: RidStock,
}

impl Database {
    /// Takes over what an ending session leaves.
    pub(crate) fn adopt(&self, garbage: Garbage, rids: &mut RidStock) {
        let mut estate = self.estate.lock().unwrap_or_else(|e| e.into_inner());
        estate.garbage.merge(garbage);
        rids.bequeath(&mut estate.rids);
        self.has_estate.store(true, Ordering::Release);
    }

    /// Hands what ended sessions left to `session`.
    fn inherit(&self, session: &Session) {
        if !self.has_estate.load(Ordering::Acquire) {
            return;
        }
        if let Ok(mut estate) = self.estate.try_lock() {
            session
                .garbage
                .borrow_mut()
                .merge(std::mem::take(&mut estate.garbage));
            estate.rids.bequeath(&mut session.rids.borrow_mut());
            self.has_estate.store(false, Ordering::Release);
        }
    }
}
