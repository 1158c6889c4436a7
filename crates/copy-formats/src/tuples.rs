//! Binary data, cut into tuples: a header, then for each row the number of its fields and each
//! with its length, and a trailer.

use std::ops::Range;

use types::Result;

use super::{SIGNATURE, bad};

/// Bytes of the header before its extension, and of a length.
const HEADER_BYTES: usize = SIGNATURE.len() + 8;
const LENGTH_BYTES: usize = 4;

const MISSING_LENGTH: &str = "invalid COPY file header (missing length)";

/// Message for data that ends within a tuple.
const CUT_OFF: &str = "unexpected EOF in COPY data";

/// The result of a search for the next tuple.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Awaited,
    /// The header, of this many bytes.
    Header(usize),
    /// A tuple of this many bytes, whose fields are at [`Tuples::fields`].
    Tuple(usize),
    /// The trailer, of this many bytes.
    End(usize),
}

/// The state of the cutting.
#[derive(Debug, Default)]
pub(super) struct Tuples {
    /// Whether the header has been read.
    pub(super) is_begun: bool,
    /// Fields of the tuple that was found last; `None` is NULL.
    pub(super) fields: Vec<Option<Range<usize>>>,
}

impl Tuples {
    /// Searches for the tuple of `columns` fields that `bytes` begin with; `is_all` says that no
    /// more will come.
    ///
    /// # Errors
    /// 22P04 for bytes that are no tuple.
    pub(super) fn next(&mut self, bytes: &[u8], columns: usize, is_all: bool) -> Result<Next> {
        if !self.is_begun {
            return self.header(bytes, is_all);
        }
        let Some(count) = bytes.get(..2) else {
            return match is_all {
                // Data may end without a trailer.
                true => Ok(Next::End(bytes.len())),
                false => Ok(Next::Awaited),
            };
        };
        let count = i16::from_be_bytes(count.try_into().expect("two bytes"));
        if count == -1 {
            return Ok(Next::End(2));
        }
        if usize::try_from(count) != Ok(columns) {
            return Err(bad(format!(
                "row field count is {count}, expected {columns}"
            )));
        }
        self.fields.clear();
        let mut at = 2;
        for _ in 0..columns {
            let Some(length) = length(bytes, at) else {
                return cut_off(CUT_OFF, is_all);
            };
            at += LENGTH_BYTES;
            if length == -1 {
                self.fields.push(None);
                continue;
            }
            let length = usize::try_from(length).map_err(|_| bad("invalid field size"))?;
            if bytes.len() - at < length {
                return cut_off(CUT_OFF, is_all);
            }
            self.fields.push(Some(at..at + length));
            at += length;
        }
        Ok(Next::Tuple(at))
    }

    fn header(&mut self, bytes: &[u8], is_all: bool) -> Result<Next> {
        let common = bytes.len().min(SIGNATURE.len());
        if bytes[..common] != SIGNATURE[..common] || is_all && common < SIGNATURE.len() {
            return Err(bad("COPY file signature not recognized"));
        }
        let Some(flags) = length(bytes, SIGNATURE.len()) else {
            return cut_off("invalid COPY file header (missing flags)", is_all);
        };
        if flags & (1 << 16) != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags as u32 >> 16 != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let Some(extension) = length(bytes, SIGNATURE.len() + LENGTH_BYTES) else {
            return cut_off(MISSING_LENGTH, is_all);
        };
        let extension = usize::try_from(extension).map_err(|_| bad(MISSING_LENGTH))?;
        if bytes.len() - HEADER_BYTES < extension {
            return cut_off("invalid COPY file header (wrong length)", is_all);
        }
        self.is_begun = true;
        Ok(Next::Header(HEADER_BYTES + extension))
    }
}

/// Returns the result for bytes that a tuple or the header goes on behind: an error if no more will come.
fn cut_off(message: &'static str, is_all: bool) -> Result<Next> {
    match is_all {
        true => Err(bad(message)),
        false => Ok(Next::Awaited),
    }
}

fn length(bytes: &[u8], at: usize) -> Option<i32> {
    let length = bytes.get(at..at + LENGTH_BYTES)?;
    Some(i32::from_be_bytes(length.try_into().ok()?))
}
