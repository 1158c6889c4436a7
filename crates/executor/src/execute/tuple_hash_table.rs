//! Rows found by the values of their keys, for hash joins, grouping and sets.
//!
//! Hashes are looked up in batches, so that their cache misses overlap (paper 003); rows with an
//! equal hash are compared. If all rows are there before the first is looked up, and their keys are integers, a simpler
//! table does as well (`batch/integer_hash_table.rs`).

use std::rc::Rc;

use index::hash::{ChainedTable, Refused};
use interleave::{Execution, Gradual, Interleaver};
use types::{
    Charge, Memory, Result, SqlError, SqlState, Type, Value,
    compare::{equals, hash_values},
    row::{integer_of, is_integer},
};

use super::ExecutionContext;
use batch::{IntegerHashTable, NO_ROW, RowKeys, Rows, mixed};

/// Buckets whose entries are put in together.
const BUILT_TOGETHER: usize = 16;

/// Number of rows that are put in at once.
const SETTLED_AT_ONCE: usize = 1024;

/// Number of a table's entries that are moved at once while it grows. A table that has no more
/// grows at once.
const MOVED_AT_ONCE: usize = 1024;

const SEED: u64 = 0;

/// A hash table of rows by their keys, which joins, groups and set operations build and probe.
pub(super) struct TupleHashTable {
    /// Each row, followed by its keys if they are not among its columns. Batches that borrow from them own them in
    /// part; no row is added from then on.
    rows: Rc<Rows>,
    /// Positions of the keys in a row.
    keys: Vec<usize>,
    types: Vec<Type>,
    table: Gradual<ChainedTable<u64, u32>>,
    /// Table that stands in place of the other, by keys that are integers.
    integers: Option<IntegerHashTable>,
    /// Rows that are not in the table yet.
    pending: Vec<(u64, u32)>,
    interleaver: Interleaver,
    /// Charge for all but the rows, which have their own.
    charge: Charge,
}

impl TupleHashTable {
    /// Makes an empty table for rows of `width` values without their keys, which are of these types
    /// and come after them.
    pub(super) fn new(width: usize, types: &[Type]) -> Self {
        let keys = (width..width + types.len()).collect();
        Self::with_keys_at(width + types.len(), keys, types)
    }

    /// Makes an empty table for rows of `width` values whose keys are the columns at these
    /// positions.
    pub(super) fn with_keys_at(width: usize, keys: Vec<usize>, types: &[Type]) -> Self {
        Self {
            rows: Rc::new(Rows::new(width)),
            keys,
            types: types.to_vec(),
            table: Gradual::default(),
            integers: None,
            pending: Vec::new(),
            interleaver: Interleaver::auto(),
            charge: Charge::default(),
        }
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> &Rc<Rows> {
        &self.rows
    }

    /// Returns the rows to be changed, which nobody else owns.
    fn own_rows(&mut self) -> &mut Rows {
        Rc::get_mut(&mut self.rows).expect("rows that are added to, whose owner is alone")
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
        self.own_rows().push(row);
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
        self.own_rows().settle(memory)?;
        self.charge.set(memory, self.table_bytes())
    }

    /// Returns the bytes that the rows and the table take.
    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.table_bytes()
    }

    fn table_bytes(&self) -> usize {
        let integers = self.integers.as_ref().map_or(0, IntegerHashTable::bytes);
        self.table.bytes() + integers + self.pending.capacity() * size_of::<(u64, u32)>()
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

    /// Replaces all rows by `rows`, to which no others will be added, and makes them findable.
    pub(super) async fn settle_all(
        &mut self,
        rows: Rows,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        self.clear();
        // One number stands for no row.
        let count = u32::try_from(rows.len()).ok();
        let count = count.filter(|count| *count < NO_ROW).ok_or_else(too_many)?;
        self.rows = Rc::new(rows);
        if self.has_integer_keys() {
            return self.settle_integers(context).await;
        }
        grow(&mut self.table, self.rows.len(), context).await?;
        self.charge(context.memory())?;
        // Rows are added from the last on: chains begin with the entry that was added last, which
        // puts a key's rows in their order.
        for number in (0..count).rev() {
            self.pending.push((self.hash_of(number), number));
            if self.pending.len() == SETTLED_AT_ONCE {
                self.settle()?;
            }
            context.pause(1).await;
        }
        self.settle()
    }

    fn has_integer_keys(&self) -> bool {
        !self.types.is_empty() && self.types.iter().all(|ty| is_integer(*ty))
    }

    async fn settle_integers(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let mut charge = Charge::default();
        let of_keys = self.rows.len() * RowKeys::BYTES_PER_ROW;
        charge.set(context.memory(), of_keys)?;
        let mut keys = RowKeys::with_capacity(self.rows.len());
        for row in self.rows.iter() {
            keys.push(integer_key(self.keys.iter().map(|at| row[*at])));
            context.pause(1).await;
        }
        charge.set(context.memory(), of_keys + keys.table_bytes())?;
        let mut filling = keys.fill();
        while !filling.step(SETTLED_AT_ONCE) {
            context.pause(SETTLED_AT_ONCE).await;
        }
        self.integers = Some(filling.finish());
        drop(charge);
        self.charge(context.memory())
    }

    /// Returns the hash of a row's keys.
    fn hash_of(&self, number: u32) -> u64 {
        self.hash_of_row(self.rows.row(number as usize))
    }

    /// Returns the hash of the keys of a row, which need not be in the table.
    pub(super) fn hash_of_row(&self, row: &[Value<'_>]) -> u64 {
        match &self.keys[..] {
            [at] => hash_values(&self.types, &[row[*at]], SEED),
            keys => {
                let keys: Vec<_> = keys.iter().map(|at| row[*at]).collect();
                hash_values(&self.types, &keys, SEED)
            }
        }
    }

    /// Returns the table by keys that are integers, if it stands in place of the other.
    pub(super) fn integers(&self) -> Option<&IntegerHashTable> {
        self.integers.as_ref()
    }

    /// Returns whether rows that [`TupleHashTable::integers`] finds may have other keys, since theirs are several.
    pub(super) fn is_mixed(&self) -> bool {
        self.types.len() > 1
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

    /// Finds as [`TupleHashTable::find`], until `found` says that it takes no more.
    fn find_while(&mut self, hashes: &[u64], found: impl FnMut(usize, u32) -> bool) {
        if !self.table.is_empty() {
            self.table.find_while(&mut self.interleaver, hashes, found);
        }
    }

    /// Appends pairs of a number of the caller's and a row with equal keys, in order: all, or more than `most`. Keys of
    /// which one is NULL are equal to none.
    pub(super) fn find_equal<'k, 'v: 'k>(
        &mut self,
        callers: impl Iterator<Item = u32>,
        keys: impl Fn(u32) -> &'k [Value<'v>],
        most: usize,
        found: &mut Vec<(u32, u32)>,
    ) {
        if let Some(integers) = &self.integers {
            let key = |caller| Some((caller, integer_key(keys(caller).iter().copied())?));
            let looked_up: Vec<(u32, i64)> = callers.filter_map(key).collect();
            integers.find(&looked_up, most, found);
            self.prefetch(found);
            if self.is_mixed() && found.len() <= most {
                found.retain(|(caller, number)| self.has_keys(*number, keys(*caller)));
            }
            return;
        }
        let (mut looked_up, mut hashes) = (Vec::new(), Vec::new());
        for caller in callers {
            let key = keys(caller);
            if !key.iter().any(Value::is_null) {
                looked_up.push(caller);
                hashes.push(self.hash(key));
            }
        }
        self.find_while(&hashes, |place, number| {
            found.push((looked_up[place], number));
            found.len() <= most
        });
        if found.len() > most {
            return;
        }
        self.prefetch(found);
        found.retain(|(caller, number)| self.has_keys(*number, keys(*caller)));
        // The pairs come in the order of the callers, and of the matches among them.
        found.sort_unstable();
    }

    /// Hands out the rows that have these keys, of which none is NULL, in about their order, after
    /// a look at `most` candidates; returns where to go on, if there may be more. `from` is where
    /// an earlier call for these keys said to go on.
    pub(super) fn find_some(
        &self,
        keys: &[Value<'_>],
        from: Option<u32>,
        most: usize,
        mut found: impl FnMut(u32),
    ) -> Option<u32> {
        match &self.integers {
            Some(integers) => {
                let key = integer_key(keys.iter().copied())?;
                integers.find_some(key, from, most, |number| {
                    if !self.is_mixed() || self.has_keys(number, keys) {
                        found(number);
                    }
                })
            }
            None => self.table.find_some(self.hash(keys), from, most, |number| {
                if self.has_keys(number, keys) {
                    found(number);
                }
            }),
        }
    }

    /// Begins to bring the rows of these pairs into the cache: they are about to be compared or
    /// copied.
    pub(super) fn prefetch(&self, pairs: &[(u32, u32)]) {
        for (_, number) in pairs {
            self.rows.prefetch(*number as usize);
        }
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

    /// Returns whether a row has these keys. NULLs are equal to each other here.
    #[inline]
    pub(super) fn has_keys(&self, number: u32, keys: &[Value<'_>]) -> bool {
        let row = self.rows.row(number as usize);
        let own = self.keys.iter().zip(&self.types);
        own.zip(keys)
            .all(|((at, ty), key)| equals(*ty, row[*at], *key))
    }

    pub(super) fn clear(&mut self) {
        match Rc::get_mut(&mut self.rows) {
            Some(rows) => rows.clear(),
            None => self.rows = Rc::new(Rows::new(self.rows.width())),
        }
        self.table = Gradual::default();
        self.integers = None;
        self.pending.clear();
        self.charge = Charge::default();
    }
}

/// Returns the key that stands for keys that are integers; `None` if one is NULL.
#[inline]
pub(super) fn integer_key<'v>(mut keys: impl ExactSizeIterator<Item = Value<'v>>) -> Option<i64> {
    if keys.len() == 1 {
        return integer_of(keys.next()?);
    }
    let mut has_all = true;
    let key = mixed(keys.map(|key| {
        let key = integer_of(key);
        has_all &= key.is_some();
        key.unwrap_or(0)
    }));
    has_all.then_some(key)
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

fn too_many() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "too many rows for a hash table",
    )
}
