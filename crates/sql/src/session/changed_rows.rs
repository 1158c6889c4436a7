//! Rows that a transaction has changed, by tables, for the upkeep of statistics (`maintenance.rs`): the tables hear of
//! them when it commits.
//!
//! All workers share the number of a table's changed rows, and most statements change a single row. Statements that
//! change few rows are therefore counted by chance: as often as one row in [`AT_ONCE`], and then as that many.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use catalog::{ObjectId, StatisticsSlot, Table};

/// Number of rows from which on those of a statement are counted as they are.
const AT_ONCE: u64 = 64;

/// The rows that a transaction has changed: an entry for each table at most.
#[derive(Default)]
pub(super) struct ChangedRows(RefCell<BTreeMap<ObjectId, (Arc<StatisticsSlot>, u64)>>);

impl ChangedRows {
    /// Notes that a statement has changed rows of the tables that it writes.
    pub(super) fn note<'t>(&self, rows: u64, written: impl Iterator<Item = &'t Arc<Table>>) {
        let rows = match rows {
            AT_ONCE.. => rows,
            few if few > 0 && fastrand::u64(..AT_ONCE) < few => AT_ONCE,
            _ => return,
        };
        for table in written {
            let mut changed = self.0.borrow_mut();
            let entry = changed.entry(table.id);
            let (_, count) = entry.or_insert_with(|| (table.statistics.clone(), 0));
            *count += rows;
        }
    }

    /// Tells the tables, whose rows are changed for others too now.
    pub(super) fn publish(&self) {
        for (slot, rows) in self.0.take().into_values() {
            slot.add_changes(rows);
        }
    }

    /// Forgets the rows of a transaction that is rolled back.
    pub(super) fn forget(&self) {
        self.0.take();
    }
}
