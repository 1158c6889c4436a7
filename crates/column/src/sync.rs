//! The one place that chooses between the real locks and the model checker's.

#[cfg(loom)]
pub(crate) use loom::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use std::sync::PoisonError;

/// Whoever panicked under a lock has left what it protects as the invariants say: see the types.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Likewise.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
