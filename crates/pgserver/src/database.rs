//! The SQL side of an open database: statements from the program, and the server beside it.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use server::{Config, Reactor, Statistics, contain};
use sql::{Session, Sink};
use types::Result;
use weft::{Context, Database, Outside, WorkerHandle};

use crate::{
    answer::{Answer, Gathered},
    call::{alone, closed, expect_no_worker, new_session, on_worker, running, running_with},
    closing::Ends,
    connection::Served,
    parameter::Parameter,
    transaction::SqlTransaction,
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

    /// Returns the argument of [`Database::open_beside`], one item for each worker. They are for one
    /// database.
    pub fn outsides(&self) -> Vec<Arc<dyn Outside>> {
        let outside = |reactor: &Arc<Reactor>| reactor.clone() as Arc<dyn Outside>;
        self.0.iter().map(outside).collect()
    }
}

/// SQL on an open database. Clones are handles on one and the same.
#[derive(Clone)]
pub struct Sql {
    workers: Database,
    side: Arc<Side>,
}

/// State that all handles on a database share, however often it was opened.
struct Side {
    database: Arc<sql::Database>,
    /// Number of calls so far, by which they are spread over the workers.
    calls: AtomicUsize,
}

impl Sql {
    /// Opens the SQL side of `database`, which is made if there is none. All handles of a database are on
    /// the same side, as its servers are: their sessions share plans, locks and the memory of statements.
    ///
    /// Waits until all indexes are built. Fails on a worker.
    ///
    /// # Errors
    /// Errors of [`sql::Database::open`]; 55000 on a worker; 57P01 if the database is being closed.
    pub fn open(database: &Database) -> Result<Sql> {
        expect_no_worker()?;
        let opened = database.layer(|| {
            let first = &database.workers()[0];
            let opened = on_worker(database, first, async move |context: Context, _| {
                sql::Database::open(context.engine_session(), USER, USER).await
            });
            opened.map(|opened| {
                keep_statistics(database, &opened);
                Arc::new(Side {
                    database: opened,
                    calls: AtomicUsize::new(0),
                })
            })
        });
        Ok(Sql {
            workers: database.clone(),
            side: opened.map_err(|_| closed())??,
        })
    }

    /// Runs the statements of `text` as one transaction, unless they say otherwise, and drops their
    /// results.
    ///
    /// Waits until they are done, on a worker. Fails on a worker. A text may limit its own time, by SET
    /// LOCAL statement_timeout.
    ///
    /// # Errors
    /// Errors of the statements; then none of them has happened, except for those that the text itself
    /// committed. 25001 if the text leaves a transaction open, which is rolled back; 55000 on a worker;
    /// 57P01 if the database is closed, or is being closed while a statement waits or computes for long;
    /// XX000 after a panic; 40003 if the answer is lost, after a panic that nothing could contain.
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
    /// worker, and returns `sink` when all are done. A sink that blocks keeps everything else on its worker
    /// waiting, and one that waits for the calling thread, as a bounded channel does, waits for ever.
    ///
    /// # Errors
    /// Errors of [`Sql::execute`], and of `sink`.
    pub fn execute_into<S>(&self, text: &str, sink: S) -> Result<S>
    where
        S: Sink + Send + 'static,
    {
        self.call(running(text, sink))
    }

    /// Runs the one statement of `text` with values for its parameters, `$1` and so on, as a transaction,
    /// and returns the number of rows that it has returned or changed.
    ///
    /// ```
    /// # use pgserver::{Parameter, Sql};
    /// # let database = weft::Database::open(weft::Options::default())?;
    /// let sql = Sql::open(&database)?;
    /// sql.execute("create table city (name text primary key, people bigint)")?;
    /// let insert = "insert into city values ($1, $2)";
    /// assert_eq!(sql.execute_with(insert, &["Osaka".into(), 2_750_000.into()])?, 1);
    /// assert_eq!(sql.execute_with(insert, &["Atlantis".into(), Parameter::Null])?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`Sql::execute`]; 42601 for several statements; 08P01 for too many or too few parameters;
    /// 22P02 and others for a parameter that is not of its type.
    pub fn execute_with(&self, text: &str, parameters: &[Parameter]) -> Result<u64> {
        let (rows, ()) = self.call(running_with(text, parameters, ()))?;
        Ok(rows)
    }

    /// Runs the one statement of `text` as [`Sql::execute_with`] does, and returns its result.
    ///
    /// # Errors
    /// Errors of [`Sql::execute_with`] and [`Sql::query`].
    pub fn query_with(&self, text: &str, parameters: &[Parameter]) -> Result<Answer> {
        let (_, gathered) = self.call(running_with(text, parameters, Gathered::default()))?;
        Ok(gathered.answer)
    }

    /// Begins a transaction over several calls.
    ///
    /// ```
    /// # let database = weft::Database::open(weft::Options::default())?;
    /// # let sql = pgserver::Sql::open(&database)?;
    /// # sql.execute("create table account (id int primary key, amount bigint)")?;
    /// # sql.execute("insert into account values (1, 100), (2, 0)")?;
    /// let transfer = sql.begin()?;
    /// let change = "update account set amount = amount + $1 where id = $2";
    /// transfer.execute_with(change, &[(-30).into(), 1.into()])?;
    /// let left = transfer.query("select amount >= 0 from account where id = 1")?;
    /// if left.rows == [[Some("t".to_owned())]] {
    ///     transfer.execute_with(change, &[30.into(), 2.into()])?;
    ///     transfer.commit()?;
    /// } // Otherwise it is rolled back.
    /// # let all = sql.query("select amount from account order by id")?.rows;
    /// # assert_eq!(all, [[Some("70".to_owned())], [Some("30".to_owned())]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// 55000 on a worker; 57P01 if the database is closed.
    pub fn begin(&self) -> Result<SqlTransaction> {
        SqlTransaction::begin(
            &self.workers,
            self.next_worker(),
            self.side.database.clone(),
        )
    }

    /// Runs `call` in a session of its own, on the next worker in turn.
    fn call<T, F>(&self, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Session) -> Result<T> + Send + 'static,
    {
        let database = self.side.database.clone();
        on_worker(
            &self.workers,
            self.next_worker(),
            async move |context: Context, ends: Ends| {
                alone(new_session(&database, &context, ends), call).await
            },
        )
    }

    fn next_worker(&self) -> &WorkerHandle {
        let workers = self.workers.workers();
        // Relaxed: nothing depends on the number.
        &workers[self.side.calls.fetch_add(1, Ordering::Relaxed) % workers.len()]
    }

    /// Returns whether some role can connect with a password. Clients from other machines need one.
    pub fn has_password(&self) -> bool {
        self.side.database.has_password()
    }

    /// Serves PostgreSQL's clients that connect to `listeners`, on the workers that `sockets` were
    /// given to at opening, until the server is stopped or dropped.
    ///
    /// # Errors
    /// `InvalidInput` if `config` is out of range or the database was not opened beside `sockets`; errors of
    /// the operating system.
    pub fn serve(
        &self,
        sockets: &Sockets,
        listeners: Vec<TcpListener>,
        config: Config,
    ) -> io::Result<Serving> {
        if self.workers.is_closed() {
            return Err(io::Error::other(closed().message().to_owned()));
        }
        // Clients of sockets that no worker listens to would wait for ever.
        let listened = self.workers.outsides().iter().map(Arc::as_ptr);
        let own = sockets.0.iter().map(Arc::as_ptr);
        if !own
            .map(<*const Reactor>::cast::<()>)
            .eq(listened.map(<*const dyn Outside>::cast))
        {
            let message = "the database was not opened beside these sockets; open it with \
                           Database::open_beside and their Sockets::outsides";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let backend = Arc::new(Served {
            workers: self.workers.clone(),
            database: self.side.database.clone(),
        });
        let server = server::Server::start(backend, sockets.0.clone(), listeners, config)?;
        Ok(Serving(server))
    }
}

/// Begins the task that keeps the statistics of tables fresh, on the last worker, until the database closes.
fn keep_statistics(workers: &Database, database: &Arc<sql::Database>) {
    let (ends, end) = Ends::new();
    // A database that is being closed needs no statistics.
    let (Ok(closing), Some(worker)) = (workers.when_closing(end), workers.workers().last()) else {
        return;
    };
    let database = database.clone();
    worker.spawn(move |context| async move {
        let _closing = closing;
        let session = new_session(&database, &context, ends);
        // The panic hook has printed the message of a panic. The upkeep begins anew, with a pause.
        while contain(session.keep_statistics()).await.is_err() {}
    });
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
