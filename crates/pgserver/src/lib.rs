//! SQL and PostgreSQL's clients on an open database, as a library.
//!
//! A program opens a [`weft::Database`] and uses typed tables on it. [`Sql`] adds statements on the
//! same database, from the program itself, and [`Sql::serve`] answers PostgreSQL's clients beside
//! them, on the same workers. `weft serve` is a small program around this crate.
//!
//! ```
//! use pgserver::{Config, Sockets, Sql};
//! use weft::{Database, Options};
//!
//! let sockets = Sockets::new(2)?;
//! let database = Database::open_beside(Options::default(), sockets.outsides(), |_| {})?;
//! let sql = Sql::open(&database)?;
//! sql.execute("create table city (name text primary key, people bigint)")?;
//! sql.execute("insert into city values ('Osaka', 2750000)")?;
//! let answer = sql.query("select people from city where name = 'Osaka'")?;
//! assert_eq!(answer.rows, [[Some("2750000".to_owned())]]);
//!
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let server = sql.serve(&sockets, vec![listener], Config::default())?;
//! // psql -h 127.0.0.1 -p <port> -U weft weft
//! let _port = server.addresses()[0].port();
//! server.stop(std::time::Duration::from_secs(1))?;
//! database.close();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every call of [`Sql`] has a session of its own and is one transaction unless its text says otherwise;
//! the calls take turns on the database's workers. [`Sql::execute_with`] and [`Sql::query_with`] take
//! values for parameters, and [`Sql::begin`] begins a transaction over several calls.
//!
//! The crate joins the work of `server` (the protocol, which knows no SQL) and of `sql` (sessions, which
//! know no socket). It never reads arguments, signals or files, and writes to no terminal.

mod answer;
mod call;
mod closing;
mod connection;
mod database;
mod parameter;
mod password;
mod transaction;

pub use server::{Config, Statistics};
pub use sql::{CommandTag, CopyForm, CopyTarget, Field, Notice, ResultRow, Severity, Sink};
pub use types::{Context as ValueContext, Result, SqlError, SqlState, Value};

pub use self::{
    answer::Answer,
    database::{Serving, Sockets, Sql, USER},
    parameter::Parameter,
    password::verifier_of,
    transaction::SqlTransaction,
};
