//! Functions and operators of text and of bytes.
//!
//! Positions count characters from 1, as in SQL. New values are made in the statement's memory;
//! parts of arguments are borrowed from them.

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

pub(crate) use bytes::{OPERATORS as BYTES_OPERATORS, concatenate_bytes};
pub(crate) use case::lower;
pub(crate) use concat::{OPERATORS, concatenate_texts};
pub(crate) use quote::write_literal;
pub use quote::{quoted_identifier, quoted_literal, write_identifier};

/// Maximum bytes of a value, as in PostgreSQL: a gigabyte, less the header that it has there.
const BYTES_MAX: usize = (1 << 30) - 1 - 4;

/// Appends a text `times` times, by the kilobyte if it is shorter.
pub(crate) fn push_repeated(out: &mut bumpalo::collections::String<'_>, text: &str, times: usize) {
    const PIECE_BYTES: usize = 1024;
    let together = (PIECE_BYTES / text.len().max(1)).clamp(1, times.max(1));
    let piece = text.repeat(together);
    for _ in 0..times / together {
        out.push_str(&piece);
    }
    for _ in 0..times % together {
        out.push_str(text);
    }
}

/// Fails with 54000 before a value is made that is too long.
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes > BYTES_MAX {
        return Err(SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "requested length too large",
        ));
    }
    Ok(())
}

/// Returns the byte at which the character with this number, from 0, begins; the end if there is
/// none.
pub(crate) fn byte_of(text: &str, character: usize) -> usize {
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(byte, _)| byte)
}

/// Returns the number of characters.
pub(crate) fn characters(text: &str) -> usize {
    text.chars().count()
}
