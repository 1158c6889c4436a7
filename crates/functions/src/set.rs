//! Functions that return sets of rows.
//!
//! Rows are made one by one, as they are asked for; a set of many columns has records.

use types::{Result, Value};

use crate::Context;

/// The rows of one call, until the first error.
pub type Rows<'a> = Box<dyn Iterator<Item = Result<Value<'a>>> + 'a>;

/// A function that returns a set of rows.
pub type SetFunction = for<'a> fn(&Context<'a>, &[Value<'a>]) -> Result<Rows<'a>>;
