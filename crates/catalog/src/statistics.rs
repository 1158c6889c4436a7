//! What is known of the values in a table: for the planner, which may be wrong but not for long.
//!
//! Statistics are found by `crate::statistics`; here they are kept. Each table's are a record of
//! their own, written by the transaction that has found them and published when it commits, as
//! definitions are (`store.rs`), but not as a part of the catalog's picture: whoever has found new
//! ones leaves all plans in force that do not ask for them. All descriptors of a table share one
//! [`StatisticsSlot`], whose version tells a plan that it was made from older ones.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use engine::Transaction;
use interleave::Interleaved;
use serde::{Deserialize, Serialize};
use types::{
    Result, SqlError, SqlState, Type, Value,
    row::{Row, RowLayout, RowWriter},
};

use super::{Changes, Table, failure::from_engine, record, type_name};

/// What is known of a table's rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Rows there were.
    pub rows: f64,
    /// The engine's estimate of them at that time, which counts the places of removed ones too.
    pub places: u64,
    /// By position in the table, as far as they were looked at.
    pub columns: BTreeMap<u16, ColumnStatistics>,
}

/// What is known of a column's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The type that the column had. If it has another now, nothing is known.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// The part of the rows in which it is NULL, from 0 to 1.
    pub null_fraction: f64,
    /// Bytes of a value that is not NULL, on average.
    pub average_width: f64,
    /// How many different values there are. `None` for types without equality.
    pub distinct: Option<Distinct>,
    /// The most common values, the most common first.
    pub common: Vec<CommonValue>,
    /// Values in order between which there are as many of the others each: the least and the
    /// greatest of them are the first and the last. Empty or at least two.
    pub histogram: Vec<StoredValue>,
}

/// How many different values a column has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Distinct {
    /// So many, however many rows come.
    Count(f64),
    /// As many for each row: 1 where all differ.
    Fraction(f64),
}

/// A value that many rows have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommonValue {
    /// The value.
    pub value: StoredValue,
    /// The part of all rows that have it, from 0 to 1.
    pub fraction: f64,
}

/// A value as a row of it alone, in the form of `types::row`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredValue(Box<[u8]>);

/// The newest statistics of a table.
#[derive(Default)]
pub struct StatisticsSlot {
    newest: RwLock<Option<Arc<TableStatistics>>>,
    /// Counts those that were published.
    version: AtomicU64,
}

/// Statistics that are to be published by a commit.
pub(super) struct NewStatistics {
    slot: Arc<StatisticsSlot>,
    statistics: Arc<TableStatistics>,
}

impl Distinct {
    /// The number among so many rows, at least 1.
    pub fn of(self, rows: f64) -> f64 {
        match self {
            Self::Count(count) => count,
            Self::Fraction(fraction) => fraction * rows,
        }
        .max(1.0)
    }
}

impl StoredValue {
    /// A value of a type.
    ///
    /// # Errors
    /// 0A000 for a type that cannot be stored.
    pub fn new(ty: Type, value: Value<'_>) -> Result<Self> {
        let layout = RowLayout::new(&[ty])?;
        let mut bytes = Vec::new();
        RowWriter::write(&layout, &[value], &mut bytes)?;
        Ok(Self(bytes.into()))
    }

    /// The value, which is of the type that `layout` has as its only column.
    ///
    /// # Errors
    /// XX001 if it is not.
    pub fn value<'a>(&'a self, layout: &RowLayout) -> Result<Value<'a>> {
        let value = Row::new(layout, &self.0)?.value(0)?;
        Ok(value.unwrap_or(Value::Null))
    }
}

impl StatisticsSlot {
    /// The newest committed ones.
    pub fn newest(&self) -> Option<Arc<TableStatistics>> {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        newest.clone()
    }

    /// Changes when others are published. One load.
    #[inline]
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `publish`.
        self.version.load(Ordering::Acquire)
    }

    pub(super) fn publish(&self, statistics: Arc<TableStatistics>) {
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        *newest = Some(statistics);
        // Release, and under the lock: who sees the number finds these or newer ones.
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl fmt::Debug for StatisticsSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.newest().fmt(formatter)
    }
}

impl NewStatistics {
    pub(super) fn publish(self) {
        self.slot.publish(self.statistics);
    }
}

/// # Errors
/// XX001, for what are none.
pub(super) fn decode(bytes: &[u8]) -> Result<TableStatistics> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("statistics cannot be read: {error}");
        SqlError::new(SqlState::DATA_CORRUPTED, message)
    })
}

impl Changes {
    /// Writes a table's statistics in place of those that it has. Others, and this transaction,
    /// plan by them once it has committed.
    ///
    /// # Errors
    /// The engine's.
    pub async fn put_statistics(
        &self,
        transaction: &Transaction,
        table: &Table,
        statistics: TableStatistics,
    ) -> Result<()> {
        let value = serde_json::to_vec(&statistics).map_err(|error| {
            let message = format!("statistics cannot be written: {error}");
            SqlError::new(SqlState::INTERNAL_ERROR, message)
        })?;
        let (records, key) = (&self.catalogs().tables.statistics, record::key_of(table.id));
        let written = transaction.upsert::<Interleaved>(records, &key, &value);
        written.await.map_err(from_engine)?;
        let note = NewStatistics {
            slot: table.statistics.clone(),
            statistics: Arc::new(statistics),
        };
        transaction
            .note_for_commit(Box::new(note))
            .map_err(from_engine)
    }
}
