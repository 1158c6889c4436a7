//! The life of a storage: who may use it.
//!
//! ```text
//!             create                 commit                    drop
//!   (nothing) ──────► Creating ───► Committing ───► Live ◄───────────► Dropping
//!                        │                           ▲       undo         │ commit
//!                   undo │                           │ undo           Committing
//!                        ▼                           └────────────────────┤
//!                      Never                                              ▼
//!                                                                     Dropped(d)
//! ```
//! | stage | who may use it |
//! | --- | --- |
//! | `Creating` | its maker |
//! | `Live` | everybody |
//! | `Dropping` | everybody but who drops it |
//! | `Committing` | nobody knows for some nanoseconds: wait |
//! | `Dropped(d)` | transactions with a snapshot before `d` |
//! | `Never` | nobody |
//!
//! # A drop and those who use the table
//! The dropper's commit first makes it `Committing` (and counts it in
//! `Catalog::dying`), then takes its timestamp `d` from the clock, then makes it
//! `Dropped(d)`. A snapshot of `d` or later was loaded from the clock after that, so
//! whoever has one sees `Committing` at least: it cannot use the table. Older snapshots
//! go on.
//!
//! A transaction that has written to the table looks once more when it commits, before
//! it takes its timestamp. What it finds is
//! - `Dropped` or `Committing`: it aborts. Nobody was told that its writes exist.
//! - anything else: then the look came before the dropper's `Committing`. Its timestamp
//!   may be later than `d` all the same, when both are in their commits at the same
//!   moment. It counts as before the drop: its snapshot is older than `d`, so it has
//!   seen nothing of the dropper's; and nobody who comes after the drop can tell, since
//!   the table is out of his reach. What it wrote elsewhere becomes visible at its
//!   timestamp, like that of any transaction.

use crate::{
    sync::{AtomicU64, Ordering},
    timestamp::{Begin, Timestamp},
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

const LIVE: u64 = 0;
const CREATING: u64 = u64::MAX;
const COMMITTING: u64 = u64::MAX - 1;
const DROPPING: u64 = u64::MAX - 2;
const NEVER: u64 = u64::MAX - 3;
const _: () = assert!(Begin::NEVER < NEVER);

/// See the module text. Changed only by the transaction that holds the records of the
/// object in the catalog, or, before anybody uses the database, by recovery.
#[derive(Debug)]
pub(crate) struct Life(AtomicU64);

impl Life {
    pub(crate) fn new() -> Life {
        Life(AtomicU64::new(CREATING))
    }

    #[inline(always)]
    pub(crate) fn is_live(&self) -> bool {
        // Relaxed: who has a snapshot that excludes the storage has loaded it from the
        // clock (Acquire) after the stage was changed.
        self.0.load(Ordering::Relaxed) == LIVE
    }

    pub(crate) fn stage(&self) -> Stage {
        // Acquire: pairs with `set`; a successor is there once a storage is dropped.
        match self.0.load(Ordering::Acquire) {
            LIVE => Stage::Live,
            CREATING => Stage::Creating,
            COMMITTING => Stage::Committing,
            DROPPING => Stage::Dropping,
            NEVER => Stage::Never,
            dropped => Stage::Dropped(Timestamp(dropped)),
        }
    }

    /// Drops what nobody drops in a transaction, unless somebody has.
    pub(crate) fn end(&self, at: Timestamp) -> bool {
        // Release: pairs with `stage`.
        let live = self
            .0
            .compare_exchange(LIVE, at.0, Ordering::Release, Ordering::Relaxed);
        live.is_ok()
    }

    pub(crate) fn set(&self, stage: Stage) {
        let word = match stage {
            Stage::Live => LIVE,
            Stage::Creating => CREATING,
            Stage::Committing => COMMITTING,
            Stage::Dropping => DROPPING,
            Stage::Never => NEVER,
            Stage::Dropped(at) => at.0,
        };
        // Release: pairs with `stage`.
        self.0.store(word, Ordering::Release);
    }
}
