//! Statistics of tables' values, found by looking at a sample of their rows.
//!
//! | statistics | file |
//! | --- | --- |
//! | of one column | `column.rs` |
//! | of several columns together, where a statistics object asks for them | `groups.rs` |
//!
//! A sample is taken by the places of records (`engine::Transaction::sample`), which have nothing
//! to do with their values; a table of any size costs as many point reads as the sample has rows,
//! and a small table is read wholly. Numbers of different values are estimated from the sample: a
//! sketch would know them better, and would have to see each row. The statistics are kept in
//! `catalog/statistics.rs` and used in `planner/plan/estimate`.
//!
//! The share of places without records tells how many rows there are; the engine keeps no count of
//! them.
//!
//! The crate knows tables and how to read them. It keeps no statistics, and knows no statement.

mod column;
mod groups;

#[cfg(test)]
mod tests;

use engine::Transaction;
use interleave::{Interleaved, Turn};
use types::{
    Result, Type, Value,
    row::{Row, RowLayout, RowWriter},
};

use self::column::Seen;
use batch::Rows;
use catalog::{StatisticsObject, Table, TableStatistics, from_engine};
use planner::plan::row_layout;

/// Number of rows that ANALYZE looks at: PostgreSQL's number for its default target of 100 common
/// values and as many parts of the histogram.
pub const SAMPLE_ROWS: u64 = 30_000;
/// Number of rows that are looked at for a statement that waits to be planned: some milliseconds'
/// work.
pub const QUICK_SAMPLE_ROWS: u64 = 5_000;
/// Number of places that are looked at between two checks of the task's turn.
const PLACES_AT_ONCE: usize = 64;
/// Most values that a sample has: fewer rows of tables with many columns are looked at.
const VALUES_MAX: u64 = 600_000;
/// Longest value, in bytes, that is kept; a longer value is counted as different from all others.
const VALUE_BYTES_MAX: usize = 256;

/// Looks at up to `rows_max` rows of `table`, as `transaction` sees them, and keeps the values of all live columns, or
/// of `columns`. Records that have left memory are counted, and not read: see [`Sample::is_fair`].
///
/// # Errors
/// Errors of the engine; XX001 for a damaged record.
///
/// # Suspension
/// Suspends for waits for memory and for turns of other tasks.
pub async fn sampled(
    transaction: &Transaction,
    table: &Table,
    columns: Option<&[usize]>,
    rows_max: u64,
) -> Result<Sample> {
    let wanted: Vec<usize> = table
        .live_columns()
        .map(|(at, _)| at)
        .filter(|at| columns.is_none_or(|columns| columns.contains(at)))
        .collect();
    let rows_max = rows_max.min(VALUES_MAX / wanted.len().max(1) as u64);
    let mut sample = Sample::new(table, wanted)?;
    let places = table.storage().records_estimate();
    let looked_at = places.min(rows_max);
    // The table is divided into equal parts, and one place of each is chosen. The places are the
    // same for the same table, so that a run can be repeated.
    let mut random = fastrand::Rng::with_seed(u64::from(table.id.0) ^ places);
    let chosen = (0..usize::try_from(looked_at).unwrap_or(usize::MAX)).map(|part| {
        let part = part as u64;
        let bound =
            |part: u64| (u128::from(part) * u128::from(places) / u128::from(looked_at)) as u64;
        random.u64(bound(part)..bound(part + 1))
    });
    let chosen: Vec<u64> = chosen.collect();
    let turn = Turn::default();
    for places in chosen.chunks(PLACES_AT_ONCE) {
        let mut failure = None;
        let places = places.iter().copied();
        turn.pause(places.len()).await;
        sample.occupied += transaction
            .sample::<Interleaved>(table.storage(), places, |record| {
                if let Err(error) = sample.add(table, record) {
                    failure.get_or_insert(error);
                }
            })
            .await
            .map_err(from_engine)?;
        if let Some(error) = failure {
            return Err(error);
        }
    }
    (sample.places, sample.looked_at) = (places, looked_at);
    Ok(sample)
}

/// Rows of a table.
pub struct Sample {
    /// Places for records that the table has, those that were looked at, and those of them where there was a record.
    places: u64,
    looked_at: u64,
    occupied: usize,
    layout: RowLayout,
    /// Positions of the columns in the table.
    columns: Vec<usize>,
    rows: Rows,
    seen: Vec<Seen>,
    /// Rows whose values were too long to be kept, for each column.
    wide: Vec<Vec<u32>>,
    /// Buffer in which a value is encoded to measure its length.
    buffer: Vec<u8>,
}

impl Sample {
    fn new(table: &Table, columns: Vec<usize>) -> Result<Self> {
        let mut seen = Vec::with_capacity(columns.len());
        for at in &columns {
            seen.push(Seen::new(table.columns[*at].ty)?);
        }
        Ok(Self {
            places: 0,
            looked_at: 0,
            occupied: 0,
            layout: (*row_layout(table)?).clone(),
            rows: Rows::new(columns.len()),
            wide: vec![Vec::new(); columns.len()],
            columns,
            seen,
            buffer: Vec::new(),
        })
    }

    fn add(&mut self, table: &Table, record: &[u8]) -> Result<()> {
        let row = Row::new(&self.layout, record)?;
        let mut values = Vec::with_capacity(self.columns.len());
        let columns = self.columns.iter().zip(&mut self.seen);
        for ((at, seen), wide) in columns.zip(&mut self.wide) {
            let value = table.value(&row, *at)?;
            let bytes = width(seen, value, &mut self.buffer)?;
            let is_kept = seen.count(value, bytes);
            if !is_kept && !value.is_null() {
                // A sample has fewer rows than that.
                wide.push(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
            }
            values.push(if is_kept { value } else { Value::Null });
        }
        self.rows.push(values);
        Ok(())
    }

    /// Returns whether most of the records that were met were read: others have left memory, and differ from these, or
    /// are newer than the snapshot.
    pub fn is_fair(&self) -> bool {
        self.rows.len() * 2 >= self.occupied
    }

    /// Returns statistics of the columns, and of `groups` of columns that statistics objects ask for, if all of their
    /// columns are among them. No transaction need be open.
    ///
    /// # Errors
    /// 0A000 for a value that cannot be stored.
    ///
    /// # Suspension
    /// Suspends for turns of other tasks.
    pub async fn statistics(
        &self,
        table: &Table,
        groups: &[StatisticsObject],
    ) -> Result<TableStatistics> {
        let rows = match self.looked_at {
            0 => 0.0,
            looked_at => self.occupied as f64 / looked_at as f64 * self.places as f64,
        };
        let mut found = TableStatistics {
            rows,
            places: self.places,
            ..TableStatistics::default()
        };
        let turn = Turn::default();
        self.summarize(table, &mut found, &turn).await?;
        for object in groups {
            if let Some(group) = self.group(table, object, found.rows, &turn).await? {
                found.groups.insert(object.id.0, group);
            }
        }
        Ok(found)
    }

    async fn summarize(
        &self,
        table: &Table,
        found: &mut TableStatistics,
        turn: &Turn,
    ) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        for (place, (at, seen)) in self.columns.iter().zip(&self.seen).enumerate() {
            let mut values = Vec::with_capacity(self.rows.len());
            for row in self.rows.iter() {
                turn.pause(1).await;
                if !row[place].is_null() {
                    values.push(row[place]);
                }
            }
            let ty = table.columns[*at].ty;
            let column = seen.summarize(ty, values, self.rows.len(), found.rows, turn);
            let column = column.await?;
            found
                .columns
                .insert(u16::try_from(*at).unwrap_or(u16::MAX), column);
        }
        Ok(())
    }
}

/// Returns the number of bytes of `value` in a row.
fn width(seen: &Seen, value: Value<'_>, buffer: &mut Vec<u8>) -> Result<usize> {
    Ok(match value {
        Value::Null => 0,
        Value::Text(text) | Value::Json(text) => text.len(),
        Value::Bytea(bytes) => bytes.len(),
        _ if seen.fixed_width > 0 => seen.fixed_width,
        value => {
            buffer.clear();
            RowWriter::write(&seen.layout, &[value], buffer)?;
            buffer.len()
        }
    })
}

/// Returns the number of bytes of each value of `ty`, 0 if they differ.
fn fixed_width(ty: Type) -> usize {
    usize::try_from(ty.length()).unwrap_or(0)
}
