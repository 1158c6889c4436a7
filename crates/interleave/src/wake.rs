//! Wakers: how an event, on whatever thread, makes a parked slot runnable.
//!
//! A waker is a counted [`WakeHandle`]. Waking sets `notified` and, if it was not
//! set, puts the handle into the worker's inbox and rouses the worker.
//!
//! # No lost wake
//! The worker takes the handle out of the inbox, clears `notified` (AcqRel swap),
//! *then* polls. A wake that comes before the clearing is covered by that poll,
//! one that comes after it enqueues again:
//!
//! ```text
//!   waker                          worker
//!   publishes its event            takes handle from the inbox
//!   swap(notified, true)           swap(notified, false)
//!   false before? enqueue          polls: sees the event
//! ```
//! Both are read-modify-writes of one word, hence ordered: if the waker's comes
//! first, the worker's Acquire reads its Release and sees the event; else the
//! waker finds `false` and enqueues.
//!
//! A handle may outlive the task, and even serve the slot's next task: a wake is
//! then spurious, which every future must bear.

use std::{sync::Arc, task::Wake};

use crate::sync::{AtomicBool, Ordering};

/// Where wakes go.
pub(crate) trait Waking: Send + Sync {
    fn enqueue(&self, handle: Arc<WakeHandle>);
}

pub(crate) struct WakeHandle {
    index: u32,
    notified: AtomicBool,
    waking: Arc<dyn Waking>,
}

impl WakeHandle {
    pub(crate) fn new(index: u32, waking: Arc<dyn Waking>) -> Arc<WakeHandle> {
        Arc::new(WakeHandle {
            index,
            notified: AtomicBool::new(false),
            waking,
        })
    }

    pub(crate) fn into_waker(self: Arc<Self>) -> std::task::Waker {
        self.into()
    }

    /// The slot to resume.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Called by the worker before it polls.
    pub(crate) fn clear(&self) {
        self.notified.swap(false, Ordering::AcqRel);
    }

    pub(crate) fn notify(self: &Arc<Self>) {
        // AcqRel: see the module text.
        if !self.notified.swap(true, Ordering::AcqRel) {
            self.waking.enqueue(self.clone());
        }
    }
}

impl Wake for WakeHandle {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}
