//! A database with worker threads. The methods for DDL are in `ddl.rs`.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use engine::{CheckpointReport, IndexReport, Offers, RecoveryProgress, RecoveryReport};
use interleave::{Interleaved, Outside, Policy, Runtime};

use crate::{
    context::{Context, Shared, WorkerState},
    error::Result,
    index::{Index, IndexDefinition},
    key::Key,
    open::Opening,
    options::{Options, TransactionOptions},
    run::Running,
    stats::Stats,
    table::{Table, TypeTag, list, open},
    thread::{Working, is_worker},
    transaction::Transaction,
    value::Value,
    worker::WorkerHandle,
};

/// A database. Cheap to clone; all clones are the same database, which is closed
/// when the last of them is dropped.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    workers: Box<[WorkerHandle]>,
    next_worker: AtomicUsize,
    /// Threads of the workers; `None` once the database is closed.
    runtime: Mutex<Option<Runtime<WorkerState>>>,
    recovered: Option<RecoveryReport>,
}

impl Database {
    /// Opens a database and starts its workers: an empty one in memory or, with
    /// [`Options::data_dir`], the one that is kept there (made if there is none). Returns when
    /// everything is recovered; see [`Database::open_reporting`] for progress.
    ///
    /// # Errors
    /// [`crate::Error::InvalidOption`]; [`crate::Error::System`] if the system
    /// refuses threads or the directory, [`crate::Error::MemoryExhausted`] if it
    /// refuses address space; [`crate::Error::Open`] if the directory is open
    /// elsewhere, damaged, or too large for the memory limit.
    pub fn open(options: Options) -> Result<Database> {
        Database::open_reporting(options, |_| {})
    }

    /// Opens a database as [`Database::open`] does, calling `progress` about ten times a second
    /// during recovery.
    ///
    /// # Errors
    /// Fails as [`Database::open`] does.
    pub fn open_reporting(
        options: Options,
        progress: impl FnMut(&RecoveryProgress),
    ) -> Result<Database> {
        options.validate()?;
        let opening = Opening::begin(&options)?;
        Database::start(options, opening, Vec::new(), progress)
    }

    /// Opens a database as [`Database::open_reporting`] does, with a source of events for each
    /// worker to listen to beside its device: clients' sockets. There are as many workers as
    /// sources, whatever [`Options::workers`] says; [`WorkerHandle::spawn`] gives the workers tasks
    /// that wait for their source.
    ///
    /// # Errors
    /// Fails as [`Database::open`] does.
    pub fn open_beside(
        mut options: Options,
        outsides: Vec<Arc<dyn Outside>>,
        progress: impl FnMut(&RecoveryProgress),
    ) -> Result<Database> {
        options.workers = outsides.len();
        options.validate()?;
        let opening = Opening::begin(&options)?;
        Database::start(options, opening, outsides, progress)
    }

    /// Opens a database as [`Database::open`] does, in a directory of the caller's own making,
    /// instead of [`Options::data_dir`].
    ///
    /// # Errors
    /// Fails as [`Database::open`] does.
    #[doc(hidden)]
    pub fn open_in(options: Options, directory: Arc<dyn io::Directory>) -> Result<Database> {
        options.validate()?;
        let opening = Opening::begin_in(&options, Some(directory))?;
        Database::start(options, opening, Vec::new(), |_| {})
    }

    /// Returns the sources of events that the database was opened beside, one for each worker.
    pub fn outsides(&self) -> &[Arc<dyn Outside>] {
        &self.shared().outsides
    }

    fn start(
        options: Options,
        opening: Opening,
        outsides: Vec<Arc<dyn Outside>>,
        mut progress: impl FnMut(&RecoveryProgress),
    ) -> Result<Database> {
        let shared = Shared::new(&options, opening.engine.clone(), outsides);
        let for_workers = shared.clone();
        let runtime = Runtime::start(
            "weft",
            options.workers,
            options.pin_workers,
            options.worker_config(),
            move |number| {
                Working::forever();
                let state = WorkerState::new(&for_workers, number)?;
                Ok(match for_workers.outsides.get(number) {
                    Some(outside) => state.beside(outside.clone()),
                    None => state,
                })
            },
        )?;
        let helpers = runtime.handles().clone();
        // A worker that is alone has nobody to ask.
        if helpers.len() > 1 {
            let offers = Arc::new(Offers::new(helpers.len()));
            shared.engine.set_helpers(Box::new(move |help| {
                let mut workers: Vec<usize> = (0..helpers.len()).collect();
                // Workers with little to do come first.
                workers.sort_by_cached_key(|number| helpers[*number].open_tasks());
                offers.leave(help, workers.into_iter(), |number| {
                    let offers = offers.clone();
                    let task = helpers[number].submit(move |state| {
                        let (help, session) = (offers.take(number), state.session.clone());
                        async move {
                            if let Some(help) = help {
                                help.run(session).await;
                            }
                        }
                    });
                    task.detach();
                });
            }));
        }
        let recovered = opening.finish(runtime.handles(), &mut progress)?;
        let own_tasks = u64::from(recovered.is_some());
        let workers = runtime.handles().iter().cloned();
        let workers = workers.map(|handle| WorkerHandle { handle, own_tasks });
        Ok(Database {
            inner: Arc::new(Inner {
                shared,
                workers: workers.collect(),
                next_worker: AtomicUsize::new(0),
                runtime: Mutex::new(Some(runtime)),
                recovered,
            }),
        })
    }

    /// Returns the report of the recovery at opening; `None` in memory.
    pub fn recovered(&self) -> Option<&RecoveryReport> {
        self.inner.recovered.as_ref()
    }

    /// Returns the way in which transfers reach the device: "io_uring", or "blocking" with the
    /// reason; `None` in memory.
    pub fn storage_backend(&self) -> Option<String> {
        self.shared().engine.directory().map(|d| d.backend())
    }

    /// Returns the reason why no commit is acknowledged any more, if the device has failed.
    pub fn failure(&self) -> Option<String> {
        self.shared().engine.failure().map(str::to_owned)
    }

    /// Returns the reason why the last checkpoint that was due failed, if it did. The checkpoint is
    /// tried again when the next one is due; meanwhile the log grows.
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.shared().engine.checkpoint_failure()
    }

    /// Takes a checkpoint now: older parts of the log are no longer needed. One of the workers
    /// takes it beside its transactions, writing no faster than
    /// [`crate::StorageOptions::checkpoint_bytes_per_second_max`].
    ///
    /// # Errors
    /// [`crate::Error::Checkpoint`], after which the checkpoint before still counts;
    /// [`crate::Error::Closed`].
    ///
    /// # Cancellation
    /// Dropping the returned future gives the checkpoint up.
    pub fn checkpoint(&self) -> Running<CheckpointReport> {
        if let Err(closed) = self.shared().check_open() {
            return Running::refused(closed);
        }
        Running::submitted(self.pick().handle.submit(|state| {
            let session = state.session.clone();
            async move { Ok(session.checkpoint().await.map_err(Box::new)?) }
        }))
    }

    /// Takes a checkpoint as [`Database::checkpoint`] does, blocking the calling thread.
    ///
    /// # Errors
    /// Fails as [`Database::checkpoint`] does; [`crate::Error::WouldBlockWorker`] on a worker's
    /// thread.
    pub fn checkpoint_blocking(&self) -> Result<CheckpointReport> {
        self.checkpoint().wait()
    }

    /// Opens a table that exists as of the newest commit.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchTable`]; [`crate::Error::WrongType`] if it was
    /// created with other types; [`crate::Error::Closed`].
    pub fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        self.shared().open_table(name)
    }

    /// Returns all tables by name, with their types.
    pub fn tables(&self) -> Vec<(String, TypeTag)> {
        list(&self.shared().engine)
    }

    /// Returns the name of the table with a number ([`Table::number`]).
    pub fn table_name(&self, number: u32) -> Option<String> {
        let engine = &self.shared().engine;
        let mut names = engine.table_names().into_iter();
        names.find(|name| {
            engine
                .table(name)
                .is_some_and(|table| table.object_number() == number)
        })
    }

    /// Makes an index of `table`: one of the workers builds it beside its transactions, and writers
    /// go on, maintaining it from now on. Writers and the builder may meet: one of them then begins
    /// anew. When the returned future is ready, the index is ready.
    ///
    /// The build waits for the end of all transactions that have written something by now.
    ///
    /// The database remembers the index, but not its key function. After opening, the table can be
    /// read but not written ([`crate::Error::IndexNotAttached`]) until this method was called again
    /// with the same name, types and uniqueness, and the same function: the database cannot tell
    /// another function from the one before.
    ///
    /// # Errors
    /// [`crate::Error::Index`]: there is a table or index of this name, or it was to be
    /// unique and two records have the same key, or it is not as it was before the
    /// database was opened; [`crate::Error::MemoryExhausted`],
    /// [`crate::Error::ForeignTable`]; [`crate::Error::Closed`] if the database is closed, or is closed
    /// before the index is ready; [`crate::Error::Panicked`] if the function that gives the keys did.
    ///
    /// # Cancellation
    /// Dropping the returned future gives the index up.
    pub fn create_index<I: Key, K: Key, V: Value, C: Value>(
        &self,
        table: &Table<K, V>,
        definition: IndexDefinition<I, K, V, C>,
    ) -> Running<Index<I, K, V, C>> {
        if let Err(closed) = self.shared().check_open() {
            return Running::refused(closed);
        }
        let table = table.clone();
        Running::submitted(self.pick().handle.submit(move |state| {
            let session = state.session.clone();
            definition.build(session, table)
        }))
    }

    /// Makes an index as [`Database::create_index`] does, blocking the calling thread.
    ///
    /// # Errors
    /// Fails as [`Database::create_index`] does; [`crate::Error::WouldBlockWorker`] on a worker's
    /// thread.
    pub fn create_index_blocking<I: Key, K: Key, V: Value, C: Value>(
        &self,
        table: &Table<K, V>,
        definition: IndexDefinition<I, K, V, C>,
    ) -> Result<Index<I, K, V, C>> {
        self.create_index(table, definition).wait()
    }

    /// Compares an index with its table, at one snapshot, beside the other work of a
    /// worker.
    ///
    /// # Errors
    /// [`crate::Error::IndexNotReady`], [`crate::Error::ForeignTable`],
    /// [`crate::Error::Closed`].
    pub fn check_index<I, K, V, C>(&self, index: &Index<I, K, V, C>) -> Running<IndexReport> {
        let shared = self.shared();
        let index = match shared.check_open().and(index.newest(&shared.engine)) {
            Ok(index) => index,
            Err(error) => return Running::refused(error),
        };
        Running::submitted(self.pick().handle.submit(move |state| {
            let session = state.session.clone();
            async move { Ok(session.check_index::<Interleaved>(&index).await?) }
        }))
    }

    /// Runs `closure` in a transaction on one of the workers and commits it. After aborts the
    /// closure is run again, so it should have no effects besides those on tables. If it returns an
    /// error or panics, the transaction is rolled back.
    ///
    /// The transaction is submitted at once; the returned future only waits for it and can be
    /// awaited in any runtime.
    ///
    /// # Errors
    /// Errors of the closure; [`crate::Error::RetriesExhausted`], [`crate::Error::Panicked`],
    /// [`crate::Error::Closed`].
    ///
    /// # Cancellation
    /// Dropping the returned future rolls the transaction back.
    pub fn run<T, F>(&self, closure: F) -> Running<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Transaction) -> Result<T> + Send + 'static,
    {
        self.run_with::<Interleaved, T, F>(self.shared().defaults, closure)
    }

    /// Runs `closure` as [`Database::run`] does, with options (or just an isolation level) and a
    /// suspension policy of its own.
    ///
    /// # Errors
    /// Fails as [`Database::run`] does.
    ///
    /// # Cancellation
    /// Dropping the future has the effect described for [`Database::run`].
    pub fn run_with<P, T, F>(
        &self,
        options: impl Into<TransactionOptions>,
        closure: F,
    ) -> Running<T>
    where
        P: Policy,
        T: Send + 'static,
        F: AsyncFn(&Transaction<P>) -> Result<T> + Send + 'static,
    {
        if let Err(closed) = self.shared().check_open() {
            return Running::refused(closed);
        }
        let options = options.into();
        Running::submitted(self.pick().handle.submit(move |state| {
            let context = Context {
                state: state.clone(),
            };
            async move { context.run(options, &closure).await }
        }))
    }

    /// Runs `closure` as [`Database::run`] does, blocking the calling thread.
    ///
    /// # Errors
    /// Fails as [`Database::run`] does; [`crate::Error::WouldBlockWorker`] on a worker's thread,
    /// that is, inside a transaction.
    pub fn run_blocking<T, F>(&self, closure: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFn(&Transaction) -> Result<T> + Send + 'static,
    {
        self.run(closure).wait()
    }

    /// Returns the workers, for closed loops and configurations of their own.
    pub fn workers(&self) -> &[WorkerHandle] {
        &self.inner.workers
    }

    /// Returns counters and levels since the database was opened.
    pub fn stats(&self) -> Stats {
        let mut workers = interleave::WorkerStats::default();
        for worker in self.workers() {
            workers.merge(&worker.stats());
        }
        Stats::collect(self.shared(), self.workers().len(), &workers)
    }

    /// Returns the use of memory by purpose.
    pub fn memory(&self) -> engine::Usage {
        self.shared().engine.memory()
    }

    /// Has the operating system back the memory that the database will need next, up to `bytes` of
    /// it and to the limit, and returns the number of bytes (0 where the system cannot: Linux can
    /// since 5.14). Blocks only the calling thread meanwhile.
    ///
    /// Without this call the system backs memory bit by bit, when it is first written to: a worker
    /// then stands still for as long as it takes to clear a page of 2 MiB, and on a virtual machine
    /// for the hypervisor to find one. The call is worth it before a load or a peak.
    pub fn prefault(&self, bytes: u64) -> u64 {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.arena().prefault(bytes) as u64
    }

    /// Returns the arena that holds all records, for measurements on the same memory.
    #[doc(hidden)]
    pub fn arena(&self) -> &Arc<memory::Arena> {
        self.shared().engine.arena()
    }

    /// Closes the database: refuses new work, lets submitted transactions end, rolls interactive
    /// ones back, gives builds of indexes up, and ends the workers. Returns when all that is done; on a
    /// worker's own thread (inside a transaction) it returns at once and the rest happens behind it.
    /// Closing again does nothing.
    pub fn close(&self) {
        self.shared().close();
        if is_worker() {
            let inner = self.inner.clone();
            elsewhere(move || inner.shut_down());
        } else {
            self.inner.shut_down();
        }
    }

    /// Returns whether the database has been closed, and refuses new work.
    pub fn is_closed(&self) -> bool {
        self.shared().is_closed()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Returns the less loaded of two workers chosen in turn.
    pub(crate) fn pick(&self) -> &WorkerHandle {
        let workers = self.workers();
        let turn = self.inner.next_worker.fetch_add(1, Ordering::Relaxed);
        let (a, b) = (
            &workers[turn % workers.len()],
            &workers[(turn + 1) % workers.len()],
        );
        if b.open_transactions() < a.open_transactions() {
            b
        } else {
            a
        }
    }
}

impl Shared {
    pub(crate) fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        self.check_open()?;
        open(&self.engine, name)
    }
}

impl Inner {
    /// Waits for the workers to end, whichever caller closes first; must not run on one of the
    /// workers.
    fn shut_down(&self) {
        // The lock is held to the end: another thread that closes waits here.
        let mut runtime = self.runtime.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(runtime) = runtime.take() {
            end_workers(runtime, &self.shared);
        }
    }
}

/// Ends the workers, then the engine, whose directory can then be opened elsewhere.
fn end_workers(runtime: Runtime<WorkerState>, shared: &Shared) {
    for handle in runtime.handles().iter() {
        handle.order(|worker| worker.local().session.wind_up());
    }
    runtime.shut_down();
    shared.engine.close();
    shared.engine.leave_directory();
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
        let runtime = self.runtime.get_mut().unwrap_or_else(|e| e.into_inner());
        let Some(runtime) = runtime.take() else {
            return;
        };
        let shared = self.shared.clone();
        let shut_down = move || end_workers(runtime, &shared);
        if is_worker() {
            // The last clone was in a transaction's closure; a worker cannot
            // wait for itself to end.
            elsewhere(shut_down);
        } else {
            shut_down();
        }
    }
}

/// Runs `work` on a thread of its own.
fn elsewhere(work: impl FnOnce() + Send + 'static) {
    // If the system refuses the thread, `work` is dropped with everything that it owns.
    let _ = std::thread::Builder::new()
        .name("weft-close".to_owned())
        .spawn(work);
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("workers", &self.workers().len())
            .field("tables", &self.tables())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}
