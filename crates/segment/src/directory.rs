//! The directory of a block without its segments, and single segments: a reader has the columns in memory that it
//! needs.

use std::{fmt, ops::Range};

use crate::{
    Block, Column, SegmentError,
    block::check_length,
    codes::PADDING,
    entry::{Content, Entry, Header},
};

const WORD_BYTES: usize = size_of::<u64>();

/// What a block says of its columns: shape, forms, bounds, and the places of their segments.
///
/// Invariant: the words are a directory that was checked (`entry::Opened::check`).
pub struct Directory {
    words: Box<[u64]>,
    rows: usize,
    columns: usize,
    block_words: usize,
}

/// Values of one column of a block.
pub struct Segment {
    /// The column's words, and [`PADDING`] words of 0 for readers of whole vectors.
    words: Box<[u64]>,
}

impl Directory {
    /// Opens a directory: the first words of a block.
    ///
    /// # Errors
    /// [`SegmentError`] if the words are not those of a directory, or it is damaged.
    pub fn open(words: Vec<u64>) -> Result<Directory, SegmentError> {
        let opened = Header::read(&words)?;
        check_length(&words, opened.header.directory_words)?;
        opened.check(&words)?;
        Ok(Directory {
            words: words.into_boxed_slice(),
            rows: opened.header.rows,
            columns: opened.header.columns,
            block_words: opened.block_words,
        })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of bytes of the block.
    pub fn block_bytes(&self) -> usize {
        self.block_words * WORD_BYTES
    }

    /// Returns the bytes of memory that the directory takes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Returns the bytes of the block ([`Block::bytes`]) that are the segment of a column. Columns follow each other.
    ///
    /// # Panics
    /// Panics if there is no such column.
    pub fn place(&self, column: usize) -> Range<usize> {
        let entry = self.entry(column);
        let end = entry.first + entry.words(self.rows);
        entry.first * WORD_BYTES..end * WORD_BYTES
    }

    /// Makes the segment of a column of the bytes at its place.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`] if the bytes are damaged; [`SegmentError::Memory`] if memory is lacking.
    ///
    /// # Panics
    /// Panics if there is no such column, or the bytes are not as many as its place has.
    pub fn segment(&self, column: usize, bytes: &[u8]) -> Result<Segment, SegmentError> {
        let entry = self.entry(column);
        let (words, behind) = bytes.as_chunks::<WORD_BYTES>();
        let is_whole = words.len() == entry.words(self.rows) && behind.is_empty();
        assert!(is_whole, "{} bytes of a segment", bytes.len());
        let mut padded = Vec::new();
        padded.try_reserve_exact(words.len() + PADDING)?;
        padded.extend(words.iter().map(|word| u64::from_ne_bytes(*word)));
        entry.verify(&padded, column)?;
        padded.resize(words.len() + PADDING, 0);
        Ok(Segment {
            words: padded.into_boxed_slice(),
        })
    }

    /// Returns a column, whose segment was made by this directory, or by that of an equal block.
    ///
    /// # Panics
    /// Panics if there is no such column, or its segment has another number of words.
    pub fn column<'b>(&'b self, column: usize, segment: &'b Segment) -> Column<'b> {
        let entry = self.entry(column);
        let words = entry.words(self.rows) + PADDING;
        assert_eq!(segment.words.len(), words, "words of a segment");
        Column::new(&self.words, &segment.words, self.rows, entry)
    }

    /// Returns the least and the greatest integer of a column; `None` if it has no integers.
    ///
    /// # Panics
    /// Panics if there is no such column.
    pub fn integer_bounds(&self, column: usize) -> Option<[i64; 2]> {
        match self.entry(column).content {
            Content::Integers(stream) => Some([stream.least, stream.greatest]),
            Content::Absent | Content::Decimals(..) | Content::Bytes(_) => None,
        }
    }

    fn entry(&self, column: usize) -> Entry {
        assert!(column < self.columns, "there are {} columns", self.columns);
        Entry::of_column(&self.words, column, self.rows)
    }
}

impl Segment {
    /// Returns the bytes of memory that the segment takes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

impl Block {
    /// Returns a copy of the block's directory.
    ///
    /// # Errors
    /// [`SegmentError::Memory`] if memory is lacking.
    pub fn directory(&self) -> Result<Directory, SegmentError> {
        let directory_words = Header::read(self.words())?.header.directory_words;
        let mut words = Vec::new();
        words.try_reserve_exact(directory_words)?;
        words.extend_from_slice(&self.words()[..directory_words]);
        Directory::open(words)
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory")
            .field("rows", &self.rows)
            .field("columns", &self.columns)
            .field("block_words", &self.block_words)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("words", &self.words.len())
            .finish_non_exhaustive()
    }
}
