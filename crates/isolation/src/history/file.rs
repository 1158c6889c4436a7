//! Histories as files: JSON lines, a header first, then one transaction per line.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::Transaction;

/// Version of the format.
pub const FORMAT: u32 = 1;

/// The first line of a history file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format: [`FORMAT`].
    #[serde(rename = "weft-history")]
    pub format: u32,
    /// Origin of the history, for display.
    #[serde(default)]
    pub made_by: String,
    /// Isolation level that the history ran at, if stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

/// Reasons why a history cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Reading failed.
    #[error("the history cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A line cannot be parsed.
    #[error("line {line} of the history is not understood: {error}")]
    Line {
        /// Number of the line, counted from one.
        line: usize,
        /// The parser's error.
        error: serde_json::Error,
    },
    /// The file has another version of the format.
    #[error(
        "the history has format {found}; this version reads format {FORMAT}, so use the version that wrote it"
    )]
    Format {
        /// The version found.
        found: u32,
    },
    /// The file has no line at all.
    #[error("the history is empty; its first line should be a header")]
    Empty,
}

/// Writes a history.
///
/// # Errors
/// Fails if writing to `output` fails.
pub fn write(
    output: &mut impl Write,
    header: &Header,
    transactions: &[Transaction],
) -> io::Result<()> {
    serde_json::to_writer(&mut *output, header)?;
    output.write_all(b"\n")?;
    for transaction in transactions {
        serde_json::to_writer(&mut *output, transaction)?;
        output.write_all(b"\n")?;
    }
    output.flush()
}

/// Reads a history.
///
/// # Errors
/// Fails if reading from `input` fails, or its content is no history of this
/// format: see [`FileError`].
pub fn read(input: impl BufRead) -> Result<(Header, Vec<Transaction>), FileError> {
    let mut lines = input.lines().enumerate();
    let understood = |line: usize| move |error| FileError::Line { line, error };
    let (number, first) = lines.next().ok_or(FileError::Empty)?;
    let header: Header = serde_json::from_str(&first?).map_err(understood(number + 1))?;
    if header.format != FORMAT {
        return Err(FileError::Format {
            found: header.format,
        });
    }
    let mut transactions = Vec::new();
    for (number, line) in lines {
        let line = line?;
        if !line.is_empty() {
            transactions.push(serde_json::from_str(&line).map_err(understood(number + 1))?);
        }
    }
    Ok((header, transactions))
}
