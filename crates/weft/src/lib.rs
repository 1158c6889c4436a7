//! Weft: a transactional database engine whose transactions are coroutines.
//!
//! A Weft worker goes on with another transaction where a classical engine waits (for memory, for
//! another transaction, for a client). You write ordinary `async` closures; while one of them
//! misses the cache, the others run.
//!
//! # A tour
//!
//! ## Open, write, read
//! A [`Database`] holds typed [`Table`]s. [`Database::run`] runs a closure in a
//! transaction, on one of the database's workers, and commits it when the closure
//! returns `Ok`:
//!
//! ```
//! use weft::{Database, Error, Options, Table, Transaction};
//!
//! let db = Database::open(Options::default())?;
//! let accounts: Table<u64, i64> = db.create_table("accounts")?;
//!
//! let ours = accounts.clone();
//! let before = db.run_blocking(async move |txn: &Transaction| {
//!     let balance = txn.get(&ours, &1).await?.unwrap_or(0);
//!     txn.upsert(&ours, &1, &(balance + 5)).await?;
//!     Ok(balance)
//! })?;
//! assert_eq!(before, 0);
//! # Ok::<(), Error>(())
//! ```
//!
//! [`Database::run`] itself returns a future for any async runtime;
//! [`Database::run_blocking`] waits for it. Table handles are cheap to clone: move
//! one into each closure.
//!
//! ## Visibility of other transactions
//! A transaction reads the state that was committed when it began, and its own writes. At
//! [`Isolation::Serializable`] (the default) all transactions together behave as if they had run
//! one after another. If that is impossible, one of them is *aborted*: when it writes a record that
//! another has written since, the operation returns [`Error::Abort`] and `?` hands that on; or when
//! it commits. `run` then runs the closure again on a newer snapshot, at most
//! [`Options::retries_max`] times. A closure should therefore have no effects besides those on
//! tables, or bear that they are repeated; and the data that a closure read counts only once its
//! transaction has committed.
//!
//! [`Isolation::Snapshot`] gives up the guarantee for records that transactions only read, which
//! allows write skew; [`Isolation::ReadCommitted`] takes a snapshot for each operation. A
//! transaction that only reads should be declared read-only ([`TransactionOptions::read_only`]): it
//! then costs no more than a snapshot, and never aborts.
//!
//! ## Errors
//! There are three families of errors. *Aborts* ([`Error::is_retryable`]) end the transaction, and
//! `run` repeats it. After *errors of use* ([`Error::DuplicateKey`], [`Error::KeyTooLong`],
//! [`Error::MemoryExhausted`], ...) the transaction can go on, if the closure does not return them.
//! Your own errors travel as [`Error::application`]. If a closure returns any error, its
//! transaction is rolled back; a panic is contained likewise ([`Error::Panicked`]):
//!
//! ```
//! # use weft::{Database, Error, Options, Table, Transaction};
//! # let db = Database::open(Options { workers: 1, ..Options::default() })?;
//! let stock: Table<String, u32> = db.create_table("stock")?;
//! let sold = db.run_blocking(async move |txn: &Transaction| {
//!     let left = txn.get(&stock, "loom").await?.unwrap_or(0);
//!     let left = left.checked_sub(1).ok_or_else(|| Error::application("sold out"))?;
//!     txn.update(&stock, "loom", &left).await
//! });
//! assert!(matches!(sold, Err(Error::Application(_))));
//! # Ok::<(), Error>(())
//! ```
//!
//! ## Keys and values
//! A [`Key`] is a type whose encoding sorts as its values do: integers, text, bytes, options,
//! tuples of these, and types of your own. A [`Value`] is a type with a codec. Borrowed forms are
//! accepted too: a table with `String` keys is read with a `&str`, one with `(u64, String)` keys
//! with a `(u64, &str)`. A table remembers its types, and opens with no others
//! ([`Error::WrongType`]).
//!
//! ## Ranges
//! [`Transaction::scan`] visits records in the order of their keys;
//! [`Transaction::range`] streams them. [`Prefix`] stands for all keys with the
//! same first parts:
//!
//! ```
//! # use weft::{Database, Error, Options, Prefix, Table, Transaction};
//! # let db = Database::open(Options { workers: 1, ..Options::default() })?;
//! let orders: Table<(u64, u32), String> = db.create_table("orders")?;
//! db.run_blocking(async move |txn: &Transaction| {
//!     txn.insert(&orders, &(7, 1), "yarn").await?;
//!     txn.insert(&orders, &(7, 2), "shuttle").await?;
//!     txn.insert(&orders, &(8, 1), "loom").await?;
//!
//!     let mut rows = txn.range(&orders, Prefix((7_u64,))).rev();
//!     let ((customer, order), item) = rows.next().await?.expect("two orders");
//!     assert_eq!((customer, order, &*item), (7, 2, "shuttle"));
//!
//!     assert_eq!(txn.scan(&orders, (7, 2)..).count().await?, 2);
//!     Ok(())
//! })?;
//! # Ok::<(), Error>(())
//! ```
//!
//! ## Indexes
//! [`Database::create_index`] makes an index from a function that gives a record's index keys,
//! while writers go on. [`Transaction::get_by`] finds a record by its key in a unique index,
//! [`Transaction::scan_by`] visits records in the order of any index, [`Transaction::scan_covered`]
//! reads the values that the index covers. The entries of indexes are not stored, their names are:
//! after opening a database, a table that had indexes is read only ([`Error::IndexNotAttached`])
//! until all of them were created again.
//!
//! ## Records that expire
//! A table can be created with a *time to live*: a record is gone that long after it was last
//! written, for reads, scans and indexes alike, and its memory is freed soon after. Changing a
//! record prolongs its life.
//!
//! ```
//! # use std::time::Duration;
//! # use weft::*;
//! // Tests can set the clock by hand; without this it is the system's.
//! let clock = WallClock::manual(WallTime(0));
//! # let options = Options { workers: 1, ..Options::default() };
//! let db = Database::open(Options { wall_clock: clock.clone(), ..options })?;
//! let hour = TableOptions { ttl: Some(Duration::from_secs(3600)) };
//! let sessions: Table<u64, String> = db.create_table_with("sessions", hour)?;
//!
//! let ours = sessions.clone();
//! db.run_blocking(async move |txn: &Transaction| txn.insert(&ours, &1, "penelope").await)?;
//! clock.advance(Duration::from_secs(3600));
//! let found = db.run_blocking(async move |txn: &Transaction| txn.get(&sessions, &1).await)?;
//! assert_eq!(found, None);
//! # Ok::<(), Error>(())
//! ```
//!
//! ## Driving a transaction from outside
//! [`Database::begin`] gives an [`InteractiveTransaction`], whose operations are
//! awaited one by one from any thread or runtime;
//! [`Database::begin_blocking`] gives its blocking twin:
//!
//! ```
//! # use weft::{Database, Error, Options, Table};
//! # let db = Database::open(Options { workers: 1, ..Options::default() })?;
//! # let accounts: Table<u64, i64> = db.create_table("accounts")?;
//! let txn = db.begin_blocking()?;
//! txn.insert(&accounts, &2, &100)?;
//! txn.commit()?; // Dropping it instead would roll it back.
//! # Ok::<(), Error>(())
//! ```
//!
//! ## Waiting, locks, savepoints
//! By default a transaction that meets another's uncommitted write is aborted and run again. With
//! [`OnConflict::Wait`] it waits for the other's end instead, as SQL clients expect; deadlocks are
//! found and one of the transactions is aborted. A record can be locked before it is read
//! ([`Transaction::get_for_update`], [`Transaction::lock`], [`Scan::lock`]), so that no other
//! transaction changes it meanwhile. A transaction can also undo its last part and go on.
//!
//! A record that another transaction has *committed* since this one began is in the way of this
//! one's writes only if this one has read something that has changed. (At [`Isolation::Snapshot`]
//! ranges, keys that were not there and more than eight records count as changed.) Otherwise this
//! transaction goes on at a newer snapshot. Begin therefore with the record that many write, and
//! lock it before you read it:
//!
//! ```
//! # use weft::*;
//! # let db = Database::open(Options { workers: 1, ..Options::default() })?;
//! # let accounts: Table<u64, i64> = db.create_table("accounts")?;
//! let balance = db.run_blocking(async move |txn: &Transaction| {
//!     txn.set_on_conflict(OnConflict::Wait);
//!     let balance = txn.get_for_update(&accounts, &1).await?.unwrap_or(100);
//!     txn.upsert(&accounts, &1, &(balance - 30)).await?;
//!     let savepoint = txn.savepoint()?;
//!     txn.upsert(&accounts, &1, &(balance - 200)).await?;
//!     if txn.get(&accounts, &1).await? < Some(0) {
//!         txn.rollback_to(&savepoint)?;
//!     }
//!     txn.get(&accounts, &1).await
//! })?;
//! assert_eq!(balance, Some(70));
//! # Ok::<(), Error>(())
//! ```
//!
//! ## The change stream
//! [`Database::changes`] streams the transactions that commit, in commit order, from any
//! [`Position`] whose log is kept: for replicas, caches, search indexes. It tells of records and of
//! tables: created, dropped, truncated, renamed.
//!
//! ## Without threads
//! [`Database::open_local`] gives a [`LocalDatabase`] that works on the calling
//! thread, only while it is called.
//!
//! ## Suspension and cancellation
//! Operations suspend, and closures may await anything else as well (a timer, a channel, another
//! runtime's future): the worker then parks the transaction and goes on. A closure must not *block*
//! its thread, since all transactions of its worker would wait; calls of this crate that would
//! block are refused with [`Error::WouldBlockWorker`]. Dropping the future of [`Database::run`], or
//! an interactive transaction, rolls the transaction back.
//!
//! An open transaction holds back the collection of old versions: do not keep one
//! open while a person thinks.
//!
//! ## Many at once
//! A worker overlaps the cache misses of the transactions that it has in flight, so keep several
//! submitted. [`Transaction::multi_get`] overlaps the reads of a single transaction.
//! [`WorkerHandle::supply`] feeds a worker without a submission per transaction, for bulk loading
//! and benchmarks. [`Database::stats`] returns counters and levels.
//!
//! A long computation over many records can be divided over the workers: its parts read at one
//! [`SharedSnapshot`], each in a transaction of its own ([`Database::run_at`]).

mod backup;
mod changes;
mod context;
mod database;
mod ddl;
mod error;
mod index;
mod interactive;
mod key;
mod layers;
mod local;
mod open;
mod options;
mod run;
mod shared_snapshot;
mod stats;
mod table;
mod thread;
mod transaction;
mod value;
mod worker;

pub use backup::{restore, restore_reporting};
pub use changes::{
    Change, ChangedRecord, ChangedTransaction, Changes, ChangesFrom, LocalChanges, Position,
    TableChange, TableChangeKind,
};
pub use context::Context;
pub use database::Database;
pub use engine::{BuildError, BuildProgress, IndexFlaw, IndexReport};
pub use engine::{
    ChangesError, CheckpointError, CheckpointReport, ColdUsage, KEY_BYTES_MAX, OpenError, Priority,
    RecoveryProgress, RecoveryReport, Usage, VALUE_BYTES_MAX,
};
pub use engine::{IfLocked, Savepoint, Strength};
pub use engine::{
    backup::{BackupError, BackupReport},
    inspect::Progress,
};
pub use error::{
    Abort, ApplicationError, DecodeError, Error, InvalidOption, Result, RetriesExhausted, Text,
    WrongType,
};
pub use index::{Index, IndexDefinition, IndexError, IndexSummary};
pub use interactive::{BlockingTransaction, InteractiveTransaction};
pub use interleave::{
    InFlight, Interleaved, Label, LongSlice, Outside, Policy, Prefetching, Rouser, SLICE_US_MAX,
    Scheduling, Sequential, WorkerConfig, WorkerStats,
};
pub use key::{AsKey, Key, KeyBuffer, KeyPrefix, KeyRange, Prefix};
pub use layers::Closing;
pub use local::LocalDatabase;
pub use options::{
    Backend, Certifier, Durability, Isolation, OnConflict, Options, StorageOptions,
    TRANSACTION_BYTES_MAX, TableOptions, TransactionOptions, WallClock, WallTime,
};
pub use run::Running;
pub use shared_snapshot::SharedSnapshot;
pub use stats::Stats;
pub use table::{Table, TypeTag};
pub use thread::is_worker;
pub use transaction::{IndexScan, Rows, Scan, Transaction};
#[cfg(feature = "postcard")]
pub use value::Postcard;
pub use value::{AsValue, BorrowValue, Value};
pub use worker::WorkerHandle;
