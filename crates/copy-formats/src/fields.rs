//! The fields of a line of text or CSV.

use std::ops::Range;

use types::{Memory, Result, SqlError, SqlState};

use super::{
    options::{Format, Options},
    room::make_room,
};

/// The places of a line's fields: in the line itself, or in memory of their own if escapes or
/// quotes had to be taken out of it.
///
/// A line may have as many fields as bytes, and the place of a field takes 24 bytes: fields behind those of the columns
/// are counted and not kept.
#[derive(Debug)]
pub(super) struct Fields {
    /// Place of each field that is kept, and whether the field is NULL.
    bounds: Vec<(Range<usize>, bool)>,
    /// Maximum number of fields that are kept.
    kept_max: usize,
    /// Number of all fields of the line.
    count: usize,
    /// Fields without their escapes and quotes, if `has_own`.
    unescaped: Vec<u8>,
    /// Whether the places are those of `unescaped`.
    has_own: bool,
}

impl Fields {
    /// Returns the fields of no line; those of a line are kept for `columns` columns.
    pub(super) fn new(columns: usize) -> Self {
        Self {
            bounds: Vec::with_capacity(columns),
            kept_max: columns,
            count: 0,
            unescaped: Vec::new(),
            has_own: false,
        }
    }

    /// Splits a line.
    ///
    /// # Errors
    /// 22P04 for quotes that do not end; 53200 if `memory` leaves no room for fields without escapes.
    pub(super) fn split(&mut self, line: &str, options: &Options, memory: &Memory) -> Result<()> {
        self.bounds.clear();
        self.count = 0;
        let bytes = line.as_bytes();
        if bytes.is_empty() && self.kept_max == 0 {
            // A table without columns has empty lines.
            return Ok(());
        }
        let special = match options.format {
            Format::Csv => options.quote,
            _ => b'\\',
        };
        self.has_own = memchr::memchr(special, bytes).is_some();
        if !self.has_own {
            self.split_plain(bytes, options);
            return Ok(());
        }
        let mut out = std::mem::take(&mut self.unescaped);
        out.clear();
        // Fields are not longer without their escapes and quotes.
        let room = make_room(&mut out, bytes.len(), memory);
        let split = room.and_then(|()| match options.format {
            Format::Csv => self.split_csv(bytes, options, &mut out),
            _ => {
                self.split_text(bytes, options, &mut out);
                Ok(())
            }
        });
        self.unescaped = out;
        split
    }

    /// Returns the number of the line's fields.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes that the fields take, beside the line.
    pub(super) fn bytes(&self) -> usize {
        self.bounds.capacity() * size_of::<(Range<usize>, bool)>() + self.unescaped.capacity()
    }

    /// Returns the field of a column; `None` if it is NULL.
    ///
    /// # Errors
    /// 22021 if escapes have made bytes of it that are no text.
    ///
    /// # Panics
    /// If the line has no field for the column.
    pub(super) fn get<'f>(&'f self, at: usize, line: &'f str) -> Result<Option<&'f str>> {
        let (range, is_null) = &self.bounds[at];
        if *is_null {
            return Ok(None);
        }
        match self.has_own {
            false => Ok(Some(&line[range.clone()])),
            true => text(&self.unescaped[range.clone()]).map(Some),
        }
    }

    /// Counts a field, and keeps its place if it may be one of a column.
    fn note(&mut self, range: Range<usize>, is_null: bool) {
        self.count += 1;
        if self.bounds.len() < self.kept_max {
            self.bounds.push((range, is_null));
        }
    }

    /// Splits a line in which only delimiters are special.
    fn split_plain(&mut self, line: &[u8], options: &Options) {
        let mut start = 0;
        let ends = memchr::memchr_iter(options.delimiter, line).chain([line.len()]);
        for end in ends {
            let is_null = line[start..end] == *options.null.as_bytes();
            self.note(start..end, is_null);
            start = end + 1;
        }
    }

    fn split_text(&mut self, line: &[u8], options: &Options, out: &mut Vec<u8>) {
        let mut at = 0;
        loop {
            let (start, begun) = (at, out.len());
            while at < line.len() && line[at] != options.delimiter {
                if line[at] == b'\\' {
                    at += 1;
                    at += escape(&line[at..], out);
                } else {
                    out.push(line[at]);
                    at += 1;
                }
            }
            let is_null = line[start..at] == *options.null.as_bytes();
            self.note(begun..out.len(), is_null);
            if at == line.len() {
                break;
            }
            at += 1;
        }
    }

    fn split_csv(&mut self, line: &[u8], options: &Options, out: &mut Vec<u8>) -> Result<()> {
        let mut at = 0;
        loop {
            let (start, begun) = (at, out.len());
            let mut is_quoted = false;
            while at < line.len() && line[at] != options.delimiter {
                if line[at] == options.quote {
                    is_quoted = true;
                    at = quoted(line, at + 1, options, out)?;
                } else {
                    out.push(line[at]);
                    at += 1;
                }
            }
            let is_null = !is_quoted && line[start..at] == *options.null.as_bytes();
            self.note(begun..out.len(), is_null);
            if at == line.len() {
                break;
            }
            at += 1;
        }
        Ok(())
    }
}

/// Appends the meaning of the bytes behind a backslash; returns how many of them belong to the
/// escape.
fn escape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(&first) = rest.first() else {
        return 0;
    };
    let digits = |from: usize, most: usize, radix: u32| {
        let digits = rest[from..].iter().take(most);
        digits.map_while(move |byte| char::from(*byte).to_digit(radix))
    };
    let number = |from, most, radix| {
        let value = digits(from, most, radix).fold(0, |value, digit| value * radix + digit);
        // Three octal digits keep their eight lower bits.
        (value as u8, digits(from, most, radix).count())
    };
    match first {
        b'0'..=b'7' => {
            let (byte, count) = number(0, 3, 8);
            out.push(byte);
            return count;
        }
        b'x' => {
            let (byte, count) = number(1, 2, 16);
            out.push(if count > 0 { byte } else { b'x' });
            return 1 + count;
        }
        b'b' => out.push(8),
        b'f' => out.push(12),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'v' => out.push(11),
        other => out.push(other),
    }
    1
}

/// Appends the bytes from `at` up to the closing quote; returns the place behind that.
fn quoted(line: &[u8], mut at: usize, options: &Options, out: &mut Vec<u8>) -> Result<usize> {
    while let Some(&byte) = line.get(at) {
        at += 1;
        if byte == options.escape
            && let Some(&next) = line.get(at)
            && (next == options.escape || next == options.quote)
        {
            out.push(next);
            at += 1;
        } else if byte == options.quote {
            return Ok(at);
        } else {
            out.push(byte);
        }
    }
    Err(SqlError::new(
        SqlState::BAD_COPY_FILE_FORMAT,
        "unterminated CSV quoted field",
    ))
}

/// Returns bytes as text.
///
/// # Errors
/// 22021 with the first bytes that are no text.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let wrong = &bytes[error.valid_up_to()..];
        let length = match wrong[0] {
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0..0xf8 => 4,
            _ => 1,
        };
        let shown = wrong
            .iter()
            .take(length)
            .map(|byte| format!("0x{byte:02x}"));
        let message = format!(
            "invalid byte sequence for encoding \"UTF8\": {}",
            shown.collect::<Vec<_>>().join(" ")
        );
        SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
    })
}
