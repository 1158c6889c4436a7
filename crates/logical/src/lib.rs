//! The binder: from statements to relations and expressions.
//!
//! Names become columns of tables, calls become functions with types, subqueries become relations
//! beside the rows that they are run for. The result says which rows a statement computes, and not
//! by which method.
//!
//! The crate knows the syntax of statements and the catalog. It never reads a record, chooses an
//! access path or evaluates an expression.

pub mod bind;
pub mod collation;
pub mod data_type;
pub mod expression;
pub mod relation;
