//! Cooperative collection: the garbage of commits, freed by the same worker a little at a time.
//!
//! There are two queues, in commit order except for large transactions, which enter their replaced
//! versions while others commit (this only delays entries behind them):
//! - *superseded versions*: unreachable once the horizon has reached the commit that replaced them
//!   (see `version.rs` on dangling `next`),
//! - *tombstones*: once the horizon has reached a deletion, no transaction can see the record, and
//!   its index entry and RID are removed too. Not before the deletion is durable: a reader that
//!   finds no record must know the commit that its answer depends on.
//!
//! # Removing a deleted record
//! 1. The tombstone `T` is still the slot's head and still stamped with the deletion's timestamp
//!    (otherwise another transaction inserted the key again: then `T` is a superseded version in
//!    the queue of that transaction's session). `T` cannot have been freed and its memory reused in
//!    between: that takes a horizon beyond a commit that is newer than this session's announced
//!    floor. A record that is in the lock table returns to the end of the queue.
//! 2. Slot: `T` → `DEAD`. From now on inserts of the key that meet the slot wait for step 3;
//!    readers see no record, as before.
//! 3. The index entry is removed if it still names this RID.
//! 4. RID and `T` are retired; readers pinned before step 3 may still hold them.
//!
//! Records of a table that is gone are gone with it (`catalog/graveyard.rs`): their tombstones and
//! RIDs are skipped.
//!
//! # A bounded amount
//! A worker's tasks wait for the end of a call. A call frees [`ENTRIES_MIN`] entries of each kind
//! of garbage (versions, tombstones, RIDs, retired blocks, moves), if there are as many, and more
//! only until [`COLLECTING`] is over. If garbage is left then, the worker calls again after its
//! next look around instead of a millisecond later, and does not sleep
//! ([`WorkerLocal::is_behind`]): the worker collects for a large part of its time, until it has
//! caught up, and no rate of production outruns it.
//!
//! The removals of a call are a group (`interleave::together`): the search for a key that has not
//! been used for a while is one cache miss after the other.

use std::{cell::Cell, sync::atomic::Ordering, time::Duration};

#[cfg(doc)]
use interleave::WorkerLocal;
use interleave::{Clock, Grouped, Point, Policy, run_inline, together};
use memory::PartsQueue;

use crate::{
    database::Database,
    device_room::Purse,
    indirection::{Head, Rid},
    log::{Durability, format},
    session::{RidStock, Session},
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

/// Minimum of entries of each kind that a call frees whatever the time.
const ENTRIES_MIN: usize = 256;
/// Number of entries between two looks at the clock.
const ENTRIES_PER_LOOK: usize = 64;
const _: () = assert!(ENTRIES_MIN.is_multiple_of(ENTRIES_PER_LOOK));
/// Time after which a call frees no more than [`ENTRIES_MIN`].
const COLLECTING: Duration = Duration::from_micros(100);
/// Maximum of entries of a queue that a call frees, or a part of the queue if that is more: a bound
/// also where the clock stands still, as in simulations.
const STILL_MIN: usize = 1024;
const STILL_PART: usize = 4;

/// Limit of what a call may free: see the module text.
pub(super) struct Allowance<'c> {
    clock: &'c Clock,
    until: Duration,
    is_over: Cell<bool>,
}

impl<'c> Allowance<'c> {
    fn new(clock: &'c Clock) -> Allowance<'c> {
        Allowance {
            clock,
            until: clock.now() + COLLECTING,
            is_over: Cell::new(false),
        }
    }

    /// Whether a call that has `freed` so many entries of a kind may free another.
    fn has(&self, freed: usize) -> bool {
        if freed < ENTRIES_MIN || !freed.is_multiple_of(ENTRIES_PER_LOOK) {
            return true;
        }
        let is_over = self.clock.now() >= self.until;
        self.is_over.set(self.is_over.get() || is_over);
        !is_over
    }
}

/// Garbage of a session.
#[derive(Default)]
pub(crate) struct Garbage {
    versions: PartsQueue<(Timestamp, Version, u32)>,
    tombstones: PartsQueue<Tombstone>,
}

// SAFETY: garbage is unreachable but for its owner, see the module text; it is handed over whole
// when a session ends.
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

    /// Adds `version`, which a commit at `timestamp` replaced.
    #[inline]
    pub(crate) fn superseded(&mut self, timestamp: Timestamp, version: Version, block_bytes: u32) {
        self.versions.push_back((timestamp, version, block_bytes));
    }

    /// Adds the tombstone `version` of a record that was deleted at `timestamp`.
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

    /// Returns the bytes of the queues, keys of tombstones not included.
    pub(super) fn list_bytes(&self) -> usize {
        self.versions.capacity_bytes() + self.tombstones.capacity_bytes()
    }

    fn merge(&mut self, other: Garbage) {
        self.versions.append(other.versions);
        self.tombstones.append(other.tombstones);
    }
}

impl Session {
    /// Frees a bounded amount of garbage that no transaction can see any more.
    pub(super) fn collect(&self) {
        let allowance = Allowance::new(&self.clock);
        self.collect_some(&allowance);
        self.is_behind.set(allowance.is_over.get());
    }

    fn collect_some(&self, allowance: &Allowance<'_>) {
        self.memory.quiesce_while(|freed| allowance.has(freed));
        self.database.inherit(self);
        self.reuse_rids(allowance);
        self.repay_commit();
        let tick = || self.move_clock();
        self.database.dig(&self.digging, &self.memory, tick);
        let horizon = || self.database.horizon.horizon();
        let moves = &self.database.moves;
        moves.collect(horizon, |freed| allowance.has(freed));
        if self.garbage.borrow().is_empty() {
            return;
        }
        let horizon = self.database.horizon.horizon();
        self.collect_versions(horizon, allowance);
        let durable = self.database.log().map(|log| log.frontier.reached());
        let up_to = durable.map_or(horizon, |durable| durable.min(horizon));
        self.collect_tombstones(up_to, allowance);
    }

    /// Moves the clock. With a log, the move is an empty commit, so that everything up to the clock
    /// becomes durable; without room in the log, that commit follows later.
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

    /// Commits for a clock that was moved without a commit.
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

    /// Logs an empty transaction, if the log has room. Returns its timestamp.
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

    fn collect_versions(&self, horizon: Timestamp, allowance: &Allowance<'_>) {
        let mut garbage = self.garbage.borrow_mut();
        let budget = STILL_MIN.max(garbage.versions.len() / STILL_PART);
        let mut collected = 0;
        while collected < budget {
            match garbage.versions.front() {
                Some(&(timestamp, version, block_bytes))
                    if timestamp <= horizon && allowance.has(collected) =>
                {
                    // SAFETY: every open or future snapshot is at least the horizon and sees the
                    // version that replaced this one.
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

    fn collect_tombstones(&self, up_to: Timestamp, allowance: &Allowance<'_>) {
        let queued = self.garbage.borrow().tombstones.len();
        let budget = STILL_MIN.max(queued / STILL_PART).min(queued);
        let mut taken = 0;
        let due = || {
            let mut garbage = self.garbage.borrow_mut();
            let front = garbage.tombstones.front()?;
            if front.timestamp > up_to || !allowance.has(taken) {
                return None;
            }
            taken += 1;
            garbage.tombstones.pop_front()
        };
        let removals = std::iter::from_fn(due)
            .take(budget)
            .map(|tombstone| self.remove_record::<Grouped>(tombstone));
        run_inline(together::<Grouped, _>(removals, drop));
    }

    /// Removes a deleted record.
    ///
    /// # Suspension
    /// Memory waits. Between steps 2 and 3 other tasks may meet the record, as other threads may
    /// anyway.
    async fn remove_record<P: Policy>(&self, tombstone: Tombstone) {
        // First: while the pin is open, a table that is found stays (`catalog/graveyard.rs`).
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
        // SAFETY: unlinked by `kill`, which succeeded for this call alone.
        unsafe { version.retire(&self.memory) };
        self.counters.update(|stats| {
            stats.records_removed += 1;
            stats.versions_collected += 1;
        });
    }

    fn reuse_rids(&self, allowance: &Allowance<'_>) {
        let mut rids = self.rids.borrow_mut();
        let gone = self.database.catalog.gone();
        if self.gone.replace(gone) != gone {
            rids.forget(|table| self.database.table_by_number(table).is_none());
        }
        let _pin = rids.is_waiting().then(|| self.memory.pin());
        let mut reused = 0;
        while allowance.has(reused)
            && let Some((table, rid)) = rids.next_reusable(&self.memory)
        {
            reused += 1;
            if let Some(table) = self.database.table_by_number(table) {
                table.records.slot(rid).clear();
                rids.put_back(table.number(), rid);
            }
        }
    }
}

/// Garbage of ended sessions, for the next session that collects.
#[derive(Default)]
pub(crate) struct Estate {
    garbage: Garbage,
    rids: RidStock,
}

impl Database {
    /// Takes over the garbage of an ending session.
    pub(crate) fn adopt(&self, garbage: Garbage, rids: &mut RidStock) {
        let mut estate = self.estate.lock().unwrap_or_else(|e| e.into_inner());
        estate.garbage.merge(garbage);
        rids.bequeath(&mut estate.rids);
        self.has_estate.store(true, Ordering::Release);
    }

    /// Hands the garbage of ended sessions to `session`.
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
