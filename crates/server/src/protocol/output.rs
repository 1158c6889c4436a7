//! Messages to the client, in the order in which they are to be sent.
//!
//! Messages sent once per statement or row are written in place; the rest goes through
//! pgwire's messages. A message is in the buffer wholly or not at all, also if its writer
//! fails or panics: earlier messages can still be sent, and an error after them.

use std::{fmt::Write as _, ops::Range};

use bytes::BytesMut;
use pgwire::messages::{
    Message,
    data::ParameterDescription,
    response::{ErrorResponse, NoticeResponse},
    startup::ParameterStatus,
};
use types::{Result, SqlError, SqlState};

use super::{
    format::{Format, Formats},
    report::{Notice, Severity},
    result::{CommandTag, Field},
};

/// Memory that an empty buffer keeps.
const KEPT_BYTES_MAX: usize = 128 * 1024;

/// Longest message that clients accept.
const MESSAGE_BYTES_MAX: usize = 0x3fff_ffff;

/// Transaction state that a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction is open but for the length of a statement.
    Idle,
    /// A transaction is open.
    InTransaction,
    /// A transaction is open and has failed: it can only be rolled back.
    Failed,
}

/// Messages that wait to be sent.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    sent: usize,
    /// Place of the newest message that tells of a statement's end.
    complete: Option<Range<usize>>,
    /// Buffer that pgwire writes into.
    scratch: BytesMut,
}

impl Output {
    /// Returns the bytes to be sent next; call [`Output::sent`] with the number sent.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(crate) fn sent(&mut self, count: usize) {
        self.sent += count;
        // No more bytes are moved than were sent, and a client that never receives all of them
        // does not make the buffer grow.
        if 2 * self.sent >= self.bytes.len() {
            self.bytes.drain(..self.sent);
            let moved = self.complete.take().and_then(|place| {
                let start = place.start.checked_sub(self.sent)?;
                Some(start..place.end - self.sent)
            });
            self.complete = moved;
            self.sent = 0;
        }
        if self.bytes.is_empty() {
            self.bytes.shrink_to(KEPT_BYTES_MAX);
        }
    }

    /// Appends a message with the body that `write` writes.
    ///
    /// # Errors
    /// Returns the error of `write`; fails if the message is too long. Nothing is left of it
    /// in either case.
    pub(crate) fn message(
        &mut self,
        tag: u8,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let message = Unfinished::begin(&mut self.bytes, Some(tag));
        write(message.bytes)?;
        message.finish()
    }

    /// Appends a message without a body.
    fn bare(&mut self, tag: u8) {
        self.bytes.extend_from_slice(&[tag, 0, 0, 0, 4]);
    }

    /// Appends one of pgwire's messages, which are never too long.
    pub(crate) fn encode(&mut self, message: &impl Message) {
        self.scratch.clear();
        if message.encode(&mut self.scratch).is_ok() {
            self.bytes.extend_from_slice(&self.scratch);
        }
    }

    /// Appends the answer to a request for encryption.
    pub(crate) fn no_encryption(&mut self) {
        self.bytes.push(b'N');
    }

    pub(crate) fn parse_complete(&mut self) {
        self.bare(b'1');
    }

    pub(crate) fn bind_complete(&mut self) {
        self.bare(b'2');
    }

    pub(crate) fn close_complete(&mut self) {
        self.bare(b'3');
    }

    pub(crate) fn no_data(&mut self) {
        self.bare(b'n');
    }

    pub(crate) fn empty_query(&mut self) {
        self.bare(b'I');
    }

    pub(crate) fn portal_suspended(&mut self) {
        self.bare(b's');
    }

    pub(crate) fn copy_done(&mut self) {
        self.bare(b'c');
    }

    pub(crate) fn ready_for_query(&mut self, status: TransactionStatus) {
        let status = match status {
            TransactionStatus::Idle => b'I',
            TransactionStatus::InTransaction => b'T',
            TransactionStatus::Failed => b'E',
        };
        self.bytes.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
    }

    pub(crate) fn command_complete(&mut self, tag: CommandTag) {
        let start = self.bytes.len();
        let message = Unfinished::begin(&mut self.bytes, Some(b'C'));
        tag.write(message.bytes);
        message.bytes.push(0);
        message.finish().expect("tags are short");
        self.complete = Some(start..self.bytes.len());
    }

    /// Takes the last message back, if it tells of a statement's end and nothing of it was sent: the statement's
    /// transaction has failed in the end. Clients exist that take this message of a COPY for its success, and read no
    /// further.
    pub(crate) fn take_complete_back(&mut self) {
        let place = self.complete.take();
        if let Some(place) = place
            && place.start >= self.sent
            && place.end == self.bytes.len()
        {
            self.bytes.truncate(place.start);
        }
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        self.encode(&ParameterStatus::new(name.to_owned(), value.to_owned()));
    }

    pub(crate) fn parameter_description(&mut self, types: &[u32]) {
        self.encode(&ParameterDescription::new(types.to_vec()));
    }

    /// Appends the description of a row.
    ///
    /// # Errors
    /// Fails if there are more columns than the protocol can count.
    pub(crate) fn row_description(&mut self, fields: &[Field], formats: &Formats) -> Result<()> {
        let count = column_count(fields.len())?;
        self.message(b'T', |bytes| {
            bytes.extend_from_slice(&count);
            for (column, field) in fields.iter().enumerate() {
                field.write(formats.of(column), bytes);
            }
            Ok(())
        })
    }

    /// Appends a row of `columns` columns, each of which `write` has to append.
    ///
    /// # Errors
    /// Returns the error of `write`; fails if the row is too long.
    pub(crate) fn row(
        &mut self,
        columns: usize,
        write: impl FnOnce(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let count = column_count(columns)?;
        self.message(b'D', |bytes| {
            bytes.extend_from_slice(&count);
            let mut row = Row { bytes, written: 0 };
            write(&mut row)?;
            debug_assert_eq!(row.written, columns, "a row has all its columns");
            Ok(())
        })
    }

    pub(crate) fn error(&mut self, severity: Severity, error: &SqlError) {
        self.encode(&ErrorResponse::new(severity.fields(error)));
    }

    pub(crate) fn notice(&mut self, notice: &Notice) {
        self.encode(&NoticeResponse::new(notice.fields()));
    }

    /// Appends the start of COPY's data: `G` from the client, `H` to it.
    pub(crate) fn copy_response(&mut self, tag: u8, format: Format, columns: usize) {
        let message = Unfinished::begin(&mut self.bytes, Some(tag));
        message.bytes.push(format.code() as u8);
        message
            .bytes
            .extend_from_slice(&(columns as u16).to_be_bytes());
        for _ in 0..columns {
            message
                .bytes
                .extend_from_slice(&format.code().to_be_bytes());
        }
        message.finish().expect("columns are few");
    }
}

fn column_count(columns: usize) -> Result<[u8; 2]> {
    i16::try_from(columns).map(i16::to_be_bytes).map_err(|_| {
        SqlError::new(
            SqlState::TOO_MANY_COLUMNS,
            "target lists can have at most 1664 entries",
        )
    })
}

/// A row that is being written: its columns in order, each once.
#[derive(Debug)]
pub struct Row<'a> {
    bytes: &'a mut Vec<u8>,
    written: usize,
}

impl Row<'_> {
    /// Appends NULL as the next column.
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        self.written += 1;
    }

    /// Appends the bytes that `write` writes as the next column.
    ///
    /// # Errors
    /// Returns the error of `write`; fails if the value is too long.
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let value = Unfinished::begin(self.bytes, None);
        write(value.bytes)?;
        value.finish()?;
        self.written += 1;
        Ok(())
    }

    /// Appends `bytes` as the next column.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes
            .extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(bytes);
        self.written += 1;
    }
}

/// A message, whose length counts itself, or a value, whose length does not; the length in
/// front is not known yet. Dropping it before its end leaves nothing.
struct Unfinished<'a> {
    bytes: &'a mut Vec<u8>,
    begin: usize,
    length: Range<usize>,
}

impl<'a> Unfinished<'a> {
    fn begin(bytes: &'a mut Vec<u8>, tag: Option<u8>) -> Unfinished<'a> {
        let begin = bytes.len();
        bytes.extend(tag);
        let length = bytes.len()..bytes.len() + 4;
        bytes.extend_from_slice(&[0; 4]);
        Unfinished {
            bytes,
            begin,
            length,
        }
    }

    fn finish(self) -> Result<()> {
        let counted = match self.length.start == self.begin {
            true => self.length.end,
            false => self.length.start,
        };
        let length = self.bytes.len() - counted;
        if length > MESSAGE_BYTES_MAX {
            return Err(SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a message of {length} bytes is too long for the protocol"),
            ));
        }
        self.bytes[self.length.clone()].copy_from_slice(&(length as u32).to_be_bytes());
        // Nothing in it needs to be dropped.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.bytes.truncate(self.begin);
    }
}

impl CommandTag {
    fn write(self, bytes: &mut Vec<u8>) {
        let mut text = Ascii(bytes);
        // Writing to memory does not fail.
        let _ = write!(text, "{self}");
    }
}

/// Writes formatted text to bytes.
struct Ascii<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Ascii<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_never_takes_all_in_takes_no_memory() {
        let mut output = Output::default();
        for _ in 0..100_000 {
            output
                .row(1, |row| {
                    row.bytes(&[7; 100]);
                    Ok(())
                })
                .unwrap();
            let unsent = output.unsent().len();
            if unsent > 5000 {
                output.sent(unsent - 2500);
                assert_eq!(output.unsent().len(), 2500);
            }
        }
        assert!(output.bytes.capacity() < 32 * 1024);
    }

    /// A COPY whose transaction could not be committed was told as done before the error, and a client library read no
    /// further.
    #[test]
    fn an_end_that_was_not_sent_is_taken_back() {
        let tag = || CommandTag::Rows("COPY", 7);
        let end = b"C\0\0\0\x0bCOPY 7\0";
        let mut output = Output::default();
        output.parse_complete();
        let before = output.unsent().to_vec();
        output.command_complete(tag());
        assert!(output.unsent().ends_with(end));
        output.take_complete_back();
        assert_eq!(output.unsent(), before);
        output.take_complete_back();
        assert_eq!(output.unsent(), before);
        // Another message has followed.
        output.command_complete(tag());
        output.no_data();
        let all = output.unsent().to_vec();
        output.take_complete_back();
        assert_eq!(output.unsent(), all);
        // A part of it was sent, or what is before it.
        for sent in [1, end.len() - 1] {
            let mut output = Output::default();
            output.command_complete(tag());
            output.sent(sent);
            output.take_complete_back();
            assert_eq!(output.unsent(), &end[sent..]);
        }
        let mut output = Output::default();
        output.parse_complete();
        output.bind_complete();
        output.bind_complete();
        output.command_complete(tag());
        output.sent(14);
        assert_eq!(output.sent, 0, "the buffer has moved");
        output.take_complete_back();
        assert_eq!(output.unsent(), [4]);
    }

    #[test]
    fn lengths_count_what_they_should() {
        let mut output = Output::default();
        output
            .row(3, |row| {
                row.bytes(b"ab");
                row.null();
                row.value(|bytes| {
                    bytes.push(b'c');
                    Ok(())
                })
            })
            .unwrap();
        assert_eq!(
            output.unsent(),
            b"D\0\0\0\x15\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x01c"
        );
    }

    #[test]
    fn a_message_that_fails_or_panics_leaves_nothing() {
        let mut output = Output::default();
        output.parse_complete();
        let before = output.unsent().to_vec();
        let fails = |row: &mut Row<'_>| {
            row.null();
            row.value(|bytes| {
                bytes.push(1);
                Err(SqlError::unsupported("this"))
            })
        };
        assert!(output.row(2, fails).is_err());
        assert_eq!(output.unsent(), before);
        let panics = std::panic::AssertUnwindSafe(|| {
            output.row(2, |row| {
                row.null();
                row.value(|bytes| {
                    bytes.push(1);
                    panic!("a writer of a test panics")
                })
            })
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(output.unsent(), before);
    }
}
