//! Rows that get into others without copies of what their values borrow.
//!
//! A value that is handed on by several operators would be copied by each of them. An operator that keeps rows as they
//! are takes over their arenas instead.
//!
//! # Bound of the memory
//! An arena comes along as a whole, with the values that are left out and the room that it has left. Rows that are kept
//! ([`Rows::adopt`]) take over the arenas of a batch if the values that are moved make up [a third](ARENA_TO_MOVED) of
//! them, and copy the values otherwise; the same holds for the values beside the batch. They never hold more than three
//! times the bytes of their values. An arena doubles when it is full, and therefore takes about twice the bytes of its
//! values at most, so that a batch that stays as a whole is moved; and a batch in whose arena larger rows were before,
//! whose memory it has kept, is copied.
//!
//! Rows that are handed on as a batch ([`Rows::take_batch`]) take over the arenas of each side of which a value goes
//! on that borrows from them: these are in memory in any case until the next batch, when they are used again. Rows of
//! which nothing stays keep their arenas, and an operator that looks for its first row through many batches holds one.
//!
//! # Safety argument
//! The values of the rows that are handed over borrow from their own arenas. All of these belong to the taking rows
//! before the first value is moved, and live as long as those: the taking rows reset or drop no arena before
//! [`Rows::clear`], which forgets all of their values. Rows that have no values give their own arena in exchange, from
//! which nothing borrows. The rows that are handed over are taken out of their owner's hands before that, and come back
//! empty: nothing else reads them in between, also where a panic ends the taking over. The taking rows have the values
//! of whole rows only, also after a panic (`new_row.rs`); rows without values therefore lend nothing of their arena.

use std::convert::Infallible;

use types::{Value, row::Taking};

use super::Rows;

/// Most bytes of arenas for each byte of the values that are moved with them.
const ARENA_TO_MOVED: usize = 3;

impl Rows {
    /// Moves the rows of `from` at the positions `stay` here, each followed by the values of a row of `apart`, which
    /// has one for each of them, or rows of no values. `from` and `apart` are empty afterwards. Their arenas stay
    /// charged as they were; these rows charge what is not when they are [settled](Rows::settle).
    ///
    /// Values are moved with the arenas that they borrow from, unless these have many other bytes (see the module
    /// text): then they are copied, and do not hold the memory of the others.
    ///
    /// # Panics
    /// If the rows then have another width than those that are here.
    pub fn adopt(
        &mut self,
        from: &mut Rows,
        stay: impl ExactSizeIterator<Item = usize> + Clone,
        apart: &mut Rows,
    ) {
        let columns = 0..from.width + apart.width;
        let are_moved = [
            from.is_worth_its_arenas(stay.clone()),
            apart.is_worth_its_arenas(0..apart.len()),
        ];
        self.take(from, stay, apart, columns, are_moved);
    }

    /// Moves the rows of a batch at the positions `stay` here, where no rows are: of each row, followed by the values
    /// of a row of `apart`, the `columns`. `from` and `apart` are empty afterwards. All values are moved; an arena from
    /// which none of them borrows stays.
    ///
    /// # Panics
    /// If there are rows here, or they then have another width than they should have.
    pub fn take_batch(
        &mut self,
        from: &mut Rows,
        stay: impl ExactSizeIterator<Item = usize> + Clone,
        apart: &mut Rows,
        columns: impl Iterator<Item = usize> + Clone,
    ) {
        assert!(self.is_empty(), "a batch is handed on as a whole");
        let width = from.width;
        let of_from = columns.clone().filter(|column| *column < width);
        let of_apart = columns
            .clone()
            .filter_map(|column| column.checked_sub(width));
        let are_moved = [
            from.lends(stay.clone(), of_from),
            apart.lends(0..apart.len(), of_apart),
        ];
        self.take(from, stay, apart, columns, are_moved);
    }

    /// Moves rows; `are_moved` says for `from` and for `apart` whether their arenas come along, or their values are
    /// copied.
    fn take(
        &mut self,
        from: &mut Rows,
        stay: impl ExactSizeIterator<Item = usize>,
        apart: &mut Rows,
        columns: impl Iterator<Item = usize> + Clone,
        are_moved: [bool; 2],
    ) {
        assert_eq!(columns.clone().count(), self.width, "rows of another width");
        if stay.len() == 0 {
            from.clear();
            apart.clear();
            return;
        }
        let width = from.width;
        let mut handed = std::mem::replace(from, Rows::new(width));
        let mut beside = std::mem::replace(apart, Rows::new(apart.width));
        let mut is_spare = self.rows == 0;
        if is_spare {
            // Arenas may be left of rows that a panic kept from getting here.
            self.clear();
        }
        for (rows, is_moved) in [&mut handed, &mut beside].into_iter().zip(are_moved) {
            if is_moved {
                self.adopt_arenas(rows, &mut is_spare);
            }
        }
        for (number, at) in stay.enumerate() {
            let (row, beside) = (handed.row(at), beside.row(number));
            let Ok(()) = self.add_row::<Infallible>(|new| {
                for column in columns.clone() {
                    let (value, is_moved) = match row.get(column) {
                        Some(value) => (*value, are_moved[0]),
                        None => (beside[column - width], are_moved[1]),
                    };
                    match is_moved {
                        // SAFETY: the value borrows nothing, or borrows from an arena of these rows. See the module's
                        // header.
                        true => new.put(unsafe {
                            std::mem::transmute::<Value<'_>, Value<'static>>(value)
                        }),
                        false => new.take(value),
                    }
                }
                Ok(())
            });
        }
        handed.clear();
        beside.clear();
        (*from, *apart) = (handed, beside);
    }

    /// Returns whether values in some `columns` of the rows `stay` may be moved together with the arenas of these rows:
    /// one of them borrows from these, or there are none.
    fn lends(
        &self,
        mut stay: impl Iterator<Item = usize>,
        columns: impl Iterator<Item = usize> + Clone,
    ) -> bool {
        let mut any = |at: usize| {
            let row = self.row(at);
            columns.clone().any(|column| row[column].borrows())
        };
        self.arena_bytes() == 0 || stay.any(&mut any)
    }

    /// Returns whether values are to be moved together with the arenas of these rows: see the module text.
    fn is_worth_its_arenas(&self, stay: impl Iterator<Item = usize>) -> bool {
        let most = self.arena_bytes();
        if most == 0 {
            return true;
        }
        let mut moved = 0;
        for at in stay {
            moved += self.row(at).iter().map(bytes_of).sum::<usize>();
            if ARENA_TO_MOVED * moved >= most {
                return true;
            }
        }
        false
    }

    /// Takes over the arenas that the values of other rows borrow from. If the own arena `is_spare`, that is, no value
    /// borrows from it, the first of the arenas takes its place, and it is not spare any more.
    fn adopt_arenas(&mut self, from: &mut Rows, is_spare: &mut bool) {
        let put_by = from.full.as_mut().map(|full| {
            full.arena_bytes = 0;
            full.charged_arenas = 0;
            std::mem::take(&mut full.arenas)
        });
        for arena in put_by.into_iter().flatten() {
            self.put_by_arena(arena);
        }
        // Numbers have taken no memory of their arena.
        if from.arena.allocated_bytes() == 0 {
            return;
        }
        match std::mem::take(is_spare) {
            // A batch that is handed on gets an arena in exchange, and asks for no new memory.
            true => std::mem::swap(&mut self.arena, &mut from.arena),
            false => {
                let arena = std::mem::take(&mut from.arena);
                self.put_by_arena(arena);
            }
        }
    }
}

/// Returns the bytes of an arena that a value takes, or fewer: records count as nothing.
fn bytes_of(value: &Value<'_>) -> usize {
    match value {
        Value::Uuid(uuid) => uuid.len(),
        other => other.borrowed_bytes(),
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
        apart.settle(&memory).unwrap();
        let address = |value: Value<'_>| match value {
            Value::Text(text) => text.as_ptr(),
            _ => std::ptr::null(),
        };
        let before = address(from.row(50)[1]);
        to.adopt(&mut from, 50..200, &mut apart);
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

    /// Memory that was taken over before it was charged was never charged.
    #[test]
    fn memory_that_was_taken_over_uncharged_is_charged() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let mut to = Rows::new(3);
        for round in 0..5 {
            let (mut from, mut apart) = (texts(200), Rows::new(1));
            (0..200).for_each(|_| apart.push([Value::Text("a computed text of some length")]));
            if round % 2 == 0 {
                from.settle(&memory).unwrap();
            }
            to.adopt(&mut from, 0..200, &mut apart);
            drop((from, apart));
            to.settle(&memory).unwrap();
            assert_eq!(memory.used(), to.bytes(), "in round {round}");
        }
        // Arenas that are handed on stay charged.
        let mut next = Rows::new(3);
        next.adopt(&mut to, 0..1000, &mut Rows::default());
        drop(to);
        next.settle(&memory).unwrap();
        assert_eq!(memory.used(), next.bytes());
        drop(next);
        assert_eq!(memory.used(), 0);
    }

    /// A panic between the move of the arenas and that of the rows once left rows behind whose memory belonged to the
    /// taking rows.
    #[test]
    fn a_panic_leaves_no_rows_without_their_memory() {
        let mut to = Rows::new(2);
        let mut from = texts(10);
        let beyond = [0, 1, 2, 3, 4, 10].into_iter();
        let adopting = AssertUnwindSafe(|| to.adopt(&mut from, beyond, &mut Rows::default()));
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
        to.adopt(&mut from, [7].into_iter(), &mut Rows::default());
        assert!(to.bytes() < bytes / 10 && from.is_empty());
        assert!(to.row(0)[0].is_same(&Value::Int8(7)));
    }

    /// Half the rows once decided, not half the bytes: short rows held the memory of long ones that were left out.
    #[test]
    fn rows_hold_three_times_their_bytes_at_most() {
        let mut from = Rows::new(1);
        for number in 0..250 {
            let length = if number < 200 { 100 } else { 20_000 };
            from.push([Value::Text(&"x".repeat(length))]);
        }
        let mut to = Rows::new(1);
        to.adopt(&mut from, 0..200, &mut Rows::default());
        let values = to.values_bytes();
        assert!(to.bytes() - values <= 3 * 200 * 100, "{}", to.bytes());
        // The arena that is left has room for much; few values that come later do not take it along.
        from.push([Value::Text("short")]);
        to.adopt(&mut from, 0..1, &mut Rows::default());
        assert!(to.bytes() - to.values_bytes() <= 3 * 200 * 100);
        assert_eq!(to.len(), 201);
    }

    /// All values of a batch are moved, those that were computed beside its rows with theirs, also where the arena of
    /// one side is the only one.
    #[test]
    fn columns_of_a_batch_are_moved() {
        let text = |number: i32| format!("{number}: {}", "x".repeat(100));
        for (columns, is_apart_text) in [
            ([1, 2], true),
            ([0, 2], true),
            ([1, 2], false),
            ([0, 2], false),
        ] {
            let (mut from, mut apart) = (Rows::new(2), Rows::new(1));
            for number in 0..100 {
                let text = text(number);
                from.push([Value::Int4(number), Value::Text(&text)]);
                match is_apart_text {
                    true => apart.push([Value::Text(&text)]),
                    false => apart.push([Value::Int4(-number)]),
                }
            }
            let address = |rows: &Rows, row: usize, at: usize| match rows.row(row)[at] {
                Value::Text(text) => text.as_ptr(),
                _ => std::ptr::null(),
            };
            let before = (address(&from, 50, columns[0]), address(&apart, 0, 0));
            let mut to = Rows::new(2);
            to.take_batch(&mut from, 50..51, &mut apart, columns.into_iter());
            assert_eq!((address(&to, 0, 0), address(&to, 0, 1)), before);
            from.push([Value::Null, Value::Text(&"another".repeat(100))]);
            apart.push([Value::Text(&"another".repeat(100))]);
            drop((from, apart));
            let (own, computed) = (text(50), text(0));
            let first = [Value::Int4(50), Value::Text(&own)][columns[0]];
            let second = match is_apart_text {
                true => Value::Text(&computed),
                false => Value::Int4(0),
            };
            let row = to.row(0);
            assert!(row[0].is_same(&first) && row[1].is_same(&second), "{row:?}");
        }
    }

    /// Arenas of which no value goes on once came along, and were counted as memory of the output: those of documents
    /// of which a query returns the lengths.
    #[test]
    fn arenas_stay_where_no_value_borrows_from_them() {
        let (mut from, mut apart, mut to) = (texts(200), Rows::new(1), Rows::new(2));
        let (values, bytes) = (200 * size_of::<Value<'_>>(), from.bytes());
        (0..200).for_each(|number| apart.push([Value::Int4(number)]));
        to.take_batch(&mut from, 0..200, &mut apart, [0, 2].into_iter());
        assert!(to.bytes() < 4 * values, "{}", to.bytes());
        assert!(to.row(7)[0].is_same(&Value::Int8(7)) && to.row(7)[1].is_same(&Value::Int4(7)));
        // The memory serves the next batch.
        assert!(
            from.is_empty() && 3 * from.bytes() > bytes,
            "{}",
            from.bytes()
        );
    }

    /// Batches with two arenas of which nothing was handed on once left them with the output, one after the other.
    #[test]
    fn nothing_that_is_handed_on_takes_no_memory() {
        let (mut first, mut to) = (Rows::new(3), Rows::new(3));
        for round in 0..3 {
            let (mut from, mut apart) = (texts(200), Rows::new(1));
            (0..200).for_each(|_| apart.push([Value::Text("a computed text of some length")]));
            first.take_batch(&mut from, 0..200, &mut apart, 0..3);
            to.take_batch(&mut first, 0..0, &mut Rows::default(), 0..3);
            assert!(first.is_empty());
            assert_eq!(to.bytes(), 0, "in round {round}");
        }
    }

    /// A batch with two arenas can be handed on several times.
    #[test]
    fn a_batch_with_two_arenas_is_handed_on() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let (mut from, mut apart) = (texts(200), Rows::new(1));
        (0..200).for_each(|number| apart.push([Value::Text(&format!("computed {number}"))]));
        let (mut first, mut second, mut third) = (Rows::new(3), Rows::new(3), Rows::new(3));
        first.take_batch(&mut from, 0..200, &mut apart, 0..3);
        first.settle(&memory).unwrap();
        second.take_batch(&mut first, 50..200, &mut Rows::default(), 0..3);
        third.take_batch(&mut second, 50..150, &mut Rows::default(), 0..3);
        for rows in [&mut first, &mut second] {
            (0..200).for_each(|_| rows.push([Value::Text("another"); 3]));
        }
        drop((from, apart, first, second));
        assert_eq!(third.len(), 100);
        for (number, row) in (100..).zip(third.iter()) {
            let text = format!("{number}: {}", "x".repeat(100));
            let computed = format!("computed {number}");
            assert!(row[0].is_same(&Value::Int8(number)) && row[1].is_same(&Value::Text(&text)));
            assert!(row[2].is_same(&Value::Text(&computed)));
        }
    }

    /// The values beside the rows were moved in any case, with arenas that might have kept much room of others before.
    #[test]
    fn values_beside_the_rows_hold_three_times_their_bytes_at_most() {
        let mut apart = Rows::new(1);
        apart.push([Value::Text(&"x".repeat(100_000))]);
        apart.clear();
        apart.push([Value::Text("short")]);
        let (mut from, mut to) = (texts(1), Rows::new(3));
        to.adopt(&mut from, 0..1, &mut apart);
        assert!(to.bytes() < 10_000, "{}", to.bytes());
        assert!(to.row(0)[2].is_same(&Value::Text("short")));
    }

    /// Rows of another width were refused after their first had got in, with memory that the next rows used again.
    #[test]
    fn rows_of_another_width_leave_nothing_behind() {
        let (mut from, mut to) = (texts(10), Rows::new(3));
        let adopting = AssertUnwindSafe(|| to.adopt(&mut from, 0..10, &mut Rows::default()));
        assert!(catch_unwind(adopting).is_err());
        let column = AssertUnwindSafe(|| {
            let (mut from, columns) = (texts(10), [0, 1, 2].into_iter());
            to.take_batch(&mut from, 0..10, &mut Rows::default(), columns);
        });
        assert!(catch_unwind(column).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| to.row(0).len())).is_err());
        let mut apart = Rows::new(1);
        (0..10).for_each(|_| apart.push([Value::Null]));
        to.adopt(&mut texts(10), 0..10, &mut apart);
        assert_eq!(to.len(), 10);
        let text = format!("9: {}", "x".repeat(100));
        assert!(to.row(9)[1].is_same(&Value::Text(&text)));
    }
}
