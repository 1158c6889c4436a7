//! The graveyard: how the memory of a storage that was dropped comes back.
//!
//! 1. The storage is dropped; then, by the first collector that comes by, the clock is
//!    moved to `beyond`. Whoever may still use it has an older snapshot, or has written
//!    under one (`Context::anchor`): to load `beyond` or more from the clock is to see
//!    that it was dropped. Where there is a log, what moves the clock is in it, as an
//!    empty transaction: who takes a snapshot, and waits until all that is in it is
//!    durable, would wait for ever. If the log has no room, one follows that is newer
//!    (`Catalog::owes_commit`).
//! 2. Once the horizon has reached `beyond`, all of these have ended. A worker takes
//!    the grave and unregisters the storage: collectors, which go by number, find it no
//!    longer.
//! 3. When all pins of that moment are gone, nobody has a pointer into it: collectors
//!    look numbers up under a pin.
//! 4. Slot by slot, the newest versions are freed; then the nodes of the index; then
//!    the segments of the indirection array. A bounded amount each time the worker
//!    does its housekeeping.
//!
//! # Each version is freed once
//! A version that was superseded is in a queue of garbage, which names it by address
//! and frees it without looking at the table. A version that was taken back is with
//! the epochs. What remains are the newest versions of all records, tombstones included,
//! and no queue frees those: a tombstone's entry is only a hint to look at its slot, and
//! finds its table gone. A slot that a collector has killed before step 2 holds none.
//!
//! Handles live on, but nobody gets past [`crate::catalog::Life`] with one.

use std::{
    cell::RefCell,
    sync::{Arc, MutexGuard, atomic::Ordering},
};

use index::Demolition;
use memory::{Local, Stamp};

use crate::{
    catalog::Catalog,
    database::Database,
    horizon::Horizon,
    indirection::{Head, Rid},
    secondary::derived::is_derived,
    table::Table,
    timestamp::Timestamp,
};

/// Slots or nodes freed per call.
const BUDGET: usize = 1024;

/// A storage on its way.
#[derive(Debug)]
pub(crate) struct Grave {
    table: Arc<Table>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// Nobody has come by.
    Fresh,
    /// For the horizon.
    Waits(Timestamp),
    /// Unregistered at this moment.
    Grace(Stamp),
    /// The next slot.
    Slots(u64),
    Index(Demolition),
    /// The next segment.
    Segments(usize),
}

/// The grave that a session is busy with.
pub(crate) type Digging = RefCell<Option<Grave>>;

impl Grave {
    /// A bounded amount of work; whether nothing is left.
    fn dig(&mut self, local: &Local) -> bool {
        match &mut self.step {
            Step::Fresh | Step::Waits(_) => unreachable!("the grave was not opened"),
            Step::Grace(stamp) => {
                if local.is_past(*stamp) {
                    self.step = Step::Slots(0);
                }
            }
            Step::Slots(next) => {
                let records = &self.table.records;
                let end = records.taken().min(*next + BUDGET as u64);
                for rid in *next..end {
                    if let Head::Version(version) = records.slot(Rid(rid)).head() {
                        // SAFETY: nobody reaches the storage any more, and no queue
                        // frees the newest version of a record: see the module text.
                        unsafe { version.free(local, version.block_bytes()) };
                    }
                }
                *next = end;
                if end == records.taken() {
                    // SAFETY: nobody uses the storage, and no pin of when somebody did
                    // is open; a grave is dug once.
                    self.step = Step::Index(unsafe { self.table.index.demolish() });
                }
            }
            Step::Index(demolition) => {
                if demolition.go_on(&self.table.index, local, BUDGET) {
                    self.step = Step::Segments(0);
                }
            }
            Step::Segments(next) => {
                // SAFETY: as above.
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

    /// A storage is dropped, or never came to be.
    pub(super) fn add_grave(&self, table: Arc<Table>) {
        let mut graveyard = self.graveyard();
        let step = Step::Fresh;
        graveyard.push_back(Grave { table, step });
        // Under the latch, which orders it; a look without is a hint.
        self.graves.store(graveyard.len(), Ordering::Relaxed);
    }

    /// Whether somebody should look after the graveyard.
    pub(crate) fn has_graves(&self) -> bool {
        self.graves.load(Ordering::Relaxed) > 0
    }

    /// The first grave, if the horizon has reached it. `tick` moves the clock: SeqCst, as
    /// in commits.
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

    /// Takes over what an ending session was busy with.
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
