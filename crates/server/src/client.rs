//! What a session sees of its client: where rows go, and the data of COPY comes from.

use types::{Result, SqlError, SqlState, Value};

use crate::{
    control::Control,
    protocol::{CommandTag, Field, Format, Formats, Notice, Phase, Row},
    wire::Wire,
};

/// The client of a statement that is being carried out.
#[derive(Debug)]
pub struct Client<'a> {
    wire: &'a mut Wire,
    formats: &'a Formats,
}

impl<'a> Client<'a> {
    pub(crate) fn new(wire: &'a mut Wire, formats: &'a Formats) -> Client<'a> {
        Client { wire, formats }
    }

    /// The form in which the client wants a column, counted from 0.
    pub fn format(&self, column: usize) -> Format {
        self.formats.of(column)
    }

    /// For noticing that the statement should be given up.
    pub fn control(&self) -> &Control {
        &self.wire.control
    }

    /// Describes the rows that follow. In simple queries only; the others ask for it.
    ///
    /// # Errors
    /// More columns than can be counted.
    pub fn fields(&mut self, fields: &[Field]) -> Result<()> {
        self.wire.output.row_description(fields, self.formats)
    }

    /// Sends a row; `write` puts its columns there, all of them. [`Client::room`] is to be
    /// awaited after it.
    ///
    /// # Errors
    /// Those of `write`; a row that is too long. Nothing of it is sent then.
    pub fn row(
        &mut self,
        columns: usize,
        write: impl FnOnce(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.wire.output.row(columns, write)
    }

    /// The same, of values: `write` appends one that is not NULL to the bytes, given its column
    /// and the form that it is to have.
    ///
    /// # Errors
    /// As for [`Client::row`].
    pub fn values(
        &mut self,
        values: &[Value<'_>],
        mut write: impl FnMut(usize, &Value<'_>, Format, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let formats = self.formats;
        self.wire.output.row(values.len(), |row| {
            for (column, value) in values.iter().enumerate() {
                match value {
                    Value::Null => row.null(),
                    value => {
                        row.value(|bytes| write(column, value, formats.of(column), bytes))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Whether [`Client::room`] would return at once: a scan need not suspend for it.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.wire.has_room()
    }

    /// Waits, as an event, until the client has taken in enough of what was sent.
    ///
    /// # Errors
    /// The statement is to be given up: the client is gone, or wants it.
    pub async fn room(&mut self) -> Result<()> {
        match self.wire.has_room() {
            true => Ok(()),
            false => self.wire.send_beside_control().await,
        }
    }

    /// A statement of a simple query has ended. In others it is [`Session::execute`]'s result.
    ///
    /// [`Session::execute`]: crate::Session::execute
    pub fn complete(&mut self, tag: CommandTag) {
        self.wire.output.command_complete(tag);
    }

    /// There was no statement in a simple query.
    pub fn empty_query(&mut self) {
        self.wire.output.empty_query();
    }

    /// Tells it something beside the results.
    pub fn notice(&mut self, notice: &Notice) {
        self.wire.output.notice(notice);
    }

    /// Tells it that a setting that it knows has changed.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.wire.output.parameter_status(name, value);
    }

    /// Asks for the data of a COPY of so many columns, each in a form of its own in the binary
    /// format.
    pub fn copy_in(&mut self, format: Format, columns: usize) -> CopyIn<'_> {
        self.wire.output.copy_response(b'G', format, columns);
        self.wire.flushes = true;
        self.wire.conversation.enter(Phase::Copying);
        CopyIn { wire: self.wire }
    }

    /// The data of a COPY of so many columns follows: [`Client::copy_data`], then
    /// [`Client::end_copy_out`]. An error ends it as well.
    pub fn begin_copy_out(&mut self, format: Format, columns: usize) {
        self.wire.output.copy_response(b'H', format, columns);
    }

    /// Sends data of a COPY that `write` appends: a row, in the text formats. [`Client::room`] is
    /// to be awaited after it.
    ///
    /// # Errors
    /// Those of `write`; more than fits into a message. Nothing of it is sent then.
    pub fn copy_data(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.wire.output.message(b'd', write)
    }

    /// That was all of the data.
    pub fn end_copy_out(&mut self) {
        self.wire.output.copy_done();
    }
}

/// Data of a COPY, from the client. Dropped before its end, it ends the COPY: what still comes
/// is not looked at.
#[derive(Debug)]
pub struct CopyIn<'a> {
    wire: &'a mut Wire,
}

impl CopyIn<'_> {
    /// The next bytes, of any length and cut anywhere; `None` at the end.
    ///
    /// # Errors
    /// The client gave it up, is gone, or wants the statement to be given up.
    pub async fn next(&mut self) -> Result<Option<&[u8]>> {
        use crate::protocol::Copied;
        loop {
            match self.wire.conversation.copied()? {
                Some(Copied::Data(taken)) => {
                    return Ok(Some(self.wire.conversation.input.frame(taken).body));
                }
                Some(Copied::Done) => return Ok(None),
                Some(Copied::Failed(reason)) => {
                    return Err(SqlError::new(
                        SqlState::QUERY_CANCELED,
                        format!("COPY from stdin failed: {reason}"),
                    ));
                }
                None => self.wire.receive_beside_control().await?,
            }
        }
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        self.wire.conversation.enter(Phase::Ready);
    }
}
