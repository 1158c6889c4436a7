//! The work of a worker: transactions on one working set, until the time is over.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand::Rng as _;
use weft::{Context, Interleaved, Transaction, WorkerHandle};

use crate::counted::Counted;
use crate::databases::session;
use crate::distribution::{Chooser, Records, Rng, below, rng};
use crate::measure::{Latencies, LatencySampler};
use crate::values::Verifier;

/// Number of transactions between two readings of the clock.
const CLOCK_INTERVAL: u32 = 8;
const ISOLATION: weft::Isolation = weft::Isolation::Snapshot;
/// Resolution of shares, in parts of a percent.
const PARTS: f64 = 10_000.0;
const PARTS_MAX: u64 = 1_000_000;

/// Work of one worker, to be sent to it.
pub(super) struct Client {
    pub(super) table: Counted,
    pub(super) chooser: Chooser,
    /// Records of the working set.
    pub(super) records: Records,
    pub(super) accesses: u32,
    pub(super) read_percent: f64,
    pub(super) durability: weft::Durability,
    pub(super) rng: Rng,
    pub(super) duration: Duration,
    pub(super) sender: mpsc::Sender<weft::Result<Findings>>,
}

/// Findings of one worker or of several.
#[derive(Clone, Default)]
pub(super) struct Findings {
    pub(super) committed: u64,
    pub(super) aborts: u64,
    pub(super) latencies: Latencies,
    /// Number of records read or changed by transactions that committed.
    pub(super) accesses: u64,
    /// Number of these accesses that were changes.
    pub(super) changes: u64,
    pub(super) verifier: Verifier,
    pub(super) elapsed: Duration,
}

impl Findings {
    pub(super) fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.aborts += other.aborts;
        self.latencies.merge(&other.latencies);
        self.accesses += other.accesses;
        self.changes += other.changes;
        self.verifier.merge(&other.verifier);
        self.elapsed = self.elapsed.max(other.elapsed);
    }
}

/// A request for one transaction. It names the same records if the transaction is run again.
#[derive(Clone, Copy)]
struct Request {
    /// Whether the transaction changes the records that it accesses.
    writes: bool,
    draw: u64,
}

impl Client {
    /// Starts the loop on `worker`. Its findings are sent when its last transaction has ended.
    pub(super) fn start(self, worker: &WorkerHandle) {
        worker.supply(move |context: Context| {
            let work = Work::new(self, context);
            let mut until_clock = 0;
            move || {
                if until_clock == 0 {
                    until_clock = CLOCK_INTERVAL;
                    if work.start.elapsed() >= work.client.duration {
                        return None;
                    }
                }
                until_clock -= 1;
                if work.failure.borrow().is_some() {
                    return None;
                }
                let request = work.next();
                let work = Rc::clone(&work);
                Some(move || async move { work.transaction(request).await })
            }
        });
    }
}

/// State that the transactions of one worker share.
struct Work {
    client: Client,
    context: Context,
    session: Option<Rc<engine::Session>>,
    rng: RefCell<Rng>,
    sampler: RefCell<LatencySampler>,
    verifier: RefCell<Verifier>,
    findings: RefCell<Findings>,
    failure: RefCell<Option<weft::Error>>,
    start: Instant,
}

impl Work {
    fn new(client: Client, context: Context) -> Rc<Self> {
        Rc::new(Self {
            rng: RefCell::new(client.rng.clone()),
            client,
            session: session(&context).ok(),
            context,
            sampler: RefCell::default(),
            verifier: RefCell::default(),
            findings: RefCell::default(),
            failure: RefCell::default(),
            start: Instant::now(),
        })
    }

    fn next(&self) -> Request {
        let writing_share = (100.0 - self.client.read_percent) * PARTS;
        let mut rng = self.rng.borrow_mut();
        Request {
            writes: below(&mut rng, PARTS_MAX) < writing_share as u64,
            draw: rng.next_u64(),
        }
    }

    async fn transaction(&self, request: Request) {
        let client = &self.client;
        let started = self.sampler.borrow_mut().start();
        let attempt = async |txn: &Transaction<Interleaved>| {
            txn.set_durability(client.durability);
            let mut drawing = rng(request.draw, 0);
            for _ in 0..client.accesses {
                let record = client.chooser.choose(&mut drawing, &client.records);
                let table = &client.table;
                let verifier = &self.verifier;
                table.access(txn, record, request.writes, verifier).await?;
            }
            Ok(())
        };
        let aborts = match self.context.run_counting(ISOLATION, &attempt).await {
            Ok(((), aborts)) => aborts,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                return;
            }
        };
        let mut findings = self.findings.borrow_mut();
        findings.committed += 1;
        findings.aborts += u64::from(aborts);
        findings.accesses += u64::from(client.accesses);
        if request.writes {
            findings.changes += u64::from(client.accesses);
        }
        if let Some(started) = started {
            findings.latencies.record_since(started);
        }
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
            None => Ok(Findings {
                verifier: self.verifier.take(),
                elapsed: self.start.elapsed(),
                ..self.findings.take()
            }),
        };
        // The receiver gives up only when the measurement has failed already.
        let _ = self.client.sender.send(outcome);
    }
}
