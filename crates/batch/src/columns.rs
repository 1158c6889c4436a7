//! A batch by columns: vectors of one length, of whose positions a selection counts.
//!
//! # Safety argument
//! As in `rows.rs`: the values of the vectors borrow from the arena of the batch, which a lifetime cannot say, and are
//! kept as if they borrowed for ever. They get in as copies into the arena ([`Columns::begin`]), and come out
//! with the lifetime of a borrow of the batch ([`Columns::view`]), during which the arena is neither reset nor dropped.
//! The arena does not move what it has given out.
//!
//! Values may also borrow from something shared that the batch owns in part until its values are forgotten: from what
//! it was lent ([`Columns::adopt`]), or from arenas and rows of others ([`Columns::append_pairs`], in `join.rs`).
//! Nobody can change what is shared while the batch owns it, and it does not move. An arena that others own in part is
//! replaced by a new one instead of being reset.

mod join;

use std::{any::Any, rc::Rc, sync::Arc};

use types::{Charge, Memory, Result, Scratch, Value, row::Taking};

use crate::{BATCH_BYTES, FixedRows, Rows, Vector, rows::kept};

pub use self::join::ColumnMap;

/// Usual number of rows that operators hand over at once by columns: its columns fit into a processor's nearest caches,
/// and what is done once for a batch is little beside what is done for its rows.
pub const COLUMN_ROWS: usize = 1024;

/// Values of a batch by columns, beyond which no more rows are added: wide rows are few.
pub const COLUMN_VALUES: usize = 32 * COLUMN_ROWS;

/// Rows by columns.
#[derive(Default)]
pub struct Columns {
    /// They are dropped before the arena, and have no destructors that read what is borrowed.
    vectors: Vec<Vector<'static>>,
    /// Number of positions.
    len: usize,
    /// Positions that count, in ascending order; all if there is none.
    selection: Option<Vec<u32>>,
    /// Memory of values that were copied; batches whose values were taken from here own it in part.
    arena: Rc<Scratch>,
    /// Owners of memory that values borrow, apart from the arena. They outlive the vectors.
    owners: Vec<Owner>,
    /// Bytes that the values of pairs borrow.
    borrowed: usize,
    /// Charge for the vectors; the arena has a charge of its own.
    charge: Charge,
}

/// An owner of memory that values of a batch borrow. It is held, and never read.
#[derive(Clone)]
#[expect(dead_code, reason = "an owner is there to be dropped")]
enum Owner {
    Lent(Arc<dyn Any + Send + Sync>),
    Arena(Rc<Scratch>),
    Rows(Arc<FixedRows>),
    /// Owners of a batch from which others take values.
    All(Rc<Vec<Owner>>),
}

/// Columns to be read, and the positions that count.
#[derive(Clone, Copy)]
pub struct View<'c> {
    vectors: &'c [Vector<'c>],
    len: usize,
    selection: Option<&'c [u32]>,
}

impl<'c> View<'c> {
    /// Returns a view of columns of `len` values each, of which all count. A column that is not read may be empty.
    pub fn of(vectors: &'c [Vector<'c>], len: usize) -> Self {
        Self {
            vectors,
            len,
            selection: None,
        }
    }

    /// Returns the view in which these positions count alone, which are in ascending order.
    #[must_use]
    pub fn narrowed(self, selection: &'c [u32]) -> Self {
        Self {
            selection: Some(selection),
            ..self
        }
    }

    /// Returns the number of positions, selected or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.vectors.len()
    }

    /// Returns the positions that count, in ascending order; `None` if all do.
    pub fn selection(&self) -> Option<&'c [u32]> {
        self.selection
    }

    /// Returns the positions that count.
    pub fn positions(&self) -> impl Iterator<Item = usize> + use<'c> {
        let selected = self.selection.unwrap_or_default().iter();
        let all = match self.selection {
            Some(_) => 0..0,
            None => 0..self.len,
        };
        selected.map(|at| *at as usize).chain(all)
    }

    /// Returns a column.
    ///
    /// # Panics
    /// If there is none of this number.
    #[inline]
    pub fn vector(&self, column: usize) -> &'c Vector<'c> {
        &self.vectors[column]
    }

    /// Writes the values of the row at a position into `row`, in place of those that it has.
    pub fn read(&self, at: usize, row: &mut Vec<Value<'c>>) {
        row.clear();
        row.extend(self.vectors.iter().map(|vector| vector.value(at)));
    }
}

impl Columns {
    /// Forgets all rows; the next ones have `width` values each. Memory is kept for them.
    pub fn restart(&mut self, width: usize) {
        self.vectors.resize_with(width, Vector::default);
        self.clear();
    }

    /// Forgets all rows. Memory is kept for the next ones.
    pub fn clear(&mut self) {
        self.vectors.iter_mut().for_each(Vector::clear);
        self.len = 0;
        self.selection = None;
        match Rc::get_mut(&mut self.arena) {
            Some(arena) => arena.reset(),
            None => self.arena = Rc::default(),
        }
        self.owners.clear();
        self.borrowed = 0;
    }

    /// Fills the columns of an empty batch with `len` values each, which may borrow from `owner`: the batch owns it
    /// with others until its rows are forgotten. `fill` is called for each column by its number.
    ///
    /// # Errors
    /// The first error of `fill`; the batch is empty then.
    ///
    /// # Panics
    /// If there are rows already, or a column is filled with other than `len` values.
    pub fn adopt<T: Any + Send + Sync>(
        &mut self,
        owner: &Arc<T>,
        len: usize,
        mut fill: impl for<'o> FnMut(&'o T, usize, &mut Vector<'o>) -> Result<()>,
    ) -> Result<()> {
        assert!(self.is_empty(), "rows are in a batch to be filled");
        // SAFETY: the batch owns the memory in part until its values are forgotten, or it is dropped; see the module's
        // header. `fill` works for any lifetime, and cannot keep what it is lent.
        let borrowed: &'static T = unsafe { &*Arc::as_ptr(owner) };
        self.owners.push(Owner::Lent(owner.clone()));
        for column in 0..self.vectors.len() {
            if let Err(error) = fill(borrowed, column, &mut self.vectors[column]) {
                self.clear();
                return Err(error);
            }
            assert_eq!(
                self.vectors[column].len(),
                len,
                "values of column {column} of a batch of {len}"
            );
        }
        self.len = len;
        Ok(())
    }

    /// Returns the number of positions, selected or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the columns to be read.
    pub fn view(&self) -> View<'_> {
        View {
            vectors: &self.vectors,
            len: self.len,
            selection: self.selection.as_deref(),
        }
    }

    /// Returns the number of rows that count.
    pub fn selected(&self) -> usize {
        match &self.selection {
            Some(selection) => selection.len(),
            None => self.len,
        }
    }

    /// Lets these positions count alone, which are in ascending order.
    pub fn select(&mut self, selection: Vec<u32>) {
        debug_assert!(selection.is_sorted() && selection.len() <= self.selected());
        self.selection = (selection.len() < self.len).then_some(selection);
    }

    /// Begins a row, whose values are copied. It counts once [`NewPosition::end`] was called, before which it must
    /// have got all of its values.
    #[inline(always)]
    pub fn begin(&mut self) -> NewPosition<'_> {
        NewPosition {
            columns: self,
            column: 0,
        }
    }

    /// Gives all rows this value in a column, in place of those that they have.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn set_column(&mut self, column: usize, value: Value<'_>) {
        let value = kept(&value, &self.arena);
        let vector = &mut self.vectors[column];
        vector.clear();
        (0..self.len).for_each(|_| vector.push(value));
    }

    /// Returns whether there are as many rows, or bytes, as operators hand over at once.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= COLUMN_ROWS
            || self.len * self.vectors.len() >= COLUMN_VALUES
            || self.arena.allocated_bytes() >= BATCH_BYTES
    }

    /// Adds the rows that count to `rows`.
    pub fn add_to(&self, rows: &mut Rows) {
        let mut from = 0;
        while from < self.selected() {
            from = self.add_some_to(rows, from);
        }
    }

    /// Adds the rows that count to `rows`, from the one at `from` among them on, until [`Rows::is_large`] is true, but
    /// one at least; returns where to go on.
    pub fn add_some_to(&self, rows: &mut Rows, from: usize) -> usize {
        let mut added = from;
        for at in self.view().positions().skip(from) {
            if added > from && rows.is_large() {
                break;
            }
            rows.push(self.vectors.iter().map(|vector| vector.value(at)));
            added += 1;
        }
        added
    }

    /// Charges to a statement the memory that the columns have taken, or given back, since the last call.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.arena.charge_to(memory);
        self.arena.settle()?;
        let bytes = self.vectors_bytes();
        self.charge.set(memory, bytes)
    }

    /// Returns the bytes that the columns take.
    pub fn bytes(&self) -> usize {
        self.vectors_bytes() + self.arena.allocated_bytes()
    }

    fn vectors_bytes(&self) -> usize {
        self.vectors.iter().map(Vector::bytes).sum()
    }
}

/// A row on its way into [`Columns`].
pub struct NewPosition<'c> {
    columns: &'c mut Columns,
    column: usize,
}

impl NewPosition<'_> {
    /// Ends the row, which has all of its values.
    #[inline(always)]
    pub fn end(self) {
        debug_assert_eq!(self.column, self.columns.vectors.len());
        self.columns.len += 1;
    }
}

impl<'v> Taking<'v> for NewPosition<'_> {
    #[inline(always)]
    fn take(&mut self, value: Value<'v>) {
        let kept = kept(&value, &self.columns.arena);
        self.columns.vectors[self.column].push(kept);
        self.column += 1;
    }
}

#[cfg(test)]
mod tests {
    use types::Allowance;

    use super::*;

    fn texts(count: usize) -> Columns {
        let mut columns = Columns::default();
        columns.restart(2);
        for number in 0..count {
            let text = format!("text {number}");
            let mut row = columns.begin();
            row.take(Value::Int4(number as i32));
            row.take(Value::Text(&text));
            row.end();
        }
        columns
    }

    /// Rows by columns have their texts to themselves, and come out as rows.
    #[test]
    fn selected_rows_come_out() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let mut columns = texts(10);
        columns.settle(&memory).unwrap();
        assert!(memory.used() >= columns.bytes());
        columns.select(vec![2, 7]);
        let mut rows = Rows::new(2);
        columns.add_to(&mut rows);
        assert_eq!((columns.selected(), rows.len()), (2, 2));
        assert!(rows.row(1)[0].is_same(&Value::Int4(7)));
        assert!(rows.row(1)[1].is_same(&Value::Text("text 7")));
        let mut row = Vec::new();
        columns.view().read(3, &mut row);
        assert!(row[1].is_same(&Value::Text("text 3")));
        drop(columns);
        assert_eq!(memory.used(), 0);
    }

    /// Values that borrow from an owner are there as long as they count, and the owner no longer than they; rows come
    /// behind them.
    #[test]
    fn an_owner_lives_as_long_as_its_values() {
        let owner = Arc::new(vec![String::from("one"), String::from("two")]);
        let mut columns = texts(3);
        columns.clear();
        let fill = |owner: &Arc<Vec<String>>, columns: &mut Columns, is_refused: bool| {
            columns.adopt(owner, 2, |owner, column, vector| {
                match column {
                    0 => vector.fill_integers(crate::IntegerKind::Int4, |list| list.extend([1, 2])),
                    _ if is_refused => return Err(types::SqlError::unsupported("no more")),
                    _ => vector.fill_texts(|list| list.extend(owner.iter().map(String::as_str))),
                }
                Ok(())
            })
        };
        assert!(fill(&owner, &mut columns, true).is_err());
        assert!(columns.is_empty() && Arc::strong_count(&owner) == 1);
        fill(&owner, &mut columns, false).unwrap();
        let text = String::from("three");
        let mut row = columns.begin();
        row.take(Value::Int4(3));
        row.take(Value::Text(&text));
        row.end();
        assert_eq!((Arc::strong_count(&owner), columns.len()), (2, 3));
        let text = String::from("all");
        columns.set_column(0, Value::Text(&text));
        drop(text);
        assert!(
            columns
                .view()
                .vector(0)
                .value(2)
                .is_same(&Value::Text("all"))
        );
        let weak = Arc::downgrade(&owner);
        drop(owner);
        let mut rows = Rows::new(2);
        columns.add_to(&mut rows);
        assert!(
            columns
                .view()
                .vector(1)
                .value(1)
                .is_same(&Value::Text("two"))
        );
        columns.restart(2);
        assert!(columns.is_empty() && weak.upgrade().is_none());
        assert!(rows.row(1)[1].is_same(&Value::Text("two")));
        assert!(rows.row(2)[1].is_same(&Value::Text("three")));
    }

    /// Wide rows are handed on some at a time.
    #[test]
    fn large_rows_are_added_in_pieces() {
        let mut columns = Columns::default();
        columns.restart(1);
        let text = "x".repeat(BATCH_BYTES / 2);
        for _ in 0..5 {
            let mut row = columns.begin();
            row.take(Value::Text(&text));
            row.end();
        }
        columns.select(vec![0, 1, 3, 4]);
        let (mut from, mut pieces) = (0, Vec::new());
        while from < columns.selected() {
            let mut rows = Rows::new(1);
            from = columns.add_some_to(&mut rows, from);
            pieces.push(rows.len());
        }
        assert!(
            pieces.len() > 1 && pieces.iter().sum::<usize>() == 4,
            "{pieces:?}"
        );
    }

    /// A selection of all rows is none.
    #[test]
    fn a_batch_without_a_selection_has_all_rows() {
        let mut columns = texts(3);
        columns.select(vec![0, 1, 2]);
        assert!(columns.view().selection().is_none());
        assert_eq!(columns.view().positions().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
