//! `bench-compare`: Weft beside other embedded engines, on the same workloads, at
//! the same durability, in one run.
//!
//! Contents of this crate: the other engines behind one small interface ([`peer`], [`peers`]), the
//! transactions of a workload written against it ([`body`]), the driver that alternates engines
//! repeat by repeat ([`compare`]), the limit of the device ([`device`]) and the forms of the
//! results ([`results`], [`report`]). A query on a column is compared with an analytical engine
//! ([`in_predicate`]).
//!
//! Crate `bench` has the rest: workloads, streams of operations, keys, values and their
//! verification, histograms, progress. Every engine therefore answers the questions that
//! `weft-bench ycsb` asks, checked the same way; Weft itself is measured by `bench`'s own subject
//! ([`ours`]).
//!
//! Exit codes: 0 for success, 1 when something failed, 2 when the request was
//! wrong.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use commands::Error;

mod arguments;
mod body;
mod compare;
mod device;
mod engine;
mod in_predicate;
mod ours;
mod peer;
mod peers;
mod report;
mod results;

fn main() -> ExitCode {
    match arguments::Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, only the exit code tells.
            let _ = writeln!(std::io::stderr().lock(), "error: {error}");
            match error {
                Error::Input(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
