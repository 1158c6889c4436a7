//! The protocol of the module text, on real status words, in all interleavings of two commits.
//! Versions are reduced to their marks, slots to the overwriters of those versions.

use loom::{sync::Arc, thread};

use crate::{
    certifier::{Announcements, Board},
    horizon::Horizon,
    status::{Outcome, Status},
    sync::{AtomicU64, Ordering, fence},
    timestamp::{Timestamp, TransactionId},
};

/// Transaction that has read one record and overwritten another; everything before its commit is
/// past.
struct Writer {
    status: Arc<Status>,
    sequence: u64,
    /// Mark of the version that the transaction read.
    read: Arc<AtomicU64>,
    /// Overwriter of the version that was read, if any.
    overwriter: Option<(Arc<Status>, TransactionId)>,
    /// Mark of the version that the transaction overwrites.
    overwritten: Arc<AtomicU64>,
    /// Successor that has committed before, or 0.
    successor: u64,
}

fn begin(context: u16) -> (Arc<Status>, TransactionId) {
    let status = Arc::new(Status::new());
    let sequence = status.begin();
    (status, TransactionId::new(0, context, sequence))
}

fn raise(mark: &AtomicU64, at: u64) {
    let mut old = mark.load(Ordering::Relaxed);
    while old < at {
        match mark.compare_exchange(old, at, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

impl Writer {
    /// Commits as `Transaction::certify` does. Returns whether the transaction has committed.
    fn commit(&self, clock: &AtomicU64, last_read_only: impl FnOnce() -> u64) -> bool {
        let Timestamp(at) = self.status.take_timestamp(self.sequence, clock);
        raise(&self.read, at);
        fence(Ordering::SeqCst);
        let mut successor = at;
        if self.successor > 0 {
            successor = self.successor;
        }
        let mut is_safe = true;
        if let Some((status, maker)) = &self.overwriter {
            match status.outcome(*maker, Timestamp(at)) {
                Outcome::Active | Outcome::Aborted => {}
                Outcome::Committed {
                    at: other,
                    successor: its,
                } if other.0 < at => {
                    successor = successor.min(its.0);
                }
                Outcome::Later | Outcome::Committed { .. } => is_safe = false,
                Outcome::Ended => unreachable!("contexts are not used again here"),
            }
        }
        if successor < at {
            let predecessor = self.overwritten.load(Ordering::Relaxed).min(at - 1);
            is_safe &= successor > predecessor && successor > last_read_only();
        }
        if is_safe {
            self.status.commit(self.sequence, Timestamp(successor));
        } else {
            self.status.abort(self.sequence);
        }
        is_safe
    }
}

#[test]
fn one_of_two_writers_aborts_if_each_reads_what_the_other_overwrites() {
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(10));
        let (x, y) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (a, a_id) = begin(0);
        let (b, b_id) = begin(1);
        let first = Writer {
            status: a.clone(),
            sequence: a_id.sequence(),
            read: x.clone(),
            overwriter: Some((b.clone(), b_id)),
            overwritten: y.clone(),
            successor: 0,
        };
        let second = Writer {
            status: b,
            sequence: b_id.sequence(),
            read: y,
            overwriter: Some((a, a_id)),
            overwritten: x,
            successor: 0,
        };
        let other = {
            let clock = clock.clone();
            thread::spawn(move || second.commit(&clock, || 0))
        };
        let committed = first.commit(&clock, || 0);
        assert!(!(committed && other.join().unwrap()), "write skew");
    });
}

/// Returns a writer with a successor at 5, before a reader that saw that successor and the record
/// that the writer overwrites.
fn pivot(mark: &Arc<AtomicU64>) -> (Writer, TransactionId) {
    let (status, id) = begin(0);
    let writer = Writer {
        status,
        sequence: id.sequence(),
        read: Arc::new(AtomicU64::new(0)),
        overwriter: None,
        overwritten: mark.clone(),
        successor: 5,
    };
    (writer, id)
}

#[test]
fn a_reader_and_the_writer_in_its_way_do_not_both_commit() {
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(10));
        let mark = Arc::new(AtomicU64::new(0));
        let (writer, id) = pivot(&mark);
        let status = writer.status.clone();
        let other = {
            let clock = clock.clone();
            thread::spawn(move || writer.commit(&clock, || 0))
        };
        // `Transaction::certify_reads`, of a transaction that saw a commit at 7.
        let at = 7;
        raise(&mark, at);
        fence(Ordering::SeqCst);
        let outcome = status.outcome(id, Timestamp(u64::MAX));
        let committed = match outcome {
            Outcome::Committed { successor, .. } => successor.0 > at,
            _ => true,
        };
        assert!(!(committed && other.join().unwrap()), "read-only anomaly");
    });
}

#[test]
fn a_writer_never_commits_around_a_declared_readers_snapshot() {
    loom::model(|| {
        let horizon = Arc::new(Horizon::new());
        // Puts the clock where commits up to 10 would have left it.
        horizon.clock.fetch_add(9, Ordering::SeqCst);
        let announcements = Arc::new(Announcements::new());
        let mark = Arc::new(AtomicU64::new(0));
        let (writer, _) = pivot(&mark);
        let other = {
            let (horizon, announcements) = (horizon.clone(), announcements.clone());
            thread::spawn(move || {
                writer.commit(&horizon.clock, || announcements.last_read_only().0)
            })
        };
        let snapshot = announcements.read_only_snapshot(&horizon);
        // The writer's timestamp is 11.
        let includes_writer = snapshot.0 >= 11;
        assert!(
            !(other.join().unwrap() && !includes_writer),
            "read-only anomaly"
        );
    });
}

/// The board finds the announcements of a session that enters meanwhile, if it matters.
#[test]
fn a_session_that_enters_late_is_seen_or_begins_later() {
    loom::model(|| {
        let board = Arc::new(Board::new());
        let horizon = Arc::new(Horizon::new());
        let other = {
            let (board, horizon) = (board.clone(), horizon.clone());
            thread::spawn(move || {
                board.enter(0);
                board.session(0).read_only_snapshot(&horizon)
            })
        };
        let at = horizon.clock.fetch_add(1, Ordering::SeqCst) + 1;
        fence(Ordering::SeqCst);
        let seen = board.last_read_only();
        let snapshot = other.join().unwrap();
        assert!(
            snapshot.0 >= at || seen >= snapshot,
            "{snapshot:?} {seen:?}"
        );
    });
}
