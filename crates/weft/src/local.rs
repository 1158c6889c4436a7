//! A database without threads: the calling thread does all the work. The methods for DDL are in
//! `ddl.rs`.

use std::{
    cell::{Cell, RefCell, RefMut},
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
};

use engine::{CheckpointReport, IndexReport, RecoveryReport, Session};
use interleave::{Clock, InPlace, Interleaved, JoinHandle, Worker, WorkerConfig};

use crate::{
    context::{Context, Shared, WorkerState},
    database::Database,
    error::{Error, Result},
    index::{Index, IndexDefinition},
    key::Key,
    open::Opening,
    options::Options,
    stats::Stats,
    table::{Table, TypeTag, list},
    thread::Working,
    transaction::Transaction,
    value::Value,
};

/// A database whose only worker is the calling thread, whenever that is in one of
/// its methods. Made by [`Database::open_local`]. Neither closures nor results
/// need be `Send`.
///
/// Transactions that run together ([`LocalDatabase::run_all`],
/// [`LocalDatabase::supply`]) overlap each other's cache misses as on any
/// worker.
///
/// # Errors
/// A method that runs transactions returns [`Error::WouldBlockWorker`] when it is called from
/// within a transaction of the same database.
pub struct LocalDatabase {
    shared: Arc<Shared>,
    worker: RefCell<Worker<WorkerState>>,
    state: Rc<WorkerState>,
    next_job: Cell<u64>,
    recovered: Option<RecoveryReport>,
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Futures that wait to run on the worker of this very thread, and so need not be `Send`. The
/// worker's inbox, which other threads may reach, carries only the number.
#[derive(Default)]
pub(crate) struct Jobs {
    waiting: RefCell<HashMap<u64, Task>>,
}

/// A job under way, and the place of its result.
struct Job<T> {
    task: JoinHandle<(), WorkerState>,
    result: Rc<Cell<Option<T>>>,
}

impl Database {
    /// Opens a database without threads, in memory or in a directory.
    /// [`Options::workers`] and [`Options::pin_workers`] have no effect.
    ///
    /// # Errors
    /// Fails as [`Database::open`] does.
    pub fn open_local(options: Options) -> Result<LocalDatabase> {
        options.validate_local()?;
        let opening = Opening::begin(&options)?;
        let shared = Shared::new(&options, opening.engine.clone(), Vec::new());
        let state = Rc::new(WorkerState::new(&shared, 0)?);
        let mut worker = Worker::new(options.worker_config(), state.clone(), Clock::real());
        let recovered = opening.finish_on(&mut worker)?;
        Ok(LocalDatabase {
            recovered,
            shared,
            worker: RefCell::new(worker),
            state,
            next_job: Cell::new(0),
        })
    }
}

impl LocalDatabase {
    /// Opens a table that exists. See [`Database::open_table`].
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::WrongType`].
    pub fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        self.shared.open_table(name)
    }

    /// Returns all tables by name, with their types.
    pub fn tables(&self) -> Vec<(String, TypeTag)> {
        list(&self.shared.engine)
    }

    /// Makes an index of `table`. See [`Database::create_index`].
    ///
    /// # Errors
    /// Fails as [`Database::create_index`] does, and as the type describes.
    pub fn create_index<I: Key, K: Key, V: Value, C: Value>(
        &self,
        table: &Table<K, V>,
        definition: IndexDefinition<I, K, V, C>,
    ) -> Result<Index<I, K, V, C>> {
        let session = self.state.session.clone();
        self.block_on(definition.build(session, table.clone()))?
    }

    /// Compares an index with its table. See [`Database::check_index`].
    ///
    /// # Errors
    /// Fails as [`Database::check_index`] does, and as the type describes.
    pub fn check_index<I, K, V, C>(&self, index: &Index<I, K, V, C>) -> Result<IndexReport> {
        let index = index.newest(&self.shared.engine)?;
        let session = self.state.session.clone();
        let report = async move { session.check_index::<Interleaved>(&index).await };
        Ok(self.block_on(report)??)
    }

    /// Runs `closure` in a transaction and commits it; runs it again after aborts. See
    /// [`Database::run`].
    ///
    /// # Errors
    /// Errors of the closure; [`Error::RetriesExhausted`], [`Error::Panicked`]; also fails as the
    /// type describes.
    pub fn run<T, F>(&self, closure: F) -> Result<T>
    where
        T: 'static,
        F: AsyncFn(&Transaction) -> Result<T> + 'static,
    {
        self.block_on(self.transaction(closure))?
    }

    /// Runs all `closures`, each in a transaction of its own, as many at once as
    /// [`Options::in_flight`] says. Returns the results in the closures' order.
    ///
    /// # Errors
    /// Fails as the type describes. An error of a transaction is in its result.
    pub fn run_all<T, F>(&self, closures: impl IntoIterator<Item = F>) -> Result<Vec<Result<T>>>
    where
        T: 'static,
        F: AsyncFn(&Transaction) -> Result<T> + 'static,
    {
        let mut worker = self.worker()?;
        let closures = closures.into_iter();
        let jobs: Vec<_> = closures
            .map(|closure| self.submit(&worker, self.transaction(closure)))
            .collect();
        let _working = Working::begin();
        Ok(jobs
            .into_iter()
            .map(|job| finish(&mut worker, job).and_then(|result| result))
            .collect())
    }

    /// Runs any future on this thread's worker, for example one that begins
    /// transactions in a [`LocalDatabase::context`].
    ///
    /// # Errors
    /// [`Error::Panicked`]; also fails as the type describes.
    pub fn block_on<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Result<T> {
        let mut worker = self.worker()?;
        let job = self.submit(&worker, future);
        let _working = Working::begin();
        finish(&mut worker, job)
    }

    /// Takes a checkpoint now. See [`Database::checkpoint`].
    ///
    /// # Errors
    /// [`Error::Checkpoint`]; also fails as the type describes.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        let session = self.state.session.clone();
        let taken = self.block_on(async move { session.checkpoint().await })?;
        Ok(taken.map_err(Box::new)?)
    }

    pub(crate) fn engine(&self) -> &Arc<engine::Database> {
        &self.shared.engine
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn session(&self) -> &Rc<Session> {
        &self.state.session
    }

    /// Returns the report of the recovery at opening; `None` in memory.
    pub fn recovered(&self) -> Option<&RecoveryReport> {
        self.recovered.as_ref()
    }

    /// Returns the reason why no commit is acknowledged any more, if the device has failed.
    pub fn failure(&self) -> Option<String> {
        self.shared.engine.failure().map(str::to_owned)
    }

    /// Returns a context to begin and run transactions by hand.
    pub fn context(&self) -> Context {
        Context {
            state: self.state.clone(),
        }
    }

    /// Gives the worker a source of tasks, which [`LocalDatabase::run_until_idle`] runs. See
    /// [`crate::WorkerHandle::supply`].
    ///
    /// # Errors
    /// Fails as the type describes.
    pub fn supply<S, T, F>(&self, make: impl FnOnce(Context) -> S) -> Result<()>
    where
        S: FnMut() -> Option<T> + 'static,
        T: FnOnce() -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        let mut source = make(self.context());
        self.worker()?.set_source(InPlace(move |_: &_| source()));
        Ok(())
    }

    /// Runs tasks until nothing is left to do.
    ///
    /// # Errors
    /// Fails as the type describes.
    pub fn run_until_idle(&self) -> Result<()> {
        let mut worker = self.worker()?;
        let _working = Working::begin();
        worker.run_until_idle();
        self.state.session.push();
        Ok(())
    }

    /// Changes the worker's configuration.
    ///
    /// # Errors
    /// Fails as the type describes.
    pub fn configure(&self, config: WorkerConfig) -> Result<()> {
        self.worker()?.configure(config);
        Ok(())
    }

    /// Returns counters and levels since the database was opened.
    pub fn stats(&self) -> Stats {
        self.state.session.tend();
        let worker = self.worker.try_borrow();
        let worker = worker.map(|worker| worker.handle().stats());
        Stats::collect(&self.shared, 1, &worker.unwrap_or_default())
    }

    /// Returns the use of memory by purpose.
    pub fn memory(&self) -> engine::Usage {
        self.shared.engine.memory()
    }

    fn worker(&self) -> Result<RefMut<'_, Worker<WorkerState>>> {
        self.worker
            .try_borrow_mut()
            .map_err(|_| Error::WouldBlockWorker)
    }

    /// Returns a future that runs `closure` in a transaction.
    fn transaction<T, F>(&self, closure: F) -> impl Future<Output = Result<T>> + use<T, F>
    where
        F: AsyncFn(&Transaction) -> Result<T> + 'static,
    {
        let context = self.context();
        let options = self.shared.defaults;
        async move { context.run(options, &closure).await }
    }

    fn submit<T: 'static>(
        &self,
        worker: &Worker<WorkerState>,
        future: impl Future<Output = T> + 'static,
    ) -> Job<T> {
        let number = self.next_job.get();
        self.next_job.set(number + 1);
        let result = Rc::new(Cell::new(None));
        let place = result.clone();
        let task: Task = Box::pin(async move { place.set(Some(future.await)) });
        self.state.jobs.waiting.borrow_mut().insert(number, task);
        let task = worker.handle().submit(move |state: &Rc<WorkerState>| {
            let job = state.jobs.waiting.borrow_mut().remove(&number);
            job.expect("a job is begun once, by the thread that submitted it")
        });
        Job { task, result }
    }
}

fn finish<T>(worker: &mut Worker<WorkerState>, job: Job<T>) -> Result<T> {
    worker.run_until(job.task)?;
    // A task that has ended without a panic has left its result.
    job.result.take().ok_or(Error::Closed)
}

impl fmt::Debug for LocalDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalDatabase")
            .field("tables", &self.tables())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}
