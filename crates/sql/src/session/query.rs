//! Plans, and their execution.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use engine::{IfLocked, Isolation, TableLockMode};
use types::{Result, Scalar, Scratch, SqlError, SqlState, Type, Value};

use super::{
    Field, Session, Sink, Tag,
    execution::Execution,
    maintenance::is_out_of_date,
    plan_cache::{self, PlanKey},
};
use batch::Rows;
use catalog::{Catalog, ObjectId, Searched};
use logical::{
    bind::{Binder, Bound, Inputs, Parameters},
    expression::Kind as ExpressionKind,
    relation::Relation,
};
use planner::plan;
use syntax::{
    Source, Statement,
    fingerprint::{Fingerprint, FingerprintKind, Literal, LiteralKind},
    phase,
    statement::{RowKind, RowStatement},
};

/// No look at tables is due: enough is known of them.
const NEVER: u64 = u64::MAX;

/// Milliseconds between two looks at tables of which too little is known, for one plan.
const LOOK_EVERY_MS: u64 = 1000;

/// Copies of a statement's text that its plan may hold: the key, names, constants.
const TEXT_COPIES: usize = 3;

/// Memory that a plan takes for each token of its text, and for each column and relation that
/// it has, in bytes: estimates, from above.
const TOKEN_BYTES: usize = 256;
const PART_BYTES: usize = 1024;

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

    /// # Errors
    /// 25006 if it writes and the transaction does not.
    pub(super) fn may_run(&self, session: &Session) -> Result<()> {
        if !self.locks_rows && !self.tables.iter().any(|(_, writes)| *writes) {
            return Ok(());
        }
        session.may_write(self.kind.writing())
    }

    /// Whether nothing depends on it that it runs to its end.
    pub(super) fn only_reads(&self) -> bool {
        self.kind == RowKind::Select && !self.tables.iter().any(|(_, writes)| *writes)
    }

    /// How it is told to have ended, with so many rows.
    pub(super) fn tag(&self, rows: u64) -> Tag {
        match self.kind {
            RowKind::Insert => Tag::Insert(rows),
            other => Tag::Rows(other.word(), rows),
        }
    }
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
        loop {
            self.begin()?;
            let Some((cached_plan, literals)) = self.plan(source, None).await? else {
                return Ok(false);
            };
            cached_plan.may_run(self)?;
            if !self.is_well_founded(&cached_plan).await {
                continue;
            }
            if self.lock(&cached_plan).await? {
                let parameters = self.literals(&cached_plan, &literals)?;
                if cached_plan.shows_rows() {
                    sink.fields(&cached_plan.fields)?;
                }
                self.run(&cached_plan, &parameters, sink).await?;
                return Ok(true);
            }
        }
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
        let normalised = may_normalise
            .then(|| PlanKey::Fingerprint(Fingerprint::of(source, FingerprintKind::Normalised)));
        if let Some(cached_plan) = normalised.and_then(|key| self.known(key)) {
            return Ok(Some((cached_plan, source.literals())));
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

    /// A new plan of a statement, which is asked for by its normalised fingerprint, if it has one,
    /// and by its exact one.
    fn plan_anew<'t>(
        &self,
        source: &'t Source<'_>,
        declared: Option<&[Option<Type>]>,
        normalised: Option<PlanKey<'_>>,
        exact: PlanKey<'_>,
    ) -> Result<Option<(Arc<CachedPlan>, Vec<Literal<'t>>)>> {
        let catalog = self.transaction.catalog();
        // A literal may have to be as it was written, as in `numeric(5, 2)`; or it is an error,
        // which is told about the text and not about parameters.
        if let Some(normalised) = normalised
            && let Ok(cached_plan) = self.normalised_plan(source, &catalog)
        {
            return Ok(Some((
                self.remember(normalised, cached_plan),
                source.literals(),
            )));
        }
        let statement = source.statement()?;
        let Statement::Rows(statement) = &*statement else {
            return Ok(None);
        };
        let mut parameters = match declared {
            Some(types) => Parameters::declared(types.to_vec()),
            None => Parameters::default(),
        };
        let cached_plan = self.bound(source, statement, &mut parameters, &catalog)?;
        Ok(Some((self.remember(exact, cached_plan), Vec::new())))
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
            && self.can_read_by(&cached_plan.indexes)
    }

    /// Whether the transaction can read by the indexes of a plan that another transaction may have
    /// made: not if they are newer than its snapshot. Under read committed each statement has a
    /// snapshot that is as new as the catalog.
    fn can_read_by(&self, indexes: &[engine::Index]) -> bool {
        let Some(transaction) = self.transaction.begun() else {
            return true;
        };
        transaction.isolation() == Isolation::ReadCommitted
            || indexes.iter().all(|index| transaction.can_read_by(index))
    }

    /// The plan of all statements with a normalised fingerprint.
    fn normalised_plan(&self, source: &Source<'_>, catalog: &Arc<Catalog>) -> Result<CachedPlan> {
        let statement = source.shape()?;
        let Statement::Rows(statement) = &*statement else {
            return Err(SqlError::unsupported("this statement"));
        };
        let literals = source.literals();
        let types = literals.iter().map(|literal| type_of(literal.kind));
        let mut parameters = Parameters::literals(types.collect());
        let cached_plan = self.bound(source, statement, &mut parameters, catalog)?;
        if cached_plan.statement.literals_matter {
            let message = "a better plan may depend on the literals";
            return Err(SqlError::new(SqlState::INTERNAL_ERROR, message));
        }
        Ok(cached_plan)
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

    pub(super) fn bound(
        &self,
        source: &Source<'_>,
        statement: &RowStatement,
        parameters: &mut Parameters,
        catalog: &Arc<Catalog>,
    ) -> Result<CachedPlan> {
        let bound = Binder::bind(
            &self.bind_context(catalog),
            source.lines(),
            statement,
            parameters,
        )?;
        let mut cached_plan =
            self.lowered(bound, statement.kind(), parameters.types()?, catalog)?;
        cached_plan.bytes +=
            source.tokens().len() * TOKEN_BYTES + source.text().len() * TEXT_COPIES;
        Ok(cached_plan)
    }

    /// Binds and plans a statement of the session's own, which reads or changes rows.
    pub(super) fn bound_text(
        &self,
        source: &Source<'_>,
        parameters: &mut Parameters,
        catalog: &Arc<Catalog>,
    ) -> Result<CachedPlan> {
        match &*source.statement()? {
            Statement::Rows(statement) => self.bound(source, statement, parameters, catalog),
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    /// The plan of what has been bound.
    pub(super) fn lowered(
        &self,
        mut bound: Bound,
        kind: RowKind,
        types: Vec<Type>,
        catalog: &Arc<Catalog>,
    ) -> Result<CachedPlan> {
        let is_passing = self.hide_indexes(&mut bound.relation) || bound.reads_now;
        let indexes = indexes_of(&mut bound.relation);
        let types_bytes = types.len() * size_of::<Type>();
        let bytes = bound.parts * PART_BYTES + constants_bytes(&mut bound.relation) + types_bytes;
        let fields = bound.outputs.iter().map(|output| Field {
            name: output.name.clone(),
            ty: output.ty,
            modifier: output.modifier,
            origin: output.origin,
        });
        let fields = fields.collect();
        let tables = plan::tables(&bound.relation);
        let locks_rows = plan::locks_rows(&bound.relation);
        let columns: Vec<_> = bound.outputs.iter().map(|output| output.column).collect();
        let statement = plan::plan(bound.relation, &columns, types.len())?;
        Ok(CachedPlan {
            statement,
            fields,
            parameters: types.into(),
            kind,
            tables,
            locks_rows,
            catalog: catalog.clone(),
            inputs: self.settings.inputs().clone(),
            is_passing,
            bytes,
            indexes,
            next_look: AtomicU64::new(0),
        })
    }

    /// Takes the indexes from scans that the transaction cannot read by, as they are newer than its
    /// snapshot; whether there were some. A plan that was made before the transaction began
    /// needs no second look: its indexes were there then.
    fn hide_indexes(&self, relation: &mut Relation) -> bool {
        let Some(transaction) = self.transaction.begun() else {
            return false;
        };
        let mut any = false;
        relation.for_each_scan_mut(&mut |scan| {
            let table = &scan.table;
            scan.indexes.retain(|index| {
                let handle = table.indexes[index.at].handle.as_ref();
                let is_readable = handle.is_some_and(|handle| transaction.can_read_by(handle));
                any |= !is_readable;
                is_readable
            });
        });
        any
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
        if self.refresh_statistics(dependencies).await {
            return false;
        }
        if !dependencies.tables().any(|table| is_out_of_date(table)) {
            cached_plan.next_look.store(NEVER, Ordering::Relaxed);
        }
        true
    }

    /// Locks the tables of a plan; false if one of them has changed since it was made.
    pub(super) async fn lock(&self, cached_plan: &CachedPlan) -> Result<bool> {
        self.lock_used(
            &cached_plan.tables,
            cached_plan.locks_rows,
            &cached_plan.catalog,
        )
        .await
    }

    /// The same of tables, whether they are written, and whether rows are locked. Suspended queries
    /// are ready for what is written afterwards.
    pub(super) async fn lock_used(
        &self,
        tables: &[(ObjectId, bool)],
        locks_rows: bool,
        catalog: &Arc<Catalog>,
    ) -> Result<bool> {
        let Some(transaction) = self.transaction.begun() else {
            return Ok(false);
        };
        for (table, writes) in tables {
            let mode = if *writes {
                TableLockMode::RowExclusive
            } else if locks_rows {
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
        let execution = Execution::new(cached_plan, self.budget(), &self.spare_rows)?;
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

/// Bytes of the constants of a relation. Those of views and defaults may be large, however short
/// the statement is.
fn constants_bytes(relation: &mut Relation) -> usize {
    let mut bytes = 0;
    relation.for_each_expression_mut(&mut |expression| {
        expression.walk(&mut |part| {
            if let ExpressionKind::Constant(value) = &part.kind {
                bytes += value.bytes();
            }
        });
    });
    bytes
}

/// The indexes that scans may read by.
fn indexes_of(relation: &mut Relation) -> Box<[engine::Index]> {
    let mut indexes = Vec::new();
    relation.for_each_scan_mut(&mut |scan| {
        let known = scan.indexes.iter();
        let handles = known.filter_map(|index| scan.table.indexes[index.at].handle.clone());
        indexes.extend(handles);
    });
    indexes.into()
}

/// The type that a literal has by itself; a string takes it from its use.
fn type_of(kind: LiteralKind) -> Option<Type> {
    match kind {
        LiteralKind::Integer => Some(Type::Scalar(Scalar::Int4)),
        LiteralKind::Bigint => Some(Type::Scalar(Scalar::Int8)),
        LiteralKind::Numeric => Some(Type::Scalar(Scalar::Numeric)),
        LiteralKind::Text => None,
    }
}
