//! Bytes as operations, for fuzzers and for tests with random bytes.
//!
//! | subject | place |
//! | --- | --- |
//! | open transactions of one session | [`engine_operations`] |
//! | keys of all types: order and round trip | [`key_encoding`] |
//!
//! The targets themselves, and how to run them: `fuzz/README.md` at the root of
//! the repository.

mod keys;
mod operations;

pub use keys::key_encoding;
pub use operations::{engine_operations, try_engine_operations};
