//! Statistics of the values in a table, for the planner. They may be out of date, but not for long.
//!
//! Statistics are found by crate `samples`; this module keeps them. Each
//! table's are a record of their own, written by the transaction that has found them and published
//! when it commits, as definitions are (`store.rs`), but not as a part of a version of the catalog:
//! new ones leave all plans in force that do not ask for them. All descriptors of a table share one
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

/// The statistics of a table's rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Number of rows at that time.
    pub rows: f64,
    /// The engine's estimate of that number at the time, which includes the places of removed rows.
    pub places: u64,
    /// Statistics of the columns that were looked at, by position in the table.
    pub columns: BTreeMap<u16, ColumnStatistics>,
    /// Statistics of groups of columns, by the numbers of the statistics objects that ask for them.
    #[serde(default)]
    pub groups: BTreeMap<u32, GroupStatistics>,
}

/// The statistics of a column's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// Type that the column had. The statistics do not hold if it has another one now.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// Part of the rows in which the column is NULL, from 0 to 1.
    pub null_fraction: f64,
    /// Average bytes of a value that is not NULL.
    pub average_width: f64,
    /// Number of different values; `None` for types without equality.
    pub distinct: Option<Distinct>,
    /// Most common values, the most common first.
    pub common: Vec<CommonValue>,
    /// Values in order with as many of the remaining values between any two neighbours; the first
    /// is the least of all, and the last the greatest. The list is empty or has at least two.
    pub histogram: Vec<StoredValue>,
}

/// The number of different values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Distinct {
    /// A number that does not grow with the rows.
    Count(f64),
    /// A number for each row: 1 where all differ.
    Fraction(f64),
}

/// A value that many rows have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommonValue {
    /// Value that the rows have.
    pub value: StoredValue,
    /// Part of all rows that have it, from 0 to 1.
    pub fraction: f64,
}

/// A value as a row of it alone, in the form of `types::row`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredValue(Box<[u8]>);

/// A type as the catalog writes it down.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredType(#[serde(with = "type_name")] pub Type);

/// The statistics of the values of several columns together. NULL is a value among others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupStatistics {
    /// Columns by position, with the types that they had. The statistics do not hold if a column has another one now.
    pub columns: Vec<(u16, StoredType)>,
    /// Numbers of different combinations of values, for each two or more of the columns.
    pub distinct: Vec<DistinctGroups>,
    /// Dependencies of some degree.
    pub dependencies: Vec<ColumnDependency>,
    /// Most common combinations of values, the most common first.
    pub common: Vec<CommonGroup>,
}

/// The number of different combinations of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistinctGroups {
    /// Columns by position, in ascending order.
    pub columns: Vec<u16>,
    /// Number of combinations.
    pub distinct: Distinct,
}

/// A dependency of a column on others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnDependency {
    /// Columns whose values determine that of another, by position in ascending order.
    pub from: Vec<u16>,
    /// Column whose value is determined.
    pub to: u16,
    /// Part of the rows in which it is, above 0 and up to 1.
    pub degree: f64,
}

/// A combination of values that many rows have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommonGroup {
    /// Values of all columns, in the order of [`GroupStatistics::columns`]; `None` is NULL.
    pub values: Vec<Option<StoredValue>>,
    /// Part of all rows that have the combination, from 0 to 1.
    pub fraction: f64,
    /// Part of all rows that would have it if the columns did not depend on each other.
    pub independent: f64,
}

/// The newest statistics of a table.
#[derive(Default)]
pub struct StatisticsSlot {
    newest: RwLock<Option<Arc<TableStatistics>>>,
    /// Number of statistics that were published.
    version: AtomicU64,
    /// Number of rows that were changed since ANALYZE, or the upkeep in its place, looked at the table; an estimate.
    changes: AtomicU64,
}

/// Statistics that are to be published by a commit.
pub(super) struct NewStatistics {
    slot: Arc<StatisticsSlot>,
    statistics: Arc<TableStatistics>,
    /// Changed rows that are of no account any more.
    changes: u64,
}

impl Distinct {
    /// Returns the number of different values among `rows` rows, at least 1.
    pub fn of(self, rows: f64) -> f64 {
        match self {
            Self::Count(count) => count,
            Self::Fraction(fraction) => fraction * rows,
        }
        .max(1.0)
    }
}

impl StoredValue {
    /// Stores a value of a type.
    ///
    /// # Errors
    /// 0A000 for a type that cannot be stored.
    pub fn new(ty: Type, value: Value<'_>) -> Result<Self> {
        let layout = RowLayout::new(&[ty])?;
        let mut bytes = Vec::new();
        RowWriter::write(&layout, &[value], &mut bytes)?;
        Ok(Self(bytes.into()))
    }

    /// Returns the value, which is of the type that `layout` has as its only column.
    ///
    /// # Errors
    /// XX001 if the value is of another type.
    pub fn value<'a>(&'a self, layout: &RowLayout) -> Result<Value<'a>> {
        let value = Row::new(layout, &self.0)?.value(0)?;
        Ok(value.unwrap_or(Value::Null))
    }
}

impl StatisticsSlot {
    /// Returns the newest committed statistics.
    pub fn newest(&self) -> Option<Arc<TableStatistics>> {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        newest.clone()
    }

    /// Returns a number that changes when other statistics are published. The call takes one load.
    #[inline]
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `publish`.
        self.version.load(Ordering::Acquire)
    }

    /// Returns the number of rows that committed transactions have changed since somebody looked at the table
    /// thoroughly, in this run of the database; an estimate.
    pub fn changes(&self) -> u64 {
        // Relaxed, here and below: the number orders nothing, and one that is a moment old is as good.
        self.changes.load(Ordering::Relaxed)
    }

    /// Adds to the number of changed rows. Callers that change few rows at a time call it now and then, for several
    /// statements together: all workers share the number.
    pub fn add_changes(&self, rows: u64) {
        self.changes.fetch_add(rows, Ordering::Relaxed);
    }

    /// Takes `rows` from the number of changed rows: somebody has looked at the table since these were changed.
    pub fn forget_changes(&self, rows: u64) {
        let less = |now: u64| Some(now.saturating_sub(rows));
        // The closure never refuses.
        let _ = self
            .changes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    pub(super) fn publish(&self, statistics: Arc<TableStatistics>) {
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        *newest = Some(statistics);
        // Release, and under the lock: a reader of the number finds these statistics or newer ones.
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
        self.slot.forget_changes(self.changes);
    }
}

/// Decodes statistics.
///
/// # Errors
/// XX001 for bytes that are none.
pub(super) fn decode(bytes: &[u8]) -> Result<TableStatistics> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("statistics cannot be read: {error}");
        SqlError::new(SqlState::DATA_CORRUPTED, message)
    })
}

impl Changes {
    /// Writes a table's statistics in place of the old ones. Other transactions, and this one, plan
    /// by them once it has committed; `changes` changed rows are of no account then
    /// ([`StatisticsSlot::changes`], before the rows were looked at).
    ///
    /// # Errors
    /// Errors of the engine.
    pub async fn put_statistics(
        &self,
        transaction: &Transaction,
        table: &Table,
        statistics: TableStatistics,
        changes: u64,
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
            changes,
        };
        transaction
            .note_for_commit(Box::new(note))
            .map_err(from_engine)
    }
}
