//! Tampered files, for fuzzers and for tests with random bytes.
//!
//! | file | target |
//! | --- | --- |
//! | a log file | [`log_reader`] |
//! | a part of a checkpoint | [`checkpoint_reader`] |
//! | a cold file | [`cold_reader`] |
//! | a manifest | [`manifest_reader`] |
//! | records of the catalog | [`catalog_reader`] |
//! | a directory, checked, opened and salvaged | [`recovery`] |
//!
//! Random bytes would not get past the first checksum. Each target therefore begins with a file
//! from the encoders, changes it as its input bytes say (`tamper.rs`), and in one of two cases
//! makes the checksums right again: then the reader behind them has to cope. No input may make a
//! reader panic or allocate without bound.

mod directory;
mod readers;
mod tamper;

pub use self::{
    directory::recovery,
    readers::{catalog_reader, checkpoint_reader, cold_reader, log_reader, manifest_reader},
};

#[cfg(all(test, not(loom)))]
mod tests;
