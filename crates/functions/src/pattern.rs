//! The functions and operators of patterns: `LIKE`, `SIMILAR TO`, and regular expressions.
//!
//! The crate `patterns` compiles and matches; this module chooses the pattern of each function, and the use of a
//! match.

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

/// Compiles a PostgreSQL pattern.
fn compile(context: &Context<'_>, pattern: &str, options: Options) -> Result<Rc<Pattern>> {
    context.patterns.get(pattern, options)
}
