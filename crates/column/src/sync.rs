//! The one place that chooses between the real locks and the model checker's.
//!
//! A simulator (feature `simulation`) decides which of several threads goes on, and lets one run at a time. Threads of
//! this crate can notice each other only by latches, so it is enough that the simulator is told of each latch: before
//! it is taken, after, and whenever another thread is found to hold it. A thread that waits for a latch tries again
//! when it has its turn: waiting in the kernel would hold the turn.

#[cfg(loom)]
pub(crate) use loom::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use std::sync::{PoisonError, TryLockResult};

/// Takes a latch for reading. A thread that panicked under a latch has left the protected state as the invariants say:
/// see the types.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    taken_by_turns(|| lock.try_read())
        .unwrap_or_else(|| lock.read().unwrap_or_else(PoisonError::into_inner))
}

/// Takes a latch for writing. A thread that panicked under a latch has left the protected state as the invariants say.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    taken_by_turns(|| lock.try_write())
        .unwrap_or_else(|| lock.write().unwrap_or_else(PoisonError::into_inner))
}

/// Takes a latch as a simulator decides. Returns `None` if there is no simulator.
#[cfg(all(feature = "simulation", not(loom)))]
fn taken_by_turns<G>(mut try_take: impl FnMut() -> TryLockResult<G>) -> Option<G> {
    use interleave::{Point, is_injected, passed};
    use std::sync::TryLockError;

    if !is_injected() {
        return None;
    }
    passed(Point::new(crate::LATCH_WANTED));
    loop {
        let guard = match try_take() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                passed(Point::new(crate::LATCH_REFUSED));
                continue;
            }
        };
        passed(Point::new(crate::LATCH_TAKEN));
        return Some(guard);
    }
}

/// Does nothing: there is no simulator.
#[cfg(not(all(feature = "simulation", not(loom))))]
#[inline(always)]
fn taken_by_turns<G>(_: impl FnMut() -> TryLockResult<G>) -> Option<G> {
    None
}
