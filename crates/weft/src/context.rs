//! State of a database on a worker, and the retry loop of transactions.

use std::{
    cell::Cell,
    fmt,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use engine::{Session, SessionError};
use interleave::{LongSlice, Outside, Policy, Rouser, Scheduling, WorkerLocal};

use crate::{
    error::{Abort, Error, Result, RetriesExhausted},
    interactive::Registry,
    layers::Layers,
    local::Jobs,
    options::{OnConflict, TransactionOptions},
    transaction::Transaction,
};

/// State that all workers of a database share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<engine::Database>,
    pub(crate) defaults: TransactionOptions,
    pub(crate) on_conflict: OnConflict,
    pub(crate) lock_timeout: Option<Duration>,
    pub(crate) retries_max: u32,
    pub(crate) opened: Instant,
    pub(crate) waiting_for_clients: Registry,
    pub(crate) layers: Layers,
    /// Sources of events of the workers, in their order; empty without any.
    pub(crate) outsides: Vec<Arc<dyn Outside>>,
    closed: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        options: &crate::Options,
        engine: Arc<engine::Database>,
        outsides: Vec<Arc<dyn Outside>>,
    ) -> Arc<Shared> {
        Arc::new(Shared {
            engine,
            defaults: options.isolation.into(),
            on_conflict: options.on_conflict,
            lock_timeout: options.lock_timeout,
            retries_max: options.retries_max,
            opened: Instant::now(),
            waiting_for_clients: Registry::default(),
            layers: Layers::default(),
            outsides,
            closed: AtomicBool::new(false),
        })
    }

    /// Refuses new work from now on, and ends transactions that wait for clients.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.waiting_for_clients.close_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        Ok(())
    }
}

/// State of a database on a worker: its session and the fields that retries need.
pub(crate) struct WorkerState {
    pub(crate) session: Rc<Session>,
    pub(crate) shared: Arc<Shared>,
    /// Jobs, which only local databases use.
    pub(crate) jobs: Jobs,
    beside: Option<Beside>,
    /// State of the generator that spreads backoffs. The worker's number is its seed, so a
    /// simulation repeats itself.
    spread: Cell<u64>,
}

/// Source of events that the worker listens to beside its device.
struct Beside {
    outside: Arc<dyn Outside>,
    /// Whether the device's sleep ends for the source's events; otherwise the worker sleeps on the
    /// source.
    watched: bool,
}

impl WorkerState {
    pub(crate) fn new(shared: &Arc<Shared>, number: usize) -> std::io::Result<WorkerState> {
        let session = Session::new(&shared.engine).map_err(|error| match error {
            SessionError::Device(error) => error,
            error => std::io::Error::other(error),
        })?;
        Ok(WorkerState {
            session,
            shared: shared.clone(),
            jobs: Jobs::default(),
            beside: None,
            spread: Cell::new(0x9e37_79b9_7f4a_7c15 ^ number as u64),
        })
    }

    /// Returns the state of a worker that also listens to `outside`.
    pub(crate) fn beside(mut self, outside: Arc<dyn Outside>) -> WorkerState {
        let (descriptor, rouser) = (outside.descriptor(), outside.rouser());
        let watched = self.session.sleep_beside(descriptor, rouser);
        self.beside = Some(Beside { outside, watched });
        self
    }

    /// Draws a number below `bound`.
    fn below(&self, bound: u64) -> u64 {
        let mut x = self.spread.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.spread.set(x);
        x % bound
    }
}

impl WorkerLocal for WorkerState {
    #[inline]
    fn poll(&self, idle: bool) {
        self.session.poll(idle);
        if idle && let Some(beside) = &self.beside {
            beside.outside.poll_idle();
        }
    }

    fn look_outside(&self) {
        if let Some(beside) = &self.beside {
            beside.outside.look();
        }
    }

    fn slice_was_long(&self, slice: &LongSlice) {
        log::debug!("a task held its worker for {slice}");
    }

    fn hand_over(&self) {
        self.session.hand_over();
    }

    fn schedule(&self, scheduling: Scheduling) {
        self.session.schedule(scheduling);
    }

    fn awaits_device(&self) -> bool {
        self.session.awaits_device()
    }

    #[inline]
    fn admits(&self) -> bool {
        self.session.admits()
    }

    fn frames(&self, bytes: usize, places: usize) -> usize {
        self.session.frames(bytes, places)
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.session.waiting()
    }

    fn rouser(&self) -> Option<Rouser> {
        self.session.rouser()
    }

    fn sleep(&self, at_most: Option<Duration>) {
        match &self.beside {
            None => self.session.sleep(at_most),
            Some(beside) if self.session.awaits_device() => {
                // A device that completes transfers immediately has nothing left to wait for; a
                // simulated device must be polled.
                let at_most = match beside.watched {
                    true => at_most,
                    false => Some(Duration::ZERO),
                };
                self.session.sleep(at_most);
            }
            // No completion is to come from the device. Sleeping on the source takes one system
            // call less.
            Some(beside) => beside.outside.sleep(at_most),
        }
    }

    fn is_behind(&self) -> bool {
        self.session.is_behind()
    }

    fn housekeep(&self) {
        self.session.housekeep();
    }

    fn before_sleep(&self) -> Option<Duration> {
        self.session.before_sleep()
    }

    fn after_sleep(&self) {
        self.session.after_sleep();
        if let Some(beside) = &self.beside {
            beside.outside.take_in();
        }
    }

    /// Pushes relaxed commits to the device. Only a [`LocalDatabase`](crate::LocalDatabase) leaves
    /// its worker, which is its only one: no other transactions are left to wait for these commits.
    fn leave(&self) {
        self.session.push();
    }

    fn progress(&self) -> Option<u64> {
        self.session.progress()
    }
}

/// Number of aborts after which a transaction is still run again at once, after a turn of all
/// others in flight.
const YIELDS: u32 = 3;
const BACKOFF_US_MAX: u64 = 1000;

/// Number of aborts after which a transaction waits for others instead ([`OnConflict::Wait`]), and
/// begins again with the lock of the record that was in the way. Otherwise a transaction that is
/// slower than those it meets (longer, or out of step with them: see `interleave/stage.rs`) would
/// find the record changed each time.
const ABORTS_BEFORE_WAITING: u32 = 16;
/// Longest wait for another transaction in that case. The other may be waiting for a client, so a
/// timeout counts as another abort.
const TURN_TIMEOUT: Duration = Duration::from_millis(10);

/// Begins and runs transactions on the worker it belongs to. Given to the sources
/// of [`crate::WorkerHandle::supply`]; cheap to clone, bound to its thread.
#[derive(Clone)]
pub struct Context {
    pub(crate) state: Rc<WorkerState>,
}

impl Context {
    /// Returns the engine's side of the worker, for layers that are built on the engine itself:
    /// SQL.
    pub fn engine_session(&self) -> &Rc<Session> {
        &self.state.session
    }

    /// Begins a transaction, without retries. It must be committed, or it is rolled back.
    ///
    /// # Errors
    /// [`Error::Closed`]; [`Error::MemoryExhausted`] with 65,536 transactions
    /// open on this worker.
    #[inline]
    pub fn begin<P: Policy>(
        &self,
        options: impl Into<TransactionOptions>,
    ) -> Result<Transaction<P>> {
        match self.state.session.begin(options) {
            Ok(transaction) => {
                let shared = &*self.state.shared;
                transaction.set_on_conflict(shared.on_conflict);
                transaction.set_lock_timeout(shared.lock_timeout);
                Ok(Transaction::new(transaction))
            }
            Err(engine::Error::Ended) => Err(Error::Closed),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs `closure` in a transaction and commits it; runs it again after aborts.
    ///
    /// # Errors
    /// Errors of the closure; [`Error::RetriesExhausted`]; also fails as [`Context::begin`] does.
    #[inline]
    pub async fn run<P: Policy, T>(
        &self,
        options: impl Into<TransactionOptions>,
        closure: &impl AsyncFn(&Transaction<P>) -> Result<T>,
    ) -> Result<T> {
        let (value, _aborts) = self.run_counting(options, closure).await?;
        Ok(value)
    }

    /// Runs `closure` as [`Context::run`] does; also returns the number of aborted attempts.
    ///
    /// # Errors
    /// Fails as [`Context::run`] does.
    #[inline]
    pub async fn run_counting<P: Policy, T>(
        &self,
        options: impl Into<TransactionOptions>,
        closure: &impl AsyncFn(&Transaction<P>) -> Result<T>,
    ) -> Result<(T, u32)> {
        let options = options.into();
        let mut aborts = 0;
        let mut aborted: Option<Transaction<P>> = None;
        let mut waits_its_turn = false;
        loop {
            if !self.state.admits() {
                self.state.session.admission().await;
            }
            let transaction = match aborted.take() {
                // The future is boxed: a restart is rare, and its frame is large.
                Some(aborted) => Box::pin(aborted.restart()).await?,
                None => self.begin::<P>(options)?,
            };
            transaction.engine().will_be_restarted();
            if aborts >= ABORTS_BEFORE_WAITING && transaction.on_conflict() == OnConflict::Abort {
                waits_its_turn = true;
                transaction.set_on_conflict(OnConflict::Wait);
                let timeout = transaction.lock_timeout();
                let timeout = timeout.map_or(TURN_TIMEOUT, |own| own.min(TURN_TIMEOUT));
                transaction.set_lock_timeout(Some(timeout));
            }
            let outcome = match closure(&transaction).await {
                Ok(value) => {
                    let committed = match transaction.into_engine().commit().now() {
                        Ok(ended) => ended,
                        Err(waits) => waits.await,
                    };
                    committed.map(|_| value).map_err(Error::from)
                }
                Err(error) if error.is_retryable() => {
                    // A transaction that waits may have waited for a lock that the retry needs.
                    if transaction.on_conflict() == OnConflict::Wait {
                        aborted = Some(transaction);
                    }
                    Err(error)
                }
                // The application has not asked to wait: a wait in vain counts as a conflict.
                Err(Error::LockTimeout) if waits_its_turn => {
                    Err(transaction.engine().abort(Abort::WriteConflict).into())
                }
                Err(error) => Err(transaction.give_up().await.err().unwrap_or(error)),
            };
            let error = match outcome {
                Ok(value) => return Ok((value, aborts)),
                Err(error) => error,
            };
            let Some(abort) = error.abort() else {
                return Err(error);
            };
            aborts += 1;
            if aborts > self.state.shared.retries_max {
                return Err(Error::from(Box::new(RetriesExhausted {
                    attempts: aborts,
                    last: abort,
                })));
            }
            // A transaction that waits begins again with the record that was in the way.
            if aborted.is_none() || abort != Abort::SnapshotTooOld {
                self.back_off(aborts).await;
            }
        }
    }

    /// Lets the transaction that was in the way go on.
    ///
    /// A yield is the cheapest way if the other transaction is on this worker, but does nothing
    /// where the worker keeps a single transaction in flight, or if the other one waits for a
    /// client. Later attempts therefore sleep, as an event, longer each time.
    async fn back_off(&self, aborts: u32) {
        if aborts <= YIELDS {
            return interleave::yield_now().await;
        }
        let doublings = (aborts - YIELDS).min(10);
        let longest = (1_u64 << doublings).min(BACKOFF_US_MAX);
        // The sleep takes between half of `longest` and all of it: transactions that met once
        // should not meet again.
        let microseconds = longest / 2 + self.state.below(longest / 2 + 1);
        interleave::sleep(Duration::from_micros(microseconds.max(1))).await;
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
