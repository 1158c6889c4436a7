//! Rows in memory with the values that they borrow: what operators hand to each other.
//!
//! # Safety argument
//! The values of [`Rows`] borrow from its own arena, which a lifetime cannot say: they are kept as
//! `Value<'static>`. This module alone sees them so. They get in as copies into the arena
//! ([`Rows::push`], `kept`), and come out with the lifetime of a borrow of the `Rows` ([`Rows::row`]),
//! during which the arena is neither reset nor dropped. The arena does not move what it has given
//! out when the `Rows` moves. Copies that would leave the arena are made by `Value::copied`.

use std::rc::Rc;

use interleave::{Policy as _, Prefetching};
use types::{Charge, Memory, Result, Scratch, Value, row::Taking};

/// Rows that operators hand over at once, as a rule.
pub(crate) const BATCH_ROWS: usize = 256;

/// Bytes beyond the rows' own width that operators hand over at once: about so many, and a row.
const BYTES_MAX: usize = 1 << 20;

/// In place of a row's number: there is none.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Rows of the same width, with memory of their own.
#[derive(Default)]
pub(crate) struct Rows {
    /// Row by row. Dropped before the arena; values have no destructors.
    values: Vec<Value<'static>>,
    width: usize,
    rows: usize,
    arena: Scratch,
    /// What the list of values takes; the arena has a charge of its own.
    charge: Charge,
}

impl Rows {
    /// None yet, of so many values each.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Adds a row: its values are copied.
    ///
    /// # Panics
    /// If it has not the width of the others.
    #[inline]
    pub(crate) fn push<'v>(&mut self, row: impl IntoIterator<Item = Value<'v>>) {
        let before = self.values.len();
        let arena = &self.arena;
        self.values
            .extend(row.into_iter().map(|value| kept(value, arena)));
        self.count_row(before);
    }

    /// Adds a row for each pair of numbers: values at some positions of that row of `left`, then of
    /// that of `right`. Of a row that is not there ([`NO_ROW`]) all are NULL. Ends before all pairs
    /// are added where the rows have [many bytes](Rows::is_large); how many were added.
    ///
    /// # Panics
    /// If that makes not the width of the others.
    pub(crate) fn push_pairs(
        &mut self,
        left: (&Rows, &[usize]),
        right: (&Rows, &[usize]),
        pairs: &[(u32, u32)],
    ) -> usize {
        assert_eq!(
            left.1.len() + right.1.len(),
            self.width,
            "rows of another width"
        );
        self.values.reserve(pairs.len() * self.width);
        let mut added = 0;
        for (one, two) in pairs {
            self.push_picked(left, *one);
            self.push_picked(right, *two);
            added += 1;
            if self.arena.allocated_bytes() >= BYTES_MAX {
                break;
            }
        }
        self.rows += added;
        added
    }

    /// Adds a part of a row.
    #[inline(always)]
    fn push_picked(&mut self, (rows, positions): (&Rows, &[usize]), number: u32) {
        if number == NO_ROW {
            let nulls = std::iter::repeat_n(Value::Null, positions.len());
            return self.values.extend(nulls);
        }
        let (row, arena) = (rows.row(number as usize), &self.arena);
        let picked = positions.iter().map(|at| kept(row[*at], arena));
        self.values.extend(picked);
    }

    /// Adds a row whose values may be errors; then it is not added.
    ///
    /// # Errors
    /// The first of them.
    ///
    /// # Panics
    /// As [`Rows::push`].
    pub(crate) fn try_push<'v>(
        &mut self,
        row: impl IntoIterator<Item = Result<Value<'v>>>,
    ) -> Result<()> {
        self.push_with(|new| {
            row.into_iter().try_for_each(|value| {
                new.take(value?);
                Ok(())
            })
        })
    }

    /// Adds a row whose values `write` puts in one by one. It is not added if that fails.
    ///
    /// # Errors
    /// Those of `write`.
    ///
    /// # Panics
    /// As [`Rows::push`].
    #[inline]
    pub(crate) fn push_with(
        &mut self,
        write: impl FnOnce(&mut NewRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let before = self.values.len();
        self.values.reserve(self.width);
        let written = write(&mut NewRow {
            values: &mut self.values,
            arena: &self.arena,
        });
        if let Err(error) = written {
            self.values.truncate(before);
            return Err(error);
        }
        self.count_row(before);
        Ok(())
    }

    #[inline]
    fn count_row(&mut self, before: usize) {
        assert_eq!(
            self.values.len() - before,
            self.width,
            "a row of another width"
        );
        self.rows += 1;
    }

    /// Brings a row into the cache, or begins to.
    #[inline]
    pub(crate) fn prefetch(&self, at: usize) {
        let row = &self.values[at * self.width..(at + 1) * self.width];
        Prefetching::prefetch(row.as_ptr(), size_of_val(row));
    }

    /// The row at a position.
    pub(crate) fn row(&self, at: usize) -> &[Value<'_>] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    /// All rows, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[Value<'_>]> {
        (0..self.rows).map(|at| self.row(at))
    }

    /// Charges to a statement what the rows have taken since the last time, or given back.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    #[inline]
    pub(crate) fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.arena.charge_to(memory);
        self.arena.settle()?;
        self.charge.set(memory, self.values_bytes())
    }

    /// Bytes that the rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.values_bytes() + self.arena.allocated_bytes()
    }

    fn values_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Value<'static>>()
    }

    /// Whether they have so many bytes that no more should be added before they are handed on.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.arena.allocated_bytes() >= BYTES_MAX && self.rows > 0
    }

    /// Whether they are as many as operators hand over at once, or have as many bytes.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.is_large()
    }

    /// Forgets all rows; memory is kept for the next ones.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.rows = 0;
        self.arena.reset();
    }
}

/// A row on its way into [`Rows`].
pub(crate) struct NewRow<'r> {
    values: &'r mut Vec<Value<'static>>,
    arena: &'r Scratch,
}

impl<'v> Taking<'v> for NewRow<'_> {
    #[inline(always)]
    fn take(&mut self, value: Value<'v>) {
        self.values.push(kept(value, self.arena));
    }
}

/// A value that borrows from the arena alone.
#[inline(always)]
fn kept(value: Value<'_>, arena: &Scratch) -> Value<'static> {
    let value = if value.borrows() {
        value.copied(arena)
    } else {
        value
    };
    // SAFETY: it is in the arena, or borrows nothing. See the module's header.
    unsafe { std::mem::transmute::<Value<'_>, Value<'static>>(value) }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
