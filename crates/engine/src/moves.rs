//! The new places of rows whose key a transaction has changed, for transactions that were waiting for the rows.
//!
//! A row of SQL lies under its key, so an update of the key is a deletion and an insertion. A statement under read
//! committed that has found the row before has to find it again at its new place, and must not mistake a new row under
//! the old key for it.
//!
//! | subject | file |
//! | --- | --- |
//! | changes of a transaction to places: only if it moves a row, or puts one where it has deleted another | `moves/log.rs` |
//! | final place of the row of each place, computed in steps when the transaction commits | `moves/condensing.rs` |
//! | final places, published before the commit can be seen | `moves.rs`: [`Moves`] |
//!
//! A reader asks by the record and the commit that took the row away (`transaction/row.rs`).
//!
//! # Invariants
//! - *Volatile*: an entry matters to snapshots older than its commit. It is removed when the horizon
//!   has reached the commit, is not logged, and knows nothing of files.
//! - *Before it is needed*: a reader that sees a version's commit timestamp finds the entries of that
//!   commit. The argument is below.
//! - *Bounded*: at most [`ENTRIES_MAX`] entries of [`KEYS_BYTES_MAX`] bytes of keys. Beyond that the commit is noted as
//!   one whose moves were not kept, and a reader that asks for a move of that commit, or of an earlier one, gets this
//!   answer and aborts: an answer that may be wrong is never given.
//! - *Short steps*: publication takes a whole map over and frees nothing, and a collection frees a bounded number of
//!   entries: the mutex is never held for the length of a transaction.
//!
//! # Before it is needed
//! ```text
//!   commit                                     reader
//!   1 condenses its log, in turns
//!   2 takes the timestamp
//!   3 puts the entries under it (mutex)
//!   4 sets the flag (Release)
//!   5 its status says "committed" (Release)
//!                                              6 reads the timestamp from status or stamp (Acquire)
//!                                              7 reads the flag (Acquire), then the entries (mutex)
//! ```
//! Step 1 may suspend: it reads the log of its own transaction alone. Nothing is added to that log any more,
//! because a commit consumes the transaction and no operation of it is under way. Steps 2 to 5 do not suspend.
//! Before step 5 a reader has no timestamp to ask with; a reader of step 6 has seen the store of step 5, so
//! step 3 and 4 happened before its step 7. The flag is taken back only under the mutex and only if there is
//! no entry; a commit that enters one then sets the flag again.
//!
//! A collection that stops halfway leaves a commit with some of its entries. It touches commits that the
//! horizon has reached, and the snapshot of a reader that asks for a commit is older than that commit, hence
//! newer horizons are not reached while the reader has it.
//!
//! Source: the chain of `ctid` in PostgreSQL, which `EvalPlanQual` follows; here the chain leads from one record to
//! another, and only for as long as a reader may walk it.

mod condensing;
mod log;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use self::condensing::Condensing;
pub(crate) use self::{condensing::Condensed, log::MoveLog};
use crate::{indirection::Slot, timestamp::Timestamp};

/// Maximum number of entries that are kept.
const ENTRIES_MAX: usize = 1 << 18;

/// Maximum bytes of the entries' keys.
const KEYS_BYTES_MAX: usize = 16 << 20;

/// Fate of the row that a commit has taken from a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// The row lies under this key.
    To(Box<[u8]>),
    /// The row was deleted, and another row was put into its place.
    Replaced,
    /// No move is known: a row at the place is the same row; without a row there, it was deleted.
    Unmoved,
    /// Moves of this commit may not have been kept.
    Forgotten,
}

/// Moves that a reader may have to follow.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Whether there are any moves: most databases never move a row.
    is_used: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Entries of each commit that has any.
    commits: BTreeMap<Timestamp, Entries>,
    /// Number of entries of all commits, and bytes of their keys.
    entries: usize,
    keys_bytes: usize,
    /// Newest commit whose moves were not kept.
    forgotten: Timestamp,
}

/// Keys under which rows lie after a commit, by the place that they lay at before; `None` for a row that is gone.
type Entries = BTreeMap<usize, Option<Box<[u8]>>>;

impl Moves {
    /// Publishes the moves of the commit at a timestamp, which no transaction can see yet: takes the entries over,
    /// unless there are too many.
    #[cold]
    pub(crate) fn publish(&self, at: Timestamp, condensed: &mut Condensed) {
        if condensed.is_empty() {
            return;
        }
        let mut kept = self.lock();
        let fits = !condensed.is_too_much
            && kept.entries + condensed.entries.len() <= ENTRIES_MAX
            && kept.keys_bytes + condensed.keys_bytes <= KEYS_BYTES_MAX;
        if fits {
            kept.entries += condensed.entries.len();
            kept.keys_bytes += std::mem::take(&mut condensed.keys_bytes);
            kept.commits
                .insert(at, std::mem::take(&mut condensed.entries));
        } else {
            kept.forgotten = kept.forgotten.max(at);
        }
        // Release: pairs with the load in `of`. The commit follows, which orders the store for a reader that sees the
        // commit.
        self.is_used.store(true, Ordering::Release);
    }

    /// Returns the fate of the row at a place that the commit at a timestamp has taken away or changed.
    pub(crate) fn of(&self, place: *const Slot, at: Timestamp) -> Gone {
        // Acquire: pairs with the store in `publish`.
        if !self.is_used.load(Ordering::Acquire) {
            return Gone::Unmoved;
        }
        let kept = self.lock();
        let entries = kept.commits.get(&at);
        match entries.and_then(|entries| entries.get(&place.addr())) {
            Some(Some(key)) => Gone::To(key.clone()),
            Some(None) => Gone::Replaced,
            None if at <= kept.forgotten => Gone::Forgotten,
            None => Gone::Unmoved,
        }
    }

    /// Forgets entries that no snapshot can need any more, as long as `may_go_on` allows it for the number forgotten.
    pub(crate) fn collect(
        &self,
        horizon: impl FnOnce() -> Timestamp,
        may_go_on: impl Fn(usize) -> bool,
    ) {
        // Relaxed: a session that has published comes by again.
        if !self.is_used.load(Ordering::Relaxed) {
            return;
        }
        let horizon = horizon();
        let mut kept = self.lock();
        let kept = &mut *kept;
        let mut forgotten = 0;
        while let Some(mut commit) = kept.commits.first_entry() {
            if *commit.key() > horizon || !may_go_on(forgotten) {
                break;
            }
            match commit.get_mut().pop_first() {
                Some((_, key)) => {
                    forgotten += 1;
                    kept.entries -= 1;
                    kept.keys_bytes -= bytes_of(&key);
                }
                None => drop(commit.remove()),
            }
        }
        if kept.commits.is_empty() && kept.forgotten <= horizon {
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
