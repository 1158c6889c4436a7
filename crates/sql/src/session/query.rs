//! Plans: found, made runnable, and run. Those that are made anew are made in `query/planning.rs`.

mod planning;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use engine::{IfLocked, Isolation, TableLockMode};
use types::{Result, Scratch, SqlError, SqlState, Type, Value};

use super::{
    CommandTag, Field, Session, Sink,
    maintenance::is_out_of_date,
    plan_cache::{self, PlanKey},
    transaction::Characteristics,
};
use batch::Rows;
use catalog::{Catalog, ObjectId, Searched, Table};
use logical::bind::{Inputs, Parameters};
use planner::plan;
use syntax::{
    Source,
    fingerprint::{Fingerprint, FingerprintKind, Literal},
    phase,
    statement::{RowKind, RowStatement},
};

/// No look at tables is due: enough is known of them.
const NEVER: u64 = u64::MAX;

/// Milliseconds between two looks at tables of which too little is known, for one plan.
const LOOK_EVERY_MS: u64 = 1000;

/// A statement that can be run at once, as long as its catalog is in force.
#[derive(Debug)]
pub(super) struct CachedPlan {
    pub(super) statement: plan::PlannedStatement,
    pub(super) fields: Arc<[Field]>,
    /// The types that parameters are read as, those of literals.
    pub(super) parameters: Arc<[Type]>,
    kind: RowKind,
    /// Tables, and whether they are written.
    tables: Vec<(ObjectId, bool)>,
    /// Whether it locks rows that it does not change.
    locks_rows: bool,
    pub(super) catalog: Arc<Catalog>,
    /// The inputs that it was bound with.
    inputs: Arc<Inputs>,
    /// It is good for this transaction alone: indexes are hidden from it, or what it says depends
    /// on when that began.
    is_passing: bool,
    /// The memory that it takes, estimated from its text and its parts.
    bytes: usize,
    /// Indexes that it may read by.
    indexes: Box<[engine::Index]>,
    /// Indexes that it would read by if they were not newer than the snapshot of the transaction that made it.
    hidden_indexes: Box<[engine::Index]>,
    /// When the tables that it reads are looked at next, for want of statistics: in milliseconds of
    /// the database's plans ([`PlanCache::now`](plan_cache::PlanCache::now)), or [`NEVER`].
    next_look: AtomicU64,
}

impl CachedPlan {
    /// A plan of the session's own, whose tables are locked already.
    pub(super) fn own(
        statement: plan::PlannedStatement,
        kind: RowKind,
        catalog: &Arc<Catalog>,
        inputs: &Arc<Inputs>,
    ) -> Arc<CachedPlan> {
        Arc::new(CachedPlan {
            statement,
            fields: Arc::default(),
            parameters: Arc::default(),
            kind,
            tables: Vec::new(),
            catalog: catalog.clone(),
            inputs: inputs.clone(),
            indexes: Box::default(),
            hidden_indexes: Box::default(),
            next_look: AtomicU64::new(NEVER),
            is_passing: false,
            bytes: 0,
            locks_rows: false,
        })
    }

    /// Returns the inputs that it was bound with, besides its catalog.
    pub(super) fn inputs(&self) -> &Arc<Inputs> {
        &self.inputs
    }

    /// Whether it would be bound the same with these inputs.
    fn is_of(&self, inputs: &Arc<Inputs>) -> bool {
        plan_cache::are_equal(&self.inputs, inputs)
    }

    /// How many bytes of memory it takes, estimated.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether it has no index to read by.
    #[cfg(test)]
    pub(super) fn reads_by_no_index(&self) -> bool {
        self.indexes.is_empty()
    }

    /// Returns the columns that a client is told of, if it is shown rows.
    pub(super) fn told_fields(&self) -> Option<&Arc<[Field]>> {
        self.shows_rows().then_some(&self.fields)
    }

    /// Whether a client is shown rows.
    pub(super) fn shows_rows(&self) -> bool {
        self.kind == RowKind::Select || !self.fields.is_empty()
    }

    /// Whether it is a query.
    pub(super) fn is_query(&self) -> bool {
        self.kind == RowKind::Select
    }

    /// Whether it locks rows that it does not change.
    pub(super) fn locks_rows(&self) -> bool {
        self.locks_rows
    }

    /// Iterates over the tables that it writes.
    pub(super) fn written(&self) -> impl Iterator<Item = &Arc<Table>> {
        let written = self.tables.iter().filter(|(_, writes)| *writes);
        written.filter_map(|(id, _)| self.catalog.table(*id))
    }

    /// Checks that it can be run in a transaction.
    ///
    /// # Errors
    /// 25006 if it writes and the transaction does not.
    pub(super) fn may_run(&self, characteristics: Characteristics) -> Result<()> {
        if !self.locks_rows && !self.tables.iter().any(|(_, writes)| *writes) {
            return Ok(());
        }
        characteristics.may_write(self.kind.writing())
    }

    /// Whether nothing depends on it that it runs to its end.
    pub(super) fn only_reads(&self) -> bool {
        self.kind == RowKind::Select && !self.tables.iter().any(|(_, writes)| *writes)
    }

    /// How it is told to have ended, with so many rows.
    pub(super) fn tag(&self, rows: u64) -> CommandTag {
        match self.kind {
            RowKind::Insert => CommandTag::Insert(rows),
            other => CommandTag::Rows(other.word(), rows),
        }
    }
}

/// Returns the error for a plan that is not there where there always is one.
pub(super) fn no_plan() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "no plan")
}

impl Session {
    /// Carries a statement out if it is one that has a plan; whether it is.
    pub(super) async fn execute_planned(
        &mut self,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<bool> {
        if !source.may_have_plan() {
            return Ok(false);
        }
        self.begin()?;
        let find = async || self.plan(source, None).await;
        let Some((cached_plan, literals)) = self.runnable(find).await? else {
            return Ok(false);
        };
        let parameters = self.literals(&cached_plan, &literals)?;
        if cached_plan.shows_rows() {
            sink.fields(&cached_plan.fields)?;
        }
        self.run(&cached_plan, &parameters, sink).await?;
        Ok(true)
    }

    /// Returns a plan that a client's statement can run now, as [`Session::locked_plan`] does.
    ///
    /// # Errors
    /// 25006 if the plan writes and the transaction does not; those of [`Session::locked_plan`].
    pub(super) async fn runnable<T>(
        &self,
        find: impl AsyncFn() -> Result<Option<(Arc<CachedPlan>, T)>>,
    ) -> Result<Option<(Arc<CachedPlan>, T)>> {
        let permitted = async || {
            let found = find().await?;
            if let Some((cached_plan, _)) = &found {
                cached_plan.may_run(self.characteristics())?;
            }
            Ok(found)
        };
        self.locked_plan(permitted).await
    }

    /// Returns a plan whose tables are locked in the open transaction, with what `find` finds beside it: the one way
    /// from a text to a plan, for clients' statements, EXPLAIN and questions of foreign keys. The tables have the
    /// definitions that the plan was made from. `find` is asked again whenever a definition has changed meanwhile, or
    /// more is known of the tables by now.
    ///
    /// # Errors
    /// XX000 if no transaction has begun; errors of `find` and of locking.
    pub(super) async fn locked_plan<T>(
        &self,
        find: impl AsyncFn() -> Result<Option<(Arc<CachedPlan>, T)>>,
    ) -> Result<Option<(Arc<CachedPlan>, T)>> {
        loop {
            let Some((cached_plan, beside)) = find().await? else {
                return Ok(None);
            };
            if self.is_well_founded(&cached_plan).await && self.lock(&cached_plan).await? {
                return Ok(Some((cached_plan, beside)));
            }
        }
    }

    /// Returns the plan of a key, which `make` makes in the transaction's catalog, as a phase, unless one is kept.
    pub(super) async fn keyed_plan(
        &self,
        plan_key: PlanKey<'_>,
        make: impl FnOnce(&Arc<Catalog>) -> Result<CachedPlan>,
    ) -> Result<Arc<CachedPlan>> {
        if let Some(cached_plan) = self.known(plan_key) {
            return Ok(cached_plan);
        }
        let catalog = self.transaction.catalog();
        let cached_plan = phase::run(|| make(&catalog)).await?;
        Ok(self.remember(plan_key, cached_plan))
    }

    /// Returns the plan of a statement that reads or changes rows within another one, which `source` is.
    pub(super) async fn plan_within(
        &self,
        source: &Source<'_>,
        statement: &RowStatement,
    ) -> Result<Arc<CachedPlan>> {
        let whole = Fingerprint::of(source, FingerprintKind::Exact);
        self.keyed_plan(PlanKey::Within(whole), |catalog| {
            self.bound(source, statement, &mut Parameters::default(), catalog)
        })
        .await
    }

    /// The plan of a statement, and the literals that were taken out of it; `None` if it is one
    /// that has no plan. `declared` are the types that the client has told of its parameters;
    /// without that, it can have none.
    pub(super) async fn plan<'t>(
        &self,
        source: &'t Source<'_>,
        declared: Option<&[Option<Type>]>,
    ) -> Result<Option<(Arc<CachedPlan>, Vec<Literal<'t>>)>> {
        let may_normalise = declared.is_none_or(<[_]>::is_empty) && source.can_be_normalised();
        let mut normalised = may_normalise
            .then(|| PlanKey::Fingerprint(Fingerprint::of(source, FingerprintKind::Normalised)));
        if let Some(cached_plan) = normalised.and_then(|key| self.known(key)) {
            if !cached_plan.statement.literals_matter {
                return Ok(Some((cached_plan, source.literals())));
            }
            normalised = None;
        }
        let exact = match declared {
            Some(declared) if source.has_parameters() || !declared.is_empty() => PlanKey::Text {
                text: source.text(),
                declared,
            },
            _ => PlanKey::Fingerprint(Fingerprint::of(source, FingerprintKind::Exact)),
        };
        if let Some(cached_plan) = self.known(exact) {
            return Ok(Some((cached_plan, Vec::new())));
        }
        phase::run(|| self.plan_anew(source, declared, normalised, exact)).await
    }

    /// Whether a plan of a statement is kept: it has been read before.
    pub(super) fn has_plan(&self, source: &Source<'_>) -> bool {
        let is_known = |kind| {
            self.kept_plan(PlanKey::Fingerprint(Fingerprint::of(source, kind)))
                .is_some()
        };
        source.may_have_plan()
            && (source.can_be_normalised() && is_known(FingerprintKind::Normalised)
                || is_known(FingerprintKind::Exact))
    }

    /// A plan that was kept and is what would be made now.
    pub(super) fn known(&self, plan_key: PlanKey<'_>) -> Option<Arc<CachedPlan>> {
        let known = self.kept_plan(plan_key)?;
        self.is_current(&known).then_some(known)
    }

    /// A plan that was kept, of whatever version of the catalog.
    fn kept_plan(&self, plan_key: PlanKey<'_>) -> Option<Arc<CachedPlan>> {
        match self.transaction.changes().is_empty() {
            true => self
                .database
                .plan_cache
                .find(plan_key, self.settings.inputs()),
            false => self
                .transaction
                .private_plan(plan_key, self.settings.inputs()),
        }
    }

    /// Whether the same plan would be made now.
    pub(super) fn is_current(&self, cached_plan: &CachedPlan) -> bool {
        cached_plan.is_of(self.settings.inputs())
            && self.transaction.is_current(&cached_plan.catalog)
            && cached_plan.statement.dependencies.holds()
            && self.reads_by_indexes_of(cached_plan)
    }

    /// Returns whether the transaction can read by the indexes of a plan that another transaction may have
    /// made, and by none that were hidden from that one: an index that is newer than a snapshot is not read by.
    /// Under read committed each statement has a snapshot that is as new as the catalog.
    fn reads_by_indexes_of(&self, cached_plan: &CachedPlan) -> bool {
        let CachedPlan {
            indexes,
            hidden_indexes,
            ..
        } = cached_plan;
        let Some(transaction) = self.transaction.begun() else {
            return hidden_indexes.is_empty();
        };
        let can_read_by = |index| transaction.can_read_by(index);
        (transaction.isolation() == Isolation::ReadCommitted || indexes.iter().all(can_read_by))
            && !hidden_indexes.iter().any(can_read_by)
    }

    /// Keeps a plan, unless it is of no use to later transactions.
    pub(super) fn remember(
        &self,
        plan_key: PlanKey<'_>,
        cached_plan: CachedPlan,
    ) -> Arc<CachedPlan> {
        let cached_plan = Arc::new(cached_plan);
        if cached_plan.is_passing {
            return cached_plan;
        }
        if cached_plan.catalog.is_private() {
            self.transaction
                .keep_private_plan(plan_key, &cached_plan, self.memory.kept());
        } else {
            self.database.plan_cache.keep(plan_key, &cached_plan);
        }
        cached_plan
    }

    /// Whether a plan was made from what is known, or what is found out now for it.
    pub(super) async fn is_well_founded(&self, cached_plan: &CachedPlan) -> bool {
        let dependencies = &cached_plan.statement.dependencies;
        if !dependencies.holds() {
            return false;
        }
        // Relaxed: a look too many, or a second too late, is harmless.
        let due = cached_plan.next_look.load(Ordering::Relaxed);
        if due == NEVER {
            return true;
        }
        let now = self.database.plan_cache.now();
        if now < due {
            return true;
        }
        // A look may be cancelled, or find rows that only an open transaction sees.
        cached_plan
            .next_look
            .store(now.saturating_add(LOOK_EVERY_MS), Ordering::Relaxed);
        // Each statement's future has room for the questions of its foreign keys, and looks are rare.
        if Box::pin(self.refresh_statistics(dependencies)).await {
            return false;
        }
        if !dependencies.tables().any(|table| is_out_of_date(table)) {
            cached_plan.next_look.store(NEVER, Ordering::Relaxed);
        }
        true
    }

    /// Locks the tables of a plan; returns false if one of them has changed since it was made. Suspended queries are
    /// ready for what is written afterwards.
    ///
    /// # Errors
    /// XX000 if no transaction has begun; 40P01, 55P03 and others of the engine; errors of suspended queries.
    pub(super) async fn lock(&self, cached_plan: &CachedPlan) -> Result<bool> {
        let CachedPlan {
            tables, catalog, ..
        } = cached_plan;
        let transaction = self.transaction.open()?;
        for (table, writes) in tables {
            let mode = if *writes {
                TableLockMode::RowExclusive
            } else if cached_plan.locks_rows {
                TableLockMode::RowShare
            } else {
                TableLockMode::AccessShare
            };
            self.transaction
                .lock_table(*table, mode, IfLocked::Wait)
                .await?;
        }
        if tables.iter().any(|(_, writes)| *writes) {
            self.settle().await?;
        }
        // The answer holds only if the definitions last that it was made by.
        transaction.depends_on(catalog.committed_at());
        Ok(self.transaction.is_current(catalog))
    }

    /// Runs a plan whose tables are locked, to its end.
    pub(super) async fn run(
        &self,
        cached_plan: &Arc<CachedPlan>,
        parameters: &Rows,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let execution = self.execution(cached_plan)?;
        let rows = self.run_to_end(execution, parameters, sink).await?;
        sink.complete(cached_plan.tag(rows))
    }

    /// Names as the session looks for them.
    pub(super) fn names<'s>(&'s self, catalog: &'s Catalog) -> Searched<'s> {
        Searched {
            catalog,
            search_path: self.settings.search_path(),
        }
    }

    /// How values are read and written.
    pub(super) fn context<'s>(&'s self, names: &'s Searched<'s>) -> types::Context<'s> {
        types::Context {
            settings: &self.settings.inputs().settings,
            names,
            now: self.environment.transaction_time(),
        }
    }

    /// The values of parameters that stand for literals.
    pub(super) fn literals(
        &self,
        cached_plan: &CachedPlan,
        literals: &[Literal<'_>],
    ) -> Result<Rows> {
        let mut parameters = Rows::new(cached_plan.parameters.len());
        let scratch = Scratch::new();
        let names = self.names(&cached_plan.catalog);
        let context = self.context(&names);
        let values = literals
            .iter()
            .zip(&*cached_plan.parameters)
            .map(|(literal, ty)| types::text::read(&literal.text, *ty, &context, &scratch));
        let values: Vec<Value<'_>> = values.collect::<Result<_>>()?;
        parameters.push(values);
        Ok(parameters)
    }
}
