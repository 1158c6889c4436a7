//! Transaction status: it tells readers whether a version whose `begin` still names its maker is
//! visible.
//!
//! Every session has a table of *contexts*; an open transaction occupies one, and
//! begins its status when it makes its first version. The status word holds the
//! transaction's sequence number and its phase:
//!
//! ```text
//!  63                 2 1     0
//! +--------------------+-------+
//! | sequence           | phase |   Active → Committing → Committed → (next sequence, Active)
//! +--------------------+-------+          → Aborted    → (next sequence, Active)
//! ```
//!
//! # Commit
//! 1. `phase = Committing` (SeqCst),
//! 2. `timestamp = clock.fetch_add(1) + 1` (SeqCst), `commit_timestamp = timestamp`
//!    (Release; it was 0 since the status began),
//! 3. a serializable transaction is certified (`transaction/certify.rs`): it goes on, or its phase
//!    becomes `Aborted`,
//! 4. `successor`, `phase = Committed` (Release),
//! 5. stamp every version (Release), 6. give the context up.
//!
//! Steps 1–4 do not suspend: a reader that waits for them waits for a running thread. In step 3 a
//! transaction waits for the end of other transactions, but only of those with earlier timestamps:
//! no transaction waits for itself. Step 5 gives way to other tasks if there is much to stamp
//! (`transaction/commit/turns.rs`): no transaction waits for the stamps, only for the locks that
//! are given up behind them.
//!
//! # Reading a version whose maker is in progress
//! The reader has snapshot `s`, a value it has read from the clock before.
//! - Status of another sequence: the maker has ended; `begin` is re-read and now holds a timestamp
//!   or `NEVER` (stamped before the context was given up; the Acquire load of the status orders the
//!   re-read after that).
//! - `Active`: if the maker ever commits, its timestamp is > `s`. For if it were
//!   `<= s`, the reader's load of the clock would have read from step 2 or later,
//!   hence come after step 1, and could not see `Active` now. Invisible.
//! - `Committing`: wait for the timestamp; if it is `<= s`, for the phase to change.
//! - `Committed`: compare the commit timestamp.
//! - `Aborted`: invisible.
//!
//! # Being waited for
//! `is_watched` says that another transaction may wait for the end of this one: its commit then
//! looks for waiters (`locks.rs`, where the race is argued). Waiters set the flag; the owner clears
//! it before its first version, when no waiter can mean it yet. A flag that comes late and reaches
//! the next transaction costs that one a look.

use crate::{
    per_context::{PerContext, SessionContexts},
    sync::{AtomicBool, AtomicU64, Ordering, model_seq_cst},
    timestamp::{SEQUENCE_MASK, Timestamp, TransactionId},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Active = 0,
    Committing = 1,
    Committed = 2,
    Aborted = 3,
}

/// Status of one context. Written by its owner alone, except `is_watched`.
pub(crate) struct Status {
    word: AtomicU64,
    /// Commit timestamp; 0 until it is taken.
    commit_timestamp: AtomicU64,
    is_watched: AtomicBool,
    /// Earliest successor of the transaction, itself included, once it has committed.
    successor: AtomicU64,
}

impl Default for Status {
    fn default() -> Status {
        Status::new()
    }
}

impl Status {
    pub(crate) fn new() -> Status {
        Status {
            word: AtomicU64::new(0),
            commit_timestamp: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            successor: AtomicU64::new(0),
        }
    }

    fn load(&self) -> (u64, Phase) {
        // Acquire: pairs with the Release stores of `set`.
        let word = self.word.load(Ordering::Acquire);
        let phase = match word & 3 {
            0 => Phase::Active,
            1 => Phase::Committing,
            2 => Phase::Committed,
            _ => Phase::Aborted,
        };
        (word >> 2 & SEQUENCE_MASK, phase)
    }

    fn set(&self, sequence: u64, phase: Phase) {
        let word = (sequence & SEQUENCE_MASK) << 2 | phase as u64;
        if phase == Phase::Committing {
            // SeqCst, before the clock moves: see the module's doc.
            self.word.store(word, Ordering::SeqCst);
            model_seq_cst();
        } else {
            self.word.store(word, Ordering::Release);
        }
    }

    /// Begins the status of a new transaction, before its first version; returns its sequence.
    pub(crate) fn begin(&self) -> u64 {
        let sequence = (self.load().0 + 1) & SEQUENCE_MASK;
        if self.is_watched.load(Ordering::Relaxed) {
            self.is_watched.store(false, Ordering::Relaxed);
        }
        self.set(sequence, Phase::Active);
        // Release: a reader of the 0 sees the new sequence. The 0 also comes before the phase
        // `Committing`, in the view of every thread: that store is a Release too.
        self.commit_timestamp.store(0, Ordering::Release);
        sequence
    }

    /// Takes the commit timestamp: steps 1 and 2 of a commit.
    pub(crate) fn take_timestamp(&self, sequence: u64, clock: &AtomicU64) -> Timestamp {
        self.set(sequence, Phase::Committing);
        let timestamp = clock.fetch_add(1, Ordering::SeqCst) + 1;
        self.commit_timestamp.store(timestamp, Ordering::Release);
        Timestamp(timestamp)
    }

    /// Stores the earliest successor, then sets the phase to committed: step 4.
    pub(crate) fn commit(&self, sequence: u64, successor: Timestamp) {
        // Release: as in `begin`.
        self.successor.store(successor.0, Ordering::Release);
        self.set(sequence, Phase::Committed);
    }

    pub(crate) fn abort(&self, sequence: u64) {
        self.set(sequence, Phase::Aborted);
    }

    /// Asks the transaction `sequence` to look for waiters at its end. Returns false if it may not
    /// see that: it has begun to commit, or has ended.
    pub(crate) fn watch(&self, sequence: u64) -> bool {
        // Both SeqCst: store before load, against `take_timestamp` and `is_watched`.
        self.is_watched.store(true, Ordering::SeqCst);
        model_seq_cst();
        let word = self.word.load(Ordering::SeqCst);
        // A transaction whose undo is under way has yet to come by the slot in question.
        let waits = [Phase::Active as u64, Phase::Aborted as u64];
        word >> 2 == sequence & SEQUENCE_MASK && waits.contains(&(word & 3))
    }

    /// Whether another transaction may wait for the transaction that has just committed.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        // SeqCst: see `watch`.
        self.is_watched.load(Ordering::SeqCst)
    }

    /// Returns the outcome of `maker`, for a reader that needs commits up to `bound`.
    pub(crate) fn outcome(&self, maker: TransactionId, bound: Timestamp) -> Outcome {
        let mut spins = 0;
        loop {
            let (sequence, phase) = self.load();
            if sequence != maker.sequence() {
                return Outcome::Ended;
            }
            // Acquire: pairs with `take_timestamp` and `begin`.
            let at = Timestamp(self.commit_timestamp.load(Ordering::Acquire));
            let successor = Timestamp(self.successor.load(Ordering::Relaxed));
            // The context may serve its next transaction by now, and the values read may be that
            // one's: then the status has moved on.
            crate::sync::fence(Ordering::Acquire);
            let is_same = self.load() == (sequence, phase);
            match phase {
                Phase::Active => return Outcome::Active,
                Phase::Aborted => return Outcome::Aborted,
                _ if !is_same => {}
                Phase::Committed => return Outcome::Committed { at, successor },
                Phase::Committing if at > bound => return Outcome::Later,
                Phase::Committing => wait_a_moment(&mut spins),
            }
        }
    }
}

/// Maximum spins before a waiting thread yields its core: certifying takes microseconds at most,
/// and a longer wait means that the other thread was preempted.
#[cfg(not(loom))]
const SPINS_MAX: u32 = 1000;

#[cfg(not(loom))]
fn wait_a_moment(spins: &mut u32) {
    *spins += 1;
    if *spins > SPINS_MAX {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}
#[cfg(loom)]
fn wait_a_moment(_spins: &mut u32) {
    loom::thread::yield_now();
}

/// Outcome of a transaction; see [`Status::outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The transaction has no commit timestamp; if it ever gets one, it will be beyond the bound.
    Active,
    /// The transaction is committing, beyond the bound.
    Later,
    /// The transaction was undone.
    Aborted,
    /// The transaction has committed; the version is not yet stamped.
    Committed {
        /// Commit timestamp.
        at: Timestamp,
        /// Successor; see
        /// [`Version::successor_of_maker`](crate::version::Version::successor_of_maker).
        successor: Timestamp,
    },
    /// The transaction has ended; the version tells how.
    Ended,
}

/// Contexts of all sessions. A session number may serve several sessions one after the other;
/// sequences go on.
pub(crate) struct Statuses(PerContext<Status>);

impl Statuses {
    pub(crate) fn new() -> Statuses {
        Statuses(PerContext::new())
    }

    pub(crate) fn session(&self, number: usize) -> &SessionContexts<Status> {
        self.0.session(number)
    }

    /// Returns the transactions that have a name and have not ended.
    pub(crate) fn open(&self) -> Vec<TransactionId> {
        let mut open = Vec::new();
        self.0.each(|session, context, status| {
            let (sequence, phase) = status.load();
            if matches!(phase, Phase::Active | Phase::Committing) && sequence > 0 {
                open.push(TransactionId::new(session, context, sequence));
            }
        });
        open
    }

    /// Whether a transaction has not ended yet.
    pub(crate) fn is_open(&self, id: TransactionId) -> bool {
        let (sequence, phase) = self.of(id).load();
        sequence == id.sequence() && matches!(phase, Phase::Active | Phase::Committing)
    }

    pub(crate) fn of(&self, id: TransactionId) -> &Status {
        self.session(id.session()).get(id.context())
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};

    /// A reader whose snapshot includes a commit never takes the committed
    /// version for invisible, wherever the committer is.
    #[test]
    fn a_snapshot_sees_exactly_the_commits_it_includes() {
        loom::model(|| {
            let clock = Arc::new(AtomicU64::new(1));
            let status = Arc::new(Status::new());
            let begin = Arc::new(AtomicU64::new(0));
            let sequence = status.begin();
            let id = TransactionId::new(0, 0, sequence);
            begin.store(id.word(), Ordering::Release);
            let committer = {
                let (clock, status, begin) = (clock.clone(), status.clone(), begin.clone());
                thread::spawn(move || {
                    let timestamp = status.take_timestamp(sequence, &clock);
                    status.commit(sequence, timestamp);
                    begin.store(timestamp.0, Ordering::Release);
                    // The context goes to the next transaction.
                    status.begin();
                })
            };
            let snapshot = clock.load(Ordering::Acquire);
            let visible = loop {
                use crate::timestamp::Begin;
                match Begin::decode(begin.load(Ordering::Acquire)) {
                    Begin::Committed(timestamp) => break timestamp.0 <= snapshot,
                    Begin::InProgress(maker) => match status.outcome(maker, Timestamp(snapshot)) {
                        Outcome::Active | Outcome::Later | Outcome::Aborted => break false,
                        Outcome::Committed { at, .. } => break at.0 <= snapshot,
                        Outcome::Ended => {}
                    },
                }
            };
            // The only commit gets timestamp 2.
            assert_eq!(visible, snapshot >= 2);
            committer.join().unwrap();
        });
    }
}
