//! Text and CSV, cut into lines.
//!
//! A line ends at a newline, a carriage return or both; the first line decides which, and others
//! are errors from then on. In text a backslash takes the next byte with it, in CSV bytes between
//! quotes belong to the line. A line of `\.` ends the data before the client does.
//!
//! Bytes come in pieces that end anywhere: bytes that were looked at are not looked at again, and
//! if the next byte decides, it is waited for.

use std::ops::Range;

use types::{Result, SqlError};

use super::{
    bad,
    options::{Format, Options},
};

const OTHER_ENDING: &str = "end-of-copy marker does not match previous newline style";

/// The ways in which lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Newline,
    Return,
    Both,
}

/// The result of a search for the next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The end of the line is not there yet.
    Awaited,
    /// The bytes of the line, and how many of the input belong to it.
    Line { line: Range<usize>, taken: usize },
    /// The data is at its end, after this line if it is not empty.
    End { line: Range<usize> },
}

/// The state of the cutting.
#[derive(Debug)]
pub(super) struct Lines {
    is_csv: bool,
    quote: u8,
    escape: u8,
    ending: Option<Ending>,
    /// Number of the line that was begun, from 1.
    pub(super) number: u64,
    /// Whether a line was begun; the number of its bytes that were looked at, and the state that
    /// they led to.
    is_begun: bool,
    scanned: usize,
    in_quotes: bool,
    after_escape: bool,
}

impl Lines {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            is_csv: options.format == Format::Csv,
            quote: options.quote,
            escape: options.escape,
            ending: None,
            number: 0,
            is_begun: false,
            scanned: 0,
            in_quotes: false,
            after_escape: false,
        }
    }

    /// Searches for the end of the line that `bytes` begin with; `is_all` says that no more will
    /// come.
    ///
    /// # Errors
    /// 22P04 for bytes that are no line.
    pub(super) fn cut(&mut self, bytes: &[u8], is_all: bool) -> Result<Cut> {
        if !self.is_begun && (is_all || !bytes.is_empty()) {
            self.is_begun = true;
            self.number += 1;
        }
        let cut = match self.is_csv {
            true => self.cut_csv(bytes, is_all)?,
            false => self.cut_text(bytes, is_all)?,
        };
        if cut != Cut::Awaited {
            self.is_begun = false;
            self.scanned = 0;
            self.in_quotes = false;
            self.after_escape = false;
        }
        Ok(cut)
    }

    fn cut_text(&mut self, bytes: &[u8], is_all: bool) -> Result<Cut> {
        while let Some(found) = memchr::memchr3(b'\n', b'\r', b'\\', &bytes[self.scanned..]) {
            let at = self.scanned + found;
            let cut = match (bytes[at], bytes.get(at + 1)) {
                (b'\\', Some(b'.')) => self.end_marker(bytes, at, is_all)?,
                (b'\\', Some(_)) => {
                    self.scanned = at + 2;
                    continue;
                }
                (b'\\', None) if is_all => {
                    self.scanned = at + 1;
                    continue;
                }
                (b'\\', None) => Some(Cut::Awaited),
                _ => self.line_end(bytes, at, is_all)?,
            };
            if cut == Some(Cut::Awaited) {
                self.scanned = at;
            }
            return Ok(cut.unwrap_or(Cut::Awaited));
        }
        Ok(self.rest(bytes, is_all))
    }

    fn cut_csv(&mut self, bytes: &[u8], is_all: bool) -> Result<Cut> {
        if self.scanned == 0 && bytes.first() == Some(&b'\\') {
            match bytes.get(1) {
                None if !is_all => return Ok(Cut::Awaited),
                Some(b'.') => {
                    if let Some(cut) = self.end_marker(bytes, 0, is_all)? {
                        return Ok(cut);
                    }
                }
                _ => {}
            }
        }
        // If both characters are one, a doubled quote ends the quotes and begins them again.
        let escape = if self.escape == self.quote {
            None
        } else {
            Some(self.escape)
        };
        let (quote, mut at) = (self.quote, self.scanned);
        while let Some(&byte) = bytes.get(at) {
            if byte == b'\n' || byte == b'\r' {
                if !self.in_quotes {
                    let cut = self.line_end(bytes, at, is_all)?.unwrap_or(Cut::Awaited);
                    self.scanned = at;
                    return Ok(cut);
                }
                let counted = match self.ending {
                    Some(Ending::Newline) => b'\n',
                    _ => b'\r',
                };
                self.number += u64::from(byte == counted);
            } else if self.in_quotes && Some(byte) == escape && !self.after_escape {
                self.after_escape = true;
                at += 1;
                continue;
            } else if byte == quote && !self.after_escape {
                self.in_quotes = !self.in_quotes;
            }
            self.after_escape = false;
            at += 1;
        }
        self.scanned = at;
        Ok(self.rest(bytes, is_all))
    }

    /// Returns the result for bytes without a line's end.
    fn rest(&mut self, bytes: &[u8], is_all: bool) -> Cut {
        match is_all {
            true => Cut::End {
                line: 0..bytes.len(),
            },
            false => {
                self.scanned = bytes.len();
                Cut::Awaited
            }
        }
    }

    /// Returns the line that ends at a newline or a carriage return outside quotes; `None` if the
    /// next byte decides.
    fn line_end(&mut self, bytes: &[u8], at: usize, is_all: bool) -> Result<Option<Cut>> {
        let ended = |ending_bytes| {
            Some(Cut::Line {
                line: 0..at,
                taken: at + ending_bytes,
            })
        };
        if bytes[at] == b'\n' {
            return match self.ending {
                None | Some(Ending::Newline) => {
                    self.ending = Some(Ending::Newline);
                    Ok(ended(1))
                }
                Some(_) => Err(self.stray("newline", "\\n")),
            };
        }
        match (self.ending, bytes.get(at + 1)) {
            (Some(Ending::Newline), _) => Err(self.stray("carriage return", "\\r")),
            (Some(Ending::Return), _) => Ok(ended(1)),
            (None | Some(Ending::Both), Some(b'\n')) => {
                self.ending = Some(Ending::Both);
                Ok(ended(2))
            }
            (_, None) if !is_all => Ok(None),
            (Some(Ending::Both), _) => Err(self.stray("carriage return", "\\r")),
            (None, _) => {
                self.ending = Some(Ending::Return);
                Ok(ended(1))
            }
        }
    }

    /// Returns the end of the data for a `\.`: `Cut::Awaited` if the next byte decides, `None` if
    /// it is data.
    ///
    /// CSV takes a marker for data where PostgreSQL does: at the end of all bytes, and behind lines of `\r\n` before
    /// another ending.
    fn end_marker(&self, bytes: &[u8], at: usize, is_all: bool) -> Result<Option<Cut>> {
        use Ending::{Both, Newline, Return};
        match (self.ending, &bytes[at + 2..]) {
            (_, []) | (Some(Both), [b'\r']) if !is_all => Ok(Some(Cut::Awaited)),
            (None | Some(Newline), [b'\n', ..])
            | (None | Some(Return), [b'\r', ..])
            | (Some(Both), [b'\r', b'\n', ..]) => Ok(Some(Cut::End { line: 0..at })),
            (Some(Newline), [b'\r', ..])
            | (Some(Return), [b'\n', ..])
            | (Some(Both), [b'\r', b'\r', ..]) => Err(bad(OTHER_ENDING)),
            _ if self.is_csv => Ok(None),
            (Some(Both), [b'\n', ..]) => Err(bad(OTHER_ENDING)),
            _ => Err(bad("end-of-copy marker corrupt")),
        }
    }

    fn stray(&self, what: &str, written: &str) -> SqlError {
        match self.is_csv {
            true => bad(format!("unquoted {what} found in data"))
                .hint(format!("Use quoted CSV field to represent {what}.")),
            false => bad(format!("literal {what} found in data"))
                .hint(format!("Use \"{written}\" to represent {what}.")),
        }
    }
}
