//! Threads that must not block.

use std::cell::Cell;

use crate::error::{Error, Result};

thread_local! {
    /// Number of workers, of any databases, that run on this thread.
    static WORKERS: Cell<u32> = const { Cell::new(0) };
}

/// Marks this thread as a worker while it lives.
pub(crate) struct Working(());

impl Working {
    pub(crate) fn begin() -> Working {
        WORKERS.set(WORKERS.get() + 1);
        Working(())
    }

    /// Marks this thread as a worker to its end.
    pub(crate) fn forever() {
        std::mem::forget(Working::begin());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        WORKERS.set(WORKERS.get() - 1);
    }
}

/// Returns whether this thread is a worker of a database. A worker must not wait for the work of
/// workers: calls that block fail there with [`Error::WouldBlockWorker`].
pub fn is_worker() -> bool {
    WORKERS.get() > 0
}

/// Blocks on `future`, unless that would keep a worker from its work.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    if is_worker() {
        return Err(Error::WouldBlockWorker);
    }
    pollster::block_on(future)
}
