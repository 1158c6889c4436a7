//! Facts that a plan was made from, besides definitions: the sizes of its tables and the statistics
//! of their values. If they change much, the plan is still right but may be a bad one.

use std::{ops::RangeInclusive, sync::Arc};

use catalog::{Table, TableKind};

/// Factor by which a table may grow or shrink before its plans are made again.
const CHANGE_FACTOR: u64 = 4;
/// Number of places for records below which a table's size does not matter.
const PLACES_MIN: u64 = 1_000;

/// The tables whose sizes a plan depends on. A table that is read by a unique key alone is not
/// among them.
#[derive(Debug, Default)]
pub struct PlanDependencies {
    tables: Vec<Size>,
}

#[derive(Debug)]
struct Size {
    table: Arc<Table>,
    statistics: u64,
    places: RangeInclusive<u64>,
}

impl PlanDependencies {
    /// Notes the present size of a table.
    pub(super) fn add(&mut self, table: &Arc<Table>) {
        if table.kind != TableKind::Ordinary
            || self.tables.iter().any(|size| size.table.id == table.id)
        {
            return;
        }
        let places = table.storage().records_estimate();
        let most = places.saturating_mul(CHANGE_FACTOR).max(PLACES_MIN);
        let fewest = match places / CHANGE_FACTOR {
            fewest if fewest < PLACES_MIN => 0,
            fewest => fewest,
        };
        self.tables.push(Size {
            table: table.clone(),
            statistics: table.statistics.version(),
            places: fewest..=most,
        });
    }

    /// Iterates over the tables whose sizes the plan depends on, each once.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().map(|size| &size.table)
    }

    /// Returns whether sizes and statistics are still roughly the same. The check takes a few loads
    /// for each table.
    pub fn holds(&self) -> bool {
        self.tables.iter().all(|size| {
            size.table.statistics.version() == size.statistics
                && size
                    .places
                    .contains(&size.table.storage().records_estimate())
        })
    }
}
