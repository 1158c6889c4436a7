//! The SQL side of an open database: statements from the program, and the server beside it.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, mpsc},
    time::Duration,
};

use server::{Config, Reactor, Statistics, contain};
use sql::{Session, Sink, Status};
use types::{Result, SqlError, SqlState};
use weft::{Context, Database, Outside};

use crate::{
    answer::{Answer, Gathered},
    connection::Served,
    password::verifier_of,
};

/// The role that a database has from the beginning. The database has this name for clients too.
pub const USER: &str = "weft";

/// Longest time that a stopping server waits.
const STOP_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// The sockets of each worker, made before the database is opened: a worker without work sleeps on
/// its sockets, its device and its timers together.
pub struct Sockets(Vec<Arc<Reactor>>);

impl Sockets {
    /// Makes sockets for `workers` workers; the database has as many.
    ///
    /// # Errors
    /// Fails if the operating system does, which may be out of file descriptors.
    pub fn new(workers: usize) -> io::Result<Sockets> {
        let reactors = (0..workers).map(|_| Reactor::new());
        Ok(Sockets(reactors.collect::<io::Result<_>>()?))
    }

    /// Returns the argument of [`Database::open_beside`], one item for each worker.
    pub fn outsides(&self) -> Vec<Arc<dyn Outside>> {
        let outside = |reactor: &Arc<Reactor>| reactor.clone() as Arc<dyn Outside>;
        self.0.iter().map(outside).collect()
    }
}

/// SQL on an open database. Clones are handles on one and the same.
#[derive(Clone)]
pub struct Sql {
    workers: Database,
    database: Arc<sql::Database>,
}

impl Sql {
    /// Opens the SQL side of `database`, which is made if there is none. Call it once for each
    /// database, before other threads use the database's SQL.
    ///
    /// Waits until all indexes are built. Fails on a worker.
    ///
    /// # Errors
    /// Errors of [`sql::Database::open`]; 55000 on a worker; 57P01 if the database is being closed.
    pub fn open(database: &Database) -> Result<Sql> {
        let opened = on_first_worker(database, async move |context: Context| {
            sql::Database::open(context.engine_session(), USER, USER).await
        })?;
        Ok(Sql {
            workers: database.clone(),
            database: opened,
        })
    }

    /// Runs the statements of `text` as one transaction, unless they say otherwise, and drops their
    /// results.
    ///
    /// Waits until they are done, on the database's first worker. Fails on a worker.
    ///
    /// # Errors
    /// Errors of the statements; then none of them has happened, except for those that the text itself
    /// committed. 25001 if the text leaves a transaction open, which is rolled back; 55000 on a worker;
    /// 57P01 if the database is closed; XX000 after a panic.
    pub fn execute(&self, text: &str) -> Result<()> {
        self.execute_into(text, ())
    }

    /// Runs the statements of `text` as [`Sql::execute`] does, and returns the result of the last
    /// query among them.
    ///
    /// # Errors
    /// Errors of [`Sql::execute`]; 54000 for an answer of more than 256 MiB.
    pub fn query(&self, text: &str) -> Result<Answer> {
        let gathered = self.execute_into(text, Gathered::default())?;
        Ok(gathered.answer)
    }

    /// Runs the statements of `text` as [`Sql::execute`] does, hands their results to `sink` on the
    /// worker, and returns `sink` when all are done.
    ///
    /// # Errors
    /// Errors of [`Sql::execute`], and of `sink`.
    pub fn execute_into<S>(&self, text: &str, mut sink: S) -> Result<S>
    where
        S: Sink + Send + 'static,
    {
        let (database, text) = (self.database.clone(), text.to_owned());
        on_first_worker(&self.workers, async move |context: Context| {
            let mut session = Session::new(&database, context.engine_session(), USER);
            session.keep_passwords(verifier_of);
            let executed = session.execute(&text, &mut sink).await;
            let is_open = session.status() != Status::Idle;
            // A rollback gives others their turns, which dropping the session does not.
            session.leave().await;
            executed?;
            match is_open {
                true => Err(left_open()),
                false => Ok(sink),
            }
        })
    }

    /// Returns whether some role can connect with a password. Clients from other machines need one.
    pub fn has_password(&self) -> bool {
        self.database.has_password()
    }

    /// Serves PostgreSQL's clients that connect to `listeners`, on the workers that `sockets` were
    /// given to at opening, until the server is stopped or dropped.
    ///
    /// # Errors
    /// `InvalidInput` if `config` is out of range or `sockets` were made for another number of workers;
    /// errors of the operating system.
    pub fn serve(
        &self,
        sockets: &Sockets,
        listeners: Vec<TcpListener>,
        config: Config,
    ) -> io::Result<Serving> {
        if self.workers.is_closed() {
            return Err(io::Error::other(closed().message().to_owned()));
        }
        let workers = self.workers.workers().len();
        if sockets.0.len() != workers {
            let message = format!(
                "there are sockets for {} workers, and the database has {workers}; make them with \
                 Sockets::new({workers}) and open the database with their Sockets::outsides",
                sockets.0.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let backend = Arc::new(Served {
            workers: self.workers.clone(),
            database: self.database.clone(),
        });
        let server = server::Server::start(backend, sockets.0.clone(), listeners, config)?;
        Ok(Serving(server))
    }
}

/// A server that answers clients. Dropping it tells their connections to end and does not wait for
/// that; see [`Serving::stop`].
pub struct Serving(server::Server<Served>);

impl Serving {
    /// Returns the addresses that the server listens on, with the ports that were chosen for port 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.0.addresses()
    }

    /// Returns the counters since the start.
    pub fn statistics(&self) -> Statistics {
        self.0.statistics()
    }

    /// Stops the server: no connection is accepted from now on, idle connections end, and statements
    /// that run have `at_most` to end, a year at most. Returns how many connections are left then.
    ///
    /// Waits. [`Database::close`] waits for connections without a limit, so the server is to be
    /// stopped before it.
    ///
    /// # Errors
    /// 55000 on a worker, which would wait for itself.
    pub fn stop(&self, at_most: Duration) -> Result<usize> {
        expect_no_worker()?;
        Ok(self.0.stop(at_most.min(STOP_MAX)))
    }
}

/// Runs `task` on the database's first worker and waits for its answer.
///
/// # Errors
/// The error of `task`; 55000 on a worker; 57P01 if the database is being closed.
fn on_first_worker<T, F>(database: &Database, task: F) -> Result<T>
where
    T: Send + 'static,
    F: AsyncFnOnce(Context) -> Result<T> + Send + 'static,
{
    expect_no_worker()?;
    if database.is_closed() {
        return Err(closed());
    }
    let (answer, answers) = mpsc::channel();
    database.workers()[0].spawn(move |context| async move {
        let contained = contain(task(context)).await;
        // A failed send means that the asking thread was unwound; the answer has no reader.
        let _ = answer.send(contained.unwrap_or_else(|_| Err(panicked())));
    });
    answers.recv().unwrap_or_else(|_| Err(closed()))
}

/// Checks that the calling thread is not a worker.
///
/// # Errors
/// 55000 on a worker.
fn expect_no_worker() -> Result<()> {
    if !weft::is_worker() {
        return Ok(());
    }
    let message = "this call would block its worker";
    Err(
        SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("Call it on a thread that is no worker of a database."),
    )
}

fn closed() -> SqlError {
    SqlError::new(SqlState::ADMIN_SHUTDOWN, "the database was closed")
}

fn panicked() -> SqlError {
    let message = "a statement or its sink panicked, and its transaction was rolled back";
    SqlError::new(SqlState::INTERNAL_ERROR, message)
        .hint("The panic's message and place were given to the process's panic hook.")
}

fn left_open() -> SqlError {
    let message = "the text leaves a transaction open, which was rolled back";
    SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
        .hint("End it in the same text: every call has a session of its own.")
}
