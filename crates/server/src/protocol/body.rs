//! Reads the parts of a message's body.
//!
//! What is read is borrowed. The errors have PostgreSQL's words; after one the rest of the
//! message is of no use, but the next message is where it should be.

use types::{Result, SqlError, SqlState};

/// What is left of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Body<'a> {
        Body(bytes)
    }

    /// So many bytes.
    ///
    /// # Errors
    /// There are fewer. So of all others.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| {
            SqlError::new(
                SqlState::PROTOCOL_VIOLATION,
                "insufficient data left in message",
            )
        })?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn int2(&mut self) -> Result<i16> {
        let bytes = self.take(2)?;
        Ok(i16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// A number of things that follow.
    pub(crate) fn count(&mut self) -> Result<usize> {
        Ok(usize::from(self.int2()? as u16))
    }

    pub(crate) fn int4(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes(bytes.try_into().expect("four bytes")))
    }

    /// Text that ends with a zero.
    ///
    /// # Errors
    /// It does not end, or is not UTF-8.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or_else(|| {
            SqlError::new(SqlState::PROTOCOL_VIOLATION, "invalid string in message")
        })?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        utf8(text)
    }

    /// # Errors
    /// Something is left.
    pub(crate) fn end(self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::PROTOCOL_VIOLATION,
            "invalid message format",
        ))
    }
}

/// Text of a client's, such as a parameter, in the only encoding that there is.
///
/// # Errors
/// PostgreSQL's, with the bytes of the character that is none.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let wrong = &bytes[error.valid_up_to()..];
        // As many as the first byte says that the character has, and there are.
        let length = match wrong[0] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        let shown: Vec<String> = wrong
            .iter()
            .take(length)
            .map(|byte| format!("0x{byte:02x}"))
            .collect();
        SqlError::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!(
                "invalid byte sequence for encoding \"UTF8\": {}",
                shown.join(" ")
            ),
        )
    })
}
