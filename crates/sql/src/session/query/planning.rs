//! Plans made anew: a statement is bound, and its operators are chosen.

use std::sync::{Arc, atomic::AtomicU64};

use types::{Result, Scalar, SqlError, SqlState, Type};

use super::CachedPlan;
use crate::session::{Field, Session, plan_cache::PlanKey};
use catalog::Catalog;
use explain::Names;
use logical::{
    bind::{Binder, Bound, Parameters},
    expression::{ColumnId, Kind as ExpressionKind},
    relation::Relation,
};
use planner::plan;
use syntax::{
    Source, Statement,
    fingerprint::{Literal, LiteralKind},
    statement::{RowKind, RowStatement},
};

/// Copies of a statement's text that its plan may hold: the key, names, constants.
const TEXT_COPIES: usize = 3;

/// Memory that a plan takes for each token of its text, and for each column and relation that
/// it has, in bytes: estimates, from above.
const TOKEN_BYTES: usize = 256;
const PART_BYTES: usize = 1024;

impl Session {
    /// Returns a new plan of a statement, which is asked for by its normalised fingerprint, if it has one,
    /// and by its exact one; and the literals that were taken out of it.
    pub(super) fn plan_anew<'t>(
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
            // A plan that may not be the best for these literals is kept as well: it tells that of others.
            let cached_plan = self.remember(normalised, cached_plan);
            if !cached_plan.statement.literals_matter {
                return Ok(Some((cached_plan, source.literals())));
            }
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

    /// Returns the plan of all statements with a normalised fingerprint.
    fn normalised_plan(&self, source: &Source<'_>, catalog: &Arc<Catalog>) -> Result<CachedPlan> {
        let statement = source.shape()?;
        let Statement::Rows(statement) = &*statement else {
            return Err(SqlError::unsupported("this statement"));
        };
        let literals = source.literals();
        let types = literals.iter().map(|literal| type_of(literal.kind));
        let mut parameters = Parameters::literals(types.collect());
        let mut cached_plan = self.bound(source, statement, &mut parameters, catalog)?;
        // A statement without literals is the same with them.
        cached_plan.statement.literals_matter &= !literals.is_empty();
        Ok(cached_plan)
    }

    /// Binds and plans a statement that reads or changes rows.
    pub(in crate::session) fn bound(
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

    /// Binds and plans the text of a statement of the session's own, which reads or changes rows, with parameters of
    /// these types.
    pub(in crate::session) fn bound_text(
        &self,
        text: &str,
        types: Vec<Type>,
        catalog: &Arc<Catalog>,
    ) -> Result<CachedPlan> {
        let mut parameters = Parameters::declared(types.into_iter().map(Some).collect());
        with_statement(text, |source, statement| {
            self.bound(source, statement, &mut parameters, catalog)
        })
    }

    /// Binds a statement that reads or changes rows, and plans it for EXPLAIN; returns the names in it besides.
    pub(in crate::session) fn explained(
        &self,
        source: &Source<'_>,
        statement: &RowStatement,
        mut parameters: Parameters,
        catalog: &Arc<Catalog>,
    ) -> Result<(CachedPlan, Names)> {
        let bind_context = self.bind_context(catalog);
        let lines = source.lines();
        let bound = Binder::bind(&bind_context, lines, statement, &mut parameters)?;
        let mut names = Names::of(&bound.relation);
        let (kind, types) = (statement.kind(), parameters.types()?);
        let lower = plan::plan_to_explain;
        let mut cached_plan = self.lowered_by(bound, kind, types, catalog, lower)?;
        names.add(std::mem::take(&mut cached_plan.statement.names));
        Ok((cached_plan, names))
    }

    /// Binds the text of a prepared statement, whose parameters have these types, and plans it for EXPLAIN.
    pub(in crate::session) fn explained_text(
        &self,
        text: &str,
        types: &[Type],
        catalog: &Arc<Catalog>,
    ) -> Result<(CachedPlan, Names)> {
        let parameters = Parameters::declared(types.iter().copied().map(Some).collect());
        with_statement(text, |source, statement| {
            self.explained(source, statement, parameters, catalog)
        })
    }

    /// Returns the plan of what has been bound.
    pub(in crate::session) fn lowered(
        &self,
        bound: Bound,
        kind: RowKind,
        types: Vec<Type>,
        catalog: &Arc<Catalog>,
    ) -> Result<CachedPlan> {
        self.lowered_by(bound, kind, types, catalog, plan::plan)
    }

    /// Returns the plan of what has been bound, as `lower` chooses its operators.
    fn lowered_by(
        &self,
        mut bound: Bound,
        kind: RowKind,
        types: Vec<Type>,
        catalog: &Arc<Catalog>,
        lower: impl FnOnce(Relation, &[ColumnId], usize) -> Result<plan::PlannedStatement>,
    ) -> Result<CachedPlan> {
        let (hides_any, hidden_indexes) = self.hide_indexes(&mut bound.relation);
        let is_passing = hides_any || bound.reads_now;
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
        let statement = lower(bound.relation, &columns, types.len())?;
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
            hidden_indexes,
            next_look: AtomicU64::new(0),
        })
    }

    /// Takes the indexes from scans that the transaction cannot read by, as they are newer than its
    /// snapshot; returns whether there were some, and those of them that are built. A plan that was made before the
    /// transaction began needs no second look: its indexes were there then.
    fn hide_indexes(&self, relation: &mut Relation) -> (bool, Box<[engine::Index]>) {
        let (mut any, mut hidden) = (false, Vec::new());
        let Some(transaction) = self.transaction.begun() else {
            return (any, Box::default());
        };
        relation.for_each_scan_mut(&mut |scan| {
            let table = &scan.table;
            scan.indexes.retain(|index| {
                let handle = table.indexes[index.at].handle.as_ref();
                let is_readable = handle.is_some_and(|handle| transaction.can_read_by(handle));
                if !is_readable {
                    any = true;
                    hidden.extend(handle.cloned());
                }
                is_readable
            });
        });
        (any, hidden.into())
    }
}

/// Reads the one statement of a text, which reads or changes rows, and returns what `plan` makes of it.
fn with_statement<T>(
    text: &str,
    plan: impl FnOnce(&Source<'_>, &RowStatement) -> Result<T>,
) -> Result<T> {
    let sources = syntax::split(text)?;
    let [source] = sources.as_slice() else {
        return Err(SqlError::new(SqlState::INTERNAL_ERROR, "not one statement"));
    };
    match &*source.statement()? {
        Statement::Rows(statement) => plan(source, statement),
        _ => Err(SqlError::unsupported("this statement")),
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
