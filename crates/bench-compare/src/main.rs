//! `bench-compare`: Weft beside other embedded engines, on the same workloads, at
//! the same durability, in one run.
//!
//! What is here: the other engines behind one small interface ([`peer`],
//! [`peers`]), the transactions of a workload written against it ([`body`]), the
//! driver that alternates engines repeat by repeat ([`compare`]), the limit of the
//! device ([`device`]) and the forms results take ([`results`], [`report`]). Beside that, a query
//! on a column against an analytical engine ([`in_predicate`]).
//!
//! What is not here: workloads, streams of operations, keys, values and their
//! verification, histograms, progress. All of that is crate `bench`, so that every
//! engine answers the questions `weft-bench ycsb` asks, checked the same way; Weft
//! itself is measured by `bench`'s own subject ([`ours`]).
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
            // A closed standard error leaves the exit code to tell.
            let _ = writeln!(std::io::stderr().lock(), "error: {error}");
            match error {
                Error::Input(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
