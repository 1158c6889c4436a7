//! Values of one column, collected for a block.

use crate::{CellError, ROWS_MAX, words::is_set};

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integers,
    Decimals,
    Bytes,
}

/// Values of one column, in the order of their rows.
///
/// An absent row gets the number of the next row that has one or, at the end, of the last one, and widens no range.
/// Invariant: the lists of the column's kind have at most `rows` items; items for absent rows at the end are lacking.
#[derive(Debug, Default)]
pub struct Cells {
    /// Kind of the values; `None` as long as there are none.
    kind: Option<Kind>,
    rows: usize,
    /// Marks of absent rows, as far as the last one.
    absent: Vec<u64>,
    numbers: Vec<i64>,
    scales: Vec<i64>,
    heap: Vec<u8>,
    /// Ends of values in the heap.
    ends: Vec<u32>,
}

impl Cells {
    /// Adds a row without a value.
    ///
    /// # Errors
    /// [`CellError`] if the column is full, or memory is lacking.
    #[inline]
    pub fn absent(&mut self) -> Result<(), CellError> {
        self.check_room()?;
        let word = self.rows / 64;
        if word >= self.absent.len() {
            let more = word + 1 - self.absent.len();
            self.absent
                .try_reserve(more)
                .map_err(|_| CellError::Memory)?;
            self.absent.resize(word + 1, 0);
        }
        self.absent[word] |= 1 << (self.rows % 64);
        self.rows += 1;
        Ok(())
    }

    /// Adds a row with an integer.
    ///
    /// # Errors
    /// [`CellError`] if the column has values of another kind or is full, or memory is lacking.
    #[inline]
    pub fn integer(&mut self, value: i64) -> Result<(), CellError> {
        self.check(Kind::Integers)?;
        reserve(&mut self.numbers, self.rows)?;
        push(&mut self.numbers, self.rows, value, value);
        self.done(Kind::Integers);
        Ok(())
    }

    /// Adds a row with the decimal `number * 10 ^ -scale`.
    ///
    /// # Errors
    /// [`CellError`] if the column has values of another kind or is full, or memory is lacking.
    #[inline]
    pub fn decimal(&mut self, number: i64, scale: u8) -> Result<(), CellError> {
        self.check(Kind::Decimals)?;
        let scale = i64::from(scale);
        reserve(&mut self.scales, self.rows)?;
        reserve(&mut self.numbers, self.rows)?;
        push(&mut self.scales, self.rows, scale, scale);
        push(&mut self.numbers, self.rows, number, number);
        self.done(Kind::Decimals);
        Ok(())
    }

    /// Adds a row with a list of bytes.
    ///
    /// # Errors
    /// [`CellError`] if the column has values of another kind or is full, or memory is lacking.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Result<(), CellError> {
        self.check(Kind::Bytes)?;
        let start = self.heap.len();
        let end = u32::try_from(start + value.len()).map_err(|_| CellError::Full)?;
        self.heap
            .try_reserve(value.len())
            .map_err(|_| CellError::Memory)?;
        reserve(&mut self.ends, self.rows)?;
        push(&mut self.ends, self.rows, start as u32, end);
        self.heap.extend_from_slice(value);
        self.done(Kind::Bytes);
        Ok(())
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    fn check_room(&self) -> Result<(), CellError> {
        if self.rows < ROWS_MAX {
            Ok(())
        } else {
            Err(CellError::Full)
        }
    }

    #[inline]
    fn check(&self, kind: Kind) -> Result<(), CellError> {
        self.check_room()?;
        match self.kind {
            Some(other) if other != kind => Err(CellError::Mixed),
            _ => Ok(()),
        }
    }

    #[inline]
    fn done(&mut self, kind: Kind) {
        self.kind = Some(kind);
        self.rows += 1;
    }

    /// Forgets all rows, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.kind = None;
        self.rows = 0;
        self.absent.clear();
        self.numbers.clear();
        self.scales.clear();
        self.heap.clear();
        self.ends.clear();
    }

    /// Returns the kind, after all lists have been given an item for each row.
    pub(crate) fn complete(&mut self) -> Result<Option<Kind>, std::collections::TryReserveError> {
        let rows = self.rows;
        match self.kind {
            None => {}
            Some(Kind::Bytes) => complete(&mut self.ends, rows)?,
            Some(Kind::Integers) => complete(&mut self.numbers, rows)?,
            Some(Kind::Decimals) => {
                complete(&mut self.numbers, rows)?;
                complete(&mut self.scales, rows)?;
            }
        }
        Ok(self.kind)
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Returns the marks of absent rows, as far as the last one; nothing if all rows have values.
    pub(crate) fn marks(&self) -> &[u64] {
        &self.absent
    }

    /// Returns whether a row has no value.
    pub(crate) fn is_absent(&self, row: usize) -> bool {
        row / 64 < self.absent.len() && is_set(&self.absent, row)
    }

    pub(crate) fn numbers(&self) -> &[i64] {
        &self.numbers
    }

    pub(crate) fn scales(&self) -> &[i64] {
        &self.scales
    }

    pub(crate) fn heap(&self) -> &[u8] {
        &self.heap
    }

    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Returns the bytes of a row; an empty list if it has no value.
    pub(crate) fn row_bytes(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.heap[start as usize..self.ends[row] as usize]
    }
}

/// Makes room in a list for an item behind those of `rows` rows.
#[inline]
fn reserve<T>(list: &mut Vec<T>, rows: usize) -> Result<(), CellError> {
    if list.capacity() <= rows {
        list.try_reserve(rows + 1 - list.len())
            .map_err(|_| CellError::Memory)?;
    }
    Ok(())
}

/// Makes a list `rows` long by fillers, and adds an item. There is room for both.
#[inline]
fn push<T: Copy>(list: &mut Vec<T>, rows: usize, filler: T, item: T) {
    if list.len() != rows {
        list.resize(rows, filler);
    }
    list.push(item);
}

/// Makes a list `rows` long by its last item, if it has one.
fn complete<T: Copy>(
    list: &mut Vec<T>,
    rows: usize,
) -> Result<(), std::collections::TryReserveError> {
    if let Some(&last) = list.last() {
        list.try_reserve(rows.saturating_sub(list.len()))?;
        list.resize(rows, last);
    }
    Ok(())
}
