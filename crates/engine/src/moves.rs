//! Where rows went whose key a transaction has changed, for those who were waiting for them.
//!
//! A row of SQL lies under its key, so an update of the key is a deletion and an insertion. A
//! statement under read committed that has found the row before has to find it again, where it lies
//! now; and it must not take for it what somebody has since put under the old key.
//!
//! A transaction notes what it does to places in a [`MoveLog`]: only if it moves a row, or puts one
//! where it has deleted another. When it commits, the log is condensed to where the row of each
//! place has gone, and that is published in [`Moves`] before the commit can be seen. A reader asks
//! by the record and the commit that took the row away (`transaction/row.rs`).
//!
//! # Invariants
//! - *Volatile*: an entry matters to snapshots older than its commit. It is removed when the horizon
//!   has reached the commit, is not logged, and knows nothing of files.
//! - *Before it is needed*: who sees a version's commit timestamp finds the entries of that commit,
//!   because they are published between the taking of the timestamp and the commit.
//! - *Bounded*: at most [`ENTRIES_MAX`] entries of [`KEYS_BYTES_MAX`] bytes of keys. Beyond that
//!   the commit is noted as one whose moves were not kept, and whoever asks for one of it, or of an
//!   earlier one, is told so and aborts: an answer that may be wrong is never given.
//!
//! Source: the chain of `ctid` in PostgreSQL, which `EvalPlanQual` follows; here it leads from one
//! record to another, and only for as long as somebody may walk it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{indirection::Slot, timestamp::Timestamp};

/// Most entries that are kept.
const ENTRIES_MAX: usize = 1 << 18;

/// Most bytes of their keys.
const KEYS_BYTES_MAX: usize = 16 << 20;

/// What happened to a place, in the order in which it did.
#[derive(Debug)]
enum Event {
    /// Its row was deleted.
    Deleted(*const Slot),
    /// Where the transaction had deleted a row, it has put another one.
    Replaced(*const Slot),
    /// The row that was deleted at the first place last is the one at the second, under this key.
    Moved(*const Slot, *const Slot, Box<[u8]>),
}

/// What one transaction has done to places.
#[derive(Debug, Default)]
pub(crate) struct MoveLog(Vec<Event>);

impl MoveLog {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// For the next transaction.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
        self.0.shrink_to(1 << 10);
    }

    /// Bytes of the list, without the keys.
    pub(crate) fn list_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Event>()
    }

    /// A row was deleted. That matters only if rows were moved or replaced before.
    #[inline(always)]
    pub(crate) fn deleted(&mut self, at: *const Slot) {
        if !self.0.is_empty() {
            self.0.push(Event::Deleted(at));
        }
    }

    #[cold]
    pub(crate) fn replaced(&mut self, at: *const Slot) {
        self.0.push(Event::Replaced(at));
    }

    #[cold]
    pub(crate) fn moved(&mut self, from: *const Slot, to: *const Slot, key: &[u8]) {
        self.0.push(Event::Moved(from, to, key.into()));
    }

    /// Where the row has gone that lay at each place before the transaction began.
    pub(crate) fn condense(&self) -> Vec<(usize, Option<Box<[u8]>>)> {
        /// Which row is at a place.
        #[derive(Clone, Copy, PartialEq)]
        enum Row {
            /// The one that lay at this place before the transaction.
            Of(*const Slot),
            /// One that the transaction has put there.
            New,
            Nothing,
        }
        let mut at: HashMap<*const Slot, Row> = HashMap::new();
        let mut deleted: HashMap<*const Slot, Row> = HashMap::new();
        let mut gone_to: HashMap<*const Slot, Option<&[u8]>> = HashMap::new();
        for event in &self.0 {
            match event {
                Event::Deleted(place) => {
                    let row = at.insert(*place, Row::Nothing).unwrap_or(Row::Of(*place));
                    if let Row::Of(first) = row {
                        gone_to.insert(first, None);
                    }
                    deleted.insert(*place, row);
                }
                Event::Replaced(place) => {
                    let row = at.insert(*place, Row::New).unwrap_or(Row::Of(*place));
                    if let Row::Of(first) = row {
                        gone_to.insert(first, None);
                        deleted.insert(*place, row);
                    }
                }
                Event::Moved(from, to, key) => {
                    let row = deleted.remove(from).unwrap_or(Row::Of(*from));
                    at.entry(*from).or_insert(Row::Nothing);
                    at.insert(*to, row);
                    if let Row::Of(first) = row {
                        gone_to.insert(first, Some(key));
                    }
                }
            }
        }
        let told = gone_to.into_iter().filter(|(place, key)| {
            // A tombstone alone says that its row is gone.
            key.is_some() || at.get(place) != Some(&Row::Nothing)
        });
        told.map(|(place, key)| (place.addr(), key.map(Box::from)))
            .collect()
    }
}

/// What is known of the row that a commit has taken from a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It lies under this key.
    To(Box<[u8]>),
    /// It was deleted, and another row was put into its place.
    Replaced,
    /// Nothing is known: if a row is there, it is the same; if none is, it was deleted.
    Unmoved,
    /// Moves of this commit may not have been kept.
    Forgotten,
}

/// The moves that somebody may have to follow.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Whether there is anything: most databases never move a row.
    is_used: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By commit and place.
    entries: BTreeMap<(Timestamp, usize), Option<Box<[u8]>>>,
    keys_bytes: usize,
    /// The newest commit whose moves were not kept.
    forgotten: Timestamp,
}

impl Moves {
    /// Publishes where rows have gone with the commit at a timestamp, which nobody can see yet.
    #[cold]
    pub(crate) fn publish(&self, at: Timestamp, condensed: Vec<(usize, Option<Box<[u8]>>)>) {
        let mut kept = self.lock();
        let bytes: usize = condensed.iter().map(|(_, key)| bytes_of(key)).sum();
        let fits = kept.entries.len() + condensed.len() <= ENTRIES_MAX
            && kept.keys_bytes + bytes <= KEYS_BYTES_MAX;
        if fits {
            kept.keys_bytes += bytes;
            let entries = condensed.into_iter();
            kept.entries
                .extend(entries.map(|(place, key)| ((at, place), key)));
        } else {
            kept.forgotten = kept.forgotten.max(at);
        }
        // Release: pairs with the load in `of`. The commit follows, which orders it for who sees that.
        self.is_used.store(true, Ordering::Release);
    }

    /// What has become of the row at a place that the commit at a timestamp has taken away or
    /// changed.
    pub(crate) fn of(&self, place: *const Slot, at: Timestamp) -> Gone {
        // Acquire: pairs with the store in `publish`.
        if !self.is_used.load(Ordering::Acquire) {
            return Gone::Unmoved;
        }
        let kept = self.lock();
        match kept.entries.get(&(at, place.addr())) {
            Some(Some(key)) => Gone::To(key.clone()),
            Some(None) => Gone::Replaced,
            None if at <= kept.forgotten => Gone::Forgotten,
            None => Gone::Unmoved,
        }
    }

    /// Forgets what no snapshot can need any more, as long as `may_go_on` says so of how much that was.
    pub(crate) fn collect(
        &self,
        horizon: impl FnOnce() -> Timestamp,
        may_go_on: impl Fn(usize) -> bool,
    ) {
        // Relaxed: whoever published comes by again.
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let horizon = horizon();
        let mut kept = self.lock();
        let mut forgotten = 0;
        while let Some(entry) = kept.entries.first_entry() {
            if entry.key().0 > horizon || !may_go_on(forgotten) {
                break;
            }
            forgotten += 1;
            let bytes = bytes_of(&entry.remove());
            kept.keys_bytes -= bytes;
        }
        if kept.entries.is_empty() && kept.forgotten <= horizon {
            kept.forgotten = Timestamp(0);
            // Under the lock, which `publish` takes first.
            self.is_used.store(false, Ordering::Release);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn bytes_of(key: &Option<Box<[u8]>>) -> usize {
    key.as_ref().map_or(0, |key| key.len())
}

#[cfg(all(test, not(loom)))]
mod tests;
