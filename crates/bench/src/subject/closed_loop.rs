//! A closed loop of transactions on one worker, in each of the modes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use weft::{Context, Interleaved, Policy, Prefetching, Sequential, Transaction, WorkerHandle};

use super::RawRun;
use super::grouped::Group;
use super::transaction::{Application, Buffers};
use crate::measure::{Latencies, LatencySampler};
use crate::mode::Mode;
use crate::operations::OperationSource;

/// Number of transactions between two readings of the clock.
const CLOCK_INTERVAL: u32 = 32;

/// Work of one worker, to be sent to it.
pub(super) struct Client {
    pub(super) application: Application,
    pub(super) mode: Mode,
    pub(super) isolation: weft::Isolation,
    /// Whether transactions that only read are declared read-only.
    pub(super) declare_read_only: bool,
    pub(super) durability: weft::Durability,
    pub(super) source: OperationSource,
    pub(super) duration: Duration,
    /// Flag that ends the loop before its time, once it is set.
    pub(super) stop: Option<Arc<AtomicBool>>,
    pub(super) sender: mpsc::Sender<weft::Result<RawRun>>,
}

impl Client {
    /// Starts the loop on `worker`. Its findings are sent when its last transaction has ended.
    pub(super) fn start(self, worker: &WorkerHandle) {
        match self.mode {
            Mode::Bare => self.supply(worker, bare),
            Mode::Sequential => self.supply(worker, flat::<Sequential>),
            Mode::Prefetch => self.supply(worker, flat::<Prefetching>),
            Mode::AmacMultiget => {
                self.supply(worker, |work, buffers| grouped(work, buffers, Group::Amac))
            }
            Mode::CoroutineMultiget => {
                self.supply(worker, |work, buffers| {
                    grouped(work, buffers, Group::Coroutines)
                });
            }
            Mode::Interleaved => self.supply(worker, flat::<Interleaved>),
            Mode::InterleavedNested => self.supply(worker, nested),
            Mode::Hybrid => self.supply(worker, hybrid),
        }
    }

    fn supply<F>(
        self,
        worker: &WorkerHandle,
        task: impl Fn(Rc<Work>, Box<Buffers>) -> F + Copy + Send + 'static,
    ) where
        F: Future<Output = ()> + 'static,
    {
        worker.supply(move |context: Context| {
            let work = Work::new(self, context);
            let mut until_clock = CLOCK_INTERVAL;
            move || {
                if until_clock == 0 {
                    until_clock = CLOCK_INTERVAL;
                    if work.is_over() {
                        return None;
                    }
                }
                until_clock -= 1;
                if work.failure.borrow().is_some() {
                    return None;
                }
                let (work, buffers) = (Rc::clone(&work), work.draw());
                Some(move || task(work, buffers))
            }
        });
    }
}

/// State that the transactions of one worker share.
struct Work {
    application: Application,
    context: Context,
    session: Option<Rc<engine::Session>>,
    isolation: weft::Isolation,
    declare_read_only: bool,
    durability: weft::Durability,
    source: RefCell<OperationSource>,
    /// Spare buffers, boxed because they are passed on from future to future.
    #[allow(clippy::vec_box, reason = "see above")]
    spare: RefCell<Vec<Box<Buffers>>>,
    sampler: RefCell<LatencySampler>,
    latencies: RefCell<Latencies>,
    transactions: Cell<u64>,
    operations: Cell<u64>,
    aborts: Cell<u64>,
    failure: RefCell<Option<weft::Error>>,
    start: Instant,
    duration: Duration,
    stop: Option<Arc<AtomicBool>>,
    sender: mpsc::Sender<weft::Result<RawRun>>,
}

impl Work {
    fn new(client: Client, context: Context) -> Rc<Self> {
        let session = context
            .begin::<Sequential>(client.isolation)
            .map(|txn| Rc::clone(txn.engine().session()));
        Rc::new(Self {
            application: client.application,
            context,
            session: session.ok(),
            isolation: client.isolation,
            declare_read_only: client.declare_read_only,
            durability: client.durability,
            source: RefCell::new(client.source),
            spare: RefCell::default(),
            sampler: RefCell::default(),
            latencies: RefCell::default(),
            transactions: Cell::default(),
            operations: Cell::default(),
            aborts: Cell::default(),
            failure: RefCell::default(),
            start: Instant::now(),
            duration: client.duration,
            stop: client.stop,
            sender: client.sender,
        })
    }

    fn is_over(&self) -> bool {
        // Relaxed: the flag may be seen somewhat later.
        let stopped = |stop: &Arc<AtomicBool>| stop.load(Ordering::Relaxed);
        self.stop.as_ref().is_some_and(stopped) || self.start.elapsed() >= self.duration
    }

    /// Draws the next transaction's operations.
    #[inline]
    fn draw(&self) -> Box<Buffers> {
        let Application { key, value, .. } = self.application;
        let spare = self.spare.borrow_mut().pop();
        let mut buffers = spare.unwrap_or_else(|| Box::new(Buffers::new(key, value)));
        self.source
            .borrow_mut()
            .transaction(&mut buffers.operations);
        buffers
    }

    /// Runs `body` as a transaction until it commits.
    #[inline]
    async fn transaction<P: Policy>(
        &self,
        buffers: Box<Buffers>,
        body: impl AsyncFn(&Transaction<P>, &mut Buffers) -> weft::Result<()>,
    ) {
        let started = self.sampler.borrow_mut().start();
        let options = weft::TransactionOptions {
            read_only: self.declare_read_only && buffers.only_reads(),
            ..self.isolation.into()
        };
        let place = Cell::new(Some(buffers));
        let attempt = async |txn: &Transaction<P>| {
            let Some(mut buffers) = place.take() else {
                return Ok(());
            };
            txn.set_durability(self.durability);
            let outcome = body(txn, &mut buffers).await;
            // The buffers go back for the next attempt, which has the same operations.
            place.set(Some(buffers));
            outcome
        };
        let outcome = self.context.run_counting(options, &attempt).await;
        if let Some(buffers) = place.into_inner() {
            self.finish(started, buffers, outcome.map(|((), aborts)| aborts));
        }
    }

    #[inline]
    fn finish(&self, started: Option<Instant>, buffers: Box<Buffers>, outcome: weft::Result<u32>) {
        match outcome {
            Ok(aborts) => {
                self.transactions.set(self.transactions.get() + 1);
                let operations = buffers.operations.len() as u64;
                self.operations.set(self.operations.get() + operations);
                self.aborts.set(self.aborts.get() + u64::from(aborts));
                if let Some(started) = started {
                    self.latencies.borrow_mut().record_since(started);
                }
            }
            Err(error) => *self.failure.borrow_mut() = Some(error),
        }
        self.spare.borrow_mut().push(buffers);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            // Publishes the session's counts, for the receiver of the outcome.
            session.tend();
        }
        let outcome = match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(RawRun {
                transactions: self.transactions.get(),
                operations: self.operations.get(),
                aborts: self.aborts.get(),
                elapsed: self.start.elapsed(),
                latencies: self.latencies.take(),
                verifier: self.application.verifier.take(),
                ..RawRun::default()
            }),
        };
        // The receiver gives up only when the measurement has failed already.
        let _ = self.sender.send(outcome);
    }
}

async fn flat<P: Policy>(work: Rc<Work>, buffers: Box<Buffers>) {
    let application = &work.application;
    work.transaction(
        buffers,
        async |txn: &Transaction<P>, buffers: &mut Buffers| application.flat(txn, buffers).await,
    )
    .await;
}

async fn nested(work: Rc<Work>, buffers: Box<Buffers>) {
    let application = &work.application;
    work.transaction(
        buffers,
        async |txn: &Transaction<Interleaved>, buffers: &mut Buffers| {
            application.nested(txn, buffers).await
        },
    )
    .await;
}

async fn hybrid(work: Rc<Work>, buffers: Box<Buffers>) {
    let application = &work.application;
    work.transaction(
        buffers,
        async |txn: &Transaction<Interleaved>, buffers: &mut Buffers| {
            application.hybrid(txn, buffers).await
        },
    )
    .await;
}

async fn grouped(work: Rc<Work>, buffers: Box<Buffers>, group: Group) {
    let application = &work.application;
    work.transaction(
        buffers,
        async |txn: &Transaction<Sequential>, buffers: &mut Buffers| {
            application.grouped(txn, buffers, group).await
        },
    )
    .await;
}

async fn bare(work: Rc<Work>, mut buffers: Box<Buffers>) {
    let started = work.sampler.borrow_mut().start();
    let application = &work.application;
    let table = application.table.engine();
    let outcome = match &work.session {
        None => Err(weft::Error::Closed),
        Some(session) => {
            let mut verifier = application.verifier.borrow_mut();
            for operation in &buffers.operations {
                let word = application.key.write(operation.record, &mut buffers.key);
                let found =
                    session.bare_get(table, &buffers.key, |value| verifier.check(word, value));
                if !found && operation.record < application.loaded {
                    verifier.missing();
                }
            }
            Ok(0)
        }
    };
    work.finish(started, buffers, outcome);
}
