//! The transactional engine: tables of byte keys and byte values, version
//! chains, snapshots, cooperative collection.
//!
//! A [`Database`] is what all threads share; a [`Session`] is one worker's side of
//! it; a [`Transaction`] runs in a session. Operations are leaves of the coroutine
//! runtime (crate `interleave`), generic over the suspension policy. For a typed
//! interface with retries see crate `weft`.

mod database;
mod error;
mod horizon;
mod indirection;
mod session;
mod stats;
mod status;
mod sync;
mod table;
mod timestamp;
mod transaction;
mod version;

pub use database::{Database, DatabaseConfig, TableError};
pub use error::{Abort, Error};
pub use index::Direction;
pub use memory::Usage;
pub use session::Session;
pub use stats::TransactionStats;
pub use table::Table;
pub use timestamp::Timestamp;
pub use transaction::{Isolation, Transaction};

/// Bytes of the longest key.
pub const KEY_BYTES_MAX: usize = index::KEY_BYTES_MAX;

/// Bytes of the longest value (16 MiB).
pub const VALUE_BYTES_MAX: usize = 16 << 20;

const _: () = assert!(VALUE_BYTES_MAX + version::HEADER_BYTES <= memory::BLOCK_BYTES_MAX);
