//! Rows in memory with the values that they borrow: what operators hand to each other.
//!
//! # Safety argument
//! The values of [`Rows`] borrow from its own arena, which a lifetime cannot say: they are kept as
//! `Value<'static>`. This module alone sees them so. They get in as copies into the arena
//! ([`Rows::push`]), and come out with the lifetime of a borrow of the `Rows` ([`Rows::row`]),
//! during which the arena is neither reset nor dropped. The arena does not move what it has given
//! out when the `Rows` moves. Copies that would leave the arena are made by `Value::copied`.

use types::{Result, Scratch, Value};

/// Rows of the same width, with memory of their own.
#[derive(Default)]
pub(crate) struct Rows {
    /// Row by row. Dropped before the arena; values have no destructors.
    values: Vec<Value<'static>>,
    width: usize,
    rows: usize,
    arena: Scratch,
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
    pub(crate) fn push<'v>(&mut self, row: impl IntoIterator<Item = Value<'v>>) {
        let before = self.values.len();
        self.extend(row);
        self.count(before);
    }

    fn extend<'v>(&mut self, values: impl IntoIterator<Item = Value<'v>>) {
        for value in values {
            let value = value.copied(&self.arena);
            // SAFETY: it is in the arena, or borrows nothing. See the module's header.
            self.values
                .push(unsafe { std::mem::transmute::<Value<'_>, Value<'static>>(value) });
        }
    }

    /// The values from here on are a row.
    fn count(&mut self, from: usize) {
        assert_eq!(
            self.values.len() - from,
            self.width,
            "a row of another width"
        );
        self.rows += 1;
    }

    /// The same, where each value may turn out not to be one; nothing is added then.
    ///
    /// # Errors
    /// That of the first value that has one.
    ///
    /// # Panics
    /// As [`Rows::push`].
    pub(crate) fn try_push<'v>(
        &mut self,
        row: impl IntoIterator<Item = Result<Value<'v>>>,
    ) -> Result<()> {
        let before = self.values.len();
        let mut failed = None;
        let values = row.into_iter().map_while(|value| match value {
            Ok(value) => Some(value),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        self.extend(values);
        if let Some(error) = failed {
            self.values.truncate(before);
            return Err(error);
        }
        self.count(before);
        Ok(())
    }

    /// The row at a position.
    pub(crate) fn row(&self, at: usize) -> &[Value<'_>] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    /// All rows, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[Value<'_>]> {
        (0..self.rows).map(|at| self.row(at))
    }

    /// Forgets all rows; memory is kept for the next ones.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.rows = 0;
        self.arena.reset();
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
