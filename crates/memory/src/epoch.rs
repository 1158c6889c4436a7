//! Epoch-based reclamation with quiescent announcements.
//!
//! A *pin* keeps memory that was reachable when the pin was taken from being reused. It protects raw pointers, nothing
//! else: the engine decides which old versions of a record must be kept for a snapshot (the horizon).
//!
//! Classical schemes announce every pin with a fence. Here pins are counted in
//! plain per-thread cells and only the *oldest* epoch a thread still uses is
//! announced, now and then, by [`Participant::quiesce`]. A pin costs an increment.
//!
//! # State
//! - `global`: the epoch, only ever incremented by one.
//! - per participant, shared: `announced`, either `IDLE` or an epoch.
//! - per participant, private: `current` (the epoch new pins get; `IDLE` when
//!   nothing is announced) and `active[e & 1]` (open pins of epoch `e`).
//!
//! # Invariants
//! 1. *Window*: while not idle, `announced <= current <= global <= announced + 1`.
//!    (`global` moves only when every announced epoch equals it.) So two
//!    counters are enough.
//! 2. *Conservative*: every open pin has an epoch `>= announced`.
//! 3. *Grace*: a block retired under stamp `s` is reclaimed when `global >= s + 2`.
//!
//! # Why it is safe
//! Let `x` be unlinked and then stamped `s` (after a SeqCst fence, so `s` is no older than the epoch seen by any thread
//! that could still reach `x`). `global >= s + 2` means that every participant has, since the unlinking, either
//! announced an epoch `> s` or been idle. Announcing a later epoch is a Release store made when no pin of the earlier
//! epoch is open, so all reads under such pins are over (the advancing thread loads it with Acquire). A pin taken
//! afterwards runs after a load of `global` that returned `> s` (Acquire), hence after the unlinking. From idle, the
//! announcement is followed by a SeqCst fence that pairs with the one in `advance`: either `advance` sees the
//! announcement, or the participant's reads come after the advance and see the unlinking. `epoch/loom_tests.rs` checks
//! this on all interleavings of two threads.

use std::cell::Cell;

use crate::{
    parts::PartsQueue,
    sync::{Arc, AtomicU64, Mutex, Ordering, fence},
};

const IDLE: u64 = u64::MAX;

/// Time of a retirement; compare with [`crate::Local::is_past`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

/// The shared side: the epoch and its participants.
pub struct Epochs {
    global: AtomicU64,
    announcements: Mutex<Vec<Arc<Announcement>>>,
    /// Garbage of participants that left.
    orphans: Mutex<PartsQueue<(Stamp, Retired)>>,
}

/// Announcement of one participant, on lines of its own: its owner writes it while others read theirs.
#[repr(align(128))]
struct Announcement(AtomicU64);

/// An object to reclaim: an address and a word that tells its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retired {
    pub(crate) address: std::ptr::NonNull<u8>,
    pub(crate) word: u64,
}

// SAFETY: an inert pair of words; the reclaimer must own the object, see `Local`.
unsafe impl Send for Retired {}

impl Epochs {
    /// Returns a fresh epoch counter without participants.
    pub fn new() -> Arc<Epochs> {
        Arc::new(Epochs {
            global: AtomicU64::new(2),
            announcements: Mutex::new(Vec::new()),
            orphans: Mutex::new(PartsQueue::default()),
        })
    }

    /// Moves the epoch on if every participant that is not idle has announced it.
    fn advance(&self) -> u64 {
        let global = self.global.load(Ordering::Acquire);
        // Pairs with the fence in `enter`: see the module text.
        fence(Ordering::SeqCst);
        for announcement in lock(&self.announcements).iter() {
            // Acquire: reads made under pins of earlier epochs are over.
            let announced = announcement.0.load(Ordering::Acquire);
            if announced != IDLE && announced != global {
                return global;
            }
        }
        // Release: a thread that loads the new epoch comes after the unlinkings that came before this.
        match self
            .global
            .compare_exchange(global, global + 1, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => global + 1,
            Err(now) => now,
        }
    }
}

/// One thread's part in the scheme.
pub(crate) struct Participant {
    epochs: Arc<Epochs>,
    announcement: Arc<Announcement>,
    /// Copy of the announced epoch.
    announced: Cell<u64>,
    current: Cell<u64>,
    active: [Cell<u32>; 2],
    limbo: Cell<PartsQueue<(Stamp, Retired)>>,
}

impl Participant {
    pub(crate) fn new(epochs: &Arc<Epochs>) -> Participant {
        let announcement = Arc::new(Announcement(AtomicU64::new(IDLE)));
        lock(&epochs.announcements).push(announcement.clone());
        Participant {
            epochs: epochs.clone(),
            announcement,
            announced: Cell::new(IDLE),
            current: Cell::new(IDLE),
            active: [Cell::new(0), Cell::new(0)],
            limbo: Cell::new(PartsQueue::default()),
        }
    }

    /// Keeps memory reachable from now on in place until the pin is dropped.
    #[inline]
    pub(crate) fn pin(&self) -> Pin<'_> {
        let mut epoch = self.current.get();
        if epoch == IDLE {
            epoch = self.enter();
        }
        let active = &self.active[(epoch & 1) as usize];
        active.set(active.get() + 1);
        Pin { active, epoch }
    }

    #[cold]
    fn enter(&self) -> u64 {
        let mut epoch = self.epochs.global.load(Ordering::Acquire);
        loop {
            self.announcement.0.store(epoch, Ordering::Relaxed);
            // Pairs with the fence in `advance`.
            fence(Ordering::SeqCst);
            // The epoch may have moved on (by any amount) before any thread saw the announcement; the window invariant
            // wants the present epoch.
            let now = self.epochs.global.load(Ordering::Acquire);
            if now == epoch {
                break;
            }
            epoch = now;
        }
        self.announced.set(epoch);
        self.current.set(epoch);
        epoch
    }

    /// Announces the oldest epoch in use. Cheap; called every few microseconds to milliseconds between operations.
    pub(crate) fn quiesce(&self) {
        let announced = self.announced.get();
        if announced == IDLE {
            return;
        }
        let global = self.epochs.global.load(Ordering::Acquire);
        debug_assert!(announced <= global && global <= announced + 1);
        self.current.set(global);
        if announced < global && self.active[(announced & 1) as usize].get() == 0 {
            self.announced.set(global);
            // Release: reads under the pins of the epoch left behind are over.
            self.announcement.0.store(global, Ordering::Release);
        }
    }

    /// Stops holding the epoch back. Returns false (and changes nothing) while pins are open.
    pub(crate) fn go_idle(&self) -> bool {
        if self.active.iter().any(|count| count.get() > 0) {
            return false;
        }
        self.announced.set(IDLE);
        self.current.set(IDLE);
        self.announcement.0.store(IDLE, Ordering::Release);
        true
    }

    /// Returns the stamp for an object that was just made unreachable.
    pub(crate) fn stamp(&self) -> Stamp {
        // The unlinking comes before this load in every thread's view.
        fence(Ordering::SeqCst);
        Stamp(self.epochs.global.load(Ordering::Relaxed))
    }

    /// Returns whether no thread can still hold an object retired at `stamp`.
    pub(crate) fn is_past(&self, stamp: Stamp) -> bool {
        self.epochs.global.load(Ordering::Acquire) >= stamp.0 + 2
    }

    pub(crate) fn retire(&self, retired: Retired) {
        let stamp = self.stamp();
        let mut limbo = self.limbo.take();
        limbo.push_back((stamp, retired));
        self.limbo.set(limbo);
    }

    /// Tries to move the epoch on and hands objects that have become safe to `reclaim`, as long as `may_go_on`, given
    /// the number that it has handed over so far, returns true.
    pub(crate) fn collect(
        &self,
        mut reclaim: impl FnMut(Retired),
        may_go_on: impl Fn(usize) -> bool,
    ) {
        let global = self.epochs.advance();
        let mut limbo = self.limbo.take();
        if let Ok(mut orphans) = self.epochs.orphans.try_lock() {
            limbo.append(std::mem::take(&mut orphans));
        }
        // Orphans may be younger than the objects that follow them: reclaiming waits, which is safe; the order only
        // affects the delay.
        let mut reclaimed = 0;
        while limbo
            .front()
            .is_some_and(|(stamp, _)| global >= stamp.0 + 2)
            && may_go_on(reclaimed)
        {
            if let Some((_, retired)) = limbo.pop_front() {
                reclaim(retired);
                reclaimed += 1;
            }
        }
        self.limbo.set(limbo);
    }

    pub(crate) fn list_bytes(&self) -> usize {
        let limbo = self.limbo.take();
        let bytes = limbo.capacity_bytes();
        self.limbo.set(limbo);
        bytes
    }

    /// Returns the number of retired objects not yet reclaimed.
    pub(crate) fn limbo_len(&self) -> usize {
        let limbo = self.limbo.take();
        let len = limbo.len();
        self.limbo.set(limbo);
        len
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        lock(&self.epochs.announcements).retain(|other| !Arc::ptr_eq(other, &self.announcement));
        lock(&self.epochs.orphans).append(self.limbo.take());
    }
}

/// A guard that keeps memory reachable since its creation in place. Not `Send`: it counts in its thread's cells.
#[derive(Debug)]
pub struct Pin<'p> {
    active: &'p Cell<u32>,
    epoch: u64,
}

impl Pin<'_> {
    /// Returns the epoch that the pin was taken in. Memory that was reachable under one pin is still in place under a
    /// later pin of the same epoch (of any participant): had it been reclaimed, the epoch would have moved on by two.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.active.set(self.active.get() - 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
