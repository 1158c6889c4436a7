//! The snapshot horizon: the oldest snapshot at which a transaction may still read.
//!
//! Versions superseded at or before the horizon can be freed. This is not the
//! epoch pin (crate `memory`): a pin protects pointers for the length of an
//! operation, a snapshot protects history for the length of a transaction.
//!
//! Sessions do not announce each snapshot (that would cost a fence per transaction). Each announces
//! a *floor* now and then: no transaction that is open in the session, or will begin in it, has an
//! older snapshot, except at one that is held (below). Snapshots are loads of the clock, which only
//! grows: a floor that once was the clock's value, or the oldest open snapshot, stays right until it
//! is raised. (A snapshot that moves, moves forward, and leaves the old one open besides:
//! `transaction/refresh.rs`.)
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
//!
//! # Holds
//! A snapshot that several sessions share (`transaction/shared_snapshot.rs`) is older than the
//! floors of sessions that read at it. A *hold* keeps the horizon at the snapshot instead: a number
//! beside the floors, under their latch.
//!
//! 1. *Made*: the maker of a hold at `s` has `s` open itself: as a transaction of its session, whose
//!    floor is at most `s`, or by another hold. A collector that takes the latch before the maker
//!    reads that floor or that hold; the floor is raised only after the maker has given the latch
//!    back, and the collector's load comes before that. A collector that takes the latch later finds
//!    the new hold. Every horizon that is found while a hold at `s` lives is therefore at most `s`.
//! 2. *Passed on*: a clone of the handle is the same hold.
//! 3. *Dropped*: the last owner, on any thread, takes the hold out under the latch, after the reads
//!    of all owners (the count of owners orders them). A collector that does not find the hold has
//!    taken the latch after that, so the reads are over before it frees anything.
//!
//! A session that has a transaction at a shared snapshot announces the snapshot as its floor, which
//! therefore goes down. That changes no horizon: the transaction owns the hold until it ends.
//! (`loom_tests` check the three steps in all interleavings.)

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    sync::{AtomicU64, Mutex, MutexGuard, Ordering, fence},
    timestamp::Timestamp,
};

/// Maximum of different snapshots that are held at the same time.
const HELD_MAX: usize = 1 << 16;

const IDLE: u64 = u64::MAX;

/// Newest commit timestamp handed out.
pub(crate) type Clock = Alone<AtomicU64>;

/// The clock and the floors.
pub(crate) struct Horizon {
    pub(crate) clock: Arc<Clock>,
    floors: Arc<Alone<Mutex<Floors>>>,
}

/// Everything that keeps the horizon back.
#[derive(Default)]
struct Floors {
    sessions: Vec<Arc<Floor>>,
    /// Number of holds at each snapshot that is held: at most [`HELD_MAX`] snapshots.
    held: BTreeMap<Timestamp, usize>,
}

/// Hold of the horizon at a snapshot, until dropped: see the module text.
pub(crate) struct Hold {
    at: Timestamp,
    floors: Arc<Alone<Mutex<Floors>>>,
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
            floors: Arc::new(Alone(Mutex::new(Floors::default()))),
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
        lock(&self.floors).sessions.push(floor.clone());
        floor
    }

    pub(crate) fn deregister(&self, floor: &Arc<Floor>) {
        let mut floors = lock(&self.floors);
        floors.sessions.retain(|other| !Arc::ptr_eq(other, floor));
    }

    /// Holds the horizon at the snapshot `at`, which the caller has open. `None` if [`HELD_MAX`]
    /// snapshots are held.
    pub(crate) fn hold(&self, at: Timestamp) -> Option<Hold> {
        let mut floors = lock(&self.floors);
        if floors.held.len() >= HELD_MAX && !floors.held.contains_key(&at) {
            return None;
        }
        *floors.held.entry(at).or_default() += 1;
        let floors = self.floors.clone();
        Some(Hold { at, floors })
    }

    /// Returns the horizon: no snapshot is, or will ever be, older.
    pub(crate) fn horizon(&self) -> Timestamp {
        let clock = self.clock.load(Ordering::Acquire);
        // Pairs with the fence in `Floor::leave_idle`.
        fence(Ordering::SeqCst);
        let floors = lock(&self.floors);
        // Acquire: the reads made at older snapshots are over.
        let announced = floors.sessions.iter();
        let announced = announced.map(|floor| floor.0.load(Ordering::Acquire));
        let held = floors.held.first_key_value().map(|(at, _)| at.0);
        let oldest = announced.chain(held).min();
        Timestamp(oldest.unwrap_or(IDLE).min(clock))
    }
}

fn lock(floors: &Mutex<Floors>) -> MutexGuard<'_, Floors> {
    floors.lock().unwrap_or_else(|e| e.into_inner())
}

impl Hold {
    /// Returns the snapshot that is held.
    pub(crate) fn at(&self) -> Timestamp {
        self.at
    }

    /// Whether the hold is one of `horizon`.
    pub(crate) fn is_of(&self, horizon: &Horizon) -> bool {
        Arc::ptr_eq(&self.floors, &horizon.floors)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut floors = lock(&self.floors);
        if let Some(count) = floors.held.get_mut(&self.at) {
            *count -= 1;
            if *count == 0 {
                floors.held.remove(&self.at);
            }
        }
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

    /// A version that only a held snapshot sees is freed after the last read at the snapshot, also
    /// when the maker's transaction has ended before, whichever thread has the hold last.
    #[test]
    fn a_version_is_not_freed_before_the_last_owner_of_a_hold_has_read_it() {
        loom::model(|| {
            let horizon = Arc::new(Horizon::new());
            let version = Arc::new(loom::cell::UnsafeCell::new(0));
            let floor = horizon.register();
            let collector = {
                let (horizon, version) = (horizon.clone(), version.clone());
                thread::spawn(move || {
                    let replaced = horizon.clock.fetch_add(1, Ordering::SeqCst) + 1;
                    if horizon.horizon().0 >= replaced {
                        // SAFETY: the model checks that no read is concurrent.
                        version.with_mut(|version| unsafe { *version = 1 });
                    }
                })
            };
            floor.leave_idle(&horizon);
            let hold = horizon.hold(horizon.now()).unwrap();
            let hold = loom::sync::Arc::new(hold);
            let read = move |hold: &Hold| {
                // The version is the one of snapshots before its replacement, at 2.
                if hold.at() < Timestamp(2) {
                    // SAFETY: the model checks that no write is concurrent.
                    assert_eq!(version.with(|version| unsafe { *version }), 0);
                }
            };
            let other = {
                let (hold, read) = (hold.clone(), read.clone());
                thread::spawn(move || read(&hold))
            };
            // The maker's transaction ends, and its session goes on.
            floor.announce(horizon.now());
            read(&hold);
            drop(hold);
            other.join().unwrap();
            collector.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_hold_is_the_horizon() {
        let horizon = Horizon::new();
        horizon.clock.store(9, Ordering::Relaxed);
        let holds: Vec<_> = [7, 5, 5, 8].map(|at| horizon.hold(Timestamp(at))).into();
        assert_eq!(horizon.horizon(), Timestamp(5));
        let mut holds = holds.into_iter();
        let expected = [5, 5, 8, 9];
        for at in expected {
            drop(holds.next());
            assert_eq!(horizon.horizon(), Timestamp(at));
        }
        assert!(lock(&horizon.floors).held.is_empty());
    }

    #[test]
    fn a_limited_number_of_snapshots_is_held() {
        let horizon = Horizon::new();
        let mut holds: Vec<_> = (0..HELD_MAX as u64)
            .map(|at| horizon.hold(Timestamp(at)).unwrap())
            .collect();
        assert!(horizon.hold(Timestamp(HELD_MAX as u64)).is_none());
        assert!(horizon.hold(Timestamp(3)).is_some());
        holds.pop();
        assert!(horizon.hold(Timestamp(HELD_MAX as u64)).is_some());
    }
}
