//! Experiments of publications, repeated with Weft: those of CoroBase and MosaicDB ([`paper`]), and index joins by
//! every technique that hides cache misses ([`join`]).
//!
//! The crate knows the authors' published figures, and the size of each experiment on a small machine. It measures with
//! the harness of `bench` and never makes a driver, a clock or a format of its own.

pub mod join;
pub mod paper;
