//! What commands share: errors in two kinds, numbers as people write them, progress on standard
//! error.
//!
//! The crate knows a terminal. It never knows a database or a benchmark.

mod error;
pub mod number;
pub mod progress;

pub use error::{Error, Result};
