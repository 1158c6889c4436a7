//! SQL over the engine.

#![warn(missing_docs)]

pub mod catalog;
