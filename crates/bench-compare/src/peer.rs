//! The other engines behind one interface, and the closed loops that measure them.
//!
//! The main type is [`PeerEngine`]. An engine implements [`Peer`] (state that all threads share)
//! and [`Client`] (state of a thread: a connection, prepared statements), and runs [`Body`]s in its
//! own transactions. Clients are threads, since these engines serve threads; each runs one
//! transaction after another.

use std::ops::Range;
use std::sync::{Barrier, mpsc};
use std::time::{Duration, Instant};

use bench::measure::{Durability, Latencies, LatencySampler};
use bench::operations::{Operation, OperationSource};
use bench::plan::Plan;
use bench::subject::{RawRun, Run};
use bench::workload::OperationKind;
use commands::progress::Step;
use commands::{Error, Result};

use crate::body::{Audit, Body, Operations, Removal};
use crate::engine::{Engine, Setup};

/// Records per transaction while loading and removing.
const LOAD_BATCH: u64 = 1000;
/// Number of transactions between two readings of the clock, where transactions take microseconds.
const CLOCK_INTERVAL: u32 = 32;

/// Requirements of a transaction, from which an engine can choose its cheapest way to run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// One read.
    ReadOne,
    /// Several reads on one snapshot.
    Read,
    /// One write that reads nothing.
    WriteOne,
    /// Writes that read nothing and disturb no transaction that does.
    Write,
    /// Reads and writes on one snapshot, aborted after a conflict.
    ReadWrite,
}

/// Outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// Committed, as durable as asked.
    Committed,
    /// Aborted for a conflict with another transaction, without effect.
    Aborted,
}

/// One client thread's side of an engine.
pub(crate) trait Client {
    /// Runs `body` in one transaction and commits it.
    ///
    /// # Errors
    /// [`Error::Run`] for anything but a conflict.
    fn transact(&mut self, demand: Demand, body: &mut impl Body) -> Result<Outcome>;
}

/// A store of another engine.
pub(crate) trait Peer: Sync {
    /// State that a client thread keeps.
    type Client<'a>: Client
    where
        Self: 'a;

    /// Runs `session` with a client for the calling thread.
    ///
    /// # Errors
    /// Errors of `session`; [`Error::Run`] if no client can be made.
    fn session<T>(&self, session: impl FnOnce(&mut Self::Client<'_>) -> Result<T>) -> Result<T>;

    /// Makes all acknowledged commits durable. Called once per window at relaxed durability, while
    /// clients run.
    ///
    /// # Errors
    /// [`Error::Run`] when the device or the engine reports an error.
    fn sync(&self) -> Result<()>;

    /// Waits for work in the background to end.
    ///
    /// # Errors
    /// [`Error::Run`] when the engine reports an error.
    fn settle(&self) -> Result<()> {
        self.sync()
    }

    /// Brings loaded records into the form that is read fastest.
    ///
    /// # Errors
    /// [`Error::Run`] when the engine reports an error.
    fn compact(&self) -> Result<()> {
        Ok(())
    }
}

/// A [`Peer`] under measurement.
pub(crate) struct PeerEngine<'a, P> {
    peer: P,
    plan: &'a Plan,
    durability: Durability,
    window: Duration,
}

impl<'a, P: Peer> PeerEngine<'a, P> {
    pub(crate) fn new(peer: P, setup: &Setup<'a>) -> Self {
        Self {
            peer,
            plan: setup.plan,
            durability: setup.durability,
            window: setup.window,
        }
    }

    /// Runs `body` to its commit; returns the number of aborts before.
    fn commit(client: &mut P::Client<'_>, demand: Demand, body: &mut impl Body) -> Result<u64> {
        let mut aborts = 0;
        while client.transact(demand, body)? == Outcome::Aborted {
            aborts += 1;
        }
        Ok(aborts)
    }

    /// Runs one client's closed loop.
    fn client(&self, client: &mut P::Client<'_>, number: usize, run: &Run) -> Result<RawRun> {
        let mut source: OperationSource = run.source(number);
        let demands = Demands::of(self.plan);
        let mut work = Operations::new(self.plan, number);
        let mut part = RawRun::default();
        let mut timer = Timer::new(demands.writes && self.durability == Durability::Synchronous);
        while timer.within(run.duration) {
            source.transaction(&mut work.operations);
            let demand = demands.demand(&work.operations);
            let began = timer.begin();
            part.aborts += Self::commit(client, demand, &mut work)?;
            timer.end(began, &mut part.latencies);
            part.transactions += 1;
            part.operations += work.operations.len() as u64;
        }
        part.elapsed = timer.start.elapsed();
        part.verifier = work.verifier;
        Ok(part)
    }

    /// Syncs once per window until `stop` is closed.
    fn keep_syncing(&self, stop: &mpsc::Receiver<()>) -> Result<()> {
        while stop.recv_timeout(self.window) == Err(mpsc::RecvTimeoutError::Timeout) {
            self.peer.sync()?;
        }
        Ok(())
    }

    /// Reads and counts all records; also warms the engine's caches.
    fn count(&self) -> Result<Audit> {
        self.peer.session(|client| {
            let mut audit = Audit::new(self.plan);
            Self::commit(client, Demand::Read, &mut audit)?;
            Ok(audit)
        })
    }
}

impl<P: Peer> Engine for PeerEngine<'_, P> {
    fn load(&mut self, step: &Step) -> Result<()> {
        self.peer.session(|client| {
            let mut work = Operations::new(self.plan, 0);
            let mut from = 0;
            while from < self.plan.records {
                let to = self.plan.records.min(from + LOAD_BATCH);
                work.operations.clear();
                work.operations.extend((from..to).map(|record| Operation {
                    kind: OperationKind::Insert,
                    length: 1,
                    record,
                }));
                Self::commit(client, Demand::Write, &mut work)?;
                step.advance(to - from);
                from = to;
            }
            Ok(())
        })?;
        self.peer.compact()?;
        self.peer.settle()?;
        let audit = self.count()?;
        if (audit.whole, audit.damaged) == (self.plan.records, 0) {
            Ok(())
        } else {
            Err(Error::run(format!(
                "{} records were loaded, {} are there whole and {} damaged; report this",
                self.plan.records, audit.whole, audit.damaged
            )))
        }
    }

    fn run(&mut self, threads: usize, run: &Run) -> Result<RawRun> {
        let barrier = Barrier::new(threads);
        let this = &*self;
        std::thread::scope(|scope| {
            let (stop, stopped) = mpsc::channel();
            let syncer = (this.durability == Durability::Relaxed)
                .then(|| scope.spawn(move || this.keep_syncing(&stopped)));
            let clients: Vec<_> = (0..threads)
                .map(|number| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        let mut started = false;
                        let outcome = this.peer.session(|client| {
                            started = true;
                            barrier.wait();
                            this.client(client, number, run)
                        });
                        if !started {
                            // The other clients must not wait for one that failed.
                            barrier.wait();
                        }
                        outcome
                    })
                })
                .collect();
            let parts: Vec<_> = clients.into_iter().map(join).collect();
            drop(stop);
            syncer.map_or(Ok(()), join)?;
            let mut whole = RawRun::default();
            for part in parts {
                whole.merge(&part?);
            }
            Ok(whole)
        })
    }

    fn restore(&mut self, added: Range<u64>) -> Result<()> {
        self.peer.session(|client| {
            let mut from = added.start;
            while from < added.end {
                let to = added.end.min(from + LOAD_BATCH);
                let mut removal = Removal {
                    key: self.plan.key,
                    records: from..to,
                };
                Self::commit(client, Demand::Write, &mut removal)?;
                from = to;
            }
            Ok(())
        })
    }

    fn settle(&mut self) -> Result<()> {
        self.peer.settle()
    }

    fn audit(&mut self) -> Result<bool> {
        let audit = self.count()?;
        Ok((audit.whole, audit.damaged) == (self.plan.records, 0))
    }
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread
        .join()
        .unwrap_or_else(|_| Err(Error::run("a client thread panicked; report this")))
}

/// Demands of the transactions of a workload.
#[derive(Clone, Copy, Debug)]
struct Demands {
    /// Whether some transactions write.
    writes: bool,
    /// Whether some transactions both read and write; all that write must then take part in the
    /// detection of conflicts.
    mixed: bool,
}

impl Demands {
    fn of(plan: &Plan) -> Self {
        let has = |kind| plan.workload.has(kind);
        let reads = has(OperationKind::Read) || has(OperationKind::Scan);
        let modifies = has(OperationKind::ReadModifyWrite);
        let writes = has(OperationKind::Update) || has(OperationKind::Insert);
        Self {
            writes: writes || modifies,
            mixed: modifies || (plan.operations_per_transaction > 1 && reads && writes),
        }
    }

    #[inline]
    fn demand(self, operations: &[Operation]) -> Demand {
        let reads =
            |kind: &OperationKind| matches!(kind, OperationKind::Read | OperationKind::Scan);
        if operations.iter().all(|operation| reads(&operation.kind)) {
            if operations.len() == 1 {
                Demand::ReadOne
            } else {
                Demand::Read
            }
        } else if self.mixed {
            Demand::ReadWrite
        } else if operations.len() == 1 {
            Demand::WriteOne
        } else {
            Demand::Write
        }
    }
}

/// Tells when a loop ends and how long its transactions took.
///
/// If transactions wait for a device, the clock is read after each, which gives every latency
/// for free and ends the loop on time. Transactions of a microsecond would be slowed by that: the
/// clock is then read rarely and a sample of the transactions is timed, as `bench` does with Weft.
#[derive(Debug)]
struct Timer {
    start: Instant,
    each: bool,
    until_look: u32,
    sampler: LatencySampler,
}

impl Timer {
    fn new(each: bool) -> Self {
        Self {
            start: Instant::now(),
            each,
            until_look: 0,
            sampler: LatencySampler::new(),
        }
    }

    #[inline]
    fn within(&mut self, duration: Duration) -> bool {
        if self.until_look > 0 {
            self.until_look -= 1;
            return true;
        }
        self.until_look = if self.each { 0 } else { CLOCK_INTERVAL - 1 };
        self.start.elapsed() < duration
    }

    #[inline]
    fn begin(&mut self) -> Option<Instant> {
        if self.each {
            Some(Instant::now())
        } else {
            self.sampler.start()
        }
    }

    #[inline]
    fn end(&self, began: Option<Instant>, latencies: &mut Latencies) {
        if let Some(began) = began {
            latencies.record_since(began);
        }
    }
}

#[cfg(test)]
mod tests;
