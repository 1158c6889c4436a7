//! Rows in memory with the values that they borrow: the form in which operators hand rows to each
//! other.
//!
//! # Safety argument
//! The values of [`Rows`] borrow from its own arena, which a lifetime cannot say: they are kept as
//! `Value<'static>`. This module alone sees them in this form. They get in as copies into the arena
//! ([`Rows::push`], `kept`), and come out with the lifetime of a borrow of the `Rows`
//! ([`Rows::row`]), during which the arena is neither reset nor dropped. The arena does not move
//! what it has given out when the `Rows` moves, or when the arena is replaced by a new one
//! ([`Full`]). Copies that would leave the arena are made by `Value::copied`. Rows can take over the arenas of other
//! rows, whose values then get in as they are ([`Rows::adopt`], argued in `adopt.rs`).
//!
//! # Many rows
//! Operators that hold rows may hold millions. Their values lie in parts of the same number of rows, which avoids
//! copying them when rows are added, and their arenas are of about [`ARENA_BYTES`], or those of the batches that they
//! were taken over with. Both are given back in steps ([`Gradual`]). A batch has one part, or a few if it was one of
//! columns, and one arena more for each operator below that has handed on computed values beside those of its input.

mod adopt;
mod fixed;
mod new_row;
#[cfg(test)]
mod tests;

use std::{convert::Infallible, mem::MaybeUninit, ptr::NonNull, rc::Rc, result};

use interleave::{Gradual, Policy as _, Prefetching, RELEASED_AT_ONCE, Release};
use types::{Charge, Memory, Result, Scratch, Value, row::Taking};

use crate::Columns;

pub use self::{fixed::FixedRows, new_row::NewRow};

/// Usual number of rows that operators hand over at once.
pub const BATCH_ROWS: usize = 256;

/// Bytes beyond the rows' own width that operators hand over at once, approximately: the last row
/// may exceed them.
pub const BATCH_BYTES: usize = 1 << 20;

/// Number in place of a row's, meaning no row.
pub const NO_ROW: u32 = u32::MAX;

/// Most rows of a part, as a power of two.
const PART_BITS_MAX: u32 = 15;

/// Fewest rows of a part, however wide they are, as a power of two: more than a batch.
const PART_BITS_MIN: u32 = 9;
const _: () = assert!(1 << PART_BITS_MIN > BATCH_ROWS);

/// Most bytes of a part with more rows than the fewest: enough for most joins' smaller side, whose
/// rows are found at less cost in one part.
const PART_BYTES: usize = 4 << 20;

/// Bytes from which on the arena of rows that are held is replaced by a new one; one batch comes on
/// top.
const ARENA_BYTES: usize = 1 << 20;

/// Rows of the same width, with memory of their own.
pub struct Rows {
    /// Values of the last part, row by row. They have no destructors, and are dropped before the
    /// arena.
    values: Vec<Value<'static>>,
    width: usize,
    rows: usize,
    /// Number of rows of a part, as a power of two.
    part_bits: u32,
    arena: Scratch,
    full: Option<Box<Gradual<Full>>>,
    /// Beginning of each part, if there are several.
    bases: Vec<NonNull<Value<'static>>>,
    /// Charge for the list of values; the arena has a charge of its own.
    charge: Charge,
    /// Whether the reader of these rows [accepts columns](Rows::accept_columns).
    accepts_columns: bool,
    /// A batch by columns, whose rows that count stand here instead of any by themselves; made for the first one.
    columns: Option<Box<Columns>>,
}

/// The full parts and arenas of many rows.
#[derive(Default)]
struct Full {
    /// All parts but the last.
    parts: Vec<Vec<Value<'static>>>,
    /// All arenas but the last.
    arenas: Vec<Scratch>,
    /// Number of the arenas that are charged as a whole; later ones may have been taken over before they were.
    charged_arenas: usize,
    /// Bytes of the parts, and of the arenas.
    part_bytes: usize,
    arena_bytes: usize,
    /// Charge for the parts.
    charge: Charge,
}

impl Full {
    /// Charges to a statement the arenas that are not charged as a whole yet, and the parts.
    fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        while let Some(arena) = self.arenas.get(self.charged_arenas) {
            arena.charge_to(memory);
            arena.settle()?;
            self.charged_arenas += 1;
        }
        self.charge.set(memory, self.part_bytes)
    }
}

impl Release for Full {
    fn bytes(&self) -> usize {
        self.part_bytes + self.arena_bytes
    }

    fn release(&mut self) -> bool {
        let mut released = 0;
        while released < RELEASED_AT_ONCE {
            if let Some(part) = self.parts.last_mut() {
                let bytes = Release::bytes(part);
                if part.release() {
                    self.parts.pop();
                    self.part_bytes -= bytes;
                    released += bytes;
                } else {
                    let less = bytes - Release::bytes(part);
                    self.part_bytes -= less;
                    released += less;
                }
                self.charge.lower(self.part_bytes);
            } else if let Some(arena) = self.arenas.pop() {
                released += arena.allocated_bytes();
            } else {
                return true;
            }
        }
        self.parts.is_empty() && self.arenas.is_empty()
    }
}

impl Default for Rows {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Rows {
    /// Makes an empty list of rows with `width` values each.
    pub fn new(width: usize) -> Self {
        Self {
            values: Vec::new(),
            width,
            rows: 0,
            part_bits: part_bits(width),
            arena: Scratch::new(),
            full: None,
            bases: Vec::new(),
            charge: Charge::default(),
            accepts_columns: false,
            columns: None,
        }
    }

    /// Says that the reader of these rows takes them by columns, too.
    pub fn accept_columns(&mut self) {
        self.accepts_columns = true;
    }

    /// Returns an empty batch by columns to be filled instead of the rows, if their reader takes it; it counts once
    /// [`Rows::end_columns`] was called.
    pub fn begin_columns(&mut self) -> Option<&mut Columns> {
        debug_assert!(self.is_empty(), "rows beside columns");
        if !self.accepts_columns {
            return None;
        }
        let columns = self.columns.get_or_insert_default();
        columns.restart(self.width);
        Some(columns)
    }

    /// Lets the batch by columns stand for the rows.
    pub fn end_columns(&mut self) {
        self.rows = self
            .columns
            .as_ref()
            .map_or(0, |columns| columns.selected());
    }

    /// Returns whether the reader of these rows takes them by columns, too.
    pub fn accepts_columns(&self) -> bool {
        self.accepts_columns
    }

    /// Lets a batch by columns stand for the rows, whose reader [accepts columns](Rows::accepts_columns); gives memory
    /// for another one in exchange.
    pub fn put_columns(&mut self, columns: &mut Columns) {
        debug_assert!(
            self.accepts_columns && self.is_empty(),
            "rows beside columns"
        );
        std::mem::swap(&mut **self.columns.get_or_insert_default(), columns);
        self.end_columns();
    }

    /// Returns the rows by columns, if they are in this form: they cannot be read one by one then.
    pub fn columns(&self) -> Option<&Columns> {
        self.columns
            .as_deref()
            .filter(|columns| !columns.is_empty())
    }

    /// Turns rows by columns, if they are in this form, into rows that can be read one by one.
    pub fn columns_to_rows(&mut self) {
        let Some(mut columns) = self.columns.take_if(|columns| !columns.is_empty()) else {
            return;
        };
        self.rows = 0;
        columns.add_to(self);
        columns.clear();
        self.columns = Some(columns);
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of values in each row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a row: its values are copied.
    ///
    /// # Panics
    /// If the row has another width than the others.
    #[inline]
    pub fn push<'v>(&mut self, row: impl IntoIterator<Item = Value<'v>>) {
        let Ok(()) = self.add_row::<Infallible>(|new| {
            row.into_iter().for_each(|value| new.take(value));
            Ok(())
        });
    }

    /// Adds a row for each pair of numbers: values at some positions of that row of `left`, then of
    /// that of `right`. The values of a missing row ([`NO_ROW`]) are NULL. Ends early if the rows
    /// have [many bytes](Rows::is_large). Returns how many rows were added.
    ///
    /// # Panics
    /// If the new rows have another width than the others.
    pub fn push_pairs(
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
        let mut added = 0;
        while added < pairs.len() && !(added > 0 && self.is_large()) {
            let room = (1 << self.part_bits) - self.place(self.rows);
            let until = pairs.len().min(added + room);
            added += self.push_pairs_to_part(left, right, &pairs[added..until]);
        }
        added
    }

    /// Adds rows that the last part has room for; returns how many.
    fn push_pairs_to_part(
        &mut self,
        left: (&Rows, &[usize]),
        right: (&Rows, &[usize]),
        pairs: &[(u32, u32)],
    ) -> usize {
        let (before, put_by) = (self.values.len(), self.put_by());
        self.values.reserve(pairs.len() * self.width);
        let mut added = 0;
        if self.width == 0 {
            added = pairs.len();
        }
        let spare = self.values.spare_capacity_mut();
        // There are no places if the rows have no values.
        let places = spare.chunks_exact_mut(self.width.max(1));
        for ((one, two), row) in pairs[added..].iter().zip(places) {
            let (one_places, two_places) = row.split_at_mut(left.1.len());
            let copied = pick(one_places, left, *one, &self.arena)
                | pick(two_places, right, *two, &self.arena);
            added += 1;
            if copied && self.arena.allocated_bytes() + put_by >= BATCH_BYTES {
                break;
            }
        }
        // SAFETY: `added` rows were written, each as a whole, within the capacity.
        unsafe { self.values.set_len(before + added * self.width) };
        self.rows += added;
        if self.place(self.rows) == 0 {
            self.begin_part();
        }
        added
    }

    /// Adds a row whose values may be errors; a row with an error is not added.
    ///
    /// # Errors
    /// The first error among the values.
    ///
    /// # Panics
    /// If the row has another width than the others.
    pub fn try_push<'v>(&mut self, row: impl IntoIterator<Item = Result<Value<'v>>>) -> Result<()> {
        self.push_with(|new| {
            row.into_iter().try_for_each(|value| {
                new.take(value?);
                Ok(())
            })
        })
    }

    /// Adds a row whose values `write` puts in one by one. The row is not added if `write` fails.
    ///
    /// # Errors
    /// Errors of `write`.
    ///
    /// # Panics
    /// If the row has another width than the others.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut NewRow<'_>) -> Result<()>) -> Result<()> {
        self.add_row(write)
    }

    /// Adds a row whose values `write` puts in. The row is not added if `write` fails or panics.
    ///
    /// # Errors
    /// Errors of `write`.
    ///
    /// # Panics
    /// If the row has another width than the others.
    #[inline(always)]
    fn add_row<E>(
        &mut self,
        write: impl FnOnce(&mut NewRow<'_>) -> result::Result<(), E>,
    ) -> result::Result<(), E> {
        self.values.reserve(self.width);
        let mut new = NewRow::new(&mut self.values, &self.arena);
        write(&mut new)?;
        new.finish(self.width);
        self.rows += 1;
        if self.place(self.rows) == 0 {
            self.begin_part();
        }
        Ok(())
    }

    /// Returns the place of a row in its part.
    #[inline(always)]
    fn place(&self, at: usize) -> usize {
        at & ((1 << self.part_bits) - 1)
    }

    #[cold]
    fn begin_part(&mut self) {
        let next = Vec::with_capacity(self.width << self.part_bits);
        let mut part = std::mem::replace(&mut self.values, next);
        if self.bases.is_empty() {
            self.bases.push(beginning(&mut part));
        }
        self.bases.push(beginning(&mut self.values));
        let full = self.full.get_or_insert_default();
        full.part_bytes += part.capacity() * size_of::<Value<'static>>();
        full.parts.push(part);
    }

    /// Begins to bring a row into the cache.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        let row = self.row(at);
        Prefetching::prefetch(row.as_ptr(), size_of_val(row));
    }

    /// Returns the row at a position.
    #[inline]
    pub fn row(&self, at: usize) -> &[Value<'_>] {
        if self.bases.is_empty() {
            return &self.values[at * self.width..(at + 1) * self.width];
        }
        assert!(at < self.rows, "a row that is there");
        let (part, place) = (self.bases[at >> self.part_bits], self.place(at));
        // SAFETY: all parts but the last are full, and the last has the remaining rows; it was made
        // with room for all of its rows, and therefore does not move when rows are added.
        unsafe {
            let row = part.add(place * self.width);
            std::slice::from_raw_parts(row.as_ptr(), self.width)
        }
    }

    /// Iterates over all rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Value<'_>]> {
        (0..self.rows).map(|at| self.row(at))
    }

    /// Charges to a statement the memory that the rows have taken, or given back, since the last
    /// call.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    #[inline]
    pub fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.arena.charge_to(memory);
        self.arena.settle()?;
        // The arena of a batch is to be used again.
        if self.rows > BATCH_ROWS && self.arena.allocated_bytes() >= ARENA_BYTES {
            self.begin_arena();
        }
        if let Some(full) = &mut self.full {
            full.settle(memory)?;
        }
        if let Some(columns) = &mut self.columns {
            columns.settle(memory)?;
        }
        self.charge.set(memory, self.values_bytes())
    }

    #[cold]
    fn begin_arena(&mut self) {
        let arena = std::mem::take(&mut self.arena);
        self.put_by_arena(arena);
    }

    /// Keeps an arena as long as the rows.
    fn put_by_arena(&mut self, arena: Scratch) {
        let full = self.full.get_or_insert_default();
        full.arena_bytes += arena.allocated_bytes();
        full.arenas.push(arena);
    }

    /// Returns the bytes that the rows take.
    pub fn bytes(&self) -> usize {
        let full = self.full.as_ref().map_or(0, |full| full.bytes());
        let columns = self.columns.as_ref().map_or(0, |columns| columns.bytes());
        self.values_bytes() + self.arena.allocated_bytes() + full + columns
    }

    /// Returns the bytes that columns of a row take without their own width, each as often as it is named. A record,
    /// whose bytes are not known, counts for those of a row.
    pub fn borrowed_bytes(&self, row: usize, columns: &[usize]) -> usize {
        let row = self.row(row);
        let bytes = columns.iter().map(|column| match &row[*column] {
            Value::Record(_) => self.bytes() / self.rows,
            other => other.borrowed_bytes(),
        });
        bytes.sum()
    }

    fn values_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Value<'static>>()
    }

    /// Returns whether the rows have so many bytes that no more should be added before they are
    /// handed on.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.arena_bytes() >= BATCH_BYTES && self.rows > 0
    }

    /// Returns the bytes of all arenas.
    #[inline]
    fn arena_bytes(&self) -> usize {
        self.arena.allocated_bytes() + self.put_by()
    }

    /// Returns the bytes of full arenas.
    #[inline]
    fn put_by(&self) -> usize {
        self.full.as_ref().map_or(0, |full| full.arena_bytes)
    }

    /// Returns whether there are as many rows, or bytes, as operators hand over at once.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.is_large()
    }

    /// Forgets all rows, as [`Rows::clear`] does; the next ones have `width` values each.
    #[inline]
    pub fn restart(&mut self, width: usize) {
        self.clear();
        if width != self.width {
            self.width = width;
            self.part_bits = part_bits(width);
        }
    }

    /// Forgets all rows, as [`Rows::clear`] does, and ends charging a statement: the next one that
    /// [settles](Rows::settle) them is charged.
    pub(crate) fn release(&mut self) {
        self.clear();
        self.arena.release();
        self.charge = Charge::default();
        self.accepts_columns = false;
        self.columns = None;
    }

    /// Forgets all rows; memory is kept for the next ones.
    pub fn clear(&mut self) {
        self.values.clear();
        self.rows = 0;
        self.arena.reset();
        self.bases.clear();
        self.full = None;
        if let Some(columns) = &mut self.columns {
            columns.clear();
        }
    }
}

/// Returns the number of rows of a part, as a power of two.
fn part_bits(width: usize) -> u32 {
    let fitting = PART_BYTES / size_of::<Value<'static>>() / width.max(1);
    fitting.max(1).ilog2().clamp(PART_BITS_MIN, PART_BITS_MAX)
}

fn beginning(part: &mut Vec<Value<'static>>) -> NonNull<Value<'static>> {
    NonNull::new(part.as_mut_ptr()).expect("a vector's memory has an address")
}

/// Writes a part of a row: values at some positions of row `number`. Returns whether the arena has
/// grown by it.
#[inline(always)]
fn pick(
    places: &mut [MaybeUninit<Value<'static>>],
    (rows, positions): (&Rows, &[usize]),
    number: u32,
    arena: &Scratch,
) -> bool {
    if number == NO_ROW {
        places.fill(MaybeUninit::new(Value::Null));
        return false;
    }
    let row = rows.row(number as usize);
    let mut copied = false;
    for (place, at) in places.iter_mut().zip(positions) {
        let value = &row[*at];
        copied |= value.borrows();
        place.write(kept(value, arena));
    }
    copied
}

/// Returns a copy of a value that borrows from the arena alone.
#[inline(always)]
pub(crate) fn kept(value: &Value<'_>, arena: &Scratch) -> Value<'static> {
    let value = if value.borrows() {
        value.copied(arena)
    } else {
        *value
    };
    // SAFETY: the value is in the arena, or borrows nothing. See the module's header.
    unsafe { std::mem::transmute::<Value<'_>, Value<'static>>(value) }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
