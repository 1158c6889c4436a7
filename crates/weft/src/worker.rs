//! Workers, as users of a database see them.

use std::{
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
};

use interleave::{Handle, InPlace, LongSlice, WorkerConfig, WorkerStats};

use crate::context::{Context, WorkerState};

/// One worker of a database, to be given a closed loop of transactions, or a configuration of its own. See
/// [`crate::Database::workers`].
#[derive(Clone)]
pub struct WorkerHandle {
    pub(crate) handle: Handle<WorkerState>,
    /// Number of the database's own tasks among the worker's open ones.
    pub(crate) own_tasks: u64,
}

impl WorkerHandle {
    /// Changes the worker's configuration from its next round on.
    pub fn configure(&self, config: WorkerConfig) {
        self.handle.order(move |worker| worker.configure(config));
    }

    /// Makes the worker draw transactions from a source whenever it has room: benchmarks and bulk loading without a
    /// submission, an allocation or a thread switch per transaction.
    ///
    /// `make` is called once on the worker's thread, and returns the source. The source is called for each next task,
    /// and returns a closure that makes the task's future in its place, until the source returns `None` or the database
    /// is closed. It is then dropped: a guard in it tells when. Tasks that it made before may still be under way. A
    /// source replaces the one before it.
    ///
    /// ```
    /// # use weft::*;
    /// # let db = Database::open(Options { workers: 1, ..Options::default() })?;
    /// let table: Table<u64, u64> = db.create_table("squares")?;
    /// let (done, wait) = std::sync::mpsc::channel::<()>();
    /// let squares = table.clone();
    /// db.workers()[0].supply(move |context: Context| {
    ///     let mut numbers = 0..1000_u64;
    ///     move || {
    ///         let number = numbers.next()?;
    ///         let (context, squares, done) = (context.clone(), squares.clone(), done.clone());
    ///         Some(move || async move {
    ///             let txn = context.begin::<Interleaved>(Isolation::Snapshot).unwrap();
    ///             txn.insert(&squares, &number, &(number * number)).await.unwrap();
    ///             txn.commit().await.unwrap();
    ///             drop(done);
    ///         })
    ///     }
    /// });
    /// wait.recv().unwrap_err(); // The last sender has gone: all tasks have ended.
    /// let count = db.run_blocking(async move |txn: &Transaction| txn.scan(&table, ..).count().await)?;
    /// assert_eq!(count, 1000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn supply<M, S, T, F>(&self, make: M)
    where
        M: FnOnce(Context) -> S + Send + 'static,
        S: FnMut() -> Option<T> + 'static,
        T: FnOnce() -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        self.handle.order(move |worker| {
            let state = worker.local().clone();
            if state.shared.check_open().is_err() {
                return;
            }
            let context = Context { state };
            // A panic in here would end the worker, not just the source. The panic hook has printed its message.
            if let Ok(mut source) = catch_unwind(AssertUnwindSafe(|| make(context))) {
                worker.set_source(InPlace(move |_: &_| source()));
            }
        });
    }

    /// Runs the future that `make` returns on the worker, to its end; `make` is called on the worker's thread. While
    /// the future waits, for transactions or for anything else, no other task waits for it: it is a task among the
    /// others. Closing the database waits for it, so the caller must make sure that it ends.
    pub fn spawn<M, F>(&self, make: M)
    where
        M: FnOnce(Context) -> F + Send + 'static,
        F: Future<Output = ()> + 'static,
    {
        let task = self.handle.submit(move |state| {
            make(Context {
                state: state.clone(),
            })
        });
        task.detach();
    }

    /// Returns the number of transactions submitted to this worker that have not ended.
    pub fn open_transactions(&self) -> u64 {
        self.handle.open_tasks().saturating_sub(self.own_tasks)
    }

    /// Returns the longest of the slices in which a task held the worker for longer than [`crate::SLICE_US_MAX`], and
    /// the task; `None` if no slice was so long.
    pub fn longest_slice(&self) -> Option<LongSlice> {
        self.handle.longest_slice()
    }

    /// Forgets the longest slice, from the worker's next round on.
    pub fn forget_longest_slice(&self) {
        self.handle.order(|worker| worker.forget_longest_slice());
    }

    /// Returns the worker's counters, at most milliseconds old.
    pub fn stats(&self) -> WorkerStats {
        self.handle.stats()
    }
}

impl fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerHandle")
            .field("open_transactions", &self.open_transactions())
            .finish_non_exhaustive()
    }
}
