//! Functions and operators of text and of bytes.
//!
//! Positions count characters from 1, as in SQL. What has to be made is made in the statement's
//! memory; parts of arguments are borrowed from them.

mod affixes;
mod bytes;
mod case;
mod concat;
mod convert;
mod encode;
mod format;
mod pieces;
mod quote;
mod replace;
mod search;

use types::{Result, SqlError, SqlState};

use crate::Function;

pub(crate) static TABLES: &[&[Function]] = &[
    affixes::FUNCTIONS,
    bytes::FUNCTIONS,
    case::FUNCTIONS,
    concat::FUNCTIONS,
    convert::FUNCTIONS,
    encode::FUNCTIONS,
    format::FUNCTIONS,
    pieces::FUNCTIONS,
    quote::FUNCTIONS,
    replace::FUNCTIONS,
    search::FUNCTIONS,
];

pub(crate) use bytes::OPERATORS as BYTES_OPERATORS;
pub(crate) use case::lower;
pub(crate) use concat::OPERATORS;
pub use quote::write_identifier;
pub(crate) use quote::write_literal;

/// What a value may have at most, as in PostgreSQL: a gigabyte.
const BYTES_MAX: usize = 1 << 30;

/// 54000, before anything is made that is too long.
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes >= BYTES_MAX {
        return Err(SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "requested length too large",
        ));
    }
    Ok(())
}

/// The byte at which the character with this number, from 0, begins; the end if there is none.
pub(crate) fn byte_of(text: &str, character: usize) -> usize {
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(byte, _)| byte)
}

/// The number of characters.
pub(crate) fn characters(text: &str) -> usize {
    text.chars().count()
}
