//! The life of a storage: the transactions that may use it.
//!
//! ```text
//!             create                 commit b                  drop
//!   (nothing) ──────► Creating ───► Committing ───► Live(b) ◄─────────► Dropping
//!                        │                           ▲       undo         │ commit d
//!                   undo │                           │ abort          Committing
//!                        ▼                           └────────────────────┤
//!                      Never                                              ▼
//!                                                                     Dropped(d)
//! ```
//! | stage | users |
//! | --- | --- |
//! | `Creating` | its maker |
//! | `Live(b)` | transactions with a snapshot of `b` or later; older ones abort |
//! | `Dropping` | as `Live`, except for its dropper |
//! | `Committing` | undecided for some nanoseconds: wait |
//! | `Dropped(d)` | transactions with a snapshot before `d` |
//! | `Never` | none |
//!
//! Using a storage is therefore reading, at the transaction's snapshot, the record of the catalog
//! that says that the table has the storage; no transaction need look that record up. The following
//! argues as if every transaction did.
//!
//! # A drop and snapshots
//! The dropper's commit first makes the storage `Committing`, then takes its timestamp `d` from the
//! clock, then makes the storage `Dropped(d)`. A snapshot of `d` or later was loaded from the clock
//! after that, so a transaction with such a snapshot sees `Committing` at least: it cannot use the
//! storage. Transactions with older snapshots go on.
//!
//! # A drop and users of the table
//! Every transaction that commits looks once more after it took its timestamp `c`, if a storage was
//! dropped since its snapshot ([`LastDrop`]). If `d < c`, the transaction took `c` from the clock
//! after the dropper took `d`, hence sees `Committing` or `Dropped(d)`.
//! - If the transaction has *written* to the storage, it aborts, at every isolation level. The log,
//!   change streams and readers at `c` therefore never meet a write to a storage that is not there.
//! - If the transaction is serializable and has *used* the storage, the dropper is its successor
//!   (an anti-dependency, as if the dropper had overwritten the record that was read): the
//!   certifier takes `d` for it, and lets the transaction pass only if it can be serial before `d`.
//!   The storages that a transaction has used are kept as 64 bits, one for all numbers that are the
//!   same modulo 64: this may abort a transaction too many.
//! - A storage that is `Committing` meanwhile may be dropped or not: a transaction that has written
//!   to it, or a serializable one that has used it, aborts, too. (The transaction cannot wait for
//!   the outcome: the dropper may be waiting for the transaction's.)
//!
//! If `c < d`, the transaction comes before the drop. The dropper overwrote what the transaction
//! read, without a mark of it: therefore a serializable transaction that drops or truncates passes
//! only if it has no successor at all, the validation rule. Then no cycle leads through the
//! dropper, whatever its predecessors are.
//!
//! Read committed and snapshot isolation promise nothing more to readers: a transaction with an
//! older snapshot goes on reading the table as it was, and commits.
//!
//! # A creation and users of the table
//! A user of a storage has seen its creation, a commit before its snapshot, which is a predecessor
//! like all of those. A transaction with a handle on a storage that is newer than its snapshot does
//! not find the storage empty, or missing, but is told that the snapshot is too old.

use crate::{
    sync::{AtomicU64, Ordering},
    timestamp::Timestamp,
};

/// Stage of a storage in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Creating,
    Committing,
    Live,
    Dropping,
    Dropped(Timestamp),
    Never,
}

/// Bit that is set unless the storage is live. No clock gets so far.
const NOT_LIVE: u64 = 1 << 63;
const CREATING: u64 = u64::MAX;
const COMMITTING: u64 = u64::MAX - 1;
const DROPPING: u64 = u64::MAX - 2;
const NEVER: u64 = u64::MAX - 3;

/// Life of a storage: see the module text. Changed only by the transaction that holds the records
/// of the object in the catalog, or, before the database is used, by recovery.
#[derive(Debug)]
pub(crate) struct Life {
    /// The stage; for a live storage, the commit that made it.
    word: AtomicU64,
    /// The commit that made the storage, once that is known.
    made: AtomicU64,
}

impl Life {
    pub(crate) fn new() -> Life {
        Life {
            word: AtomicU64::new(CREATING),
            made: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    pub(crate) fn is_live(&self) -> bool {
        self.word.load(Ordering::Relaxed) < NOT_LIVE
    }

    /// Returns the commit that made the storage, if the storage is live now and at `snapshot`.
    #[inline(always)]
    pub(crate) fn live_since(&self, snapshot: Timestamp) -> Option<Timestamp> {
        // Relaxed: a transaction with a snapshot that excludes the storage has loaded the snapshot
        // from the clock (Acquire) after the stage was changed.
        let word = self.word.load(Ordering::Relaxed);
        (word <= snapshot.0).then_some(Timestamp(word))
    }

    pub(crate) fn stage(&self) -> Stage {
        // Acquire: pairs with `set`; a successor is there once a storage is dropped.
        match self.word.load(Ordering::Acquire) {
            CREATING => Stage::Creating,
            COMMITTING => Stage::Committing,
            DROPPING => Stage::Dropping,
            NEVER => Stage::Never,
            word if word & NOT_LIVE == 0 => Stage::Live,
            word => Stage::Dropped(Timestamp(word & !NOT_LIVE)),
        }
    }

    /// Returns the commit that made the storage, if it ever was live.
    pub(crate) fn made(&self) -> Timestamp {
        Timestamp(self.made.load(Ordering::Relaxed))
    }

    /// Makes the storage live for snapshots from `at` on.
    pub(crate) fn begin(&self, at: Timestamp) {
        self.made.store(at.0, Ordering::Relaxed);
        self.set(Stage::Live);
    }

    /// Drops a storage that no transaction drops, unless it is dropped already. Returns whether it
    /// did.
    pub(crate) fn end(&self, at: Timestamp) -> bool {
        let (live, dropped) = (self.made().0, NOT_LIVE | at.0);
        // Release: pairs with `stage`.
        let ended = self
            .word
            .compare_exchange(live, dropped, Ordering::Release, Ordering::Relaxed);
        ended.is_ok()
    }

    pub(crate) fn set(&self, stage: Stage) {
        let word = match stage {
            Stage::Live => self.made().0,
            Stage::Creating => CREATING,
            Stage::Committing => COMMITTING,
            Stage::Dropping => DROPPING,
            Stage::Never => NEVER,
            Stage::Dropped(at) => NOT_LIVE | at.0,
        };
        // Release: pairs with `stage`.
        self.word.store(word, Ordering::Release);
    }
}

/// Newest commit that has dropped a storage, by which transactions know whether they have to look.
#[derive(Debug)]
pub(crate) struct LastDrop(AtomicU64);

/// Value while a drop may take place at any moment.
const UNKNOWN: u64 = u64::MAX;

impl LastDrop {
    pub(crate) fn new() -> LastDrop {
        LastDrop(AtomicU64::new(0))
    }

    /// Returns the newest drop, while no transaction is dropping a storage.
    pub(crate) fn get(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    /// Begins a drop, before the commit takes its timestamp. One drop at a time.
    pub(crate) fn begin(&self) {
        // Relaxed: ordered by the clock, which moves next, and which every transaction that has to
        // see the store has moved or read after that.
        self.0.store(UNKNOWN, Ordering::Relaxed);
    }

    /// Ends a drop that has taken place at `at`, or one that failed, with the one before as the
    /// newest.
    pub(crate) fn end(&self, at: Timestamp) {
        // Release: pairs with `is_after`; a transaction that goes by it sees the stages.
        self.0.store(at.0, Ordering::Release);
    }

    /// Whether a storage was dropped since `snapshot`, or may be just now.
    #[inline(always)]
    pub(crate) fn is_after(&self, snapshot: Timestamp) -> bool {
        // Acquire: pairs with `end`.
        self.0.load(Ordering::Acquire) > snapshot.0
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;

    struct Model {
        clock: AtomicU64,
        life: Life,
        last_drop: LastDrop,
    }

    impl Model {
        /// Makes a storage made at 1, with the clock there.
        fn new() -> Arc<Model> {
            let model = Model {
                clock: AtomicU64::new(1),
                life: Life::new(),
                last_drop: LastDrop::new(),
            };
            model.life.begin(Timestamp(1));
            Arc::new(model)
        }

        fn take_timestamp(&self) -> Timestamp {
            Timestamp(self.clock.fetch_add(1, Ordering::SeqCst) + 1)
        }

        /// Drops the storage by the steps of `effects.rs`. Returns the time of the drop, if it
        /// succeeds.
        fn drop_it(&self, succeeds: bool) -> Option<Timestamp> {
            let before = self.last_drop.get();
            self.last_drop.begin();
            self.life.set(Stage::Committing);
            let at = self.take_timestamp();
            if !succeeds {
                self.life.set(Stage::Dropping);
                self.last_drop.end(before);
                self.life.set(Stage::Live);
                return None;
            }
            self.life.set(Stage::Dropped(at));
            self.last_drop.end(at);
            Some(at)
        }

        /// Commits a user of the storage, at a snapshot of 1. Returns its timestamp, if it passes.
        fn commit(&self) -> Option<Timestamp> {
            let at = self.take_timestamp();
            if self.last_drop.is_after(Timestamp(1)) {
                let stage = self.life.stage();
                if matches!(stage, Stage::Dropped(dropped) if dropped < at)
                    || stage == Stage::Committing
                {
                    return None;
                }
            }
            Some(at)
        }
    }

    /// A transaction that takes a later timestamp than the drop hears of it, wherever the two meet.
    #[test]
    fn a_transaction_that_commits_after_a_drop_sees_it() {
        loom::model(|| {
            let model = Model::new();
            let dropper = thread::spawn({
                let model = model.clone();
                move || model.drop_it(true)
            });
            let committed = model.commit();
            let dropped = dropper.join().unwrap().unwrap();
            if let Some(at) = committed {
                assert!(at < dropped, "{at:?} after {dropped:?}");
            }
        });
    }

    /// A transaction with a snapshot that includes the drop does not find the storage live.
    #[test]
    fn a_snapshot_with_the_drop_does_not_find_the_storage() {
        loom::model(|| {
            let model = Model::new();
            let dropper = thread::spawn({
                let model = model.clone();
                move || model.drop_it(true)
            });
            let snapshot = Timestamp(model.clock.load(Ordering::Acquire));
            let is_live = model.life.live_since(snapshot).is_some();
            let dropped = dropper.join().unwrap().unwrap();
            assert!(!is_live || snapshot < dropped);
        });
    }

    /// A drop that fails leaves no trace, and does not hide an earlier one.
    #[test]
    fn a_failed_drop_hides_no_earlier_one() {
        loom::model(|| {
            let model = Model::new();
            let earlier = Life::new();
            earlier.begin(Timestamp(1));
            let at = model.take_timestamp();
            model.last_drop.begin();
            earlier.set(Stage::Dropped(at));
            model.last_drop.end(at);
            let dropper = thread::spawn({
                let model = model.clone();
                move || model.drop_it(false)
            });
            assert!(model.last_drop.is_after(Timestamp(1)));
            dropper.join().unwrap();
            assert!(model.last_drop.is_after(Timestamp(1)));
            assert!(model.life.live_since(Timestamp(1)).is_some());
        });
    }
}
