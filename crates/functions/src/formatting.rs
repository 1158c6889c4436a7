//! `to_char`, `to_number`, `to_date`, `to_timestamp`: by patterns, which the crate `formatting` reads.

mod number;
mod read;
mod time;

use crate::Function;

pub(crate) static FUNCTIONS: &[&[Function]] =
    &[number::FUNCTIONS, read::FUNCTIONS, time::FUNCTIONS];
