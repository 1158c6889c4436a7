//! Rows on their way to a client.

use types::{Context, Result, Type, Value};

use super::{
    Column, SIGNATURE,
    options::{Format, Header, Options},
};
use catalog::Table;

/// A writer of rows in a format, each into memory that is used again for the next.
pub struct Encoder {
    options: Options,
    columns: Vec<Column>,
    force_quote: Vec<bool>,
    /// Text of one value.
    value: Vec<u8>,
}

impl Encoder {
    /// Makes an encoder for rows of these columns, of a table or of a query.
    ///
    /// # Errors
    /// 42703 and 42P10 if options name columns that are not among them.
    pub fn new(table: Option<&Table>, columns: Vec<Column>, options: Options) -> Result<Self> {
        Ok(Self {
            force_quote: options.force_quote.among(table, &columns, "FORCE_QUOTE")?,
            columns,
            options,
            value: Vec::new(),
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

    /// Appends the format's header, if it has one.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        match self.options.format {
            Format::Binary => {
                out.extend_from_slice(SIGNATURE);
                // There are no flags and no extension.
                out.extend_from_slice(&[0; 8]);
            }
            Format::Text | Format::Csv if self.options.header != Header::Absent => {
                for (at, column) in self.columns.iter().enumerate() {
                    self.separate(at, out);
                    let name = column.name.as_bytes();
                    match self.options.format {
                        Format::Csv => self.csv(name, false, out),
                        _ => self.text(name, out),
                    }
                }
                out.push(b'\n');
            }
            Format::Text | Format::Csv => {}
        }
    }

    /// Appends a row.
    ///
    /// # Errors
    /// Errors of writing values.
    pub fn row(
        &mut self,
        values: &[Value<'_>],
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if self.options.format == Format::Binary {
            return self.tuple(values, context, out);
        }
        let mut text = std::mem::take(&mut self.value);
        for (at, value) in values.iter().enumerate() {
            self.separate(at, out);
            if value.is_null() {
                out.extend_from_slice(self.options.null.as_bytes());
                continue;
            }
            text.clear();
            types::text::write(*value, self.ty(at), context, &mut text)?;
            match self.options.format {
                Format::Csv => self.csv(&text, self.force_quote[at], out),
                _ => self.text(&text, out),
            }
        }
        out.push(b'\n');
        self.value = text;
        Ok(())
    }

    /// Appends the format's trailer, if it has one.
    pub fn end(&self, out: &mut Vec<u8>) {
        if self.options.format == Format::Binary {
            out.extend_from_slice(&(-1_i16).to_be_bytes());
        }
    }

    fn ty(&self, at: usize) -> Type {
        self.columns[at].ty
    }

    fn separate(&self, at: usize, out: &mut Vec<u8>) {
        if at > 0 {
            out.push(self.options.delimiter);
        }
    }

    fn tuple(&self, values: &[Value<'_>], context: &Context<'_>, out: &mut Vec<u8>) -> Result<()> {
        // A result has fewer columns than two bytes count.
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for (at, value) in values.iter().enumerate() {
            let length = out.len();
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            if value.is_null() {
                continue;
            }
            let start = out.len();
            types::binary::write(*value, self.ty(at), context, out)?;
            let bytes = (out.len() - start) as u32;
            out[length..start].copy_from_slice(&bytes.to_be_bytes());
        }
        Ok(())
    }

    fn text(&self, text: &[u8], out: &mut Vec<u8>) {
        for &byte in text {
            let letter = match byte {
                8 => b'b',
                12 => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                11 => b'v',
                b'\\' => b'\\',
                other if other == self.options.delimiter => other,
                other => {
                    out.push(other);
                    continue;
                }
            };
            out.extend_from_slice(&[b'\\', letter]);
        }
    }

    fn csv(&self, text: &[u8], force: bool, out: &mut Vec<u8>) {
        let Options {
            delimiter,
            quote,
            escape,
            ..
        } = self.options;
        let needs_quotes =
            |byte: &u8| *byte == delimiter || *byte == quote || matches!(*byte, b'\n' | b'\r');
        let is_ambiguous = *text == *self.options.null.as_bytes()
            // A value of `\.` alone on a line would be the end of the data.
            || self.columns.len() == 1 && text == b"\\.";
        if !force && !is_ambiguous && !text.iter().any(needs_quotes) {
            out.extend_from_slice(text);
            return;
        }
        out.push(quote);
        for &byte in text {
            if byte == quote || byte == escape {
                out.push(escape);
            }
            out.push(byte);
        }
        out.push(quote);
    }
}
