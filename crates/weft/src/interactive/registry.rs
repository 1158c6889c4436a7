//! Registry of the tasks that wait for clients, interactive transactions among them: closing the
//! database ends them, as they would otherwise wait for ever.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard},
};

use crate::{context::Shared, error::Result};

/// Function that makes a task end.
type Close = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct Registry {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// One function for each task that waits for a client.
    closes: BTreeMap<u64, Close>,
}

impl Registry {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Remembers a task by the function that makes it end, unless the database is closed.
    ///
    /// The check of `shared` is under the latch that [`Registry::close_all`] takes after the
    /// database was marked closed: either the mark is seen here, or the task is seen there.
    ///
    /// # Errors
    /// [`crate::Error::Closed`].
    pub(crate) fn register(
        &self,
        shared: &Shared,
        close: impl FnOnce() + Send + 'static,
    ) -> Result<u64> {
        let mut open = self.open();
        shared.check_open()?;
        let number = open.next;
        open.next += 1;
        open.closes.insert(number, Box::new(close));
        Ok(number)
    }

    pub(crate) fn deregister(&self, number: u64) {
        let close = self.open().closes.remove(&number);
        // Without the latch: what the function owns may be dropped with it.
        drop(close);
    }

    /// Makes every task end.
    pub(crate) fn close_all(&self) {
        // Without the latch: a function, or what it owns, may deregister.
        let closes = std::mem::take(&mut self.open().closes);
        for close in closes.into_values() {
            // A task that is not told keeps its worker, and the closing, waiting for ever.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(close)) {
                // A payload may panic when it is dropped.
                std::mem::forget(payload);
            }
        }
    }
}
