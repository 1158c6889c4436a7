//! A session's view of its client: the destination of rows, and the source of COPY's data.

use types::{Result, SqlError, SqlState, Value};

use crate::{
    control::Control,
    protocol::{CommandTag, Field, Format, Formats, Notice, Phase, Row},
    wire::Wire,
};

/// The client of a statement that is being executed.
#[derive(Debug)]
pub struct Client<'a> {
    wire: &'a mut Wire,
    formats: &'a Formats,
}

impl<'a> Client<'a> {
    pub(crate) fn new(wire: &'a mut Wire, formats: &'a Formats) -> Client<'a> {
        Client { wire, formats }
    }

    /// Returns the form in which the client wants a column, counted from 0.
    pub fn format(&self, column: usize) -> Format {
        self.formats.of(column)
    }

    /// Returns the connection's control, which tells when to give the statement up.
    pub fn control(&self) -> &Control {
        &self.wire.control
    }

    /// Describes the rows that follow. Only for simple queries; in the extended protocol the
    /// client asks for the description.
    ///
    /// # Errors
    /// Fails if there are more columns than the protocol can count.
    pub fn fields(&mut self, fields: &[Field]) -> Result<()> {
        self.wire.output.row_description(fields, self.formats)
    }

    /// Sends a row of `columns` columns; `write` appends all of them. Await [`Client::room`]
    /// after it.
    ///
    /// # Errors
    /// Returns the error of `write`; fails if the row is too long. Nothing is sent in either
    /// case.
    pub fn row(
        &mut self,
        columns: usize,
        write: impl FnOnce(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.wire.output.row(columns, write)
    }

    /// Sends a row of values; `write` appends a value that is not NULL to the bytes, given its
    /// column and the form that it is to have.
    ///
    /// # Errors
    /// Returns the error of `write`; fails if the row is too long. Nothing is sent in either
    /// case.
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

    /// Returns whether [`Client::room`] would return at once: a scan need not suspend for it.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.wire.has_room()
    }

    /// Waits, as an event, until the client has received enough of the output.
    ///
    /// # Errors
    /// Fails if the statement is to be given up: the client is gone, or has cancelled it.
    pub async fn room(&mut self) -> Result<()> {
        match self.wire.has_room() {
            true => Ok(()),
            false => self.wire.send_beside_control().await,
        }
    }

    /// Reports the end of a statement of a simple query. In the extended protocol it is the
    /// result of [`Session::execute`].
    ///
    /// [`Session::execute`]: crate::Session::execute
    pub fn complete(&mut self, tag: CommandTag) {
        self.wire.output.command_complete(tag);
    }

    /// Reports that a simple query contains no statement.
    pub fn empty_query(&mut self) {
        self.wire.output.empty_query();
    }

    /// Sends the client a notice beside the results.
    pub fn notice(&mut self, notice: &Notice) {
        self.wire.output.notice(notice);
    }

    /// Tells the client that a setting that it knows has changed.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.wire.output.parameter_status(name, value);
    }

    /// Asks for the data of a COPY of `columns` columns, each in a form of its own in the binary
    /// format.
    pub fn copy_in(&mut self, format: Format, columns: usize) -> CopyIn<'_> {
        self.wire.output.copy_response(b'G', format, columns);
        self.wire.flushes = true;
        self.wire.conversation.enter(Phase::Copying);
        CopyIn { wire: self.wire }
    }

    /// Announces the data of a COPY of `columns` columns: [`Client::copy_data`] sends it, and
    /// [`Client::end_copy_out`] ends it. An error ends it as well.
    pub fn begin_copy_out(&mut self, format: Format, columns: usize) {
        self.wire.output.copy_response(b'H', format, columns);
    }

    /// Sends data of a COPY that `write` appends: a row, in the text formats. Await
    /// [`Client::room`] after it.
    ///
    /// # Errors
    /// Returns the error of `write`; fails if the data does not fit into a message. Nothing is
    /// sent in either case.
    pub fn copy_data(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.wire.output.message(b'd', write)
    }

    /// Reports the end of a COPY's data to the client.
    pub fn end_copy_out(&mut self) {
        self.wire.output.copy_done();
    }
}

/// Data of a COPY from the client. Dropping it before its end ends the COPY: further data is
/// discarded.
#[derive(Debug)]
pub struct CopyIn<'a> {
    wire: &'a mut Wire,
}

impl CopyIn<'_> {
    /// Returns the next bytes, of any length and cut anywhere; `None` at the end.
    ///
    /// # Errors
    /// Fails if the client has aborted the COPY, is gone, or has cancelled the statement.
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
