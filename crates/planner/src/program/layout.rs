//! Positions of columns in rows.

use std::collections::BTreeSet;

use logical::expression::ColumnId;

/// The positions of columns in the rows that a program is given.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    width: usize,
    /// Names of columns with their positions. A column may have several names, and a position may
    /// have none.
    positions: Vec<(ColumnId, usize)>,
}

impl Layout {
    /// Makes the layout of rows that have exactly `columns`, in this order.
    pub fn new(columns: impl IntoIterator<Item = ColumnId>) -> Self {
        let positions: Vec<_> = columns
            .into_iter()
            .enumerate()
            .map(|(at, id)| (id, at))
            .collect();
        Self {
            width: positions.len(),
            positions,
        }
    }

    /// Returns the number of values in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the position of `column` in a row; `None` if the rows do not have it.
    pub fn position(&self, column: ColumnId) -> Option<usize> {
        self.positions
            .iter()
            .find(|(other, _)| *other == column)
            .map(|(_, at)| *at)
    }

    /// Adds a column behind the others.
    pub fn push(&mut self, column: ColumnId) {
        self.positions.push((column, self.width));
        self.width += 1;
    }

    /// Gives the column at `position` another name.
    pub fn alias(&mut self, column: ColumnId, position: usize) {
        self.positions.push((column, position));
    }

    /// Returns the columns, under each of their names, with their positions.
    pub fn columns(&self) -> impl Iterator<Item = (ColumnId, usize)> {
        self.positions.iter().copied()
    }

    /// Returns the positions of these columns, in order, and the layout of rows of these alone.
    pub(crate) fn picked(&self, columns: &BTreeSet<ColumnId>) -> (Vec<usize>, Layout) {
        let wanted = self.positions.iter().filter(|(id, _)| columns.contains(id));
        let picked: BTreeSet<usize> = wanted.map(|(_, at)| *at).collect();
        let picked: Vec<usize> = picked.into_iter().collect();
        let positions = self.positions.iter();
        let positions =
            positions.filter_map(|(id, at)| Some((*id, picked.binary_search(at).ok()?)));
        let layout = Layout {
            width: picked.len(),
            positions: positions.collect(),
        };
        (picked, layout)
    }

    /// Returns the layout of this one's columns followed by those of `other`.
    pub(crate) fn followed_by(&self, other: &Layout) -> Layout {
        let others = other
            .positions
            .iter()
            .map(|(id, at)| (*id, at + self.width));
        Layout {
            width: self.width + other.width,
            positions: self.positions.iter().copied().chain(others).collect(),
        }
    }
}
