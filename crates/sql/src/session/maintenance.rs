//! VACUUM and ANALYZE, and statistics that are found without a command.
//!
//! There is nothing for VACUUM to clear up: workers collect old versions all the time, as soon as
//! no transaction can see them. VACUUM therefore checks whether its tables exist, and analyses them
//! if it is asked to.
//!
//! No task looks after statistics in the background. A statement that is about to be planned, and
//! whose plan depends on the sizes of its tables, looks at a few rows of those that have grown or
//! shrunk much since they were last looked at ([`Session::refresh_statistics`]): some milliseconds
//! for each doubling of a table.

use std::sync::Arc;

use engine::{IfLocked, Isolation, TableLockMode};
use types::{Result, SqlError, SqlState};

use super::{CommandTag, Session, Sink, Status, define::no_such_column};
use catalog::{Changes, ObjectId, Relation, Table, TableKind, from_engine};
use executor::statistics::{QUICK_SAMPLE_ROWS, SAMPLE_ROWS, gathered};
use planner::plan::PlanDependencies;
use syntax::maintenance::{Maintenance, Target};

/// Number of places for records below which a table needs no statistics but those of ANALYZE.
const ROWS_MIN: u64 = 500;
/// Factor of growth or shrinkage in places beyond which statistics are out of date.
const CHANGE_FACTOR: u64 = 2;

impl Session {
    pub(super) async fn maintain(
        &mut self,
        order: &Maintenance,
        sink: &mut impl Sink,
    ) -> Result<()> {
        order.supported.clone()?;
        let is_alone = self.status() == Status::Idle && self.transaction.begun().is_none();
        if order.vacuum && !is_alone {
            let message = "VACUUM cannot run inside a transaction block";
            return Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        self.begin()?;
        let targets = if order.targets.is_empty() {
            self.all_tables()
        } else {
            self.targets(&order.targets)?
        };
        if order.analyze {
            let if_locked = match order.skip_locked {
                true => IfLocked::Fail,
                false => IfLocked::Wait,
            };
            for (table, columns) in targets {
                self.begin()?;
                let analyzed = self.analyze(table, columns.as_deref(), if_locked).await;
                match analyzed {
                    Err(error)
                        if order.skip_locked && error.state() == SqlState::LOCK_NOT_AVAILABLE => {}
                    analyzed => analyzed?,
                }
                // The lock of one table should not be kept until all are done.
                if is_alone {
                    self.end_implicit().await?;
                }
            }
        }
        sink.complete(CommandTag::Word(if order.vacuum {
            "VACUUM"
        } else {
            "ANALYZE"
        }))
    }

    fn all_tables(&self) -> Vec<(ObjectId, Option<Vec<usize>>)> {
        let catalog = self.transaction.catalog();
        let tables = catalog.objects().filter_map(|object| match object {
            catalog::Object::Table(table) if table.kind == TableKind::Ordinary => {
                Some((table.id, None))
            }
            _ => None,
        });
        tables.collect()
    }

    /// Returns the tables that are named, and their columns by position; other objects than tables
    /// are passed over, as in PostgreSQL.
    fn targets(&self, targets: &[Target]) -> Result<Vec<(ObjectId, Option<Vec<usize>>)>> {
        let catalog = self.transaction.catalog();
        let mut found = Vec::with_capacity(targets.len());
        for target in targets {
            let (Relation::Table(table), _) = self.relation_written(&catalog, &target.name)? else {
                continue;
            };
            if table.kind != TableKind::Ordinary {
                continue;
            }
            let mut columns = Vec::with_capacity(target.columns.len());
            for column in &target.columns {
                let folded = column.as_str();
                let found = table.column(folded);
                let (at, _) = found.ok_or_else(|| no_such_column(&table.name, folded))?;
                if columns.contains(&at) {
                    let name = &table.name;
                    let message = format!(
                        "column \"{folded}\" of relation \"{name}\" appears more than once"
                    );
                    return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
                }
                columns.push(at);
            }
            found.push((table.id, (!columns.is_empty()).then_some(columns)));
        }
        Ok(found)
    }

    /// Looks at a table's values, and keeps the statistics of columns that it does not look at.
    async fn analyze(
        &self,
        id: ObjectId,
        columns: Option<&[usize]>,
        if_locked: IfLocked,
    ) -> Result<()> {
        let transaction = self.transaction.open()?;
        // One transaction looks at a time; no other changes the columns meanwhile.
        let mode = TableLockMode::ShareUpdateExclusive;
        let locked = self.transaction.lock_table(id, mode, if_locked);
        let Some(table) = locked.await? else {
            return Ok(());
        };
        let mut found = gathered(transaction, &table, columns, SAMPLE_ROWS).await?;
        if let Some(known) = table.statistics.newest().filter(|_| columns.is_some()) {
            for (at, column) in &known.columns {
                found.columns.entry(*at).or_insert_with(|| column.clone());
            }
        }
        self.transaction
            .changes()
            .put_statistics(transaction, &table, found)
            .await
    }

    /// Looks at some rows of the tables that a new plan depends on, where little is known of them;
    /// returns whether more is known now, so that the plan should be made again.
    pub(super) async fn refresh_statistics(&self, dependencies: &PlanDependencies) -> bool {
        for table in dependencies.tables() {
            if is_out_of_date(table) {
                // Plans can be made without statistics, for whatever reason they are missing.
                let _ = self.look_at(table).await;
            }
        }
        !dependencies.holds()
    }

    /// Looks at a table in a transaction of its own, which sees the same rows as others: statistics
    /// are for all of them.
    async fn look_at(&self, table: &Arc<Table>) -> Result<()> {
        let own = self
            .transaction
            .engine()
            .begin(Isolation::ReadCommitted)
            .map_err(from_engine)?;
        let changes = Changes::new(&self.database.catalogs);
        let mode = TableLockMode::ShareUpdateExclusive;
        let locked = changes.lock_table(&own, table.id, mode, IfLocked::Fail);
        let Some(table) = locked.await? else {
            return Ok(());
        };
        // Another session may have looked at it meanwhile.
        if !is_out_of_date(&table) {
            return Ok(());
        }
        let found = gathered(&own, &table, None, QUICK_SAMPLE_ROWS).await?;
        // If only their own transaction sees the rows yet, the sample is empty; a later one will
        // not be.
        if found.columns.is_empty() {
            return Ok(());
        }
        changes.put_statistics(&own, &table, found).await?;
        own.commit().await.map(drop).map_err(from_engine)
    }
}

/// Returns whether a table is of another size than when it was looked at.
pub(super) fn is_out_of_date(table: &Table) -> bool {
    if table.kind != TableKind::Ordinary {
        return false;
    }
    let places = table.storage().records_estimate();
    match table.statistics.newest() {
        None => places >= ROWS_MIN,
        Some(known) => {
            places.max(known.places) >= ROWS_MIN
                && (places > known.places.saturating_mul(CHANGE_FACTOR)
                    || known.places > places.saturating_mul(CHANGE_FACTOR))
        }
    }
}
