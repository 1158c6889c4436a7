//! Rows found by the values of their keys, for hash joins, grouping and sets.
//!
//! Hashes are looked up in batches, so that their cache misses overlap (paper 003); what has an
//! equal hash is compared.

use index::hash::{ChainedTable, Refused};
use interleave::{Execution, Interleaver};
use types::{
    Result, SqlError, SqlState, Type, Value,
    compare::{equals, hash_values},
};

use super::{ROWS_PER_TURN, Run};
use crate::rows::Rows;

/// Buckets of entries that are put in together.
const BUILT_TOGETHER: usize = 16;

/// Rows by their keys.
pub(super) struct Partners {
    /// Each row, followed by its keys if they are not among its columns.
    pub(super) rows: Rows,
    /// Where in it the keys are.
    keys: Vec<usize>,
    types: Vec<Type>,
    table: ChainedTable<u64, u32>,
    /// Rows that are not in the table yet.
    pending: Vec<(u64, u32)>,
    interleaver: Interleaver,
}

impl Partners {
    /// For rows of a width without their keys, which are of these types and come after them.
    pub(super) fn new(width: usize, types: &[Type]) -> Self {
        let keys = (width..width + types.len()).collect();
        Self::with_keys_at(width + types.len(), keys, types)
    }

    /// For rows of a width whose keys are the columns at these positions.
    pub(super) fn with_keys_at(width: usize, keys: Vec<usize>, types: &[Type]) -> Self {
        Self {
            rows: Rows::new(width),
            keys,
            types: types.to_vec(),
            table: ChainedTable::new(),
            pending: Vec::new(),
            interleaver: Interleaver::auto(),
        }
    }

    pub(super) fn hash(&self, keys: &[Value<'_>]) -> u64 {
        hash_values(&self.types, keys, 0)
    }

    /// Adds a row; its number. It is found after [`Partners::settle`].
    pub(super) fn push<'v>(
        &mut self,
        row: impl IntoIterator<Item = Value<'v>>,
        hash: u64,
    ) -> Result<u32> {
        let number = u32::try_from(self.rows.len()).map_err(|_| too_many())?;
        self.rows.push(row);
        self.pending.push((hash, number));
        Ok(number)
    }

    /// Has all rows found from now on, of which there are few.
    pub(super) fn settle(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.enter(&pending)
    }

    /// The same for all of a table, of which none was found before.
    pub(super) async fn settle_all(&mut self, run: &Run<'_>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.table = ChainedTable::with_capacity(pending.len()).map_err(refused)?;
        for some in pending.chunks(ROWS_PER_TURN) {
            self.enter(some)?;
            run.pause(some.len()).await;
        }
        Ok(())
    }

    fn enter(&mut self, rows: &[(u64, u32)]) -> Result<()> {
        let execution = Execution::in_flight(BUILT_TOGETHER);
        self.table.insert_all(rows, execution).map_err(refused)
    }

    /// Calls `found` with the place of each hash and the numbers of the rows that have it, in no
    /// order.
    pub(super) fn find(&mut self, hashes: &[u64], found: impl FnMut(usize, u32)) {
        if !self.table.is_empty() {
            self.table.find_all(&mut self.interleaver, hashes, found);
        }
    }

    /// Rows that wait to be settled.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// The rows that wait to be settled and have a hash.
    pub(super) fn unsettled(&self, hash: u64) -> impl Iterator<Item = u32> {
        self.pending
            .iter()
            .filter(move |(other, _)| *other == hash)
            .map(|(_, number)| *number)
    }

    /// Whether a row has these keys. NULLs are equal to each other here.
    #[inline]
    pub(super) fn has_keys(&self, number: u32, keys: &[Value<'_>]) -> bool {
        let row = self.rows.row(number as usize);
        let own = self.keys.iter().zip(&self.types);
        own.zip(keys)
            .all(|((at, ty), key)| equals(*ty, row[*at], *key))
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.table = ChainedTable::new();
        self.pending.clear();
    }
}

fn refused(refused: Refused) -> SqlError {
    match refused {
        Refused::Memory(_) => {
            SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory for a hash table")
        }
        _ => too_many(),
    }
}

fn too_many() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "too many rows for a hash table",
    )
}
