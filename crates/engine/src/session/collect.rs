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
//! # A bounded amount
//! A worker's tasks wait for the end of a call. Of each kind of garbage (versions, tombstones, RIDs,
//! retired blocks, moves) a call frees [`ENTRIES_MIN`] entries, if there are as many, and more only until
//! [`COLLECTING`] is over. If something is left then, the worker calls again after its next look around
//! instead of a millisecond later, and does not sleep ([`WorkerLocal::is_behind`]): it collects for a
//! large part of its time, as long as that takes, and no rate of production outruns it.
//!
//! The removals of a call are a group (`interleave::together`): the way to a key that
//! nobody has asked for in a while is one cache miss after the other.

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

/// Entries of each kind that a call frees whatever the time.
const ENTRIES_MIN: usize = 256;
/// Entries between two looks at the clock.
const ENTRIES_PER_LOOK: usize = 64;
const _: () = assert!(ENTRIES_MIN.is_multiple_of(ENTRIES_PER_LOOK));
/// Time after which a call frees no more than that.
const COLLECTING: Duration = Duration::from_micros(100);
/// Entries of a queue that a call frees at most, or a part of the queue if that is more: a bound also
/// where the clock stands still, as in simulations.
const STILL_MIN: usize = 1024;
const STILL_PART: usize = 4;

/// How much a call may free: see the module text.
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

    /// Whether another entry of a kind may follow so many, where there is one.
    fn has(&self, freed: usize) -> bool {
        if freed < ENTRIES_MIN || !freed.is_multiple_of(ENTRIES_PER_LOOK) {
            return true;
        }
        let is_over = self.clock.now() >= self.until;
        self.is_over.set(self.is_over.get() || is_over);
        !is_over
    }
}

/// What a session has to free.
#[derive(Default)]
pub(crate) struct Garbage {
    versions: PartsQueue<(Timestamp, Version, u32)>,
    tombstones: PartsQueue<Tombstone>,
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
        self.versions.capacity_bytes() + self.tombstones.capacity_bytes()
    }

    fn merge(&mut self, other: Garbage) {
        self.versions.append(other.versions);
        self.tombstones.append(other.tombstones);
    }
}

impl Session {
    /// Frees a bounded amount of what nobody can see any more.
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

    fn collect_versions(&self, horizon: Timestamp, allowance: &Allowance<'_>) {
        let mut garbage = self.garbage.borrow_mut();
        let budget = STILL_MIN.max(garbage.versions.len() / STILL_PART);
        let mut collected = 0;
        while collected < budget {
            match garbage.versions.front() {
                Some(&(timestamp, version, block_bytes))
                    if timestamp <= horizon && allowance.has(collected) =>
                {
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
