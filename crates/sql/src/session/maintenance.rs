//! VACUUM and ANALYZE, and statistics that are found without a command.
//!
//! There is nothing for VACUUM to clear up: workers collect old versions all the time, as soon as
//! no transaction can see them. VACUUM therefore checks whether its tables exist, and analyses them
//! if it is asked to.
//!
//! Statistics stay fresh without a command in two ways. A statement that is about to be planned, and
//! whose plan depends on the sizes of its tables, looks at a few rows of those that have grown or
//! shrunk much since they were last looked at ([`Session::refresh_statistics`]): some milliseconds
//! for each doubling of a table. And a task beside all others ([`Session::keep_statistics`]) analyses
//! tables many of whose rows were changed, by PostgreSQL's rule, as a batch task that gives others
//! their turns; statements count the rows that they change (`changed_rows.rs`).

use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};

use engine::{IfLocked, Isolation, TableLockMode, Transaction};
use interleave::{Turn, become_batch, sleep};
use types::{Result, SqlError, SqlState};

use super::{
    CommandTag, Session, Sink, Status,
    define::no_such_column,
    interrupt::{Limits, interruptible},
};
use catalog::{Changes, ObjectId, Relation, Table, TableKind, TableStatistics, from_engine};
use planner::plan::PlanDependencies;
use samples::{QUICK_SAMPLE_ROWS, SAMPLE_ROWS, sampled};
use syntax::maintenance::{Maintenance, Target};

/// Number of places for records below which a table needs no statistics but those of ANALYZE.
const ROWS_MIN: u64 = 500;
/// Factor of growth or shrinkage in places beyond which statistics are out of date.
const CHANGE_FACTOR: u64 = 2;

/// Changed rows beyond which a table is analysed: so many, and this part of its rows. The numbers are those of
/// PostgreSQL's `autovacuum_analyze_threshold` and `autovacuum_analyze_scale_factor`.
const CHANGES_MIN: f64 = 50.0;
const CHANGED_FRACTION: f64 = 0.1;
/// Most rounds for which a table that could not be looked at is left out: an hour.
const ROUNDS_MAX: u32 = 360;
/// Time between two looks at the numbers of all tables' changed rows.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// The care with which a table is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// As many rows as a statement that waits can afford, if the size of the table has changed much.
    Quick,
    /// As many rows as for ANALYZE, if many rows have changed.
    Thorough,
}

impl Look {
    /// Returns whether a table needs the look.
    fn is_due(self, table: &Table) -> bool {
        match self {
            Self::Quick => is_out_of_date(table),
            Self::Thorough => has_changed(table),
        }
    }
}

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
        let changes = match columns {
            None => table.statistics.changes(),
            // Other columns may have changed as well.
            Some(_) => 0,
        };
        let sample = sampled(transaction, &table, columns, SAMPLE_ROWS).await?;
        let mut found = sample.statistics(&table, &table.statistics_objects).await?;
        if let Some(known) = table.statistics.newest().filter(|_| columns.is_some()) {
            keep_columns(&mut found, &known);
            keep_groups(&mut found, &known, &table);
        }
        self.transaction
            .changes()
            .put_statistics(transaction, &table, found, changes)
            .await
    }

    /// Looks at some rows of the tables that a new plan depends on, where little is known of them;
    /// returns whether more is known now, so that the plan should be made again.
    pub(super) async fn refresh_statistics(&self, dependencies: &PlanDependencies) -> bool {
        for table in dependencies.tables() {
            if is_out_of_date(table) {
                // Plans can be made without statistics, for whatever reason they are missing.
                let _ = self.look_at(table, Look::Quick).await;
            }
        }
        !dependencies.holds()
    }

    /// Analyses tables whose rows have changed much, now and then, until the session is interrupted. One session of
    /// a database does this.
    ///
    /// # Suspension
    /// Suspends for timers, and for waits for memory, the device and turns of other tasks.
    pub async fn keep_statistics(&self) {
        let mut failed = Failed::default();
        let upkeep = pin!(async {
            loop {
                sleep(LOOK_INTERVAL).await;
                self.analyze_changed(&mut failed).await;
            }
        });
        let mut limits = Limits::new(self.interrupt.clone(), None);
        // The upkeep ends by the interrupt's error alone, which is for nobody.
        let _: Result<()> = interruptible(&mut limits, upkeep).await;
    }

    /// Analyses all tables whose rows have changed much since the last time. A table that cannot be looked at now has
    /// its turn later, after a pause that doubles each time.
    ///
    /// # Suspension
    /// Suspends for waits for memory, the device and turns of other tasks.
    pub(super) async fn analyze_changed(&self, failed: &mut Failed) {
        let catalog = self.database.catalogs.current();
        let turn = Turn::default();
        failed.0.retain(|id, _| catalog.table(*id).is_some());
        for table in catalog.tables() {
            turn.pause(1).await;
            if has_changed(table) && failed.is_due(table.id) {
                become_batch();
                let looked_at = self.look_at(table, Look::Thorough).await;
                failed.note(table.id, looked_at.is_err());
            }
        }
    }

    /// Looks at a table in transactions of its own, which see the same rows as others: statistics are for all of them.
    /// One transaction reads the rows, and another one, with a lock that keeps others from the same work, writes what
    /// was found: neither lock nor snapshot is held while values are put in order.
    async fn look_at(&self, table: &Arc<Table>, look: Look) -> Result<()> {
        let changes = Changes::new(&self.database.catalogs);
        let (rows_max, is_thorough) = match look {
            Look::Quick => (QUICK_SAMPLE_ROWS, false),
            Look::Thorough => (SAMPLE_ROWS, true),
        };
        let reader = self.own_transaction()?;
        let mode = TableLockMode::AccessShare;
        let locked = changes.lock_table(&reader, table.id, mode, IfLocked::Fail);
        let Some(table) = locked.await? else {
            return Ok(());
        };
        // Another session may have looked at it meanwhile.
        if !look.is_due(&table) {
            return Ok(());
        }
        let changed = table.statistics.changes();
        let sample = sampled(&reader, &table, None, rows_max).await?;
        drop(reader);
        // Groups of many columns take seconds, for which no statement should wait.
        let groups: &[_] = match is_thorough {
            true => &table.statistics_objects,
            false => &[],
        };
        let mut found = sample.statistics(&table, groups).await?;
        if let Some(known) = table.statistics.newest() {
            // Most records have left memory, or all are deleted.
            let is_unknown = !sample.is_fair() || found.rows == 0.0;
            if is_unknown {
                found.columns.clone_from(&known.columns);
                found.groups.clear();
            }
            if is_unknown || !is_thorough {
                keep_groups(&mut found, &known, &table);
            }
        }
        // If only their own transaction sees the rows yet, the sample is empty; a later one will
        // not be.
        if found.columns.is_empty() {
            if is_thorough {
                table.statistics.forget_changes(changed);
            }
            return Ok(());
        }
        let writer = self.own_transaction()?;
        let mode = TableLockMode::ShareUpdateExclusive;
        let locked = changes.lock_table(&writer, table.id, mode, IfLocked::Fail);
        let now = locked.await?;
        // Nothing is written if another session has changed the table, or looked at it, meanwhile.
        if !now.is_some_and(|now| Arc::ptr_eq(&now, &table) && look.is_due(&now)) {
            return Ok(());
        }
        let forgotten = if is_thorough { changed } else { 0 };
        let put = changes.put_statistics(&writer, &table, found, forgotten);
        put.await?;
        writer.commit().await.map(drop).map_err(from_engine)
    }

    /// Begins a transaction for statistics. Statements would wait for ten seconds each, to be planned, where there is
    /// no room in memory for what was found: it is found again.
    fn own_transaction(&self) -> Result<Transaction> {
        let own = self.transaction.engine().begin(Isolation::ReadCommitted);
        let own = own.map_err(from_engine)?;
        own.fail_without_room();
        Ok(own)
    }
}

/// Tables that could not be looked at: how many rounds each one is left out for, and how many of them have yet to come.
#[derive(Default)]
pub(super) struct Failed(BTreeMap<ObjectId, (u32, u32)>);

impl Failed {
    /// Returns whether a table may be looked at in this round.
    pub(super) fn is_due(&mut self, id: ObjectId) -> bool {
        match self.0.get_mut(&id) {
            Some((_, left)) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        }
    }

    /// Notes how a look has ended.
    fn note(&mut self, id: ObjectId, has_failed: bool) {
        if has_failed {
            let (rounds, left) = self.0.entry(id).or_default();
            *rounds = (*rounds * 2).clamp(1, ROUNDS_MAX);
            *left = *rounds;
        } else {
            self.0.remove(&id);
        }
    }
}

/// Keeps what was known of columns that were not looked at.
fn keep_columns(found: &mut TableStatistics, known: &TableStatistics) {
    for (at, column) in &known.columns {
        found.columns.entry(*at).or_insert_with(|| column.clone());
    }
}

/// Keeps what was known of groups of columns that were not looked at, as far as they are asked for.
fn keep_groups(found: &mut TableStatistics, known: &TableStatistics, table: &Table) {
    for object in table.statistics_objects.iter() {
        if let Some(group) = known.groups.get(&object.id.0) {
            let place = found.groups.entry(object.id.0);
            place.or_insert_with(|| group.clone());
        }
    }
}

/// Returns whether so many rows of a table have changed that it is to be analysed.
fn has_changed(table: &Table) -> bool {
    if table.kind != TableKind::Ordinary {
        return false;
    }
    let changes = table.statistics.changes() as f64;
    // Tables of which nothing is known are thought to be empty, and most tables have no changes.
    changes > CHANGES_MIN && {
        let rows = table.statistics.newest().map_or(0.0, |known| known.rows);
        changes > CHANGES_MIN + CHANGED_FRACTION * rows
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
