//! PostgreSQL's functions, operators, casts and aggregates, and their resolution in statements.
//!
//! Everything is found when a statement is bound: [`resolve_function`], [`resolve_operator`],
//! [`cast`] and [`common_type`] are pure functions over types. Their results are called through a
//! plain pointer, with a [`Context`] and values, and need no memory but the statement's arena.
//!
//! Nothing here knows tables, plans or the engine. The binder handles `COALESCE`, `NULLIF`,
//! `GREATEST`, `CASE` and the like, and asks only for types.

#![warn(missing_docs)]

mod aggregate;
mod argument;
mod array;
mod cast;
mod comparison;
mod context;
mod datetime;
mod decimal;
mod enumeration;
mod float;
mod formatting;
mod function;
mod integer;
mod json;
mod objects;
mod pattern;
mod range;
mod registry;
mod resolve;
mod sequence;
mod series;
mod set;
mod string;
mod system;
mod tables;
mod waiting;
mod window;

pub use aggregate::{AccumulateColumn, Aggregate, Combine, Extreme, GroupedRows, Remove, State};
pub use cast::{Cast, CastContext, cast, casts};
pub use comparison::is_distinct;
pub use context::{Context, Environment};
pub use function::{Body, Chain, Comparison, Function, Parameter, ScalarFunction, Volatility};
pub use objects::{BETWEEN_FORMS, NoObjects, ObjectClass, Objects, SizeOf};
pub use range::is_in_range;
pub use registry::{all_functions, all_operators, functions, operators};
pub use resolve::{
    Resolved, cast_by_name, common_type, matching_types, resolve_function, resolve_operator,
};
pub use set::{Rows, SetFunction};
pub use string::{quoted_identifier, quoted_literal, write_identifier};
pub use window::{Partition, Place, WindowFunction, looks_at_place_alone};

pub use patterns::Patterns;
