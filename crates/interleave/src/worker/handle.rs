//! The side of a worker that other threads hold.

use std::{
    future::Future,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};

use crate::{
    inbox::{Inbox, Message},
    slice::LongSlice,
    stats::WorkerStats,
    task::{JoinHandle, submit},
    worker::{Worker, WorkerLocal},
};

/// Sends tasks to one worker, from any thread.
pub struct Handle<L: 'static> {
    pub(super) inbox: Arc<Inbox<L>>,
}

impl<L: 'static> Clone for Handle<L> {
    fn clone(&self) -> Handle<L> {
        Handle {
            inbox: self.inbox.clone(),
        }
    }
}

impl<L: 'static> std::fmt::Debug for Handle<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl<L: WorkerLocal> Handle<L> {
    /// Runs the future that `make` returns on the worker. `make` is called on the worker's thread,
    /// so the future need not be `Send`.
    pub fn submit<T, M, F>(&self, make: M) -> JoinHandle<T, L>
    where
        T: Send + 'static,
        M: FnOnce(&Rc<L>) -> F + Send + 'static,
        F: Future<Output = T> + 'static,
    {
        submit(&self.inbox, make)
    }

    /// Runs `order` on the worker between two rounds: to set a source or change
    /// the configuration.
    pub fn order(&self, order: impl FnOnce(&mut Worker<L>) + Send + 'static) {
        self.inbox.send(Message::Order(Box::new(order)));
    }

    /// Returns the number of submitted tasks that have not ended.
    pub fn open_tasks(&self) -> u64 {
        self.inbox.open.load(Ordering::Relaxed)
    }

    /// Returns the longest of the slices that were too long
    /// ([`SLICE_US_MAX`](crate::SLICE_US_MAX)), and the task that made it; `None` if no slice was.
    pub fn longest_slice(&self) -> Option<LongSlice> {
        self.inbox.longest.get()
    }

    /// Returns whether the worker has been shut down.
    pub fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Returns the worker's counters as last published (at most milliseconds old under load).
    pub fn stats(&self) -> WorkerStats {
        self.inbox.stats.read()
    }
}
