//! The work of a worker: transactions of both sources, until the time is over.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use weft::{Context, Interleaved, Policy, Prefetching, Transaction, WorkerHandle};

use super::nesting::Nesting;
use super::scheduler::Scheduler;
use super::source::{Kind, Request, Sources};
use super::tables::Tables;
use crate::databases::session;
use crate::measure::{Latencies, LatencySampler};
use crate::values::Verifier;

/// Number of transactions between two readings of the clock.
const CLOCK_INTERVAL: u32 = 8;
const ISOLATION: weft::Isolation = weft::Isolation::Snapshot;

/// Work of one worker, to be sent to it.
pub(super) struct Client {
    pub(super) tables: Tables,
    pub(super) sources: Sources,
    pub(super) scheduler: Scheduler,
    pub(super) nesting: Nesting,
    pub(super) durability: weft::Durability,
    pub(super) duration: Duration,
    pub(super) sender: mpsc::Sender<weft::Result<Findings>>,
}

/// Findings of one worker or of several.
#[derive(Clone, Default)]
pub(super) struct Findings {
    pub(super) hot: Tally,
    pub(super) cold: Tally,
    /// Number of records read or changed by transactions that committed.
    pub(super) accesses: u64,
    /// Number of these accesses in the cold table.
    pub(super) cold_accesses: u64,
    /// Number of these accesses that were changes.
    pub(super) changes: u64,
    pub(super) verifier: Verifier,
    pub(super) elapsed: Duration,
}

/// Findings on transactions of one kind.
#[derive(Clone, Default)]
pub(super) struct Tally {
    pub(super) committed: u64,
    pub(super) aborts: u64,
    pub(super) latencies: Latencies,
}

impl Tally {
    fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.aborts += other.aborts;
        self.latencies.merge(&other.latencies);
    }
}

impl Findings {
    pub(super) fn merge(&mut self, other: &Self) {
        self.hot.merge(&other.hot);
        self.cold.merge(&other.cold);
        self.accesses += other.accesses;
        self.cold_accesses += other.cold_accesses;
        self.changes += other.changes;
        self.verifier.merge(&other.verifier);
        self.elapsed = self.elapsed.max(other.elapsed);
    }
}

impl Client {
    /// Starts the loop on `worker`. Its findings are sent when its last transaction has ended.
    pub(super) fn start(self, worker: &WorkerHandle) {
        match self.scheduler {
            Scheduler::Sequential => self.supply::<Prefetching>(worker),
            _ => self.supply::<Interleaved>(worker),
        }
    }

    fn supply<P: Policy>(self, worker: &WorkerHandle) {
        worker.supply(move |context: Context| {
            let work = Work::new(self, context);
            let mut until_clock = 0;
            move || {
                if until_clock == 0 {
                    until_clock = CLOCK_INTERVAL;
                    if work.start.elapsed() >= work.duration {
                        return None;
                    }
                }
                until_clock -= 1;
                if work.failure.borrow().is_some() {
                    return None;
                }
                let request = work.sources.borrow_mut().next();
                let work = Rc::clone(&work);
                Some(move || async move { work.transaction::<P>(request).await })
            }
        });
    }
}

/// State that the transactions of one worker share.
struct Work {
    tables: Tables,
    context: Context,
    session: Option<Rc<engine::Session>>,
    sources: RefCell<Sources>,
    scheduler: Scheduler,
    nesting: Nesting,
    durability: weft::Durability,
    sampler: RefCell<LatencySampler>,
    verifier: RefCell<Verifier>,
    findings: RefCell<Findings>,
    failure: RefCell<Option<weft::Error>>,
    start: Instant,
    duration: Duration,
    sender: mpsc::Sender<weft::Result<Findings>>,
}

impl Work {
    fn new(client: Client, context: Context) -> Rc<Self> {
        Rc::new(Self {
            tables: client.tables,
            session: session(&context).ok(),
            context,
            sources: RefCell::new(client.sources),
            scheduler: client.scheduler,
            nesting: client.nesting,
            durability: client.durability,
            sampler: RefCell::default(),
            verifier: RefCell::default(),
            findings: RefCell::default(),
            failure: RefCell::default(),
            start: Instant::now(),
            duration: client.duration,
            sender: client.sender,
        })
    }

    async fn transaction<P: Policy>(&self, request: Request) {
        let started = match request.kind {
            Kind::Hot => self.sampler.borrow_mut().start(),
            // Storage-bound transactions are few, and slow enough to time each.
            Kind::Cold => Some(Instant::now()),
        };
        let attempt = async |txn: &Transaction<P>| {
            txn.set_durability(self.durability);
            let (nesting, verifier) = (self.nesting, &self.verifier);
            self.tables.access(txn, request, nesting, verifier).await
        };
        let outcome = if request.kind == Kind::Cold && self.scheduler.refuses() {
            self.once(&attempt).await
        } else {
            let attempts = self.context.run_counting(ISOLATION, &attempt).await;
            attempts.map(|((), aborts)| Ended {
                committed: true,
                aborts,
            })
        };
        self.sources.borrow_mut().ended(request);
        let Ended { committed, aborts } = match outcome {
            Ok(ended) => ended,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                return;
            }
        };
        let mut findings = self.findings.borrow_mut();
        let tally = match request.kind {
            Kind::Hot => &mut findings.hot,
            Kind::Cold => &mut findings.cold,
        };
        tally.aborts += u64::from(aborts);
        if !committed {
            return;
        }
        tally.committed += 1;
        if let Some(started) = started {
            tally.latencies.record_since(started);
        }
        findings.accesses += request.accesses();
        findings.cold_accesses += request.cold_accesses();
        if request.writes {
            findings.changes += request.accesses();
        }
    }

    /// Makes one attempt: a client whose transaction is aborted goes on with another one.
    async fn once<P: Policy>(
        &self,
        attempt: &impl AsyncFn(&Transaction<P>) -> weft::Result<()>,
    ) -> weft::Result<Ended> {
        let txn = self.context.begin::<P>(ISOLATION)?;
        let outcome = match attempt(&txn).await {
            Ok(()) => txn.commit().await,
            Err(error) => Err(error),
        };
        match outcome {
            Err(error) if !error.is_retryable() => Err(error),
            outcome => Ok(Ended {
                committed: outcome.is_ok(),
                aborts: u32::from(outcome.is_err()),
            }),
        }
    }
}

/// Outcome of a transaction.
struct Ended {
    committed: bool,
    aborts: u32,
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            // Publishes the session's counts, for the receiver of the outcome.
            session.tend();
        }
        let outcome = match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(Findings {
                verifier: self.verifier.take(),
                elapsed: self.start.elapsed(),
                ..self.findings.take()
            }),
        };
        // The receiver gives up only when the measurement has failed already.
        let _ = self.sender.send(outcome);
    }
}
