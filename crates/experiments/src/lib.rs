//! Experiments of publications, put to Weft: those of CoroBase and MosaicDB ([`paper`]), and index
//! joins by every technique that hides cache misses ([`join`]).
//!
//! The crate knows what authors published, and how large their experiments are on a small machine. The
//! crate measures with the harness of `bench` and never makes a driver, a clock or a format of its own.

pub mod join;
pub mod paper;
