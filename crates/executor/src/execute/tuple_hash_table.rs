//! Rows found by their values while others are added, for grouping and sets. Joins, which have all rows before the
//! first is looked up, have tables of their own (`join_hash_table.rs`).
//!
//! Hashes are looked up in batches, so that their cache misses overlap (paper 003); rows with an
//! equal hash are compared.

use std::rc::Rc;

use index::hash::{ChainedTable, Refused};
use interleave::{Execution, Gradual, Interleaver};
use types::{
    Charge, Memory, Result, SqlError, SqlState, Type, Value,
    compare::{equals, hash_values},
};

use super::ExecutionContext;
use batch::{NO_ROW, Rows};
use spill::PutBy;

/// Buckets whose entries are put in together.
pub(super) const BUILT_TOGETHER: usize = 16;

/// Number of a table's entries that are moved at once while it grows. A table that has no more
/// grows at once.
const MOVED_AT_ONCE: usize = 1024;

/// Divisor of an operator's memory for the part that a table has before room to put rows by is held.
const SMALL_PART: usize = 2;

/// Rows that wait to be settled, which are compared one by one.
const WAITING_MAX: usize = 32;

pub(super) const SEED: u64 = 0;

/// A hash table of rows by all of their values, which groups and set operations fill and look into.
pub(super) struct TupleHashTable {
    rows: Rows,
    types: Vec<Type>,
    table: Gradual<ChainedTable<u64, u32>>,
    /// Rows that are not in the table yet.
    pending: Vec<(u64, u32)>,
    interleaver: Interleaver,
    /// Charge for all but the rows, which have their own.
    charge: Charge,
}

impl TupleHashTable {
    /// Makes an empty table for rows of values of these types.
    pub(super) fn new(types: &[Type]) -> Self {
        Self {
            rows: Rows::new(types.len()),
            types: types.to_vec(),
            table: Gradual::default(),
            pending: Vec::new(),
            interleaver: Interleaver::auto(),
            charge: Charge::default(),
        }
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(super) fn hash(&self, keys: &[Value<'_>]) -> u64 {
        hash_values(&self.types, keys, SEED)
    }

    /// Adds a row that is never found by its keys; returns its number.
    ///
    /// # Errors
    /// 54000 for more rows than have numbers.
    pub(super) fn push_unindexed<'v>(
        &mut self,
        row: impl IntoIterator<Item = Value<'v>>,
    ) -> Result<u32> {
        let number = u32::try_from(self.rows.len()).ok();
        let number = number
            .filter(|number| *number < NO_ROW)
            .ok_or_else(too_many)?;
        self.rows.push(row);
        Ok(number)
    }

    /// Adds a row; returns its number. The row is found after [`TupleHashTable::settle`].
    pub(super) fn push<'v>(
        &mut self,
        row: impl IntoIterator<Item = Value<'v>>,
        hash: u64,
    ) -> Result<u32> {
        let number = self.push_unindexed(row)?;
        self.pending.push((hash, number));
        Ok(number)
    }

    /// Charges the rows that were added since the last call.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub(super) fn charge(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.rows.settle(memory)?;
        self.charge.set(memory, self.table_bytes())
    }

    /// Returns the bytes that the rows and the table take.
    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.table_bytes()
    }

    fn table_bytes(&self) -> usize {
        self.table.bytes() + self.pending.capacity() * size_of::<(u64, u32)>()
    }

    /// Makes room for `rows` more rows: a large table grows step by step, and other tasks have
    /// turns in between. The caller calls this before it pushes rows, since a table without room
    /// grows at once when they are settled.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much; 54000 for more rows than have numbers.
    pub(super) async fn make_room(
        &mut self,
        rows: usize,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let all = self.table.len() + self.pending.len() + rows;
        grow(&mut self.table, all, context).await
    }

    /// Makes room for `rows` rows of a batch, beside `beside` bytes for the rows that there are; or has rows put by
    /// from now on, if there is no room for more.
    ///
    /// # Errors
    /// Errors of [`TupleHashTable::make_room`], if rows cannot be put by.
    pub(super) async fn make_room_or_fill(
        &mut self,
        put_by: &mut PutBy,
        (rows, beside): (usize, usize),
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        if put_by.is_full() {
            return Ok(());
        }
        let (bytes, budget) = (self.bytes() + beside, context.budget);
        let is_much = budget.is_much(bytes) || bytes > budget.operator_bytes() / SMALL_PART;
        // Where the memory for partitions is refused, the table goes on as long as it can.
        if !is_much || !put_by.is_possible(context.session()) || !put_by.hold_room(budget)? {
            return self.make_room(rows, context).await;
        }
        let each = bytes / self.rows.len().max(1);
        let more = (each * rows).min(bytes);
        let made = self.make_room(rows, context).await;
        match put_by.fill_if(made, || budget.is_short(bytes, more))? {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Returns what charging the rows has led to. Rows of the last batch that are refused stay uncharged, and rows are
    /// put by from now on.
    ///
    /// # Errors
    /// The error of `charged`, unless it is 53200 and rows can be put by.
    pub(super) fn charged_or_fill(
        &mut self,
        put_by: &mut PutBy,
        charged: Result<()>,
    ) -> Result<()> {
        if !put_by.has_room() {
            return charged;
        }
        match put_by.fill_if(charged, || false)? {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Makes all rows findable.
    pub(super) fn settle(&mut self) -> Result<()> {
        let execution = Execution::in_flight(BUILT_TOGETHER);
        let built = self.table.insert_all(&self.pending, execution);
        self.pending.clear();
        built.map_err(refused)
    }

    /// Calls `found` with the place of each hash and the numbers of the rows that have it, in no
    /// order.
    pub(super) fn find(&mut self, hashes: &[u64], found: impl FnMut(usize, u32)) {
        if !self.table.is_empty() {
            self.table.find_all(&mut self.interleaver, hashes, found);
        }
    }

    /// Returns the number of the row with these values, whose hash is `hash`, whether it was settled or not.
    pub(super) fn number_of(&mut self, keys: &[Value<'_>], hash: u64) -> Option<u32> {
        let unsettled = { self.unsettled(hash) }.find(|number| self.has_keys(*number, keys));
        unsettled.or_else(|| {
            let mut candidates = Vec::new();
            self.find(&[hash], |_, number| candidates.push(number));
            let mut candidates = candidates.into_iter();
            candidates.find(|number| self.has_keys(*number, keys))
        })
    }

    /// Adds a row whose values no other has; returns its number.
    ///
    /// # Errors
    /// 54000 for more rows than have numbers; 53200 if the system refuses memory.
    pub(super) fn add(&mut self, keys: &[Value<'_>], hash: u64) -> Result<u32> {
        let number = self.push(keys.iter().copied(), hash)?;
        if self.waiting() >= WAITING_MAX {
            self.settle()?;
        }
        Ok(number)
    }

    /// Returns the number of rows that wait to be settled.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Returns the rows that wait to be settled and have a hash.
    pub(super) fn unsettled(&self, hash: u64) -> impl Iterator<Item = u32> {
        self.pending
            .iter()
            .filter(move |(other, _)| *other == hash)
            .map(|(_, number)| *number)
    }

    /// Returns whether a row has these values. NULLs are equal to each other here.
    #[inline]
    pub(super) fn has_keys(&self, number: u32, keys: &[Value<'_>]) -> bool {
        let row = self.rows.row(number as usize).iter();
        let mut own = row.zip(&self.types).zip(keys);
        own.all(|((own, ty), key)| equals(*ty, *own, *key))
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.table = Gradual::default();
        self.pending.clear();
        self.charge = Charge::default();
    }
}

/// Grows a table step by step, if it has no room for a total of entries. See
/// [`TupleHashTable::make_room`].
pub(super) async fn grow(
    table: &mut ChainedTable<u64, u32>,
    all: usize,
    context: &ExecutionContext<'_>,
) -> Result<()> {
    if all <= MOVED_AT_ONCE {
        return Ok(());
    }
    let Some(mut growth) = table.growth(all).map_err(refused)? else {
        return Ok(());
    };
    // Both tables are there until the smaller one is dropped.
    let mut charge = Charge::default();
    charge.set(context.memory(), growth.bytes())?;
    while !growth.step(table, MOVED_AT_ONCE) {
        context.pause(MOVED_AT_ONCE).await;
    }
    Ok(())
}

pub(super) fn refused(refused: Refused) -> SqlError {
    match refused {
        Refused::Memory(_) => SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory")
            .detail("The system refused memory for a hash table."),
        _ => too_many(),
    }
}

pub(super) fn too_many() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "too many rows for a hash table",
    )
}
