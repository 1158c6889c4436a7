//! Integers of a column.

use std::ops::Range;

use crate::{
    codes::PackedSlice,
    entry::{Encoding, Stream},
    words::{integers_of, is_set},
};

/// The integers of a column.
///
/// The value of an absent row is 0; differences and codes of absent rows are those of any value.
#[derive(Clone, Copy, Debug)]
pub struct Integers<'b> {
    form: Form<'b>,
    rows: usize,
    absent: Option<&'b [u64]>,
    least: i64,
    greatest: i64,
}

#[derive(Clone, Copy, Debug)]
enum Form<'b> {
    Constant,
    /// Differences from the least value.
    Packed(PackedSlice<'b>),
    Dictionary(IntegerDictionary<'b>),
    Plain(&'b [i64]),
}

/// Distinct integers in ascending order, and the code of each row: the place of its value. Codes compare as values do.
#[derive(Clone, Copy, Debug)]
pub struct IntegerDictionary<'b> {
    entries: &'b [i64],
    codes: PackedSlice<'b>,
}

impl<'b> IntegerDictionary<'b> {
    /// Returns the values, in ascending order.
    pub fn entries(&self) -> &'b [i64] {
        self.entries
    }

    /// Returns the code of each row.
    pub fn codes(&self) -> PackedSlice<'b> {
        self.codes
    }

    /// Returns the value of a code; 0 for a code that no value has, as rows of a damaged segment may have.
    #[inline]
    pub fn entry(&self, code: u32) -> i64 {
        self.entries.get(code as usize).copied().unwrap_or(0)
    }
}

impl<'b> Integers<'b> {
    /// Makes the integers of a stream whose words are the first of `words`.
    pub(crate) fn new(
        stream: &Stream,
        words: &'b [u64],
        rows: usize,
        absent: Option<&'b [u64]>,
    ) -> Self {
        let codes = || {
            PackedSlice::new(words, rows, stream.width).expect("the words were checked by `open`")
        };
        let form = match stream.encoding {
            Encoding::Constant => Form::Constant,
            Encoding::Packed => Form::Packed(codes()),
            Encoding::Dictionary => {
                let entries = &words[stream.code_words(rows)..];
                Form::Dictionary(IntegerDictionary {
                    entries: integers_of(&entries[..stream.entries]),
                    codes: codes(),
                })
            }
            Encoding::Plain => Form::Plain(integers_of(&words[..rows])),
        };
        Self {
            form,
            rows,
            absent,
            least: stream.least,
            greatest: stream.greatest,
        }
    }

    /// Returns the value of a row; 0 if it is absent.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        assert!(row < self.rows, "there are {} rows", self.rows);
        if self.absent.is_some_and(|absent| is_set(absent, row)) {
            return 0;
        }
        match &self.form {
            Form::Constant => self.least,
            Form::Packed(codes) => self.above_least(codes.get(row)),
            Form::Dictionary(dictionary) => dictionary.entry(dictionary.codes.get(row)),
            Form::Plain(values) => values[row],
        }
    }

    /// Returns the least value.
    pub fn least(&self) -> i64 {
        self.least
    }

    /// Returns the greatest value.
    pub fn greatest(&self) -> i64 {
        self.greatest
    }

    /// Returns the value of all rows that have one, if it is the same.
    pub fn constant(&self) -> Option<i64> {
        matches!(self.form, Form::Constant).then_some(self.least)
    }

    /// Returns the least value and the difference of each row's value from it, if they are kept in this form.
    pub fn packed(&self) -> Option<(i64, PackedSlice<'b>)> {
        match self.form {
            Form::Packed(codes) => Some((self.least, codes)),
            _ => None,
        }
    }

    /// Returns the distinct values and the code of each row, if they are kept in this form.
    pub fn dictionary(&self) -> Option<IntegerDictionary<'b>> {
        match self.form {
            Form::Dictionary(dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// Appends the values of some rows; 0 for absent ones. Room for them is better reserved before: the vector grows
    /// as vectors do.
    ///
    /// # Panics
    /// Panics if there are fewer rows.
    pub fn read(&self, rows: Range<usize>, to: &mut Vec<i64>) {
        assert!(rows.end <= self.rows, "there are {} rows", self.rows);
        if rows.is_empty() {
            return;
        }
        let first = to.len();
        to.reserve(rows.len());
        match &self.form {
            Form::Constant => to.resize(first + rows.len(), self.least),
            Form::Packed(codes) => codes.each_block(rows.clone(), |codes| {
                to.extend(codes.iter().map(|&code| self.above_least(code)));
            }),
            Form::Dictionary(dictionary) => dictionary.codes.each_block(rows.clone(), |codes| {
                to.extend(codes.iter().map(|&code| dictionary.entry(code)));
            }),
            Form::Plain(values) => to.extend_from_slice(&values[rows.clone()]),
        }
        if let Some(absent) = self.absent {
            clear(&mut to[first..], rows.start, absent);
        }
    }

    /// Appends the values of the rows at `positions`, in their order; 0 for absent rows. Room for them is better
    /// reserved before: the vector grows as vectors do.
    ///
    /// # Panics
    /// Panics if there is no row at a position.
    pub fn gather(&self, positions: &[u32], to: &mut Vec<i64>) {
        let first = to.len();
        let rows = positions.iter().map(|&position| position as usize);
        match &self.form {
            Form::Constant => {
                let is_in = rows.clone().all(|row| row < self.rows);
                assert!(is_in, "there are {} rows", self.rows);
                to.resize(first + positions.len(), self.least);
            }
            Form::Packed(codes) => to.extend(rows.map(|row| self.above_least(codes.get(row)))),
            Form::Dictionary(dictionary) => {
                to.extend(rows.map(|row| dictionary.entry(dictionary.codes.get(row))));
            }
            Form::Plain(values) => to.extend(rows.map(|row| values[row])),
        }
        if let Some(absent) = self.absent {
            for (value, &position) in to[first..].iter_mut().zip(positions) {
                if is_set(absent, position as usize) {
                    *value = 0;
                }
            }
        }
    }

    /// Returns the value that is `code` above the least one. A sum beyond the greatest integer is that of a damaged
    /// block.
    #[inline]
    fn above_least(&self, code: u32) -> i64 {
        self.least.wrapping_add(i64::from(code))
    }
}

/// Puts 0 for the absent rows among those that begin at `first`.
fn clear(values: &mut [i64], first: usize, absent: &[u64]) {
    let end = first + values.len();
    for (number, &mark) in absent
        .iter()
        .enumerate()
        .take(end.div_ceil(64))
        .skip(first / 64)
    {
        let mut left = mark;
        while left != 0 {
            let row = number * 64 + left.trailing_zeros() as usize;
            if (first..end).contains(&row) {
                values[row - first] = 0;
            }
            left &= left - 1;
        }
    }
}
