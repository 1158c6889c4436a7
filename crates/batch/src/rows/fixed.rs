//! Rows that stay as they are, for readers on any thread.
//!
//! # Safety argument
//! Rows belong to a thread for two reasons: charges, which count in a statement's memory, and arenas, whose counts of
//! bytes change when values are added. [`FixedRows`] have no charges, since these were taken away when the rows were
//! fixed, and they are never handed out to be changed: all that can be reached is a shared borrow of the rows, whose
//! methods read. Values borrow from the arenas of the rows, which neither move nor end before the last owner does, on
//! whichever thread that is.

use std::ops::Deref;

use types::{Charge, Value};

use super::Rows;

/// Rows to which none is added any more, and which any thread can read.
pub struct FixedRows(Rows);

// SAFETY: the rows have no charges and no batch by columns, the only parts of them that belong to a thread. See the
// module's header.
unsafe impl Send for FixedRows {}

// SAFETY: no method of rows that are borrowed for reading changes them. See the module's header.
unsafe impl Sync for FixedRows {}

/// Values can be read by any thread.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Value<'static>>();
};

impl FixedRows {
    /// Fixes rows. Returns them, and the charge for all of their memory, as it was when they were
    /// [settled](Rows::settle) last: it belongs to the caller, and is to be kept about as long as the rows.
    pub fn new(mut rows: Rows) -> (Self, Charge) {
        rows.columns_to_rows();
        rows.columns = None;
        let charge = rows.take_charge();
        (Self(rows), charge)
    }
}

impl Deref for FixedRows {
    type Target = Rows;

    #[inline(always)]
    fn deref(&self) -> &Rows {
        &self.0
    }
}

impl Rows {
    /// Takes the charges of all parts and arenas away, put together as one.
    fn take_charge(&mut self) -> Charge {
        let mut all = std::mem::take(&mut self.charge);
        all.absorb(self.arena.take_charge());
        if let Some(full) = &mut self.full {
            all.absorb(std::mem::take(&mut full.charge));
            full.arenas
                .iter_mut()
                .for_each(|arena| all.absorb(arena.take_charge()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use types::{Allowance, Memory, Value};

    use super::*;

    /// Fixed rows are read, and dropped, by several threads, and their memory counts as long as the charge is kept.
    #[test]
    fn fixed_rows_are_read_by_any_thread() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let mut rows = Rows::new(2);
        for number in 0..100_000 {
            let text = format!("{number}: {}", "x".repeat(number % 50));
            rows.push([Value::Int8(number as i64), Value::Text(&text)]);
            if number % 1000 == 0 {
                rows.settle(&memory).unwrap();
            }
        }
        rows.settle(&memory).unwrap();
        let (used, bytes) = (memory.used(), rows.bytes());
        assert!(used >= bytes && rows.full.is_some());
        let (rows, charge) = FixedRows::new(rows);
        assert_eq!((memory.used(), charge.bytes()), (used, used));
        let rows = Arc::new(rows);
        let readers = (0..2).map(|part| {
            let rows = rows.clone();
            thread::spawn(move || {
                for number in (part..rows.len()).step_by(7) {
                    let text = format!("{number}: {}", "x".repeat(number % 50));
                    assert!(rows.row(number)[0].is_same(&Value::Int8(number as i64)));
                    assert!(rows.row(number)[1].is_same(&Value::Text(&text)));
                }
            })
        });
        let readers: Vec<_> = readers.collect();
        drop(rows);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        assert_eq!(memory.used(), used);
        drop(charge);
        assert_eq!(memory.used(), 0);
    }

    /// Rows in the form of columns are turned into rows before they are fixed.
    #[test]
    fn rows_by_columns_are_fixed_as_rows() {
        let mut rows = Rows::new(1);
        rows.accept_columns();
        let mut columns = crate::Columns::default();
        columns.restart(1);
        let mut row = columns.begin();
        types::row::Taking::take(&mut row, Value::Text("one"));
        row.end();
        rows.put_columns(&mut columns);
        let (rows, _) = FixedRows::new(rows);
        assert_eq!(rows.len(), 1);
        assert!(rows.row(0)[0].is_same(&Value::Text("one")));
    }
}
