//! What a server asks of whoever understands the statements.
//!
//! The server knows messages, the backend knows SQL. A [`Backend`] is shared by all
//! connections; a [`Session`] belongs to one, and lives on its worker's thread, in the task of
//! the connection. Everything it waits for is an event or a touch of that task: nothing in here
//! may block the thread.
//!
//! # Whose duty is what
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

/// Whoever understands the statements of all connections.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on the thread of their worker"
)]
pub trait Backend: Send + Sync + 'static {
    /// What a worker lends to its tasks.
    type Context: 'static;
    /// One connection's state.
    type Session: Session;

    /// Runs a task on a worker, by its number among those that the server was given.
    fn spawn(&self, worker: usize, task: Task<Self::Context>);

    /// What is kept of a user's password. `None`: there is no such user, or no password was set
    /// for it; then it may connect from the machine itself, and from nowhere else.
    ///
    /// # Errors
    /// The client is told, and the connection ends. So of the next.
    async fn verifier(&self, context: &Self::Context, user: &str) -> Result<Option<Verifier>>;

    /// A session for a client that is who it says.
    ///
    /// # Errors
    /// There is no such user or database, or an option that there is not.
    async fn open(&self, context: Self::Context, startup: Startup) -> Result<Self::Session>;
}

/// How a connection begins.
#[derive(Debug, Clone)]
pub struct Startup {
    /// Who it is.
    pub user: String,
    /// The database that it wants.
    pub database: String,
    /// Settings by name, as it wants them.
    pub settings: BTreeMap<String, String>,
    /// Where the client is.
    pub peer: IpAddr,
    /// For noticing that a statement should be given up.
    pub control: Arc<Control>,
}

/// A statement that was prepared. Cheap to clone.
pub trait Statement: Clone + 'static {
    /// The types of its parameters, by object identifier.
    fn parameter_types(&self) -> &[u32];

    /// The columns of its result; `None` if it has none.
    fn fields(&self) -> Option<&[Field]>;
}

/// How far a portal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// To its end.
    Complete(CommandTag),
    /// The limit of rows was reached; it can be run on.
    Suspended,
    /// There was no statement in the text.
    Empty,
}

/// One connection's state.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on the thread of their worker"
)]
pub trait Session: 'static {
    /// A statement that was prepared.
    type Statement: Statement;
    /// A statement with its parameters, which is run bit by bit.
    type Portal: 'static;

    /// Tells the settings that clients want to know of as soon as they are connected
    /// (`server_version`, `client_encoding`, `DateStyle`, ...).
    fn parameters(&self, tell: &mut dyn FnMut(&str, &str));

    /// Tells those of them that have changed since they were told last.
    fn changed_parameters(&mut self, _tell: &mut dyn FnMut(&str, &str)) {}

    /// What the client's long messages are charged to as they arrive; `None`: they are not.
    fn memory(&self) -> Option<Rc<Memory>> {
        None
    }

    /// How long the client may be idle by now, and the error that ends the connection then.
    fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        None
    }

    /// Whether a transaction is open.
    fn status(&self) -> TransactionStatus;

    /// The statement that was prepared under a name; `""` is the unnamed one.
    fn statement(&mut self, name: &str) -> Option<Self::Statement>;

    /// Keeps a statement under a name, in place of the one that had it.
    ///
    /// # Errors
    /// What the client is to be told: it has more statements than are kept.
    fn keep_statement(&mut self, name: &str, statement: Self::Statement) -> Result<()>;

    /// Forgets the statement of a name, if there is one.
    fn forget_statement(&mut self, name: &str);

    /// Carries out all statements of a text and answers: columns, rows and the end of each. If
    /// no transaction is open they are one, which ends with the text.
    ///
    /// # Errors
    /// What the client is to be told; the statements after it were not carried out.
    async fn simple(&mut self, text: &str, client: &mut Client<'_>) -> Result<()>;

    /// Prepares the one statement of a text.
    ///
    /// # Errors
    /// What the client is to be told. So of the others.
    async fn parse(&mut self, text: &str, types: ParameterTypes<'_>) -> Result<Self::Statement>;

    /// Makes a portal. There are as many parameters as the statement has.
    ///
    /// # Errors
    /// As above; a value that is none of its type, with 22P02 or 22P03.
    async fn bind(
        &mut self,
        statement: &Self::Statement,
        parameters: Parameters<'_>,
    ) -> Result<Self::Portal>;

    /// Runs a portal on, and sends its rows: all that are left, or at most so many. One that is
    /// at its end has no rows left.
    ///
    /// # Errors
    /// As above.
    async fn execute(
        &mut self,
        portal: &mut Self::Portal,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution>;

    /// A request has failed, the client was told, and no more come before [`Session::sync`] if
    /// it was one of the extended protocol: the transaction, if one is open, has failed.
    async fn failed(&mut self);

    /// The end of a series of requests: commits or rolls back what was not begun explicitly.
    ///
    /// # Errors
    /// It could not be committed.
    async fn sync(&mut self) -> Result<()>;

    /// The connection ends, and the session is dropped next: rolls back what is open, if that is
    /// better done before.
    async fn end(&mut self) {}
}
