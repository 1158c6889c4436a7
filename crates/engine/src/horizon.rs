//! The snapshot horizon: the oldest snapshot at which a transaction may still read.
//!
//! Versions superseded at or before the horizon can be freed. This is not the
//! epoch pin (crate `memory`): a pin protects pointers for the length of an
//! operation, a snapshot protects history for the length of a transaction.
//!
//! Sessions do not announce each snapshot (that would cost a fence per transaction). Each announces
//! a *floor* now and then: no transaction that is open in the session, or will begin in it, has an
//! older snapshot. Snapshots are loads of the clock, which only grows: a floor that once was the
//! clock's value, or the oldest open snapshot, stays right until it is raised. (A snapshot that
//! moves, moves forward, and leaves the old one open besides: `transaction/refresh.rs`.)
//!
//! Leaving idleness is the exception: the floor goes from `IDLE` down to the
//! clock's value, and is followed by a SeqCst fence and a new load of the clock
//! before any snapshot is taken. It pairs with the fence in `horizon`:
//!
//! ```text
//!   session                         collector
//!   floor = clock                   c = clock
//!   fence(SeqCst)                   fence(SeqCst)
//!   snapshot = clock                reads the floors
//! ```
//! Either the collector sees the floor, or the snapshot is at least `c`, and the
//! collector frees nothing that a snapshot of `c` or later can see.

use std::sync::{Arc, Mutex};

use crate::{
    sync::{AtomicU64, Ordering, fence},
    timestamp::Timestamp,
};

const IDLE: u64 = u64::MAX;

/// Newest commit timestamp handed out.
pub(crate) type Clock = Alone<AtomicU64>;

/// The clock and the floors.
pub(crate) struct Horizon {
    pub(crate) clock: Arc<Clock>,
    floors: Alone<Mutex<Vec<Arc<Floor>>>>,
}

/// Value in cache lines of its own: a word that all workers write stays off the lines of words that
/// they only read. 128 bytes, because processors fetch lines in pairs.
#[repr(align(128))]
pub(crate) struct Alone<T>(pub(crate) T);

impl<T> std::ops::Deref for Alone<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Announcement of one session.
#[repr(align(128))]
pub(crate) struct Floor(AtomicU64);

impl Horizon {
    pub(crate) fn new() -> Horizon {
        Horizon {
            clock: Arc::new(Alone(AtomicU64::new(1))),
            floors: Alone(Mutex::new(Vec::new())),
        }
    }

    /// Returns the present; a snapshot taken now includes exactly the commits up to it.
    #[inline(always)]
    pub(crate) fn now(&self) -> Timestamp {
        // Acquire: pairs with the SeqCst increments of commits (`status.rs`).
        Timestamp(self.clock.load(Ordering::Acquire))
    }

    pub(crate) fn register(&self) -> Arc<Floor> {
        let floor = Arc::new(Floor(AtomicU64::new(IDLE)));
        self.floors
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push(floor.clone());
        floor
    }

    pub(crate) fn deregister(&self, floor: &Arc<Floor>) {
        let mut floors = self.floors.lock().unwrap_or_else(|e| e.into_inner());
        floors.retain(|other| !Arc::ptr_eq(other, floor));
    }

    /// Returns the horizon: no snapshot is, or will ever be, older.
    pub(crate) fn horizon(&self) -> Timestamp {
        let clock = self.clock.load(Ordering::Acquire);
        // Pairs with the fence in `Floor::leave_idle`.
        fence(Ordering::SeqCst);
        let floors = self.floors.lock().unwrap_or_else(|e| e.into_inner());
        // Acquire: the reads made at older snapshots are over.
        let oldest = floors
            .iter()
            .map(|floor| floor.0.load(Ordering::Acquire))
            .min();
        Timestamp(oldest.unwrap_or(IDLE).min(clock))
    }
}

impl Floor {
    /// Raises the floor to the oldest open snapshot or, without an open one, to the present.
    pub(crate) fn announce(&self, oldest: Timestamp) {
        // Release: pairs with the Acquire in `horizon`.
        self.0.store(oldest.0, Ordering::Release);
    }

    pub(crate) fn leave_idle(&self, horizon: &Horizon) {
        self.0
            .store(horizon.clock.load(Ordering::Acquire), Ordering::Relaxed);
        // Pairs with the fence in `Horizon::horizon`.
        fence(Ordering::SeqCst);
    }

    pub(crate) fn go_idle(&self) {
        self.0.store(IDLE, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::thread;

    /// A session that wakes up never takes a snapshot below a horizon that a
    /// collector has used.
    #[test]
    fn a_snapshot_is_never_older_than_a_horizon_that_was_used() {
        loom::model(|| {
            let horizon = Arc::new(Horizon::new());
            let floor = horizon.register();
            let session = {
                let horizon = horizon.clone();
                thread::spawn(move || {
                    floor.leave_idle(&horizon);
                    horizon.now()
                })
            };
            horizon.clock.fetch_add(1, Ordering::SeqCst);
            let used = horizon.horizon();
            let snapshot = session.join().unwrap();
            assert!(used <= snapshot, "{used:?} {snapshot:?}");
        });
    }
}
