//! Blocks, made of values.

use crate::{
    Block, CellError, Cells, SegmentError,
    cells::Kind,
    codes::PADDING,
    encode::{self, Scratch},
    entry::{BOUNDS_WORDS, Content, ENTRY_WORDS, Entry, HEADER_WORDS, Header},
    words::checksum,
};

/// Makes blocks: takes the values of each column, then encodes column by column.
#[derive(Debug, Default)]
pub struct Builder {
    columns: Vec<Cells>,
    /// Words of the block, as far as it is encoded.
    words: Vec<u64>,
    stage: Stage,
    scratch: Scratch,
}

#[derive(Debug, Default)]
enum Stage {
    /// Values come in.
    #[default]
    Collecting,
    /// Columns are encoded.
    Encoding {
        header: Header,
        /// Columns that are encoded.
        done: usize,
        /// Words that they have, with the directory.
        end: usize,
        /// Place of the next bounds.
        bounds: usize,
    },
}

impl Builder {
    /// Makes a builder of blocks of a number of columns.
    ///
    /// # Errors
    /// [`SegmentError`] if there are more than 65,535 columns, or memory is lacking.
    pub fn new(columns: usize) -> Result<Builder, SegmentError> {
        let mut builder = Builder::default();
        builder.restart(columns)?;
        Ok(builder)
    }

    /// Returns the values of a column, to be added to.
    ///
    /// # Panics
    /// Panics if there is no such column, or columns have been encoded since [`Builder::clear`].
    #[inline]
    pub fn cells(&mut self, column: usize) -> &mut Cells {
        self.assert_collecting();
        &mut self.columns[column]
    }

    /// Panics if columns have been encoded since [`Builder::clear`].
    #[inline]
    fn assert_collecting(&self) {
        assert!(
            matches!(self.stage, Stage::Collecting),
            "a block that is being encoded takes no values"
        );
    }

    /// Forgets all values and encoded columns, and keeps their memory for another block.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Cells::clear);
        self.words.clear();
        self.stage = Stage::Collecting;
    }

    /// Forgets all values and encoded columns, as [`Builder::clear`] does, for a block of another number of columns.
    ///
    /// # Errors
    /// [`SegmentError`] as of [`Builder::new`]; the builder is as it was.
    pub fn restart(&mut self, columns: usize) -> Result<(), SegmentError> {
        if columns > usize::from(u16::MAX) {
            return Err(SegmentError::TooManyColumns(columns));
        }
        self.columns
            .try_reserve_exact(columns.saturating_sub(self.columns.len()))?;
        self.columns.resize_with(columns, Cells::default);
        self.clear();
        Ok(())
    }

    /// Gives all columns rows without a value, until they have `rows`.
    ///
    /// # Errors
    /// [`CellError`] if a column is full, or memory is lacking; rows may have been added.
    ///
    /// # Panics
    /// Panics if columns have been encoded since [`Builder::clear`].
    pub fn fill_to(&mut self, rows: usize) -> Result<(), CellError> {
        self.assert_collecting();
        for cells in &mut self.columns {
            while cells.rows() < rows {
                cells.absent()?;
            }
        }
        Ok(())
    }

    /// Encodes the next column. Returns `false` if all have been encoded.
    ///
    /// # Errors
    /// [`SegmentError`] if the columns have different numbers of rows, memory is lacking, or the block is too large.
    /// The call may be tried again when rows were added or memory was freed; a block that is too large stays so until
    /// [`Builder::clear`].
    pub fn encode_next(&mut self) -> Result<bool, SegmentError> {
        if let Stage::Collecting = self.stage {
            self.stage = self.begin()?;
        }
        let Stage::Encoding {
            header,
            done,
            end,
            bounds,
        } = &mut self.stage
        else {
            return Ok(false);
        };
        let Some(cells) = self.columns.get_mut(*done) else {
            return Ok(false);
        };
        // A column that failed may have left words.
        let first = *end;
        self.words.truncate(first);
        let entry = encode_column(cells, *bounds, &mut self.scratch, &mut self.words)?;
        debug_assert_eq!(self.words.len() - first, entry.words(header.rows));
        let encoded = entry.encode().ok_or(SegmentError::TooLarge)?;
        self.words[HEADER_WORDS + *done * ENTRY_WORDS..][..ENTRY_WORDS].copy_from_slice(&encoded);
        if let Content::Bytes(_) = entry.content {
            *bounds += BOUNDS_WORDS;
        }
        *done += 1;
        *end = self.words.len();
        Ok(true)
    }

    /// Encodes the columns that are left, and returns the block. The builder takes values again after
    /// [`Builder::clear`].
    ///
    /// # Errors
    /// [`SegmentError`] as of [`Builder::encode_next`], after which the call may be tried again on the same terms.
    pub fn finish(&mut self) -> Result<Block, SegmentError> {
        while self.encode_next()? {}
        let Stage::Encoding { header, end, .. } = self.stage else {
            unreachable!("columns have been encoded");
        };
        let first = header.encode(end + PADDING)?;
        let mut words = Vec::new();
        words.try_reserve_exact(end + PADDING)?;
        words.extend_from_slice(&self.words[..end]);
        words.resize(end + PADDING, 0);
        words[..first.len()].copy_from_slice(&first);
        header.seal(&mut words);
        Block::open(words)
    }

    /// Makes room for the directory.
    fn begin(&mut self) -> Result<Stage, SegmentError> {
        let expected = self.columns.first().map_or(0, Cells::rows);
        for (column, cells) in self.columns.iter().enumerate() {
            if cells.rows() != expected {
                return Err(SegmentError::Rows {
                    column,
                    rows: cells.rows(),
                    expected,
                });
            }
        }
        let columns = self.columns.len();
        let is_bytes = |cells: &&Cells| cells.kind() == Some(Kind::Bytes);
        let bounded = self.columns.iter().filter(is_bytes).count();
        let bounds = HEADER_WORDS + columns * ENTRY_WORDS;
        let end = bounds + bounded * BOUNDS_WORDS;
        self.words.clear();
        self.words.try_reserve(end)?;
        self.words.resize(end, 0);
        Ok(Stage::Encoding {
            header: Header {
                rows: expected,
                columns,
                directory_words: end,
            },
            done: 0,
            end,
            bounds,
        })
    }
}

/// Appends the segment of a column, and writes its bounds to place `bounds` if it has any.
fn encode_column(
    cells: &mut Cells,
    bounds: usize,
    scratch: &mut Scratch,
    words: &mut Vec<u64>,
) -> Result<Entry, SegmentError> {
    let first = words.len();
    let kind = cells.complete()?;
    let has_absent = kind.is_some() && !cells.marks().is_empty();
    if has_absent {
        let marks = cells.rows().div_ceil(64);
        words.try_reserve(marks)?;
        words.extend_from_slice(cells.marks());
        words.resize(first + marks, 0);
    }
    let content = match kind {
        None => Content::Absent,
        Some(Kind::Integers) => {
            Content::Integers(encode::integers(cells.numbers(), scratch, words)?)
        }
        Some(Kind::Decimals) => Content::Decimals(
            encode::integers(cells.numbers(), scratch, words)?,
            encode::integers(cells.scales(), scratch, words)?,
        ),
        Some(Kind::Bytes) => Content::Bytes(encode::texts(cells, bounds, scratch, words)?),
    };
    Ok(Entry {
        content,
        has_absent,
        first,
        checksum: checksum(&[&words[first..]]),
    })
}
