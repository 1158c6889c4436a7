//! The transactional engine: tables of byte keys and byte values, version
//! chains, snapshots, cooperative collection, redo log, checkpoints, recovery.
//!
//! All threads share a [`Database`]; a [`Session`] is one worker's side of it; a [`Transaction`]
//! runs in a session. Operations are leaves of the coroutine runtime (crate `interleave`), generic
//! over the suspension policy. For a typed interface with retries see crate `weft`.

pub mod backup;
mod bytes;
mod catalog;
mod certifier;
mod changes;
mod checkpoint;
mod cold;
mod columns;
mod database;
mod device_room;
mod error;
#[cfg(any(all(test, not(loom)), fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod help;
mod horizon;
mod indirection;
pub mod inspect;
mod locks;
mod log;
mod manifest;
mod moves;
mod per_context;
mod reading;
mod recovery;
mod secondary;
mod session;
mod stats;
mod status;
mod storage;
mod sync;
mod table;
mod table_set;
mod temporary;
mod timestamp;
mod transaction;
mod ttl;
mod version;

pub use catalog::{
    ChangedTable, CommitNote, CommitObserver, IndexDefinition, NAME_BYTES_MAX, TableError,
    TableEvent, TableEventKind,
};
pub use certifier::Certifier;
pub use changes::{
    Change, ChangeReader, ChangedRecord, ChangedTransaction, ChangesError, ChangesFrom,
};
pub use checkpoint::{CheckpointConfig, CheckpointError, CheckpointReport};
pub use cold::{ColdConfig, ColdNodes, ColdUsage, Compacted, Demoted};
pub use columns::{BlockColumns, RecordFields, Unsplit};
pub use database::{Database, DatabaseConfig};
pub use error::{Abort, Error};
pub use help::{DividedWork, Help, Helpers, Offers};
pub use index::Direction;
pub use io::Priority;
pub use locks::{IfLocked, OnConflict, Strength, TableLockMode};
pub use log::{Durability, Durable, LogConfig};
pub use memory::Usage;
pub use recovery::{
    Loading, OpenError, Recovery, RecoveryConfig, RecoveryProgress, RecoveryReport,
};
pub use secondary::{
    BuildError, BuildProgress, BuildStep, Extractor, Index, IndexBuild, IndexFlaw, IndexKeys,
    IndexOptions, IndexReport, IndexState,
};
pub use session::{Session, SessionError};
pub use stats::{LogStats, TransactionStats};
pub use table::Table;
pub use temporary::{TemporaryFile, TemporaryRead, TemporaryWrite};
pub use timestamp::Timestamp;
pub use transaction::{
    BlockScan, Command, Commit, IndexPosition, Isolation, Met, Present, RowFound, RowLocked,
    RowOutcome, Savepoint, ScanPosition, Seeing, SharedSnapshot, StatementSnapshot, Thawed,
    Transaction, TransactionOptions, Unordered, Wanted,
};
pub use ttl::{TableOptions, WallClock, WallTime};

/// Maximum length of a key in bytes.
pub const KEY_BYTES_MAX: usize = index::KEY_BYTES_MAX;

/// Maximum length of a value in bytes (16 MiB).
pub const VALUE_BYTES_MAX: usize = 16 << 20;

const _: () = assert!(VALUE_BYTES_MAX + version::HEADER_BYTES <= memory::BLOCK_BYTES_MAX);
