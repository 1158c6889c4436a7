//! Seeded simulation of a whole database: many workers on one thread, every choice from one seed,
//! and checkers for the result. Also of columns, which know no database.
//!
//! ```
//! let report = sim::run(1, &sim::Parameters::default()).unwrap_or_else(|f| panic!("{f}"));
//! assert!(report.committed > 0);
//! ```
//!
//! | subject | place |
//! | --- | --- |
//! | one run, many runs | [`run()`], [`run_many()`] |
//! | parameters of a run | [`Parameters`], [`Faults`] |
//! | a run with its workloads on threads | [`run_threads()`] |
//! | a run on a disk whose power fails | [`run_crashes()`], [`run_crashes_many()`], [`CrashParameters`] |
//! | a column that is merged while it is used | [`run_columns()`], [`run_columns_many()`], [`ColumnParameters`] |
//! | operations of transactions and their answers | [`history`] |
//! | rules for histories | [`check`] |
//! | cycles in histories that their level forbids | [`cycles`] |
//! | bugs that the checkers must find | [`Planted`] |
//! | bytes as operations, for fuzzers | [`fuzz`] |
//!
//! A failed run is a [`Failure`]; it prints seed, parameters and the command that
//! repeats it.

pub mod check;
mod client;
mod columns;
mod crashes;
pub mod cycles;
mod dice;
mod failure;
pub mod fuzz;
pub mod history;
mod parameters;
mod parking;
mod plant;
mod report;
mod seeds;
mod simulation;
mod threads;
mod together;
mod workload;
mod world;

pub use columns::{
    ColumnFailure, ColumnParameters, ColumnReport, PlantedInColumn, run_columns, run_columns_many,
};
pub use crashes::{CrashFailure, CrashParameters, CrashReport, run_crashes, run_crashes_many};
pub use dice::Dice;
pub use failure::{Failed, Failure, Reason, Replay};
pub use parameters::{Faults, Levels, PRESETS, Parameters, Planted};
pub use report::Report;
pub use seeds::run_many;
pub use simulation::run;
pub use threads::run_threads;
