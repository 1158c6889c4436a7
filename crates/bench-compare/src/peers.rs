//! The other engines, one file each: how it is set up for each durability, and its
//! own way to run a transaction.

pub(crate) mod fjall;
pub(crate) mod lmdb;
pub(crate) mod redb;
#[cfg(feature = "rocksdb")]
pub(crate) mod rocksdb;
pub(crate) mod sqlite;
