//! Benchmarks of whole transactions.
//!
//! An [`Application`] has transactions of several kinds over several tables, as programs
//! that use a database have, and conditions that its tables always meet. It is written
//! against the public interface only, each transaction once: how it is executed is a
//! policy that the [driver] chooses.

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

/// A loaded application: handles on its tables, and what its requests are drawn from.
pub trait Application: Clone + Send + Sync + 'static {
    /// What decides how large it is and which requests it draws.
    type Settings: Clone + Send + Sync + 'static;
    /// What one transaction is to do.
    type Request: Request;

    /// Its name in results.
    const NAME: &'static str;
    /// The names of its kinds of transactions.
    const KINDS: &'static [&'static str];

    /// Makes the tables in an empty database and loads them, advancing `step` to the
    /// number of [`load_steps`](Self::load_steps).
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the database refuses.
    fn load(settings: &Self::Settings, database: &Database, step: &Step) -> Result<Self>;

    /// The application of a database that was loaded with the same settings, closed or
    /// killed, and opened again: opens its tables and attaches their indexes.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the database refuses.
    fn open(settings: &Self::Settings, database: &Database) -> Result<Self>;

    /// How far [`load`](Self::load) advances.
    fn load_steps(settings: &Self::Settings) -> u64;

    /// The requests of worker `worker` of `workers`. The same for the same seed, as long
    /// as it is asked for the same number of them.
    fn source(&self, worker: usize, workers: usize, seed: u64) -> Source<Self::Request>;

    /// What the transaction does between begin and commit, in one attempt. Returns the
    /// number of records that it has read or written, and an error of the database's as
    /// it is. A transaction that the request wants rolled back ends with
    /// [`rolled_back`].
    fn execute<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Self::Request,
        reads: Reads,
    ) -> impl Future<Output = weft::Result<u32>>;

    /// Bytes of the coroutine of each kind, without what the driver adds.
    fn frame_bytes<P: Policy>(&self, txn: &Transaction<P>) -> Vec<usize>;

    /// Where the tables, as `txn` sees them, do not meet the application's conditions: a
    /// sentence each.
    fn inconsistencies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<String>>>;

    /// What the tables, as `txn` sees them, count of the transactions that have committed
    /// since the load.
    fn tallies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<Tally>>>;
}

/// Something that an application's tables count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// What is counted, in the plural.
    pub what: &'static str,
    /// How much of it there is that was not loaded.
    pub count: u64,
    /// How much of it a transaction of each kind adds that commits.
    pub added: &'static [u64],
}

/// What one transaction is to do. It is kept for further attempts.
pub trait Request: Copy + 'static {
    /// What kind of transaction it is, as an index into [`Application::KINDS`].
    fn kind(&self) -> usize;

    /// Whether the transaction only reads, so that it may say so.
    fn only_reads(&self) -> bool;
}

/// Draws the requests of one worker, for ever.
pub type Source<R> = Box<dyn FnMut() -> R + Send>;

/// How a transaction reads several records whose keys it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One after the other, as the code says.
    Single,
    /// As one [`multi_get`](Transaction::multi_get), where the application has a place
    /// for it.
    Grouped,
}

/// Why a transaction was rolled back that did all it was asked to.
#[derive(Debug, thiserror::Error)]
#[error("rolled back, as its request asks")]
struct RolledBack;

/// How a transaction ends that is to be rolled back because its request says so. It
/// counts as done.
pub fn rolled_back() -> weft::Error {
    weft::Error::application(RolledBack)
}

/// Whether a transaction ended with [`rolled_back`].
pub(crate) fn is_rolled_back(error: &weft::Error) -> bool {
    match error {
        weft::Error::Application(error) => error.is::<RolledBack>(),
        _ => false,
    }
}

/// What a transaction ends with that has not found a `what` that must be there: the
/// measurement fails.
pub fn missing(what: &str) -> weft::Error {
    weft::Error::application(format!("the {what} that must exist was not found"))
}

#[cfg(test)]
mod tests;
