//! The binder: from statements to relations and expressions.
//!
//! Names become columns of tables, calls become functions with types, subqueries become relations
//! beside the rows that they are asked for. The result says what a statement computes, and nothing of
//! how.
//!
//! The crate knows the syntax of statements and the catalog. It never reads a record, chooses an
//! access path or evaluates an expression.

pub mod bind;
pub mod collation;
pub mod data_type;
pub mod expression;
pub mod relation;
