//! Rows that get into others without copies of what their values borrow.
//!
//! A value that is handed on by several operators would be copied by each of them. An operator that keeps rows as they
//! are takes over their arenas instead.
//!
//! # Safety argument
//! The values of the rows that are handed over borrow from their own arenas. All of these belong to the taking rows
//! before the first value is moved, and live as long as those: the taking rows reset or drop no arena before
//! [`Rows::clear`], which forgets all of their values. The rows that are handed over are taken out of their owner's
//! hands before that, and come back empty: nothing else reads them in between, also where a panic ends the taking over.

use types::{Scratch, Value};

use super::{Rows, kept};

impl Rows {
    /// Moves the rows of `from` at the positions `stay` here, each followed by the values of a row of `apart`, which
    /// has one for each of them, or rows of no values. `from` is empty afterwards.
    ///
    /// Values are moved with the arenas that they borrow from, unless few rows stay: these are copied, so that they do
    /// not hold the memory of the others.
    ///
    /// # Panics
    /// If the rows then have another width than those that are here.
    pub fn adopt(
        &mut self,
        from: &mut Rows,
        stay: impl ExactSizeIterator<Item = usize>,
        apart: &Rows,
    ) {
        let width = from.width();
        let mut handed = std::mem::replace(from, Rows::new(width));
        let is_moved = 2 * stay.len() >= handed.len();
        if is_moved {
            self.adopt_arenas(&mut handed);
        }
        for (number, at) in stay.enumerate() {
            let before = self.values.len();
            let arena = &self.arena;
            let row = handed.row(at).iter().map(|value| match is_moved {
                // SAFETY: the value borrows nothing, or borrows from an arena of these rows. See the module's header.
                true => unsafe { std::mem::transmute::<Value<'_>, Value<'static>>(*value) },
                false => kept(value, arena),
            });
            let apart = apart.row(number).iter().map(|value| kept(value, arena));
            self.values.extend(row.chain(apart));
            self.count_row(before);
        }
        handed.clear();
        if !is_moved {
            // Memory that the arena has kept would come along with the next rows, which may be small.
            handed.arena = Scratch::new();
        }
        *from = handed;
    }

    fn adopt_arenas(&mut self, from: &mut Rows) {
        let put_by = from.full.as_mut().map(|full| {
            full.arena_bytes = 0;
            std::mem::take(&mut full.arenas)
        });
        let last = std::mem::take(&mut from.arena);
        for arena in put_by.into_iter().flatten().chain([last]) {
            // Numbers have taken no memory of their arena.
            if arena.allocated_bytes() > 0 {
                self.put_by_arena(arena);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use types::{Allowance, Memory, Value};

    use crate::Rows;

    fn texts(count: usize) -> Rows {
        let mut rows = Rows::new(2);
        for number in 0..count {
            let text = format!("{number}: {}", "x".repeat(100));
            rows.push([Value::Int8(number as i64), Value::Text(&text)]);
        }
        rows
    }

    /// Moved values stay when their rows have memory for others, and when those are dropped; their memory is charged
    /// until the taking rows are cleared.
    #[test]
    fn moved_values_outlive_their_rows() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let mut to = Rows::new(3);
        let mut from = texts(200);
        from.settle(&memory).unwrap();
        let mut apart = Rows::new(1);
        (0..150).for_each(|_| apart.push([Value::Text("apart")]));
        let address = |value: Value<'_>| match value {
            Value::Text(text) => text.as_ptr(),
            _ => std::ptr::null(),
        };
        let before = address(from.row(50)[1]);
        to.adopt(&mut from, 50..200, &apart);
        assert_eq!(address(to.row(0)[1]), before);
        to.settle(&memory).unwrap();
        from.push([Value::Int8(0), Value::Text("another")]);
        assert_eq!(from.len(), 1);
        drop((from, apart));
        for (number, row) in to.iter().enumerate() {
            let text = format!("{}: {}", number + 50, "x".repeat(100));
            assert!(row[0].is_same(&Value::Int8(number as i64 + 50)));
            assert!(row[1].is_same(&Value::Text(&text)) && row[2].is_same(&Value::Text("apart")));
        }
        assert!(memory.used() >= to.bytes());
        drop(to);
        assert_eq!(memory.used(), 0);
    }

    /// A panic between the move of the arenas and that of the rows once left rows behind whose memory belonged to the
    /// taking rows.
    #[test]
    fn a_panic_leaves_no_rows_without_their_memory() {
        let mut to = Rows::new(2);
        let mut from = texts(10);
        let beyond = [0, 1, 2, 3, 4, 10].into_iter();
        let adopting = AssertUnwindSafe(|| to.adopt(&mut from, beyond, &Rows::default()));
        assert!(catch_unwind(adopting).is_err());
        drop(to);
        assert!(from.is_empty() && from.width() == 2);
    }

    /// A few rows of many are copied, and hold no memory of the others.
    #[test]
    fn few_rows_do_not_hold_the_memory_of_others() {
        let mut to = Rows::new(2);
        let mut from = texts(1000);
        let bytes = from.bytes();
        to.adopt(&mut from, [7].into_iter(), &Rows::default());
        assert!(to.bytes() < bytes / 10 && from.is_empty());
        assert!(to.row(0)[0].is_same(&Value::Int8(7)));
    }
}
