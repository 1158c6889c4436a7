//! The one place that chooses between the real atomics and the model checker's.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Models the SeqCst of the accesses around it: the model checker knows SeqCst of fences only.
#[inline(always)]
pub(crate) fn model_seq_cst() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}
