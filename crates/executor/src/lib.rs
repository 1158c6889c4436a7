//! The executor: operators that run plans over the engine.
//!
//! Beside the operators lie EXPLAIN's texts, samples of tables, and the keys of indexes on expressions: all of these
//! run plans or programs, or are called by a running plan.
//!
//! The crate knows plans, programs, the catalog and the engine. It never parses, binds or plans a
//! client's statement, and knows no session.

pub mod execute;
pub mod explain;
pub mod index_keys;
pub mod statistics;
