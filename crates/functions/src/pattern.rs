//! The functions and operators of patterns: `LIKE`, `SIMILAR TO`, and regular expressions.
//!
//! The crate `patterns` compiles and matches; this module says which function takes which pattern, and what a match
//! becomes.

mod functions;
mod sql;
mod substring;

use std::rc::Rc;

use patterns::{Options, Pattern};
use types::Result;

use crate::Context;

pub(crate) use functions::{FUNCTIONS, SETS};
pub(crate) use sql::{FUNCTIONS as SQL_FUNCTIONS, OPERATORS as SQL_OPERATORS};
pub(crate) use substring::{FUNCTIONS as SUBSTRING_FUNCTIONS, OPERATORS};

/// A pattern of PostgreSQL's, compiled.
fn compile(context: &Context<'_>, pattern: &str, options: Options) -> Result<Rc<Pattern>> {
    context.patterns.get(pattern, options)
}
