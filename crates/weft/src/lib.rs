//! Weft: a transactional database engine whose transactions are coroutines.

mod context;
mod database;
mod error;
mod interactive;
mod key;
mod local;
mod options;
mod run;
mod stats;
mod table;
mod thread;
mod transaction;
mod value;
mod worker;

pub use context::Context;
pub use database::Database;
pub use engine::{KEY_BYTES_MAX, Usage, VALUE_BYTES_MAX};
pub use error::{Abort, DecodeError, Error, InvalidOption, Result, WrongType};
pub use interactive::{BlockingTransaction, InteractiveTransaction};
pub use interleave::{
    InFlight, Interleaved, Policy, Prefetching, Scheduling, Sequential, WorkerConfig, WorkerStats,
};
pub use key::{AsKey, Key, KeyBuffer, KeyRange};
pub use local::LocalDatabase;
pub use options::{Isolation, Options};
pub use run::Running;
pub use stats::Stats;
pub use table::{Table, TypeTag};
pub use transaction::{MULTI_GET_WIDTH, Rows, Scan, Transaction};
#[cfg(feature = "postcard")]
pub use value::Postcard;
pub use value::{AsValue, BorrowValue, Value};
pub use worker::WorkerHandle;
