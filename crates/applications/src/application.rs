//! Benchmarks of whole transactions.
//!
//! An [`Application`] has transactions of several kinds over several tables, as programs that use a
//! database have, and conditions that its tables always meet. It is written against the public
//! interface only, each transaction once: the execution is a policy that the [driver] chooses.

pub(crate) mod access;
pub(crate) mod check;
mod client;
pub mod driver;
pub mod mix;
pub mod plan;
#[cfg(test)]
pub(crate) mod trial;
pub(crate) mod violations;

use weft::{Database, Policy, Transaction};

use commands::Result;
use commands::progress::Step;

/// A loaded application: handles on its tables, and the source of its requests.
pub trait Application: Clone + Send + Sync + 'static {
    /// Size of the application, and parameters of its requests.
    type Settings: Clone + Send + Sync + 'static;
    /// Request for one transaction.
    type Request: Request;

    /// Name of the application in results.
    const NAME: &'static str;
    /// Names of its kinds of transactions.
    const KINDS: &'static [&'static str];

    /// Makes the tables in an empty database and loads them, advancing `step` to the
    /// number of [`load_steps`](Self::load_steps).
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the database refuses.
    fn load(settings: &Self::Settings, database: &Database, step: &Step) -> Result<Self>;

    /// Opens the application of a database that was loaded with the same settings, closed or
    /// killed, and opened again: opens its tables and attaches their indexes.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the database refuses.
    fn open(settings: &Self::Settings, database: &Database) -> Result<Self>;

    /// Returns the number of steps by which [`load`](Self::load) advances.
    fn load_steps(settings: &Self::Settings) -> u64;

    /// Returns the requests of worker `worker` of `workers`. Equal seeds give equal requests, as
    /// long as the sources are asked for equally many.
    fn source(&self, worker: usize, workers: usize, seed: u64) -> Source<Self::Request>;

    /// Runs the operations of a transaction between begin and commit, in one attempt. Returns the
    /// number of records that it has read or written, or the database's error unchanged. A
    /// transaction that the request wants rolled back ends with [`rolled_back`].
    fn execute<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Self::Request,
        reads: Reads,
    ) -> impl Future<Output = weft::Result<u32>>;

    /// Returns the bytes of the coroutine of each kind, without the driver's part.
    fn frame_bytes<P: Policy>(&self, txn: &Transaction<P>) -> Vec<usize>;

    /// Returns violations of the application's conditions by the tables, as `txn` sees them: a
    /// sentence each.
    fn inconsistencies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<String>>>;

    /// Returns the tables' counts, as `txn` sees them, of the transactions that have committed
    /// since the load.
    fn tallies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<Tally>>>;
}

/// A count of transactions that an application's tables keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Name of the counted things, in the plural.
    pub what: &'static str,
    /// Number of them that were not loaded.
    pub count: u64,
    /// Number of them that a committed transaction of each kind adds.
    pub added: &'static [u64],
}

/// A request for one transaction. It is kept for further attempts.
pub trait Request: Copy + 'static {
    /// Returns the kind of the transaction, as an index into [`Application::KINDS`].
    fn kind(&self) -> usize;

    /// Returns whether the transaction only reads, and may be declared read-only.
    fn only_reads(&self) -> bool;
}

/// Draws the requests of one worker, for ever.
pub type Source<R> = Box<dyn FnMut() -> R + Send>;

/// Ways in which a transaction reads several records whose keys it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One after another, as the code says.
    Single,
    /// As one [`multi_get`](Transaction::multi_get), where the application has a place
    /// for it.
    Grouped,
}

/// Error of a transaction that was rolled back although it did all it was asked to.
#[derive(Debug, thiserror::Error)]
#[error("rolled back, as its request asks")]
struct RolledBack;

/// Returns the error that ends a transaction which its request wants rolled back. The transaction
/// counts as done.
pub fn rolled_back() -> weft::Error {
    weft::Error::application(RolledBack)
}

/// Returns whether a transaction ended with [`rolled_back`].
pub(crate) fn is_rolled_back(error: &weft::Error) -> bool {
    match error {
        weft::Error::Application(error) => error.is::<RolledBack>(),
        _ => false,
    }
}

/// Returns the error of a transaction that has not found a `what` that must exist: the measurement
/// fails.
pub fn missing(what: &str) -> weft::Error {
    weft::Error::application(format!("the {what} that must exist was not found"))
}

#[cfg(test)]
mod tests;
