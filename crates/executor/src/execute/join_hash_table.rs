//! Rows of a join's build side, found by their keys: all are there before the first is looked up.
//!
//! A [`JoinHashTable`] does not change any more, and belongs to no thread: the parts of a statement that several
//! workers carry out look into the same tables (`parallel.rs`). The caller has the state that lookups keep between them
//! ([`Interleaver`]), and the charge for the table.
//!
//! Hashes are looked up in batches, so that their cache misses overlap (paper 003); rows with an equal hash are
//! compared. If the keys are integers, a simpler table does as well (`batch/integer_hash_table.rs`).

use std::sync::Arc;

use index::hash::ChainedTable;
use interleave::{Execution, Gradual, Interleaver};
use types::{
    Charge, Result, Type, Value,
    compare::{equals, hash_values},
    row::{integer_of, is_integer},
};

use super::{
    ExecutionContext,
    tuple_hash_table::{BUILT_TOGETHER, SEED, grow, refused, too_many},
};
use batch::{FixedRows, IntegerHashTable, NO_ROW, RowKeys, Rows, mixed};
use planner::{plan::HashJoin, program::Program};

/// Number of rows that are put in at once.
const SETTLED_AT_ONCE: usize = 1024;

/// Places and types of the keys in the rows of a build side.
#[derive(Clone)]
pub(super) struct BuildKeys {
    /// Number of values in a row: those of the build side, and the keys if these are not among them.
    width: usize,
    places: Vec<usize>,
    types: Vec<Type>,
}

impl BuildKeys {
    /// Returns the keys of a join.
    pub(super) fn of(join: &HashJoin) -> Self {
        let (width, types) = (join.build_width, join.key_types.clone());
        let columns = join.build_keys.iter().map(Program::as_column);
        match columns.collect::<Option<Vec<usize>>>() {
            Some(places) => Self {
                width,
                places,
                types,
            },
            None => Self {
                width: width + types.len(),
                places: (width..width + types.len()).collect(),
                types,
            },
        }
    }

    /// Returns the number of values in a row with its keys.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the place of a key in the rows.
    pub(super) fn place(&self, key: usize) -> usize {
        self.places[key]
    }

    /// Returns the hash of keys.
    pub(super) fn hash(&self, keys: &[Value<'_>]) -> u64 {
        hash_values(&self.types, keys, SEED)
    }

    /// Returns the hash of the keys of a row.
    pub(super) fn hash_of_row(&self, row: &[Value<'_>]) -> u64 {
        match &self.places[..] {
            [at] => self.hash(&[row[*at]]),
            places => {
                let keys: Vec<_> = places.iter().map(|at| row[*at]).collect();
                self.hash(&keys)
            }
        }
    }

    /// Returns whether one of the keys of a row is NULL.
    pub(super) fn has_null(&self, row: &[Value<'_>]) -> bool {
        self.places.iter().any(|at| row[*at].is_null())
    }

    fn are_integers(&self) -> bool {
        !self.types.is_empty() && self.types.iter().all(|ty| is_integer(*ty))
    }
}

/// Rows by their keys: see the module text.
pub(super) struct JoinHashTable {
    /// Each row, followed by its keys if they are not among its columns. Batches that borrow from them own them in
    /// part.
    rows: Arc<FixedRows>,
    keys: BuildKeys,
    numbers: Numbers,
}

/// Numbers of rows: by hashes of keys, or by keys that are integers.
enum Numbers {
    Hashed(Gradual<ChainedTable<u64, u32>>),
    Integers(IntegerHashTable),
}

impl JoinHashTable {
    /// Makes a table of no rows.
    pub(super) fn empty(keys: &BuildKeys) -> Self {
        Self {
            rows: Arc::new(FixedRows::new(Rows::new(keys.width)).0),
            keys: keys.clone(),
            numbers: Numbers::Hashed(Gradual::default()),
        }
    }

    /// Makes a table of rows with their keys. Returns it, and the charge for it and its rows.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much; 54000 for more rows than have numbers.
    ///
    /// # Suspension
    /// Suspends where the task's turn is over.
    pub(super) async fn build(
        keys: &BuildKeys,
        mut rows: Rows,
        context: &ExecutionContext<'_>,
    ) -> Result<(Self, Charge)> {
        // One number stands for no row.
        let count = u32::try_from(rows.len()).ok();
        let count = count.filter(|count| *count < NO_ROW).ok_or_else(too_many)?;
        rows.settle(context.memory())?;
        let mut charge = Charge::default();
        let numbers = match keys.are_integers() {
            true => {
                let table = integers(keys, &rows, context).await?;
                charge.set(context.memory(), table.bytes())?;
                Numbers::Integers(table)
            }
            false => {
                let mut table = Gradual::default();
                grow(&mut table, rows.len(), context).await?;
                charge.set(context.memory(), table.bytes())?;
                fill(
                    &mut table,
                    count,
                    |at| keys.hash_of_row(rows.row(at)),
                    context,
                )
                .await?;
                Numbers::Hashed(table)
            }
        };
        let (rows, of_rows) = FixedRows::new(rows);
        charge.absorb(of_rows);
        let table = Self {
            rows: Arc::new(rows),
            keys: keys.clone(),
            numbers,
        };
        Ok((table, charge))
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> &Arc<FixedRows> {
        &self.rows
    }

    /// Returns the table by keys that are integers, if it stands in place of the other.
    pub(super) fn integers(&self) -> Option<&IntegerHashTable> {
        match &self.numbers {
            Numbers::Integers(table) => Some(table),
            Numbers::Hashed(_) => None,
        }
    }

    /// Returns whether rows that [`JoinHashTable::integers`] finds may have other keys, since theirs are several.
    pub(super) fn is_mixed(&self) -> bool {
        self.keys.types.len() > 1
    }

    /// Appends pairs of a number of the caller's and a row with equal keys, in order: all, or more than `most`. Keys of
    /// which one is NULL are equal to none.
    pub(super) fn find_equal<'k, 'v: 'k>(
        &self,
        interleaver: &mut Interleaver,
        callers: impl Iterator<Item = u32>,
        keys: impl Fn(u32) -> &'k [Value<'v>],
        most: usize,
        found: &mut Vec<(u32, u32)>,
    ) {
        let table = match &self.numbers {
            Numbers::Integers(integers) => {
                let key = |caller| Some((caller, integer_key(keys(caller).iter().copied())?));
                let looked_up: Vec<(u32, i64)> = callers.filter_map(key).collect();
                integers.find(&looked_up, most, found);
                self.prefetch(found);
                if self.is_mixed() && found.len() <= most {
                    found.retain(|(caller, number)| self.has_keys(*number, keys(*caller)));
                }
                return;
            }
            Numbers::Hashed(table) => table,
        };
        let (mut looked_up, mut hashes) = (Vec::new(), Vec::new());
        for caller in callers {
            let key = keys(caller);
            if !key.iter().any(Value::is_null) {
                looked_up.push(caller);
                hashes.push(self.keys.hash(key));
            }
        }
        if !table.is_empty() {
            table.find_while(interleaver, &hashes, |place, number| {
                found.push((looked_up[place], number));
                found.len() <= most
            });
        }
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
        match &self.numbers {
            Numbers::Integers(integers) => {
                let key = integer_key(keys.iter().copied())?;
                integers.find_some(key, from, most, |number| {
                    if !self.is_mixed() || self.has_keys(number, keys) {
                        found(number);
                    }
                })
            }
            Numbers::Hashed(table) => table.find_some(self.keys.hash(keys), from, most, |number| {
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

    /// Returns whether a row has these keys. NULLs are equal to each other here.
    #[inline]
    pub(super) fn has_keys(&self, number: u32, keys: &[Value<'_>]) -> bool {
        let row = self.rows.row(number as usize);
        let own = self.keys.places.iter().zip(&self.keys.types);
        own.zip(keys)
            .all(|((at, ty), key)| equals(*ty, row[*at], *key))
    }
}

/// Puts the numbers of `count` rows into a table that has room for them.
async fn fill(
    table: &mut ChainedTable<u64, u32>,
    count: u32,
    hash_of: impl Fn(usize) -> u64,
    context: &ExecutionContext<'_>,
) -> Result<()> {
    let mut pending = Vec::with_capacity(SETTLED_AT_ONCE.min(count as usize));
    // Rows are added from the last on: chains begin with the entry that was added last, which
    // puts a key's rows in their order.
    for number in (0..count).rev() {
        pending.push((hash_of(number as usize), number));
        if pending.len() == SETTLED_AT_ONCE || number == 0 {
            let execution = Execution::in_flight(BUILT_TOGETHER);
            table.insert_all(&pending, execution).map_err(refused)?;
            pending.clear();
        }
        context.pause(1).await;
    }
    Ok(())
}

/// Makes a table of rows whose keys are integers.
async fn integers(
    keys: &BuildKeys,
    rows: &Rows,
    context: &ExecutionContext<'_>,
) -> Result<IntegerHashTable> {
    let mut charge = Charge::default();
    let of_keys = rows.len() * RowKeys::BYTES_PER_ROW;
    charge.set(context.memory(), of_keys)?;
    let mut list = RowKeys::with_capacity(rows.len());
    for row in rows.iter() {
        list.push(integer_key(keys.places.iter().map(|at| row[*at])));
        context.pause(1).await;
    }
    charge.set(context.memory(), of_keys + list.table_bytes())?;
    let mut filling = list.fill();
    while !filling.step(SETTLED_AT_ONCE) {
        context.pause(SETTLED_AT_ONCE).await;
    }
    Ok(filling.finish())
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
