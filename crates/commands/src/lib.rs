//! The common parts of commands: errors in two kinds, numbers as people write them, progress on standard
//! error, exit codes, directories for the time of a run.
//!
//! The crate knows a terminal. It never knows a database or a benchmark.

mod error;
pub mod number;
mod output;
mod place;
pub mod progress;

pub use self::{
    error::{Error, Result},
    output::{finish, write_results},
    place::Place,
};
