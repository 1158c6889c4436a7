//! Rows in memory with the values that they borrow: what operators hand to each other.
//!
//! # Safety argument
//! The values of [`Rows`] borrow from its own arena, which a lifetime cannot say: they are kept as
//! `Value<'static>`. This module alone sees them so. They get in as copies into the arena
//! ([`Rows::push`], `kept`), and come out with the lifetime of a borrow of the `Rows` ([`Rows::row`]),
//! during which the arena is neither reset nor dropped. The arena does not move what it has given
//! out when the `Rows` moves, or when it is put by for a new one ([`Full`]). Copies that would leave
//! the arena are made by `Value::copied`.
//!
//! # Many rows
//! Operators that hold rows may hold millions. Their values lie in parts of the same number of
//! rows, so that nothing is copied when there are more, and their arenas are of about
//! [`ARENA_BYTES`]. Both are given back in steps ([`Gradual`]). A batch has one part and one arena.

use std::{mem::MaybeUninit, ptr::NonNull, rc::Rc};

use interleave::{Gradual, Policy as _, Prefetching, RELEASED_AT_ONCE, Release};
use types::{Charge, Memory, Result, Scratch, Value, row::Taking};

/// Rows that operators hand over at once, as a rule.
pub const BATCH_ROWS: usize = 256;

/// Bytes beyond the rows' own width that operators hand over at once: about so many, and a row.
const BYTES_MAX: usize = 1 << 20;

/// In place of a row's number: there is none.
pub const NO_ROW: u32 = u32::MAX;

/// A part has at most so many rows,
const PART_BITS_MAX: u32 = 15;

/// and at least so many, however wide they are: more than a batch.
const PART_BITS_MIN: u32 = 9;
const _: () = assert!(1 << PART_BITS_MIN > BATCH_ROWS);

/// In between, it takes no more than so many bytes: enough for most joins' smaller side, whose rows are
/// found at less cost in one part.
const PART_BYTES: usize = 4 << 20;

/// An arena of rows that are held is put by when it takes so many bytes; one batch comes on top.
const ARENA_BYTES: usize = 1 << 20;

/// Rows of the same width, with memory of their own.
pub struct Rows {
    /// Row by row, those of the last part. Dropped before the arena; values have no destructors.
    values: Vec<Value<'static>>,
    width: usize,
    rows: usize,
    /// Rows of a part, as a power of two.
    part_bits: u32,
    arena: Scratch,
    full: Option<Box<Gradual<Full>>>,
    /// Where each part begins, if there are several.
    bases: Vec<NonNull<Value<'static>>>,
    /// What the list of values takes; the arena has a charge of its own.
    charge: Charge,
}

/// What was put by of many rows.
#[derive(Default)]
struct Full {
    /// All parts but the last.
    parts: Vec<Vec<Value<'static>>>,
    /// All arenas but the last.
    arenas: Vec<Scratch>,
    /// Bytes of the parts, and of the arenas.
    part_bytes: usize,
    arena_bytes: usize,
    /// For the parts.
    charge: Charge,
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
    /// None yet, of so many values each.
    pub fn new(width: usize) -> Self {
        let fitting = PART_BYTES / size_of::<Value<'static>>() / width.max(1);
        let part_bits = fitting.max(1).ilog2().clamp(PART_BITS_MIN, PART_BITS_MAX);
        Self {
            values: Vec::new(),
            width,
            rows: 0,
            part_bits,
            arena: Scratch::new(),
            full: None,
            bases: Vec::new(),
            charge: Charge::default(),
        }
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
    /// If it has not the width of the others.
    #[inline]
    pub fn push<'v>(&mut self, row: impl IntoIterator<Item = Value<'v>>) {
        let before = self.values.len();
        let arena = &self.arena;
        self.values
            .extend(row.into_iter().map(|value| kept(&value, arena)));
        self.count_row(before);
    }

    /// Adds a row for each pair of numbers: values at some positions of that row of `left`, then of
    /// that of `right`. Of a row that is not there ([`NO_ROW`]) all are NULL. Ends before all pairs
    /// are added where the rows have [many bytes](Rows::is_large); how many were added.
    ///
    /// # Panics
    /// If that makes not the width of the others.
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

    /// Adds rows that the last part has room for.
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
        // None, of rows without values.
        let places = spare.chunks_exact_mut(self.width.max(1));
        for ((one, two), row) in pairs[added..].iter().zip(places) {
            let (one_places, two_places) = row.split_at_mut(left.1.len());
            let copied = pick(one_places, left, *one, &self.arena)
                | pick(two_places, right, *two, &self.arena);
            added += 1;
            if copied && self.arena.allocated_bytes() + put_by >= BYTES_MAX {
                break;
            }
        }
        // SAFETY: so many rows were written, each as a whole, within the capacity.
        unsafe { self.values.set_len(before + added * self.width) };
        self.rows += added;
        if self.place(self.rows) == 0 {
            self.begin_part();
        }
        added
    }

    /// Adds a row whose values may be errors; then it is not added.
    ///
    /// # Errors
    /// The first of them.
    ///
    /// # Panics
    /// As [`Rows::push`].
    pub fn try_push<'v>(&mut self, row: impl IntoIterator<Item = Result<Value<'v>>>) -> Result<()> {
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
    pub fn push_with(&mut self, write: impl FnOnce(&mut NewRow<'_>) -> Result<()>) -> Result<()> {
        let before = self.values.len();
        self.values.reserve(self.width);
        let written = write(&mut NewRow {
            values: &mut self.values,
            arena: &self.arena,
        });
        // More would have moved the part.
        assert!(
            self.values.len() <= before + self.width,
            "a row of another width"
        );
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
        if self.place(self.rows) == 0 {
            self.begin_part();
        }
    }

    /// The place of a row in its part.
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

    /// Brings a row into the cache, or begins to.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        let row = self.row(at);
        Prefetching::prefetch(row.as_ptr(), size_of_val(row));
    }

    /// The row at a position.
    #[inline]
    pub fn row(&self, at: usize) -> &[Value<'_>] {
        if self.bases.is_empty() {
            return &self.values[at * self.width..(at + 1) * self.width];
        }
        assert!(at < self.rows, "a row that is there");
        let (part, place) = (self.bases[at >> self.part_bits], self.place(at));
        // SAFETY: all parts but the last are full, and that one has the rows that are left; it was made with
        // room for all of its rows, so that it does not move when there are more.
        unsafe {
            let row = part.add(place * self.width);
            std::slice::from_raw_parts(row.as_ptr(), self.width)
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Value<'_>]> {
        (0..self.rows).map(|at| self.row(at))
    }

    /// Charges to a statement what the rows have taken since the last time, or given back.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    #[inline]
    pub fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.arena.charge_to(memory);
        self.arena.settle()?;
        // Of a batch, the arena is to be used again.
        if self.rows > BATCH_ROWS && self.arena.allocated_bytes() >= ARENA_BYTES {
            self.begin_arena();
        }
        if let Some(full) = &mut self.full {
            let part_bytes = full.part_bytes;
            full.charge.set(memory, part_bytes)?;
        }
        self.charge.set(memory, self.values_bytes())
    }

    #[cold]
    fn begin_arena(&mut self) {
        let arena = std::mem::take(&mut self.arena);
        let full = self.full.get_or_insert_default();
        full.arena_bytes += arena.allocated_bytes();
        full.arenas.push(arena);
    }

    /// Bytes that the rows take.
    pub fn bytes(&self) -> usize {
        let full = self.full.as_ref().map_or(0, |full| full.bytes());
        self.values_bytes() + self.arena.allocated_bytes() + full
    }

    fn values_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Value<'static>>()
    }

    /// Whether they have so many bytes that no more should be added before they are handed on.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.arena.allocated_bytes() + self.put_by() >= BYTES_MAX && self.rows > 0
    }

    /// Bytes of arenas that were put by.
    #[inline]
    fn put_by(&self) -> usize {
        self.full.as_ref().map_or(0, |full| full.arena_bytes)
    }

    /// Whether they are as many as operators hand over at once, or have as many bytes.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.is_large()
    }

    /// Forgets all rows; memory is kept for the next ones.
    pub fn clear(&mut self) {
        self.values.clear();
        self.rows = 0;
        self.arena.reset();
        self.bases.clear();
        self.full = None;
    }
}

/// A row on its way into [`Rows`].
pub struct NewRow<'r> {
    values: &'r mut Vec<Value<'static>>,
    arena: &'r Scratch,
}

impl<'v> Taking<'v> for NewRow<'_> {
    #[inline(always)]
    fn take(&mut self, value: Value<'v>) {
        self.values.push(kept(&value, self.arena));
    }
}

fn beginning(part: &mut Vec<Value<'static>>) -> NonNull<Value<'static>> {
    NonNull::new(part.as_mut_ptr()).expect("a vector's memory has an address")
}

/// Writes a part of a row: values at some positions of that row. Whether the arena has more values by it.
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

/// A value that borrows from the arena alone.
#[inline(always)]
fn kept(value: &Value<'_>, arena: &Scratch) -> Value<'static> {
    let value = if value.borrows() {
        value.copied(arena)
    } else {
        *value
    };
    // SAFETY: it is in the arena, or borrows nothing. See the module's header.
    unsafe { std::mem::transmute::<Value<'_>, Value<'static>>(value) }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use types::{Allowance, SqlError, SqlState, row::integer_of};

    use super::*;

    /// Adds rows of a number and a text, as many as are wanted.
    fn fill(rows: &mut Rows, count: usize, memory: &Rc<Memory>) {
        for number in rows.len()..count {
            let text = format!("text {number}, which is too long to lie in the value itself");
            rows.push([Value::Int8(number as i64), Value::Text(&text)]);
            if number % BATCH_ROWS == 0 {
                rows.settle(memory).unwrap();
            }
        }
        rows.settle(memory).unwrap();
    }

    fn check(rows: &Rows) {
        for (number, row) in rows.iter().enumerate() {
            let text = format!("text {number}, which is too long to lie in the value itself");
            let as_expected = matches!(
                row,
                [Value::Int8(first), Value::Text(second)]
                    if *first == number as i64 && *second == text
            );
            assert!(as_expected, "{number}: {row:?}");
        }
    }

    #[test]
    fn many_rows_lie_in_parts() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let part = 1 << PART_BITS_MAX;
        for count in [part - 1, part, part + 1, 100_000] {
            let mut rows = Rows::new(2);
            fill(&mut rows, count, &memory);
            check(&rows);
            assert_eq!(rows.len(), count);
            assert_eq!(memory.used(), rows.bytes(), "all of it is charged");
            let values = count * 2 * size_of::<Value<'_>>();
            assert!(rows.bytes() < values + count * 128 + 2 * PART_BYTES);
            rows.clear();
            assert!(rows.is_empty());
            fill(&mut rows, 3, &memory);
            check(&rows);
            drop(rows);
            assert_eq!(memory.used(), 0);
        }
    }

    /// An arena that was put by did not count, and a batch took more and more.
    #[test]
    fn rows_stay_large_when_they_are_charged() {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let mut rows = Rows::new(1);
        let text = "x".repeat(BYTES_MAX / BATCH_ROWS);
        for _ in 0..2 * BATCH_ROWS {
            rows.push([Value::Text(&text)]);
        }
        assert!(rows.is_large());
        rows.settle(&memory).unwrap();
        assert!(rows.is_large());
        rows.clear();
        assert!(!rows.is_large());
    }

    #[test]
    fn a_row_that_fails_at_a_part_s_end_is_not_added() {
        let mut rows = Rows::new(1);
        let part = 1_usize << PART_BITS_MAX;
        for number in 0..2 * part as i64 {
            let failed: Result<()> = rows.push_with(|new| {
                new.take(Value::Int8(-1));
                Err(SqlError::new(
                    SqlState::DIVISION_BY_ZERO,
                    "division by zero",
                ))
            });
            assert!(failed.is_err());
            rows.push([Value::Int8(number)]);
        }
        let numbers = rows.iter().map(|row| integer_of(row[0]));
        assert!(numbers.eq((0..2 * part as i64).map(Some)));
    }

    #[test]
    fn rows_without_values_are_counted() {
        let mut rows = Rows::new(0);
        (0..100_000).for_each(|_| rows.push([]));
        assert_eq!(rows.iter().filter(|row| row.is_empty()).count(), 100_000);
        rows.clear();
        assert!(rows.is_empty());
    }

    #[test]
    fn wide_rows_have_small_parts() {
        let mut rows = Rows::new(1600);
        for number in 0..1100 {
            rows.push((0..1600).map(|column| Value::Int8(number * column)));
        }
        for (number, row) in (0..).zip(rows.iter()) {
            assert_eq!(integer_of(row[1599]), Some(number * 1599));
        }
    }
}
