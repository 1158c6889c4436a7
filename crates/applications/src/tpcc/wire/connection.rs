//! A client's connection, by which a statement can be sent before those before it are answered.

use std::future::Future;
use std::pin::Pin;
use std::time::SystemTime;

use futures_util::future::try_join_all;
use postgres::types::ToSql;
use postgres::{Error, NoTls, Row, Statement};
use tokio::runtime::{Builder, Runtime};

use super::{Money, failed};
use commands::{Error as Failure, Result};
use servers::Server;

/// A connection; see the module text. The client's own thread drives it, while it waits for an
/// answer.
pub(super) struct Connection {
    client: tokio_postgres::Client,
    runtime: Runtime,
}

/// A statement whose rows are to come. The statement is sent when the future is first polled.
pub(super) type Sent<'s> = Pin<Box<dyn Future<Output = std::result::Result<Vec<Row>, Error>> + 's>>;

/// A value of a statement.
pub(super) enum Parameter {
    Number(i32),
    Money(Money),
    Moment(SystemTime),
    Text(String),
}

impl Parameter {
    fn to_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Number(value) => value,
            Self::Money(value) => value,
            Self::Moment(value) => value,
            Self::Text(value) => value,
        }
    }
}

impl From<i32> for Parameter {
    fn from(value: i32) -> Self {
        Self::Number(value)
    }
}

impl From<Money> for Parameter {
    fn from(value: Money) -> Self {
        Self::Money(value)
    }
}

impl From<SystemTime> for Parameter {
    fn from(value: SystemTime) -> Self {
        Self::Moment(value)
    }
}

impl From<String> for Parameter {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl Connection {
    /// Connects to `server`.
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub(super) fn new(server: &Server) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::run(format!("no runtime: {error}")))?;
        let config = server.config().clone();
        let connected = runtime.block_on(config.connect(NoTls));
        let (client, connection) = connected.map_err(|error| server.says(&failed(error)))?;
        // The task ends with the client.
        runtime.spawn(connection);
        Ok(Self { client, runtime })
    }

    /// Waits for an answer over this connection.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub(super) async fn prepare(&self, text: &str) -> std::result::Result<Statement, Error> {
        self.client.prepare(text).await
    }

    pub(super) fn statement<'s>(
        &'s self,
        statement: &'s Statement,
        parameters: Vec<Parameter>,
    ) -> Sent<'s> {
        Box::pin(async move {
            let parameters: Vec<_> = parameters.iter().map(Parameter::to_sql).collect();
            self.client.query(statement, &parameters).await
        })
    }

    /// Sends a statement that has neither parameters nor rows.
    pub(super) fn command<'s>(&'s self, text: &'s str) -> Sent<'s> {
        Box::pin(async move { self.client.batch_execute(text).await.map(|()| Vec::new()) })
    }
}

/// Returns the rows of statements: all are sent before the first is answered, or each when the one
/// before it is answered.
///
/// # Errors
/// Returns the server's first error.
pub(super) async fn answers(
    is_pipelined: bool,
    statements: Vec<Sent<'_>>,
) -> std::result::Result<Vec<Vec<Row>>, Error> {
    if is_pipelined {
        return try_join_all(statements).await;
    }
    let mut answers = Vec::with_capacity(statements.len());
    for statement in statements {
        answers.push(statement.await?);
    }
    Ok(answers)
}
