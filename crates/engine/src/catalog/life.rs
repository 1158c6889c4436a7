//! The life of a storage: who may use it.
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
//! | stage | who may use it |
//! | --- | --- |
//! | `Creating` | its maker |
//! | `Live(b)` | transactions with a snapshot of `b` or later; older ones abort |
//! | `Dropping` | the same, but for who drops it |
//! | `Committing` | nobody knows for some nanoseconds: wait |
//! | `Dropped(d)` | transactions with a snapshot before `d` |
//! | `Never` | nobody |
//!
//! So to use a storage is to read, at one's snapshot, the record of the catalog that says
//! that the table has it; nobody need look that record up. What follows argues as if
//! everybody did.
//!
//! # A drop and snapshots
//! The dropper's commit first makes the storage `Committing`, then takes its timestamp `d`
//! from the clock, then makes it `Dropped(d)`. A snapshot of `d` or later was loaded from
//! the clock after that, so whoever has one sees `Committing` at least: it cannot use the
//! storage. Older snapshots go on.
//!
//! # A drop and those who use the table
//! Every transaction that commits looks once more after it took its timestamp `c`, if
//! something was dropped since its snapshot ([`LastDrop`]). If `d < c`, it took
//! `c` from the clock after the dropper took `d`, hence sees `Committing` or `Dropped(d)`.
//! - If it has *written* to the storage, it aborts, at every isolation level. So the log,
//!   change streams and whoever reads at `c` never meet a write to what is not there.
//! - If it is serializable and has *used* the storage, the dropper is its successor (an
//!   anti-dependency, as if it had overwritten the record that was read): the certifier
//!   takes `d` for it, and lets the transaction pass only if it can be serial before `d`.
//!   Which storages it has used is kept as 64 bits, one for all numbers that are the same
//!   modulo 64: that may abort one too many.
//! - What is `Committing` meanwhile may come to anything: who has used it aborts, too.
//!   (It cannot wait for it: the dropper may be waiting for its outcome.)
//!
//! If `c < d`, it comes before the drop. The dropper overwrote what it read, without a
//! mark of it: therefore a serializable transaction that drops or truncates passes only
//! if it has no successor at all, the validation rule. Then no cycle leads through it,
//! whoever its predecessors are.
//!
//! Read committed and snapshot isolation promise nothing more to readers: who has an older
//! snapshot goes on reading the table as it was, and commits.
//!
//! # A creation and those who use the table
//! Who uses a storage has seen its creation, a commit before its snapshot, which is a
//! predecessor like all of those. Who holds a handle on a storage that is newer than his
//! snapshot does not find it empty, or missing, but is told that the snapshot is too old.

use crate::{
    sync::{AtomicU64, Ordering},
    timestamp::Timestamp,
};

/// Where a storage is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Creating,
    Committing,
    Live,
    Dropping,
    Dropped(Timestamp),
    Never,
}

/// Set unless it is live. No clock gets so far.
const NOT_LIVE: u64 = 1 << 63;
const CREATING: u64 = u64::MAX;
const COMMITTING: u64 = u64::MAX - 1;
const DROPPING: u64 = u64::MAX - 2;
const NEVER: u64 = u64::MAX - 3;

/// See the module text. Changed only by the transaction that holds the records of the
/// object in the catalog, or, before anybody uses the database, by recovery.
#[derive(Debug)]
pub(crate) struct Life {
    /// The stage; of a live storage, when it was made.
    word: AtomicU64,
    /// When it was made, once that is known.
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

    /// When it was made, if it is live, and is so at `snapshot`.
    #[inline(always)]
    pub(crate) fn live_since(&self, snapshot: Timestamp) -> Option<Timestamp> {
        // Relaxed: who has a snapshot that excludes the storage has loaded it from the
        // clock (Acquire) after the stage was changed.
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

    /// When it was made, if it ever was live.
    pub(crate) fn made(&self) -> Timestamp {
        Timestamp(self.made.load(Ordering::Relaxed))
    }

    /// Makes it live for snapshots from here on.
    pub(crate) fn begin(&self, at: Timestamp) {
        self.made.store(at.0, Ordering::Relaxed);
        self.set(Stage::Live);
    }

    /// Drops what nobody drops in a transaction, unless somebody has.
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

/// The newest commit that has dropped anything, for those who have to look what.
#[derive(Debug)]
pub(crate) struct LastDrop(AtomicU64);

/// There may be one at any moment.
const UNKNOWN: u64 = u64::MAX;

impl LastDrop {
    pub(crate) fn new() -> LastDrop {
        LastDrop(AtomicU64::new(0))
    }

    /// Nobody is dropping anything.
    pub(crate) fn get(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    /// Before a commit takes its timestamp that drops something. One at a time.
    pub(crate) fn begin(&self) {
        // Relaxed: ordered by the clock, which moves next, and which all who have to see it
        // have moved or read after that.
        self.0.store(UNKNOWN, Ordering::Relaxed);
    }

    /// That has taken place at `at`, or the one before stays the newest.
    pub(crate) fn end(&self, at: Timestamp) {
        // Release: pairs with `is_after`; who goes by it sees the stages.
        self.0.store(at.0, Ordering::Release);
    }

    /// Whether something was dropped since a snapshot, or may be just now.
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
        /// A storage made at 1, with the clock there.
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

        /// The steps of `effects.rs`; when it was dropped, if it was.
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

        /// A commit of who has used it, at a snapshot of 1: when, if it passes.
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

    /// Whoever takes a later timestamp than the drop hears of it, wherever the two meet.
    #[test]
    fn who_commits_after_a_drop_sees_it() {
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

    /// A snapshot that has the drop does not find the storage live; one that has not, of
    /// a drop that failed, does in the end.
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

    /// A drop that fails leaves no trace, and an earlier one is not forgotten over it.
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
