//! Blocks of rows by columns, opened from their words.

use std::fmt;

use crate::{
    ROWS_MAX, SegmentError,
    bytes::Bytes,
    codes::PADDING,
    entry::{Content, Entry, Header},
    integers::Integers,
    words::{bytes_of, is_set},
};

/// An immutable block: a number of rows by columns, in one list of words.
///
/// Invariant: the directory was checked (`entry::Opened::check`), and all that it names is there.
pub struct Block {
    words: Vec<u64>,
    rows: usize,
    columns: usize,
}

impl Block {
    /// Opens the words of a block. The segments' checksums are left to [`Block::verify`]: reading a damaged segment
    /// gives wrong values and wrong codes, but does not panic.
    ///
    /// # Errors
    /// [`SegmentError`] if the words are not those of a block, or its directory is damaged.
    pub fn open(words: Vec<u64>) -> Result<Block, SegmentError> {
        let opened = Header::read(&words)?;
        check_length(&words, opened.block_words)?;
        opened.check(&words)?;
        // The directory's places end where these words begin.
        if words[words.len() - PADDING..].iter().any(|&word| word != 0) {
            return Err(SegmentError::Directory);
        }
        let header = opened.header;
        Ok(Block {
            words,
            rows: header.rows,
            columns: header.columns,
        })
    }

    /// Checks the checksums of all segments.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`] names the first damaged column.
    pub fn verify(&self) -> Result<(), SegmentError> {
        (0..self.columns).try_for_each(|column| self.verify_column(column))
    }

    /// Checks the checksum of a column's segment.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`] if the segment is damaged.
    ///
    /// # Panics
    /// Panics if there is no such column.
    pub fn verify_column(&self, column: usize) -> Result<(), SegmentError> {
        let entry = self.entry(column);
        let segment = &self.words[entry.first..][..entry.words(self.rows)];
        entry.verify(segment, column)
    }

    /// Returns the number of rows: at most [`ROWS_MAX`].
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns all words, from which the block can be opened again on a machine of the same byte order.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the words as bytes, in the order of the machine.
    pub fn bytes(&self) -> &[u8] {
        bytes_of(&self.words)
    }

    /// Returns the bytes of memory that the block takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.words.capacity() * size_of::<u64>()
    }

    /// Returns a column.
    ///
    /// # Panics
    /// Panics if there is no such column.
    pub fn column(&self, column: usize) -> Column<'_> {
        let entry = self.entry(column);
        Column::new(&self.words, &self.words[entry.first..], self.rows, entry)
    }

    fn entry(&self, column: usize) -> Entry {
        assert!(column < self.columns, "there are {} columns", self.columns);
        Entry::of_column(&self.words, column, self.rows)
    }
}

/// Checks the number of words of a block, or of a directory.
pub(crate) fn check_length(words: &[u64], expected: usize) -> Result<(), SegmentError> {
    match words.len() == expected {
        true => Ok(()),
        false => Err(SegmentError::Length {
            words: words.len(),
            expected,
        }),
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("rows", &self.rows)
            .field("columns", &self.columns)
            .field("words", &self.words.len())
            .finish_non_exhaustive()
    }
}

/// Marks of a column without any value.
static ALL_ABSENT: [u64; ROWS_MAX / 64] = [u64::MAX; ROWS_MAX / 64];

/// A column of a block.
#[derive(Clone, Copy, Debug)]
pub struct Column<'b> {
    directory: &'b [u64],
    /// Words from the first of the column's segment on: those of the segment, and at least [`PADDING`] behind them.
    segment: &'b [u64],
    rows: usize,
    entry: Entry,
}

impl<'b> Column<'b> {
    pub(crate) fn new(
        directory: &'b [u64],
        segment: &'b [u64],
        rows: usize,
        entry: Entry,
    ) -> Column<'b> {
        Column {
            directory,
            segment,
            rows,
            entry,
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns a bit for each row, least significant first, which is set if the row has no value; `None` if all rows
    /// have one. Bits behind the last row mean nothing. A column that was built without rows has an empty list.
    pub fn absent(&self) -> Option<&'b [u64]> {
        match self.entry.content {
            Content::Absent => Some(&ALL_ABSENT[..self.rows.div_ceil(64)]),
            _ if self.entry.has_absent => Some(&self.segment[..self.entry.absent_words(self.rows)]),
            _ => None,
        }
    }

    /// Returns whether a row has no value.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn is_absent(&self, row: usize) -> bool {
        assert!(row < self.rows, "there are {} rows", self.rows);
        self.absent().is_some_and(|absent| is_set(absent, row))
    }

    /// Returns the bytes of the column's segment.
    pub fn bytes(&self) -> usize {
        self.entry.words(self.rows) * size_of::<u64>()
    }

    /// Returns the values.
    pub fn values(&self) -> Values<'b> {
        let absent = self.absent();
        let words = &self.segment[self.entry.absent_words(self.rows)..];
        match &self.entry.content {
            Content::Absent => Values::Absent,
            Content::Integers(stream) => {
                Values::Integers(Integers::new(stream, words, self.rows, absent))
            }
            Content::Decimals(numbers, scales) => Values::Decimals {
                numbers: Integers::new(numbers, words, self.rows, absent),
                scales: Integers::new(
                    scales,
                    &words[numbers.words(self.rows)..],
                    self.rows,
                    absent,
                ),
            },
            Content::Bytes(texts) => {
                let bounds = &self.directory[texts.bounds..];
                Values::Bytes(Bytes::new(texts, words, bounds, self.rows, absent))
            }
        }
    }
}

/// The values of a column, by their kind.
#[derive(Clone, Copy, Debug)]
pub enum Values<'b> {
    /// No row has a value.
    Absent,
    /// Integers.
    Integers(Integers<'b>),
    /// Decimals: `number * 10 ^ -scale`.
    Decimals {
        /// The numbers.
        numbers: Integers<'b>,
        /// The scales, 0 to 255; rows of a damaged segment may have others, whatever the bounds say.
        scales: Integers<'b>,
    },
    /// Lists of bytes.
    Bytes(Bytes<'b>),
}
