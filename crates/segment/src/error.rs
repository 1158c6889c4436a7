//! Reasons why a value or a block was refused.

use std::{collections::TryReserveError, error::Error, fmt};

use crate::ROWS_MAX;

/// Reason why a column did not take a value. The column is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellError {
    /// The column has values of another kind: its rows are not to be kept in a block.
    Mixed,
    /// The column has [`ROWS_MAX`] rows, or its values would have 4 GiB or more.
    Full,
    /// There is not enough memory. The call may be tried again.
    Memory,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellError::Mixed => {
                f.write_str("a column of a block has values of one kind; keep these rows as rows")
            }
            CellError::Full => write!(
                f,
                "a column of a block has {ROWS_MAX} rows and less than 4 GiB; begin another block"
            ),
            CellError::Memory => f.write_str("there is no memory for the value"),
        }
    }
}

impl Error for CellError {}

/// Reason why a block was not built, or its words are not those of a sound block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentError {
    /// There is not enough memory. The call may be tried again.
    Memory(TryReserveError),
    /// A block has at most 65,535 columns.
    TooManyColumns(usize),
    /// The block would have 2^32 words or more.
    TooLarge,
    /// A column has another number of rows than the first.
    Rows {
        /// Number of the column.
        column: usize,
        /// Rows of the column.
        rows: usize,
        /// Rows of the first column.
        expected: usize,
    },
    /// The words are not those of a block, or come from a machine with another order of bytes.
    NotABlock,
    /// The block has a layout of another version.
    Version(u16),
    /// The block has another number of words than it says.
    Length {
        /// Words that there are.
        words: usize,
        /// Words that the block says.
        expected: usize,
    },
    /// The directory does not have its checksum, its lengths contradict each other, or the words behind the last
    /// segment are not eight words of 0.
    Directory,
    /// The directory's entry of a column contradicts itself.
    Column(usize),
    /// The segment of a column does not have its checksum.
    Checksum(usize),
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SegmentError::Memory(error) => write!(f, "there is no memory for a block: {error}"),
            SegmentError::TooManyColumns(columns) => {
                write!(f, "a block has at most {} columns, not {columns}", u16::MAX)
            }
            SegmentError::TooLarge => {
                f.write_str("a block has less than 32 GiB; put fewer rows into it")
            }
            SegmentError::Rows {
                column,
                rows,
                expected,
            } => write!(
                f,
                "column {column} has {rows} rows, the first column {expected}; give each row to all columns"
            ),
            SegmentError::NotABlock => f.write_str("the words are not those of a block"),
            SegmentError::Version(version) => {
                write!(
                    f,
                    "the block's layout has version {version}, which is unknown"
                )
            }
            SegmentError::Length { words, expected } => {
                write!(f, "the block has {words} words of {expected}")
            }
            SegmentError::Directory => f.write_str("the block's directory is damaged"),
            SegmentError::Column(column) => {
                write!(f, "the block's entry of column {column} is damaged")
            }
            SegmentError::Checksum(column) => {
                write!(f, "the block's segment of column {column} is damaged")
            }
        }
    }
}

impl Error for SegmentError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SegmentError::Memory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TryReserveError> for SegmentError {
    fn from(error: TryReserveError) -> Self {
        SegmentError::Memory(error)
    }
}
