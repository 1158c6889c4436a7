//! Clients of an application on one worker: each runs transactions, one after another.
//!
//! In a *closed loop* a client begins the next transaction when the last has ended: the number
//! under way is the number in flight, and throughput is measured. With an *offered load*
//! transactions are due at times of their own (a Poisson process), and latency counts from the time
//! when a transaction was due: a transaction that waited for its turn is not taken for a fast one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand_distr::{Distribution as _, Exp};
use weft::{Context, Interleaved, Policy, Prefetching, Sequential, Transaction, WorkerHandle};

use super::{Application, Reads, Request, Source, is_rolled_back};
use bench::distribution::{Rng, rng};
use bench::measure::{Latencies, LatencySampler};
use bench::mode::Mode;

/// Stream of random numbers for the times at which transactions are due, apart from those of
/// requests.
const ARRIVALS: u64 = 1 << 32;
/// Number of transactions between two readings of the clock.
const CLOCK_INTERVAL: u32 = 8;

/// Work of one worker, to be sent to it.
pub(super) struct Client<A: Application> {
    pub(super) application: A,
    pub(super) source: Source<A::Request>,
    pub(super) mode: Mode,
    pub(super) isolation: weft::Isolation,
    pub(super) durability: weft::Durability,
    pub(super) declare_read_only: bool,
    /// Transactions per second offered to this worker, and the seed of their times; `None` for a
    /// closed loop.
    pub(super) offered: Option<(f64, u64)>,
    pub(super) duration: Duration,
    pub(super) sender: mpsc::Sender<weft::Result<Findings>>,
}

/// Findings of one worker. Each field has an element for each kind.
#[derive(Clone)]
pub(super) struct Findings {
    pub(super) kinds: Vec<KindFindings>,
    /// Number of records read and written by transactions that were done.
    pub(super) operations: u64,
    pub(super) elapsed: Duration,
}

/// Findings on one kind of transaction.
#[derive(Clone, Default)]
pub(super) struct KindFindings {
    /// Number of transactions committed, or rolled back as asked.
    pub(super) done: u64,
    pub(super) rolled_back: u64,
    pub(super) aborts: u64,
    pub(super) latencies: Latencies,
    pub(super) frame_bytes: usize,
}

impl Findings {
    fn new(kinds: usize) -> Self {
        Self {
            kinds: vec![KindFindings::default(); kinds],
            operations: 0,
            elapsed: Duration::ZERO,
        }
    }

    /// Adds the findings of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.kinds.iter_mut().zip(&other.kinds) {
            own.done += other.done;
            own.rolled_back += other.rolled_back;
            own.aborts += other.aborts;
            own.latencies.merge(&other.latencies);
            own.frame_bytes = own.frame_bytes.max(other.frame_bytes);
        }
        self.operations += other.operations;
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    /// Returns findings of no worker.
    pub(super) fn none<A: Application>() -> Self {
        Self::new(A::KINDS.len())
    }
}

impl<A: Application> Client<A> {
    /// Starts the loop on `worker`. Its findings are sent when its last transaction has ended.
    pub(super) fn start(self, worker: &WorkerHandle) {
        match self.mode {
            Mode::Prefetch => self.supply::<Prefetching>(worker, Reads::Single),
            Mode::Interleaved => self.supply::<Interleaved>(worker, Reads::Single),
            Mode::Hybrid => self.supply::<Interleaved>(worker, Reads::Grouped),
            _ => self.supply::<Sequential>(worker, Reads::Single),
        }
    }

    fn supply<P: Policy>(self, worker: &WorkerHandle, reads: Reads) {
        worker.supply(move |context: Context| {
            let work = Work::new::<P>(self, context);
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
                let due = work.due();
                if due.is_some_and(|due| due >= work.start + work.duration) {
                    return None;
                }
                let work = Rc::clone(&work);
                Some(move || async move {
                    if let Some(due) = due {
                        interleave::sleep(due.saturating_duration_since(Instant::now())).await;
                    }
                    work.transaction::<P>(due, reads).await;
                })
            }
        });
    }
}

/// State that the clients of one worker share.
struct Work<A: Application> {
    application: A,
    context: Context,
    session: Option<Rc<engine::Session>>,
    source: RefCell<Source<A::Request>>,
    isolation: weft::Isolation,
    durability: weft::Durability,
    declare_read_only: bool,
    arrivals: Option<RefCell<Arrivals>>,
    sampler: RefCell<LatencySampler>,
    findings: RefCell<Findings>,
    failure: RefCell<Option<weft::Error>>,
    start: Instant,
    duration: Duration,
    sender: mpsc::Sender<weft::Result<Findings>>,
}

/// Times at which transactions are due.
struct Arrivals {
    next: Instant,
    gaps: Exp<f64>,
    rng: Rng,
}

impl<A: Application> Work<A> {
    fn new<P: Policy>(client: Client<A>, context: Context) -> Rc<Self> {
        let mut findings = Findings::none::<A>();
        let session = context.begin::<P>(client.isolation).ok().map(|txn| {
            let frames = client.application.frame_bytes(&txn);
            for (kind, frame_bytes) in findings.kinds.iter_mut().zip(frames) {
                kind.frame_bytes = frame_bytes;
            }
            Rc::clone(txn.engine().session())
        });
        let start = Instant::now();
        let arrivals = client.offered.and_then(|(rate, seed)| {
            Some(RefCell::new(Arrivals {
                next: start,
                gaps: Exp::new(rate).ok()?,
                rng: rng(seed, ARRIVALS),
            }))
        });
        Rc::new(Self {
            application: client.application,
            context,
            session,
            source: RefCell::new(client.source),
            isolation: client.isolation,
            durability: client.durability,
            declare_read_only: client.declare_read_only,
            arrivals,
            sampler: RefCell::default(),
            findings: RefCell::new(findings),
            failure: RefCell::default(),
            start,
            duration: client.duration,
            sender: client.sender,
        })
    }

    /// Returns the time when the next transaction is due, if not at once.
    fn due(&self) -> Option<Instant> {
        let mut arrivals = self.arrivals.as_ref()?.borrow_mut();
        let Arrivals { next, gaps, rng } = &mut *arrivals;
        *next += Duration::from_secs_f64(gaps.sample(rng));
        Some(*next)
    }

    /// Runs the next transaction until it is done.
    async fn transaction<P: Policy>(&self, due: Option<Instant>, reads: Reads) {
        let request = (self.source.borrow_mut())();
        let started = match due {
            Some(due) => Some(due),
            None => self.sampler.borrow_mut().start(),
        };
        let options = weft::TransactionOptions {
            read_only: self.declare_read_only && request.only_reads(),
            ..self.isolation.into()
        };
        let operations = Cell::new(0);
        let attempts = Cell::new(0_u32);
        let attempt = async |txn: &Transaction<P>| {
            attempts.set(attempts.get() + 1);
            txn.set_durability(self.durability);
            operations.set(self.application.execute(txn, &request, reads).await?);
            Ok(())
        };
        let outcome = self.context.run(options, &attempt).await;
        let rolled_back = match outcome {
            Ok(()) => false,
            Err(error) if is_rolled_back(&error) => true,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                return;
            }
        };
        let mut findings = self.findings.borrow_mut();
        findings.operations += u64::from(operations.get());
        let kind = &mut findings.kinds[request.kind()];
        kind.done += 1;
        kind.rolled_back += u64::from(rolled_back);
        kind.aborts += u64::from(attempts.get() - 1);
        if let Some(started) = started {
            kind.latencies.record_since(started);
        }
    }
}

impl<A: Application> Drop for Work<A> {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            // Publishes the session's counts, for the receiver of the outcome.
            session.tend();
        }
        let mut findings = self.findings.replace(Findings::none::<A>());
        findings.elapsed = self.start.elapsed();
        let outcome = match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(findings),
        };
        // The receiver gives up only when the measurement has failed already.
        let _ = self.sender.send(outcome);
    }
}
