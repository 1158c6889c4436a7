//! Workloads, execution modes and reports that measure Weft: the harness that all measurements share,
//! and those of a single table.
//!
//! The crate knows an engine by the [`subject::Subject`] trait, so one driver serves Weft and the small models that
//! tests use. It never knows whole transactions over several tables (`applications`), publications (`experiments`) or
//! servers (`servers`, `wire`).
//!
//! | subject | where |
//! | --- | --- |
//! | the YCSB core workload as data, the choice of records | [`workload`], [`distribution`] |
//! | keys, and values that verify themselves | [`keys`], [`values`] |
//! | the machine's own limits | [`limits`] |
//! | the driver that alternates variants on one loaded table | [`runner`], [`variant`] |
//! | databases under measurement | [`databases`], [`loading`] |
//! | the forms of results | [`measure`], [`report`] |
//! | measurements of a single table | [`cold`], [`beyond_memory`], [`hot_row`], [`index_build`], [`recovery`] |
//!
//! Rules that every benchmark follows, and the modules that enforce them:
//! - all modes run in one process on one loaded table, alternating, in an
//!   order that rotates from repeat to repeat ([`runner`]);
//! - every answer is checked ([`values::Verifier`]);
//! - the limit of the machine is measured in the same repeat ([`limits`]);
//! - results are medians with their spread, ratios are taken within one
//!   repeat before their median is ([`measure::Summary`]).

pub mod beyond_memory;
pub mod cold;
pub mod comparison;
mod cooling;
mod counted;
pub mod databases;
pub mod distribution;
pub mod hot_row;
pub mod index_build;
pub mod indexes;
pub mod kept;
pub mod keys;
pub mod limits;
pub mod loading;
pub mod machine;
pub mod measure;
pub mod mode;
pub mod operations;
pub mod plan;
pub mod recovery;
pub mod report;
pub mod runner;
pub mod subject;
pub mod values;
pub mod variant;
pub mod workload;
