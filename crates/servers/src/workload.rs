//! Workloads and their clients as traits, and the errors that servers report to them.

use postgres::error::SqlState;

use crate::Server;
use bench::measure::Isolation;
use commands::progress::Step;
use commands::{Error, Result};

/// A workload: tables, and clients that work on them.
pub trait Workload: Sync {
    /// Returns the workload's name in results.
    fn name(&self) -> String;

    /// Returns the default number of clients.
    fn clients(&self) -> u16;

    /// Returns the number of rows that are loaded, for the display of progress.
    fn rows(&self) -> u64;

    /// Makes the workload's tables and fills them.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses.
    fn load(&self, connection: &mut postgres::Client, step: &Step) -> Result<()>;

    /// Drops the workload's tables.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses.
    fn clear(&self, connection: &mut postgres::Client) -> Result<()>;

    /// Connects the client number `number`, on a connection of its own.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses or cannot be reached.
    fn client(
        &self,
        server: &Server,
        isolation: Isolation,
        number: u64,
        seed: u64,
    ) -> Result<Box<dyn Client>>;

    /// Checks the workload's tables while no client works on them, and returns a sentence for each
    /// fault.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses.
    fn verify(&self, connection: &mut postgres::Client) -> Result<Vec<String>>;
}

/// One client of a workload, with its connection.
pub trait Client: Send {
    /// Draws the parameters of the next transaction.
    fn draw(&mut self);

    /// Runs the drawn transaction once.
    ///
    /// # Errors
    /// The server's error, which ends the transaction.
    fn attempt(&mut self) -> Result<Done, postgres::Error>;
}

/// The answer of a transaction that ended without an error.
pub enum Done {
    /// The right answer.
    Right,
    /// A wrong answer, described in a sentence.
    Wrong(String),
}

/// Runs the transaction that a client has drawn until it ends without a conflict, and returns the answer and the number
/// of attempts that were aborted.
///
/// # Errors
/// [`Error::Run`] when an attempt fails for another reason.
pub fn complete(client: &mut dyn Client) -> Result<(Done, u64)> {
    let mut aborts = 0;
    loop {
        match client.attempt() {
            Ok(done) => return Ok((done, aborts)),
            Err(error) if is_retryable(&error) => aborts += 1,
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Tells whether a transaction that fails with `error` may be run again: it was in conflict with
/// others.
pub fn is_retryable(error: &postgres::Error) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
    )
}

/// Returns the statement that sets `level` for the connection's transactions that begin after it.
pub fn level(level: Isolation) -> String {
    let level = match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::Snapshot => "repeatable read",
        Isolation::Serializable => "serializable",
    };
    format!("set default_transaction_isolation = '{level}'")
}

/// Turns a server's error into [`Error::Run`].
pub fn failed(error: postgres::Error) -> Error {
    match error.as_db_error() {
        Some(told) => {
            let (state, message) = (told.code().code(), told.message());
            Error::run(format!("the server says {state}: {message}"))
        }
        None => Error::run(format!("the connection: {error}")),
    }
}
