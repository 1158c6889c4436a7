//! `to_char`, `to_number`, `to_date`, `to_timestamp`: by patterns, as Oracle has them.

mod found;
mod number;
mod read;
mod roman;
mod time;
mod token;

use crate::Function;

pub(crate) static FUNCTIONS: &[&[Function]] =
    &[number::FUNCTIONS, read::FUNCTIONS, time::FUNCTIONS];
