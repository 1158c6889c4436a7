//! PostgreSQL's types: what a value is, and the forms it takes.
//!
//! A [`Value`] is a small `Copy` thing that borrows what does not fit into it, from a stored row,
//! from a message of the client, or from the arena of the statement ([`Scratch`]). Nothing here
//! knows tables, expressions or the engine.

mod error;
mod ty;
mod value;

pub use error::{Result, SqlError, SqlState};
pub use ty::{EnumId, Scalar, Type, TypeModifier};
pub use value::{Interval, Value};

/// Where a statement keeps the values it makes: freed as a whole, reset between rows or batches.
pub type Scratch = bumpalo::Bump;
