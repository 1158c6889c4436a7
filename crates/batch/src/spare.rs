//! Lists of rows that small statements have left for the next ones.
//!
//! A statement that reads or changes one row needs a few short lists for it. A session keeps those of one statement for
//! the next ([`SpareRows`]): not a list that has become long, and not many.

use std::cell::RefCell;

use crate::Rows;

/// Maximum lists that are kept: more than a statement about single rows needs at once.
const LISTS_MAX: usize = 4;

/// Maximum bytes of a list that is kept. All of them together are a small part of the memory that each connection has
/// in any case, and are charged to no statement.
const BYTES_MAX: usize = 2048;

/// Empty lists of rows with their memory: see the module text.
#[derive(Default)]
pub struct SpareRows {
    lists: RefCell<Vec<Rows>>,
}

impl SpareRows {
    /// Returns an empty list of rows with `width` values each.
    pub fn take(&self, width: usize) -> Rows {
        match self.lists.borrow_mut().pop() {
            Some(mut rows) => {
                rows.restart(width);
                rows
            }
            None => Rows::new(width),
        }
    }

    /// Keeps the memory of `rows` for another list, if there is little of it; ends its statement's charge.
    pub fn give_back(&self, mut rows: Rows) {
        let mut lists = self.lists.borrow_mut();
        if lists.len() < LISTS_MAX && (1..=BYTES_MAX).contains(&rows.bytes()) {
            rows.release();
            lists.push(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use types::{Allowance, Memory, Value};

    use super::{LISTS_MAX, SpareRows};

    /// A list that a statement has left serves the next one, whose rows have another width, and is charged to that one
    /// alone.
    #[test]
    fn a_list_serves_the_next_statement() {
        let spare = SpareRows::default();
        let connection = Allowance::unlimited();
        let first = Memory::new(&connection, 1 << 20);
        let mut rows = spare.take(1);
        rows.push([Value::Text("a text of the first statement")]);
        rows.settle(&first).unwrap();
        assert!(first.used() > 0);
        spare.give_back(rows);
        assert_eq!(first.used(), 0);

        let second = Memory::new(&connection, 1 << 20);
        let mut rows = spare.take(2);
        assert!(rows.is_empty() && rows.bytes() > 0);
        rows.push([Value::Int4(1), Value::Text("a text of the second")]);
        rows.settle(&second).unwrap();
        assert_eq!((first.used(), second.used()), (0, rows.bytes()));
    }

    /// Neither long lists nor many are kept.
    #[test]
    fn what_is_kept_is_bounded() {
        let spare = SpareRows::default();
        let mut long = spare.take(1);
        (0..1000).for_each(|at| long.push([Value::Int4(at)]));
        spare.give_back(long);
        assert_eq!(spare.take(1).bytes(), 0);
        let short = (0..2 * LISTS_MAX).map(|_| {
            let mut rows = spare.take(1);
            rows.push([Value::Null]);
            rows
        });
        let short: Vec<_> = short.collect();
        short.into_iter().for_each(|rows| spare.give_back(rows));
        assert_eq!(spare.lists.borrow().len(), LISTS_MAX);
    }
}
