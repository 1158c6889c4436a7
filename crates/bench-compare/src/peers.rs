//! The other engines, one file each: set-up for each durability, and the engine's own way to run a
//! transaction.

pub(crate) mod fjall;
pub(crate) mod lmdb;
pub(crate) mod redb;
#[cfg(feature = "rocksdb")]
pub(crate) mod rocksdb;
pub(crate) mod sqlite;
