//! Batches by columns put together out of those of a join's sides.
//!
//! No value is copied but what a vector has itself: texts and the like stay where they are, and the batch owns the
//! memory of both sides in part. A batch that is made of many others owns as much of each, which its maker bounds by
//! [`Columns::owners`].

use std::{rc::Rc, sync::Arc};

use types::Value;

use super::{Columns, Owner};
use crate::{BATCH_BYTES, FixedRows, NO_ROW, Rows, Vector};

/// Columns that a batch takes from another one: the number of each in the new batch, and in the other.
pub type ColumnMap = [(usize, usize)];

impl Columns {
    /// Adds a position for each pair of a position of `left` and the number of a row of `right`. Columns are taken from
    /// both as their maps say; a column of this batch that is in no map must never be read. The values of a missing row
    /// ([`NO_ROW`]) are NULL. Ends early, once the batch has a pair, if its values have [many bytes](BATCH_BYTES):
    /// whoever copies them has that much to do. Returns how many pairs were taken.
    ///
    /// # Panics
    /// If there is no such column, position or row, or some positions of this batch alone are selected.
    pub fn append_pairs(
        &mut self,
        left: (&Columns, &ColumnMap),
        right: (&Arc<FixedRows>, &ColumnMap),
        pairs: &[(u32, u32)],
    ) -> usize {
        assert!(self.selection.is_none(), "rows behind a selection");
        let pairs = &pairs[..self.fitting(left, right, pairs)];
        // Values that borrow from the arena of `left`, from its owners, or from the rows of `right`, count no longer
        // than this batch owns all of these in part, which it does before it has the first of them.
        if left.0.arena.allocated_bytes() > 0 {
            self.owners.push(Owner::Arena(left.0.arena.clone()));
        }
        self.owners.extend(left.0.owners.iter().cloned());
        if !right.1.is_empty() {
            self.own_rows(right.0);
        }
        for (to, from) in left.1 {
            let positions = pairs.iter().map(|(at, _)| *at as usize);
            self.vectors[*to].append(&left.0.vectors[*from], positions);
        }
        for (to, from) in right.1 {
            append_rows(&mut self.vectors[*to], right.0, *from, pairs);
        }
        self.len += pairs.len();
        pairs.len()
    }

    /// Returns how many of the pairs have room, and counts their bytes.
    fn fitting(
        &mut self,
        left: (&Columns, &ColumnMap),
        right: (&Arc<FixedRows>, &ColumnMap),
        pairs: &[(u32, u32)],
    ) -> usize {
        let vectors = left.1.iter().map(|(_, from)| &left.0.vectors[*from]);
        let borrowing: Vec<_> = vectors.filter(|vector| vector.may_borrow()).collect();
        if borrowing.is_empty() && right.1.is_empty() {
            return pairs.len();
        }
        for (taken, (at, number)) in pairs.iter().enumerate() {
            let of_left = borrowing.iter();
            let mut bytes: usize = of_left
                .map(|vector| vector.borrowed_bytes(*at as usize))
                .sum();
            if *number != NO_ROW {
                let row = right.0.row(*number as usize);
                let values = right.1.iter().map(|(_, from)| &row[*from]);
                bytes += values.map(Value::borrowed_bytes).sum::<usize>();
            }
            if self.borrowed + bytes > BATCH_BYTES && self.len + taken > 0 {
                return taken;
            }
            self.borrowed += bytes;
        }
        pairs.len()
    }

    /// Puts the owners together into one: batches that take values from here have one more for it. Owners lie within
    /// each other as deep as joins upon each other.
    pub fn seal(&mut self) {
        if self.owners.len() > 1 {
            let owners = std::mem::take(&mut self.owners);
            self.owners.push(Owner::All(Rc::new(owners)));
        }
    }

    /// Returns how many parts of others' memory the batch owns.
    pub fn owners(&self) -> usize {
        self.owners.len()
    }

    fn own_rows(&mut self, rows: &Arc<FixedRows>) {
        let is_same = |owner: &Owner| matches!(owner, Owner::Rows(own) if Arc::ptr_eq(own, rows));
        if !self.owners.iter().any(is_same) {
            self.owners.push(Owner::Rows(rows.clone()));
        }
    }
}

/// Appends a column's values of the right rows of pairs.
fn append_rows(vector: &mut Vector<'static>, rows: &Rows, column: usize, pairs: &[(u32, u32)]) {
    for (_, number) in pairs {
        let value = match *number {
            NO_ROW => Value::Null,
            number => rows.row(number as usize)[column],
        };
        // SAFETY: the caller owns the rows in part as long as the value counts; see the header of `columns.rs`.
        vector.push(unsafe { std::mem::transmute::<Value<'_>, Value<'static>>(value) });
    }
}

#[cfg(test)]
mod tests {
    use types::row::Taking;

    use super::*;

    fn fixed(rows: Rows) -> Arc<FixedRows> {
        Arc::new(FixedRows::new(rows).0)
    }

    fn rows() -> Arc<FixedRows> {
        let mut rows = Rows::new(2);
        for number in 0..3 {
            let text = format!("row {number}");
            rows.push([Value::Int4(number), Value::Text(&text)]);
        }
        fixed(rows)
    }

    /// Returns a batch of an integer and a text, which is NULL in the last row.
    fn batch(from: i32) -> Columns {
        let mut columns = Columns::default();
        columns.restart(2);
        for number in 0..4 {
            let text = format!("left {}", from + number);
            let mut row = columns.begin();
            row.take(Value::Int8((from + number).into()));
            row.take(match number {
                3 => Value::Null,
                _ => Value::Text(&text),
            });
            row.end();
        }
        columns
    }

    fn shown(columns: &Columns) -> Vec<String> {
        let mut rows = Rows::new(columns.view().width());
        columns.add_to(&mut rows);
        rows.iter().map(|row| format!("{row:?}")).collect()
    }

    /// Pairs of several batches come out in order, also when the batches and the rows are gone, or used for others.
    #[test]
    fn pairs_outlive_their_sides() {
        let mut joined = Columns::default();
        joined.restart(3);
        let (mut left, right) = (batch(0), rows());
        let maps: (&ColumnMap, &ColumnMap) = (&[(0, 1), (1, 0)], &[(2, 1)]);
        joined.append_pairs(
            (&left, maps.0),
            (&right, maps.1),
            &[(0, 2), (0, 0), (3, NO_ROW)],
        );
        left.clear();
        for _ in 0..4 {
            let text = String::from("overwritten");
            let mut row = left.begin();
            row.take(Value::Int8(-1));
            row.take(Value::Text(&text));
            row.end();
        }
        let other = batch(10);
        joined.append_pairs((&other, maps.0), (&right, maps.1), &[(1, 1)]);
        let weak = Arc::downgrade(&right);
        drop((left, right, other));
        assert_eq!(joined.owners(), 3);
        joined.seal();
        assert_eq!(joined.owners(), 1);
        let expected = [
            r#"[Text("left 0"), Int8(0), Text("row 2")]"#,
            r#"[Text("left 0"), Int8(0), Text("row 0")]"#,
            "[Null, Int8(3), Null]",
            r#"[Text("left 11"), Int8(11), Text("row 1")]"#,
        ];
        assert_eq!(shown(&joined), expected);
        assert!(weak.upgrade().is_some());
        joined.clear();
        assert!(weak.upgrade().is_none() && joined.owners() == 0);
    }

    /// A batch of pairs lends what it owns to the batch of the next join.
    #[test]
    fn joins_are_upon_each_other() {
        let (left, right) = (batch(0), rows());
        let mut lower = Columns::default();
        lower.restart(2);
        lower.append_pairs((&left, &[(0, 1)]), (&right, &[(1, 1)]), &[(1, 0), (2, 1)]);
        let mut upper = Columns::default();
        upper.restart(3);
        let lower_map: &ColumnMap = &[(0, 0), (1, 1)];
        upper.append_pairs((&lower, lower_map), (&right, &[(2, 0)]), &[(1, 2)]);
        drop((left, right, lower));
        assert_eq!(
            shown(&upper),
            [r#"[Text("left 2"), Text("row 1"), Int4(2)]"#]
        );
    }

    /// Rows without a wanted column are counted all the same.
    #[test]
    fn pairs_without_columns_count() {
        let mut joined = Columns::default();
        joined.restart(0);
        joined.append_pairs((&batch(0), &[]), (&rows(), &[]), &[(0, 0), (1, NO_ROW)]);
        assert_eq!((joined.len(), joined.selected()), (2, 2));
    }

    /// A batch is full with its bytes, as often as a text is in it; one pair is always taken.
    #[test]
    fn large_texts_are_few() {
        let mut rows = Rows::new(1);
        let text = "x".repeat(BATCH_BYTES / 4);
        rows.push([Value::Text(&text)]);
        let huge = "x".repeat(2 * BATCH_BYTES);
        rows.push([Value::Text(&huge)]);
        let (left, right) = (batch(0), fixed(rows));
        let mut joined = Columns::default();
        joined.restart(1);
        let append = |joined: &mut Columns, pairs: &[(u32, u32)]| {
            joined.append_pairs((&left, &[]), (&right, &[(0, 0)]), pairs)
        };
        assert_eq!(append(&mut joined, &[(0, 0); 10]), 4);
        assert_eq!(append(&mut joined, &[(0, 1)]), 0);
        joined.restart(1);
        assert_eq!(append(&mut joined, &[(0, 1), (1, 1)]), 1);
        assert_eq!(joined.len(), 1);
    }
}
