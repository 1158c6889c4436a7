//! The PostgreSQL protocol, and connections as coroutines on the workers of a database.
//!
//! | subject | place |
//! | --- | --- |
//! | start, count, stop | [`Server`], [`Config`], [`Statistics`] |
//! | meaning of statements | [`Backend`], [`Session`], [`Statement`] |
//! | destination of rows, source of COPY's data | [`Client`], [`CopyIn`] |
//! | giving a statement up | [`Control`] |
//! | sockets of one worker | [`Reactor`] |
//! | passwords | [`Verifier`] |
//! | bytes of clients, for fuzzers | [`fuzz`] |
//!
//! The crate knows messages and sockets. It knows no SQL, no tables and no engine: the backend
//! brings values together with their forms. See docs/design/server.md.

mod client;
mod config;
mod connection;
mod contain;
mod control;
pub mod fuzz;
mod listener;
mod named;
mod protocol;
mod reactor;
mod scram;
mod server;
mod session;
mod socket;
mod statistics;
mod wire;
mod within;

pub use client::{Client, CopyIn};
pub use config::Config;
pub use contain::{Panicked, contain};
pub use control::Control;
pub use named::Named;
pub use protocol::{
    CommandTag, Field, Format, Formats, Notice, ParameterTypes, Parameters, Row, Severity,
    TransactionStatus, utf8,
};
pub use reactor::Reactor;
pub use scram::{InvalidVerifier, Verifier};
pub use server::Server;
pub use session::{Backend, Execution, Session, Startup, Statement, Task};
pub use statistics::Statistics;
pub use within::within;
