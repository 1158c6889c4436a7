//! Terminals: clients that run the transactions of TPC-C one after another, without keying and thinking.

use std::time::Instant;

use applications::tpcc::wire::{Session, ledger::NEW_ORDER};
use bench::measure::Latencies;
use commands::Result;
use servers::{Client as _, Done, complete};

/// Most sentences about wrong answers that are kept of a terminal.
const VIOLATIONS_MAX: usize = 5;

/// Work that terminals have done.
#[derive(Default)]
pub(crate) struct Work {
    /// Transactions.
    pub(crate) commits: u64,
    /// Attempts that were aborted.
    pub(crate) aborts: u64,
    /// Times of NewOrder transactions, retries included.
    pub(crate) new_orders: Latencies,
    /// Moments at which orders were acknowledged.
    pub(crate) acknowledged: Vec<Instant>,
    /// Wrong answers.
    pub(crate) violations: Vec<String>,
}

impl Work {
    /// Adds the work of another terminal.
    pub(crate) fn merge(&mut self, other: Work) {
        self.commits += other.commits;
        self.aborts += other.aborts;
        self.new_orders.merge(&other.new_orders);
        self.acknowledged.extend(other.acknowledged);
        self.violations.extend(other.violations);
    }
}

/// Runs transactions until `end`; one that began before it is finished.
///
/// # Errors
/// Errors of the server that no retry mends.
pub(crate) fn work(session: &mut Session, end: Instant) -> Result<Work> {
    let mut work = Work::default();
    let mut now = Instant::now();
    while now < end {
        let began = now;
        session.draw();
        let (done, aborts) = complete(session)?;
        now = Instant::now();
        work.commits += 1;
        work.aborts += aborts;
        if session.kind() == Some(NEW_ORDER) && session.has_committed() {
            work.new_orders.record((now - began).as_nanos() as u64);
            work.acknowledged.push(now);
        }
        if let Done::Wrong(how) = done
            && work.violations.len() < VIOLATIONS_MAX
        {
            work.violations.push(how);
        }
    }
    Ok(work)
}
