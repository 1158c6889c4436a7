//! Workloads, execution modes and reports that measure Weft.
//!
//! What is here: the YCSB core workload as data ([`workload`]), the choice of
//! records ([`distribution`]), keys and self-verifying values ([`keys`],
//! [`values`]), the machine's own limits ([`limits`]), the driver that
//! alternates execution modes on one loaded table ([`runner`]), and the forms
//! results take ([`measure`], [`report`]).
//!
//! What is not here: any engine. What is measured stands behind the
//! [`subject::Subject`] trait, so the same driver serves Weft and the small
//! models the tests use. Benchmarks of whole transactions over several tables are
//! [`application`]s, which [`crash`] kills to see what comes back. Experiments of publications
//! are in the crate `experiments`.
//!
//! Rules every benchmark follows, and where they live:
//! - all modes run in one process on one loaded table, alternating, in an
//!   order that rotates from repeat to repeat ([`runner`]);
//! - every answer is checked ([`values::Verifier`]);
//! - the limit of the machine is measured in the same repeat ([`limits`]);
//! - results are medians with their spread, ratios are taken within one
//!   repeat before their median is ([`measure::Summary`]).

pub mod application;
pub mod beyond_memory;
pub mod cold;
pub mod comparison;
mod cooling;
mod counted;
pub mod crash;
pub mod databases;
pub mod distribution;
pub mod hot_row;
pub mod index_build;
pub mod indexes;
pub mod kept;
pub mod keys;
pub mod limits;
mod loading;
pub mod machine;
pub mod measure;
pub mod mode;
pub mod operations;
pub mod plan;
pub mod recovery;
pub mod report;
mod row;
pub mod runner;
pub mod smallbank;
pub mod subject;
pub mod tatp;
pub mod tpcc;
pub mod values;
pub mod variant;
pub mod wire;
pub mod workload;
