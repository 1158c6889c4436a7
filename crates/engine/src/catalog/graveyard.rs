//! The graveyard: the return of the memory of a storage that was dropped.
//!
//! 1. The storage is dropped; then the first collector that sees the grave moves the clock to
//!    `beyond`. A transaction that may still use the storage has an older snapshot, or has written
//!    under one (`Context::anchor`): a transaction that loads `beyond` or more from the clock sees
//!    that the storage was dropped. With a log, the move of the clock is in it, as an empty
//!    transaction: otherwise a transaction that takes a snapshot, and waits until everything up to
//!    it is durable, would wait for ever. If the log has no room, a newer empty transaction follows
//!    (`Catalog::owes_commit`).
//! 2. Once the horizon has reached `beyond`, all these transactions have ended. A worker takes the
//!    grave and unregisters the storage: collectors, which go by number, find it no longer.
//! 3. When all pins of that moment are gone, no thread has a pointer into the storage: collectors
//!    look numbers up under a pin, and transactions while their anchors or snapshots keep the
//!    storage. (A retry's anchor is newer than a lock that it inherits: `transaction/restart.rs`.)
//! 4. The blocks of columns are given up (`columns.rs`); then, slot by slot, the newest versions are
//!    freed; then the nodes of the index; then the segments of the indirection array. Each
//!    housekeeping of the worker frees a bounded amount.
//!
//! # Each version is freed once
//! A version that was superseded is in a queue of garbage, which names it by address and frees it
//! without looking at the table. A version that was taken back is with the epochs. The newest
//! versions of all records remain, tombstones included, and no queue frees those: a tombstone's
//! entry is only a hint to look at its slot, and finds its table gone. A slot that a collector has
//! killed before step 2 holds no version.
//!
//! Handles live on, but [`crate::catalog::Life`] refuses their use.

use std::{
    cell::RefCell,
    sync::{Arc, MutexGuard, atomic::Ordering},
};

use index::Demolition;
use memory::{Local, Stamp};

use crate::{
    catalog::Catalog,
    columns::ChunkId,
    database::Database,
    horizon::Horizon,
    indirection::{Head, Rid},
    secondary::derived::is_derived,
    table::Table,
    timestamp::Timestamp,
};

/// Number of slots or nodes freed per call.
const BUDGET: usize = 1024;

/// Number of chunks whose blocks are given up per call: a block has some hundred kilobytes.
const CHUNKS_BUDGET: u64 = 16;

/// Dropped storage on its way to be freed.
#[derive(Debug)]
pub(crate) struct Grave {
    table: Arc<Table>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// No collector has seen the grave yet.
    Fresh,
    /// The grave waits for the horizon to reach this timestamp.
    Waits(Timestamp),
    /// The storage was unregistered at this moment.
    Grace(Stamp),
    /// Blocks of columns are being given up; the next chunk.
    Blocks(ChunkId),
    /// Versions are being freed; the next slot.
    Slots(u64),
    Index(Demolition),
    /// Segments are being freed; the next one.
    Segments(usize),
}

/// Grave that a session is busy with.
pub(crate) type Digging = RefCell<Option<Grave>>;

impl Grave {
    /// Does a bounded amount of work. Returns whether nothing is left.
    fn dig(&mut self, local: &Local) -> bool {
        match &mut self.step {
            Step::Fresh | Step::Waits(_) => unreachable!("the grave was not opened"),
            Step::Grace(stamp) => {
                if local.is_past(*stamp) {
                    self.step = Step::Blocks(ChunkId(0));
                }
            }
            Step::Blocks(next) => {
                let chunks = &self.table.chunks;
                self.step = match chunks.drop_blocks(*next, CHUNKS_BUDGET, local) {
                    Some(next) => Step::Blocks(next),
                    None => Step::Slots(0),
                };
            }
            Step::Slots(next) => {
                let records = &self.table.records;
                let end = records.taken().min(*next + BUDGET as u64);
                for rid in *next..end {
                    if let Head::Version(version) = records.slot(Rid(rid)).head() {
                        // SAFETY: no thread reaches the storage any more, and no queue frees the
                        // newest version of a record: see the module text.
                        unsafe { version.free(local, version.block_bytes()) };
                    }
                }
                *next = end;
                if end == records.taken() {
                    // SAFETY: no thread uses the storage, and no pin of when one did is open; a
                    // grave is dug once.
                    self.step = Step::Index(unsafe { self.table.index.demolish() });
                }
            }
            Step::Index(demolition) => {
                if demolition.go_on(&self.table.index, local, BUDGET) {
                    self.step = Step::Segments(0);
                }
            }
            Step::Segments(next) => {
                // SAFETY: no thread uses the storage, and no pin of when one did is open; a grave is
                // dug once.
                if !unsafe { self.table.records.free_segment(local, *next) } {
                    return true;
                }
                *next += 1;
            }
        }
        false
    }
}

impl Catalog {
    fn graveyard(&self) -> MutexGuard<'_, std::collections::VecDeque<Grave>> {
        self.graveyard.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds the grave of a storage that is dropped, or never came to be.
    pub(super) fn add_grave(&self, table: Arc<Table>) {
        let mut graveyard = self.graveyard();
        let step = Step::Fresh;
        graveyard.push_back(Grave { table, step });
        // Stored under the latch, which orders it; a look without the latch is a hint.
        self.graves.store(graveyard.len(), Ordering::Relaxed);
    }

    /// Whether a session should look after the graveyard.
    pub(crate) fn has_graves(&self) -> bool {
        self.graves.load(Ordering::Relaxed) > 0
    }

    /// Takes the first grave, if the horizon has reached it. `tick` moves the clock: SeqCst, as in
    /// commits.
    fn take_grave(&self, horizon: &Horizon, tick: impl FnOnce() -> Timestamp) -> Option<Grave> {
        let mut graveyard = self.graveyard();
        if graveyard
            .iter()
            .any(|grave| matches!(grave.step, Step::Fresh))
        {
            let beyond = tick();
            for grave in graveyard.iter_mut() {
                if matches!(grave.step, Step::Fresh) {
                    grave.step = Step::Waits(beyond);
                }
            }
        }
        if let Step::Waits(beyond) = graveyard.front()?.step
            && beyond > horizon.horizon()
        {
            return None;
        }
        let grave = graveyard.pop_front()?;
        self.graves.store(graveyard.len(), Ordering::Relaxed);
        Some(grave)
    }

    /// Takes over the grave that an ending session was busy with.
    pub(crate) fn inherit_grave(&self, digging: &Digging) {
        if let Some(grave) = digging.borrow_mut().take() {
            let mut graveyard = self.graveyard();
            graveyard.push_front(grave);
            self.graves.store(graveyard.len(), Ordering::Relaxed);
        }
    }
}

impl Database {
    fn open_grave(&self, local: &Local, tick: impl FnOnce() -> Timestamp) -> Option<Grave> {
        let catalog = &self.catalog;
        let mut grave = catalog.take_grave(&self.horizon, tick)?;
        if matches!(grave.step, Step::Waits(_)) {
            let number = grave.table.number();
            match is_derived(number) {
                true => self.derived.remove(number),
                false => drop(catalog.registry_mut().by_number.remove(&number)),
            }
            catalog.gone.fetch_add(1, Ordering::Relaxed);
            grave.step = Step::Grace(local.stamp());
        }
        Some(grave)
    }

    /// Frees a bounded amount of memory of storages that were dropped.
    pub(crate) fn dig(&self, digging: &Digging, local: &Local, tick: impl FnOnce() -> Timestamp) {
        let mut digging = digging.borrow_mut();
        if digging.is_none() && self.catalog.has_graves() {
            *digging = self.open_grave(local, tick);
        }
        if let Some(grave) = &mut *digging
            && grave.dig(local)
        {
            *digging = None;
        }
    }
}
