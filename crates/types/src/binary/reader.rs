//! Bytes that are taken from the front, and may be too few.

use crate::{Result, SqlError, SqlState};

/// The rest of a value's bytes.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn borrowed_array<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.borrowed_array().copied()
    }

    pub(super) fn short(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn int(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Returns the number of bytes left.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Takes all remaining bytes as text.
    pub(super) fn text(&mut self) -> Result<&'a str> {
        text(self.rest())
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// `22P03` if bytes are left.
    pub(super) fn finish(self) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(super::invalid("incorrect binary data format"))
        }
    }
}

/// Reads text that a client sent.
fn text(bytes: &[u8]) -> Result<&str> {
    let wrong = |byte: u8| {
        SqlError::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}"),
        )
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        Ok(_) => Err(wrong(0)),
        Err(error) => Err(wrong(bytes[error.valid_up_to()])),
    }
}

#[cold]
fn too_short() -> SqlError {
    SqlError::new(
        SqlState::PROTOCOL_VIOLATION,
        "insufficient data left in message",
    )
}
