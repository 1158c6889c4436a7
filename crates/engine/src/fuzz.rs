//! Files that somebody has tampered with, for fuzzers and for tests with random bytes.
//!
//! | what | where |
//! | --- | --- |
//! | a log file | [`log_reader`] |
//! | a part of a checkpoint | [`checkpoint_reader`] |
//! | a cold file | [`cold_reader`] |
//! | a manifest | [`manifest_reader`] |
//! | records of the catalog | [`catalog_reader`] |
//! | a directory, checked, opened and salvaged | [`recovery`] |
//!
//! Random bytes would not get past the first checksum. So each target begins with what
//! the encoders write, changes it as its bytes say (`tamper.rs`), and in one of two
//! cases makes the checksums right again: then the reader behind them has to cope.
//! Nothing may panic or allocate without bound, whatever the bytes.

mod directory;
mod readers;
mod tamper;

pub use self::{
    directory::recovery,
    readers::{catalog_reader, checkpoint_reader, cold_reader, log_reader, manifest_reader},
};

#[cfg(all(test, not(loom)))]
mod tests;
