//! The planner: from relations to physical plans, and from expressions to programs.
//!
//! Conditions move down to their tables, joins get an order and a method, tables get an access
//! path, all by costs that are derived from statistics.
//!
//! The crate knows relations, expressions and the catalog. It never reads a record or runs a plan;
//! it evaluates an expression only where the value decides a plan.

pub mod plan;
pub mod program;
