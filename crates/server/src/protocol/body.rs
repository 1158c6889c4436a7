//! Reads the parts of a message's body.
//!
//! Parts are borrowed. The errors have PostgreSQL's words; after an error the rest of the
//! message is of no use, but the next message is where it should be.

use types::{Result, SqlError, SqlState};

/// The rest of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Body<'a> {
        Body(bytes)
    }

    /// Takes `count` bytes.
    ///
    /// # Errors
    /// Fails if there are fewer, as every reader below does.
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

    /// Reads the number of the items that follow.
    pub(crate) fn count(&mut self) -> Result<usize> {
        Ok(usize::from(self.int2()? as u16))
    }

    pub(crate) fn int4(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes(bytes.try_into().expect("four bytes")))
    }

    /// Reads text that ends with a zero.
    ///
    /// # Errors
    /// Fails if the text does not end, or is not UTF-8.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or_else(|| {
            SqlError::new(SqlState::PROTOCOL_VIOLATION, "invalid string in message")
        })?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        utf8(text)
    }

    /// Ends the body.
    ///
    /// # Errors
    /// Fails if bytes are left.
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

/// Reads a client's text, such as a parameter, in the only encoding that there is.
///
/// # Errors
/// Fails with PostgreSQL's error, which shows the bytes of the invalid character.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let wrong = &bytes[error.valid_up_to()..];
        // The length that the first byte announces, cut to the bytes present.
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
