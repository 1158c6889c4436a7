//! Interfaces between a server and the backend that understands the statements.
//!
//! The server knows messages, the backend knows SQL. A [`Backend`] is shared by all connections;
//! a [`Session`] belongs to one, and lives on its worker's thread, in the task of the connection.
//! Everything it waits for is an event or a touch of that task: nothing in here may block the
//! thread.
//!
//! # Duties
//! | server | session |
//! | --- | --- |
//! | names of portals, forms of columns, skipping after errors | names of statements ([`Session::statement`]): SQL has PREPARE and DEALLOCATE |
//! | ReadyForQuery, ParseComplete, ..., CommandComplete of Execute | all answers of a simple query, through [`Client`] |
//! | forms of parameters are two | their values, lengths and types |
//! | errors as fields | errors as [`SqlError`](types::SqlError), positions included |
//!
//! # Panics
//! A panic of a session ends its connection, with XX000. No other connection hears of it.

use std::{
    collections::BTreeMap, future::Future, net::IpAddr, num::NonZeroU32, pin::Pin, rc::Rc,
    sync::Arc, time::Duration,
};

use types::{Memory, Result, SqlError};

use crate::{
    client::Client,
    control::Control,
    protocol::{CommandTag, Field, ParameterTypes, Parameters, TransactionStatus},
    scram::Verifier,
};

/// A task for a worker: called there with what the worker lends to its tasks.
pub type Task<C> = Box<dyn FnOnce(C) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// A backend that understands the statements of all connections.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on the thread of their worker"
)]
pub trait Backend: Send + Sync + 'static {
    /// The state that a worker lends to its tasks.
    type Context: 'static;
    /// The state of one connection.
    type Session: Session;

    /// Runs `task` on the worker with number `worker` among the workers that the server was
    /// given.
    fn spawn(&self, worker: usize, task: Task<Self::Context>);

    /// Returns the verifier of a user's password. Returns `None` if there is no such user, or no
    /// password was set for it; then it may connect from the machine itself, and from nowhere
    /// else.
    ///
    /// # Errors
    /// Fails with an error that the client is told before the connection ends.
    async fn verifier(&self, context: &Self::Context, user: &str) -> Result<Option<Verifier>>;

    /// Opens a session for an authenticated client.
    ///
    /// # Errors
    /// Fails if there is no such user or database, or if an option is unknown; the client is told
    /// before the connection ends.
    async fn open(&self, context: Self::Context, startup: Startup) -> Result<Self::Session>;
}

/// Parameters of a new connection.
#[derive(Debug, Clone)]
pub struct Startup {
    /// Name of the user.
    pub user: String,
    /// Name of the database.
    pub database: String,
    /// Settings by name.
    pub settings: BTreeMap<String, String>,
    /// Address of the client.
    pub peer: IpAddr,
    /// Control of the connection, which tells when to give a statement up.
    pub control: Arc<Control>,
}

/// A prepared statement. Cheap to clone.
pub trait Statement: Clone + 'static {
    /// Returns the types of the parameters, by object identifier.
    fn parameter_types(&self) -> &[u32];

    /// Returns the columns of the result; `None` if there is no result.
    fn fields(&self) -> Option<&[Field]>;
}

/// State of a portal after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The portal has reached its end.
    Complete(CommandTag),
    /// The limit of rows was reached; the portal can be run on.
    Suspended,
    /// The text contained no statement.
    Empty,
}

/// The state of one connection.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on the thread of their worker"
)]
pub trait Session: 'static {
    /// A prepared statement.
    type Statement: Statement;
    /// A statement with its parameters, which is run piece by piece.
    type Portal: 'static;

    /// Tells the settings that clients need as soon as they are connected (`server_version`,
    /// `client_encoding`, `DateStyle`, ...).
    fn parameters(&self, tell: &mut dyn FnMut(&str, &str));

    /// Tells those settings that have changed since they were last told.
    fn changed_parameters(&mut self, _tell: &mut dyn FnMut(&str, &str)) {}

    /// Returns the memory to which the client's long messages are charged as they arrive; `None`
    /// if they are not charged.
    fn memory(&self) -> Option<Rc<Memory>> {
        None
    }

    /// Returns how long the client may be idle now, and the error that then ends the connection.
    fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        None
    }

    /// Returns whether a transaction is open.
    fn status(&self) -> TransactionStatus;

    /// Returns the statement that was prepared under a name; `""` is the unnamed one.
    fn statement(&mut self, name: &str) -> Option<Self::Statement>;

    /// Keeps a statement under a name, in place of an earlier one.
    ///
    /// # Errors
    /// Fails with an error for the client if it has more statements than are kept.
    fn keep_statement(&mut self, name: &str, statement: Self::Statement) -> Result<()>;

    /// Forgets the statement of a name, if there is one.
    fn forget_statement(&mut self, name: &str);

    /// Executes all statements of a text and answers: columns, rows and the end of each. If no
    /// transaction is open they form one, which ends with the text.
    ///
    /// # Errors
    /// Fails with an error for the client; the statements after the failed one were not executed.
    async fn simple(&mut self, text: &str, client: &mut Client<'_>) -> Result<()>;

    /// Prepares the one statement of a text.
    ///
    /// # Errors
    /// Fails with an error for the client.
    async fn parse(&mut self, text: &str, types: ParameterTypes<'_>) -> Result<Self::Statement>;

    /// Makes a portal. There are as many parameters as the statement has.
    ///
    /// # Errors
    /// Fails with an error for the client: 22P02 or 22P03 for a value that is none of its type.
    async fn bind(
        &mut self,
        statement: &Self::Statement,
        parameters: Parameters<'_>,
    ) -> Result<Self::Portal>;

    /// Runs a portal on, and sends its rows: all that are left, or at most `rows_max`. A portal
    /// at its end has no rows left.
    ///
    /// # Errors
    /// Fails with an error for the client.
    async fn execute(
        &mut self,
        portal: &mut Self::Portal,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution>;

    /// Notes that a request has failed, and the client was told: the open transaction, if any,
    /// has failed. After a request of the extended protocol no more requests come before
    /// [`Session::sync`].
    async fn failed(&mut self);

    /// Ends a series of requests: commits or rolls back work that was not begun explicitly.
    ///
    /// # Errors
    /// Fails if the work could not be committed.
    async fn sync(&mut self) -> Result<()>;

    /// Prepares for the end of the connection, before the session is dropped: rolls back open
    /// work if that is better done before.
    async fn end(&mut self) {}
}
