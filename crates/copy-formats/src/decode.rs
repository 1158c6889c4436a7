//! Decoding of a client's data, row by row.
//!
//! Main type: [`Decoder`]. It is given bytes as they come and keeps those that are not a whole row
//! yet; rows go into a batch of the caller's, which empties it. A COPY takes the memory of its
//! longest line and of a batch, however long it is; all but the batch is charged here.

use std::{ops::Range, rc::Rc, sync::Arc};

use types::{Charge, Coercion, Context, Memory, Result, Scratch, SqlError, SqlState, Value};

use super::{
    Column,
    fields::{Fields, text},
    lines::{Cut, Lines},
    options::{Format, Header, Options},
    place::{Places, shortened},
    room::make_room,
    tuples::{Next, Tuples},
};
use batch::Rows;
use catalog::Table;

/// Bytes of the longest row.
const ROW_BYTES_MAX: usize = 0x3fff_ffff;

/// A decoder of a client's data: see the module's text.
pub struct Decoder {
    table: Arc<str>,
    columns: Vec<Column>,
    options: Options,
    /// Whether the NULL marker is ignored in each column, and whether it is recognised in quotes.
    forced: Vec<(bool, bool)>,
    bytes: Vec<u8>,
    /// Number of the bytes that belong to rows that were read.
    start: usize,
    is_all: bool,
    is_over: bool,
    awaits_header: bool,
    lines: Lines,
    fields: Fields,
    tuples: Tuples,
    places: Places,
    scratch: Scratch,
    memory: Rc<Memory>,
    /// For the bytes that wait and the fields of a line.
    charge: Charge,
}

impl Decoder {
    /// Makes a decoder for `columns` of `table`, charged to `memory`.
    ///
    /// # Errors
    /// 42703 and 42P10 if options name columns that are not among them.
    pub fn new(
        table: &Table,
        columns: Vec<Column>,
        options: Options,
        memory: &Rc<Memory>,
    ) -> Result<Self> {
        let scratch = Scratch::new();
        scratch.charge_to(memory);
        Ok(Self {
            table: table.name.clone(),
            forced: options.forced(table, &columns)?,
            fields: Fields::new(columns.len()),
            columns,
            bytes: Vec::new(),
            start: 0,
            is_all: false,
            is_over: false,
            awaits_header: options.header != Header::Absent,
            lines: Lines::new(&options),
            options,
            tuples: Tuples::default(),
            places: Places::default(),
            scratch,
            memory: memory.clone(),
            charge: Charge::default(),
        })
    }

    /// Returns the format of the data.
    pub fn format(&self) -> Format {
        self.options.format
    }

    /// Returns the number of columns of a row.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Takes the next bytes, which may end anywhere.
    ///
    /// # Errors
    /// 54000 for a row that is too long, 53200 if the memory leaves no room for it; 22P04 for binary data after its
    /// end.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_over {
            // A client may go on after the end of its text.
            return match self.options.format {
                Format::Binary if !bytes.is_empty() => Err(self.after_end()),
                _ => Ok(()),
            };
        }
        if self.start == self.bytes.len() {
            self.bytes.clear();
        } else {
            self.bytes.drain(..self.start);
        }
        self.start = 0;
        if bytes.len() > ROW_BYTES_MAX - self.bytes.len() {
            let message = format!("a row of COPY is longer than {ROW_BYTES_MAX} bytes");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        make_room(&mut self.bytes, bytes.len(), &self.memory)?;
        self.bytes.extend_from_slice(bytes);
        self.settle()
    }

    /// Notes that there are no more bytes.
    pub fn end(&mut self) {
        self.is_all = true;
    }

    /// Reads the next row into the batch; returns false if it is not there (yet).
    ///
    /// # Errors
    /// 22P04 for data that is no row, 22P02 and others for text that is no value; each with the
    /// place. 53200 if the memory leaves no room for the row.
    pub fn next(&mut self, context: &Context<'_>, batch: &mut Rows) -> Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        if batch.is_empty() {
            self.places.clear();
        }
        match self.options.format {
            Format::Binary => self.next_tuple(context, batch),
            Format::Text | Format::Csv => self.next_line(context, batch),
        }
    }

    /// Returns an error over a row of the batch with the row's place.
    pub fn explained(&self, at: usize, error: SqlError) -> SqlError {
        let has_text = self.options.format != Format::Binary;
        self.places.explained(at, &self.table, has_text, error)
    }

    /// Charges what the decoder holds.
    fn settle(&mut self) -> Result<()> {
        self.scratch.settle()?;
        let bytes = self.bytes.capacity() + self.fields.bytes();
        self.charge.set(&self.memory, bytes)
    }

    fn next_line(&mut self, context: &Context<'_>, batch: &mut Rows) -> Result<bool> {
        while !self.is_over {
            let cut = self.lines.cut(&self.bytes[self.start..], self.is_all);
            let line = match cut.map_err(|error| self.at_line(error))? {
                Cut::Awaited => return Ok(false),
                Cut::Line { line, taken } => {
                    let line = self.start + line.start..self.start + line.end;
                    self.start += taken;
                    line
                }
                Cut::End { line } => {
                    self.is_over = true;
                    // Names that have to be those of the columns are missed where there is no line, too.
                    if line.is_empty() && !self.awaits_header {
                        return Ok(false);
                    }
                    self.start + line.start..self.start + line.end
                }
            };
            if std::mem::take(&mut self.awaits_header) {
                self.header(line)?;
                continue;
            }
            self.row(line, context, batch)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn header(&mut self, line: Range<usize>) -> Result<()> {
        if self.options.header != Header::Match {
            return Ok(());
        }
        let bytes = &self.bytes[line];
        let line = text(bytes).map_err(|error| self.at_line(error))?;
        let split = self.fields.split(line, &self.options, &self.memory);
        split.map_err(|error| self.with_line(bytes, error))?;
        let bad = |message| {
            let error = SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
            Err(self.with_line(bytes, error))
        };
        if self.fields.count() != self.columns.len() {
            return bad(format!(
                "wrong number of fields in header line: got {}, expected {}",
                self.fields.count(),
                self.columns.len()
            ));
        }
        for (at, column) in self.columns.iter().enumerate() {
            let (number, name) = (at + 1, &column.name);
            let start = format!("column name mismatch in header line field {number}: got");
            match self.fields.get(at, line)? {
                Some(field) if *field == **name => {}
                Some(field) => return bad(format!("{start} \"{field}\", expected \"{name}\"")),
                None => {
                    let null = &self.options.null;
                    return bad(format!(
                        "{start} null value (\"{null}\"), expected \"{name}\""
                    ));
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, line: Range<usize>, context: &Context<'_>, batch: &mut Rows) -> Result<()> {
        self.scratch.reset();
        let bytes = &self.bytes[line];
        let line = text(bytes).map_err(|error| self.at_line(error))?;
        let split = self.fields.split(line, &self.options, &self.memory);
        split.map_err(|error| self.with_line(bytes, error))?;
        if self.fields.count() > self.columns.len() {
            let message = "extra data after last expected column";
            let error = SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
            return Err(self.with_line(bytes, error));
        }
        batch.try_push((0..self.columns.len()).map(|at| self.value(at, line, context)))?;
        self.places.note(self.lines.number, bytes);
        self.settle()
    }

    fn value<'v>(&'v self, at: usize, line: &'v str, context: &Context<'_>) -> Result<Value<'v>> {
        let column = &self.columns[at];
        if at >= self.fields.count() {
            let message = format!("missing data for column \"{}\"", column.name);
            let error = SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
            return Err(self.with_line(line.as_bytes(), error));
        }
        let field = self.fields.get(at, line);
        let field = field.map_err(|error| self.with_line(line.as_bytes(), error))?;
        let (never_null, null_in_quotes) = self.forced[at];
        let field = match field {
            None if never_null => Some(&*self.options.null),
            Some(field) if null_in_quotes && *field == *self.options.null => None,
            field => field,
        };
        let Some(field) = field else {
            return Ok(Value::Null);
        };
        let value = types::text::read_with_modifier(
            field,
            column.ty,
            column.modifier,
            Coercion::Assignment,
            context,
            &self.scratch,
        );
        value.map_err(|error| {
            error.context(format!(
                "COPY {}, line {}, column {}: \"{}\"",
                self.table,
                self.lines.number,
                column.name,
                shortened(field.as_bytes())
            ))
        })
    }

    fn next_tuple(&mut self, context: &Context<'_>, batch: &mut Rows) -> Result<bool> {
        loop {
            let bytes = &self.bytes[self.start..];
            let next = self.tuples.next(bytes, self.columns.len(), self.is_all);
            match next.map_err(|error| self.at_tuple(error))? {
                Next::Awaited => return Ok(false),
                Next::Header(length) => self.start += length,
                Next::End(length) => {
                    self.start += length;
                    self.is_over = true;
                    return match self.start == self.bytes.len() {
                        true => Ok(false),
                        false => Err(self.after_end()),
                    };
                }
                Next::Tuple(length) => {
                    self.lines.number += 1;
                    self.scratch.reset();
                    let bytes = &self.bytes[self.start..self.start + length];
                    let columns = 0..self.columns.len();
                    batch.try_push(columns.map(|at| self.binary_value(at, bytes, context)))?;
                    self.places.note(self.lines.number, b"");
                    self.start += length;
                    self.settle()?;
                    return Ok(true);
                }
            }
        }
    }

    fn binary_value<'v>(
        &'v self,
        at: usize,
        bytes: &'v [u8],
        context: &Context<'_>,
    ) -> Result<Value<'v>> {
        let column = &self.columns[at];
        let Some(range) = &self.tuples.fields[at] else {
            return Ok(Value::Null);
        };
        let read = types::binary::read(&bytes[range.clone()], column.ty, context, &self.scratch);
        let value = read.and_then(|value| {
            let coercion = Coercion::Assignment;
            column
                .modifier
                .apply(value, column.ty, coercion, &self.scratch)
        });
        value.map_err(|error| {
            error.context(format!(
                "COPY {}, line {}, column {}",
                self.table, self.lines.number, column.name
            ))
        })
    }

    fn after_end(&self) -> SqlError {
        let message = "received copy data after EOF marker";
        self.at_tuple(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message))
    }

    /// Returns the error with the number of the tuple that is being read. The tuple is not counted
    /// yet, and the header is none.
    fn at_tuple(&self, error: SqlError) -> SqlError {
        match self.tuples.is_begun {
            true => {
                let number = self.lines.number + 1;
                error.context(format!("COPY {}, line {number}", self.table))
            }
            false => error,
        }
    }

    fn at_line(&self, error: SqlError) -> SqlError {
        error.context(format!("COPY {}, line {}", self.table, self.lines.number))
    }

    fn with_line(&self, line: &[u8], error: SqlError) -> SqlError {
        error.context(format!(
            "COPY {}, line {}: \"{}\"",
            self.table,
            self.lines.number,
            shortened(line)
        ))
    }
}

#[cfg(test)]
mod tests;
