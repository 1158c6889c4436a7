//! The planner: from relations to physical plans, and from expressions to programs.
//!
//! Conditions move down to their tables, joins get an order and a method, tables get an access
//! path, all by costs that are derived from statistics.
//!
//! The crate knows relations, expressions and the catalog. It never runs a plan; it evaluates an expression only where
//! the value decides a plan, and for the entries of indexes, which the engine asks for.

pub mod index_keys;
pub mod plan;
pub mod program;
