//! Workloads and their clients as traits, and the errors that servers tell them.

use postgres::error::SqlState;

use crate::Server;
use bench::measure::Isolation;
use commands::progress::Step;
use commands::{Error, Result};

/// A workload: tables, and clients that work on them.
pub trait Workload: Sync {
    /// Returns its name in results.
    fn name(&self) -> String;

    /// Returns how many clients it wants unless told.
    fn clients(&self) -> u16;

    /// Returns how many rows are loaded, for those who watch.
    fn rows(&self) -> u64;

    /// Makes its tables and fills them.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses.
    fn load(&self, connection: &mut postgres::Client, step: &Step) -> Result<()>;

    /// Drops them.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses.
    fn clear(&self, connection: &mut postgres::Client) -> Result<()>;

    /// Connects a client of this number, on a connection of its own.
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

    /// Checks its tables, when nobody works on them, and returns a sentence for each fault.
    ///
    /// # Errors
    /// [`Error::Run`] when the server refuses.
    fn verify(&self, connection: &mut postgres::Client) -> Result<Vec<String>>;
}

/// One client of a workload, with its connection.
pub trait Client: Send {
    /// Draws what the next transaction is to do.
    fn draw(&mut self);

    /// Does what was drawn, in one transaction.
    ///
    /// # Errors
    /// The server's error, which ends the transaction.
    fn attempt(&mut self) -> Result<Done, postgres::Error>;
}

/// The answer of a transaction that ended without an error.
pub enum Done {
    /// The right answer.
    Right,
    /// Another one, described in a sentence.
    Wrong(String),
}

/// Tells whether a transaction that fails so may be run again: it met others.
pub fn is_retryable(error: &postgres::Error) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
    )
}

/// Returns the statement by which transactions that begin from now on have a level.
pub fn level(level: Isolation) -> String {
    let level = match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::Snapshot => "repeatable read",
        Isolation::Serializable => "serializable",
    };
    format!("set default_transaction_isolation = '{level}'")
}

/// Turns a server's error into one of the run.
pub fn failed(error: postgres::Error) -> Error {
    match error.as_db_error() {
        Some(told) => {
            let (state, message) = (told.code().code(), told.message());
            Error::run(format!("the server says {state}: {message}"))
        }
        None => Error::run(format!("the connection: {error}")),
    }
}
