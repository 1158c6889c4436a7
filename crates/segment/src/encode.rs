//! The smallest form of a column's values.
//!
//! Each function appends the words of values to those of a block, and returns what the directory is to say of them.

mod integers;
mod texts;

pub(crate) use integers::integers;
pub(crate) use texts::texts;

use std::collections::TryReserveError;

use crate::distinct::Distinct;

/// Memory that the columns of a block use one after the other.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    distinct: Distinct,
    /// Code of each row.
    codes: Vec<u32>,
    /// Distinct integers, in order of arrival.
    integers: Vec<i64>,
    /// First row of each distinct value, in order of arrival.
    first_rows: Vec<u32>,
    /// Ends of a dictionary's values.
    ends: Vec<u32>,
}

/// Empties a list, and makes room for `count` items.
fn with_room<T>(list: &mut Vec<T>, count: usize) -> Result<(), TryReserveError> {
    list.clear();
    list.try_reserve(count)
}
