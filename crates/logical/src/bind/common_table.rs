//! WITH: common table expressions, recursive ones too.
//!
//! A common table is bound as a relation that its uses share. The planner puts one that is used once, and may be, in
//! the place of its use.

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    scalar::place,
    scope::{Scope, Source, SourceColumn},
    set_operation::{types_of, unequal},
};
use crate::{
    expression::{ColumnId, Expression},
    relation::{Output, Relation, SetKind, Shared, SharedBody, SharedId},
};
use syntax::{
    change::Change,
    query::{self, QueryBody},
};

/// The meaning of a name in a WITH clause.
#[derive(Debug, Clone)]
pub(super) struct CommonTable {
    pub(super) name: String,
    number: SharedId,
    columns: Vec<Output>,
    named: Named,
}

/// The outcome of reading a common table by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Its rows.
    Known,
    /// The recursive part is being bound, which has named it so often: what the step before added.
    Step(usize),
    /// The part is being bound from which the recursion begins.
    Initial,
    /// It is being bound, and has no recursive part.
    Whole,
    /// The part that it defines for itself is being bound.
    Own,
    /// It comes later in its clause.
    Later,
    /// It changes rows and returns none.
    Silent,
}

impl CommonTable {
    /// One that cannot be read now.
    fn refused(name: String, named: Named) -> Self {
        Self {
            name,
            number: SharedId(u32::MAX),
            columns: Vec::new(),
            named,
        }
    }
}

impl Named {
    /// That a common table of this name cannot be read now.
    fn error(self, name: &str) -> SqlError {
        let (state, message) = match self {
            Self::Later => (
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("reading WITH query \"{name}\" before its definition is not supported"),
            ),
            Self::Silent => (
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("WITH query \"{name}\" does not have a RETURNING clause"),
            ),
            Self::Whole => (
                SqlState::INVALID_RECURSION,
                format!(
                    "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
                ),
            ),
            Self::Own => (
                SqlState::INVALID_RECURSION,
                format!(
                    "recursive reference to query \"{name}\" must not appear within a subquery"
                ),
            ),
            Self::Initial | Self::Known | Self::Step(_) => (
                SqlState::INVALID_RECURSION,
                format!(
                    "recursive reference to query \"{name}\" must not appear within its non-recursive term"
                ),
            ),
        };
        let error = SqlError::new(state, message);
        match self {
            Self::Later => {
                error.hint("Write the WITH queries in the order in which they are used.")
            }
            _ => error,
        }
    }
}

impl Binder<'_> {
    /// Binds the definitions of a WITH clause and makes their names known. The clause of the statement
    /// itself may have definitions that change rows.
    pub(super) fn with(
        &mut self,
        with: &query::With,
        is_of_statement: bool,
        scope: &Scope<'_>,
    ) -> Result<Vec<Shared>> {
        if with.recursive {
            // Each is known as soon as it is bound, and then hides that it comes later.
            for cte in &with.tables {
                let name = cte.name.as_str().to_owned();
                let later = CommonTable::refused(name, Named::Later);
                self.common_tables.push(later);
            }
        }
        let first = self.common_tables.len();
        let mut definitions = Vec::with_capacity(with.tables.len());
        for cte in &with.tables {
            let folded = cte.name.as_str();
            if self.common_tables.find(folded) >= Some(first) {
                let message = format!("WITH query name \"{folded}\" specified more than once");
                let error = SqlError::new(SqlState::DUPLICATE_ALIAS, message);
                return Err(place(error, self.at(cte.name.span())));
            }
            if matches!(cte.query.body, QueryBody::Change(Change::Merge(_))) {
                let message = "MERGE not supported in WITH query";
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(place(error, self.at(cte.name.span())));
            }
            let number = self.new_shared();
            let own = Scope::within(scope.parent);
            let (body, mut outputs) = if with.recursive {
                let depth = self.common_tables.len();
                let bound = self
                    .deeper(|binder| binder.recursive(cte, folded, number, &own, &mut definitions));
                self.common_tables.truncate(depth);
                bound?
            } else {
                let (relation, outputs) = self.query(&cte.query, &own)?;
                (SharedBody::Query(Box::new(relation)), outputs)
            };
            let change = match &cte.query.body {
                QueryBody::Change(change) => Some(change),
                _ => None,
            };
            if !is_of_statement && change.is_some() {
                let message =
                    "WITH clause containing a data-modifying statement must be at the top level";
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(place(error, self.at(cte.name.span())));
            }
            self.known_outputs(&outputs)?;
            self.rename(&mut outputs, cte)?;
            let columns = outputs.iter().map(|output| output.column).collect();
            definitions.push(Shared {
                number,
                name: folded.to_owned(),
                columns,
                is_materialized: cte.materialized,
                body,
            });
            let named = match change.is_some_and(|change| !change.returns()) {
                true => Named::Silent,
                false => Named::Known,
            };
            self.common_tables.push(CommonTable {
                name: folded.to_owned(),
                number,
                columns: outputs,
                named,
            });
        }
        Ok(definitions)
    }

    /// `initial UNION [ALL] step`, where the step names what it is a step of. What it defines for
    /// itself is added to `definitions`, and the names that it makes known remain.
    fn recursive(
        &mut self,
        cte: &query::CommonTable,
        folded: &str,
        number: SharedId,
        scope: &Scope<'_>,
        definitions: &mut Vec<Shared>,
    ) -> Result<(SharedBody, Vec<Output>)> {
        let query = &cte.query;
        query.supported()?;
        let union = match &query.body {
            QueryBody::SetOperation(operation) if operation.kind == query::SetKind::Union => {
                operation
            }
            _ => {
                self.common_tables
                    .push(CommonTable::refused(folded.to_owned(), Named::Whole));
                let (relation, outputs) = self.query(query, scope)?;
                return Ok((SharedBody::Query(Box::new(relation)), outputs));
            }
        };
        union.supported()?;
        let (all, left, right) = (union.all, &union.left, &union.right);
        // Names that the query defines for itself come behind its own, which they may hide.
        let at = self.common_tables.len();
        self.common_tables
            .push(CommonTable::refused(folded.to_owned(), Named::Own));
        if let Some(with) = &query.with {
            definitions.extend(self.with(with, false, scope)?);
        }
        self.common_tables[at].named = Named::Initial;
        let untyped = self.untyped_parameters(left)?;
        let (mut initial, mut outputs) = self.body(left, scope)?;
        self.known_outputs(&outputs)?;
        // In the step, the name stands for what the step before has added.
        let mut columns: Vec<Output> = outputs
            .iter()
            .map(|output| Output {
                column: self.new_column(),
                origin: None,
                ..output.clone()
            })
            .collect();
        self.rename(&mut columns, cte)?;
        self.common_tables[at] = CommonTable {
            name: folded.to_owned(),
            number,
            columns,
            named: Named::Step(0),
        };
        let parameters_used = self.parameters.uses();
        let (mut step, step_outputs) = self.side(right, types_of(&outputs), scope)?;
        let uses = match self.common_tables[at].named {
            Named::Step(uses) => uses,
            _ => 0,
        };
        if uses == 0 {
            // It does not name itself: an ordinary union, whose first literals and parameters may take
            // the types of the second query, unless that is bound with parameters, whose types stay what
            // the first has made them. Only a list of values is bound again: a query within it would be
            // twice at each of its levels.
            let is_settled = !untyped.is_empty() && self.parameters.uses() > parameters_used;
            if !is_settled
                && left.has_untyped_literals()
                && left.is_list_of_values()
                && !right.has_untyped_literals()
            {
                self.parameters.forget(&untyped);
                (initial, outputs) = self.side(left, types_of(&step_outputs), scope)?;
            }
            let sides = ((initial, outputs), (step, step_outputs));
            let bound = self.set_operation(SetKind::Union, all, sides.0, sides.1)?;
            let (relation, outputs) = self.sorted_outputs(query, bound, scope)?;
            let relation = self.cut(relation, query, scope)?;
            return Ok((SharedBody::Query(Box::new(relation)), outputs));
        }
        let within = match step.misplaced(number) {
            Some(construct) => Some(format!("within {construct}")),
            None if uses > 1 => Some("more than once".to_owned()),
            None => None,
        };
        if let Some(within) = within {
            let message =
                format!("recursive reference to query \"{folded}\" must not appear {within}");
            return Err(SqlError::new(SqlState::INVALID_RECURSION, message));
        }
        let clause = if !query.order.is_empty() {
            Some("ORDER BY")
        } else if query.offset.is_some() {
            Some("OFFSET")
        } else if query.limit.is_some() {
            Some("LIMIT")
        } else {
            (!query.locks.is_empty()).then_some("FOR UPDATE/SHARE")
        };
        if let Some(clause) = clause {
            let message = format!("{clause} in a recursive query is not implemented");
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if outputs.len() != step_outputs.len() {
            return Err(unequal(SetKind::Union));
        }
        let mut converted = Vec::new();
        let mut step_columns: Vec<ColumnId> = Vec::new();
        for (at, (output, of_step)) in outputs.iter().zip(&step_outputs).enumerate() {
            let is_literal = left.has_untyped_literals() && output.ty == Type::Scalar(Scalar::Text);
            let (ty, modifier) = self.overall(output, of_step, is_literal)?;
            if (output.ty, output.modifier) != (ty, modifier) {
                let names = self.catalog;
                let message = format!(
                    "recursive query \"{folded}\" column {} has type {} in non-recursive term but type {} overall",
                    at + 1,
                    output.ty.format(output.modifier, names),
                    ty.format(modifier, names)
                );
                let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message);
                return Err(
                    error.hint("Cast the output of the non-recursive term to the correct type.")
                );
            }
            if of_step.ty == ty {
                step_columns.push(of_step.column);
                continue;
            }
            let value = Expression::column(of_step.column, of_step.ty, of_step.modifier);
            let value = self.coerce(value, ty, TypeModifier::NONE, None)?;
            let id = self.new_column();
            converted.push((id, value));
            step_columns.push(id);
        }
        let step = super::query::computed(step, converted);
        let initial_columns = outputs.iter().map(|output| output.column).collect();
        // What others read has columns of its own.
        let outputs: Vec<Output> = outputs
            .into_iter()
            .map(|output| Output {
                column: self.new_column(),
                origin: None,
                ..output
            })
            .collect();
        let distinct = (!all).then(|| outputs.iter().map(|output| output.ty).collect());
        Ok((
            SharedBody::Recursive {
                initial: Box::new(initial),
                initial_columns,
                step: Box::new(step),
                step_columns,
                distinct,
            },
            outputs,
        ))
    }

    /// The type that a column of a recursion has together with that of its step, and its modifier.
    fn overall(
        &self,
        initial: &Output,
        step: &Output,
        is_literal: bool,
    ) -> Result<(Type, TypeModifier)> {
        let both = [initial.ty, step.ty];
        let ty = match functions::common_type(&both, "UNION", self.catalog) {
            // The literal would take the type of the step, if the step did not take its.
            Err(_) if is_literal => step.ty,
            ty => ty?,
        };
        let modifier = match initial.ty == step.ty && initial.modifier == step.modifier {
            true => initial.modifier,
            false => TypeModifier::NONE,
        };
        Ok((ty, modifier))
    }

    fn rename(&self, outputs: &mut [Output], cte: &query::CommonTable) -> Result<()> {
        let names = &cte.columns;
        if names.len() > outputs.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                cte.name.as_str(),
                outputs.len(),
                names.len()
            );
            let error = SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message);
            return Err(place(error, self.at(cte.name.span())));
        }
        for (output, name) in outputs.iter_mut().zip(names) {
            output.name = name.as_str().to_owned();
        }
        Ok(())
    }

    /// Whether a name is that of a recursion whose step is being bound.
    pub(super) fn is_recursion(&self, name: &str) -> bool {
        let at = self.common_tables.find(name);
        let table = at.map(|at| &self.common_tables[at]);
        table.is_some_and(|table| matches!(table.named, Named::Step(_)))
    }

    /// The common table of a name, if there is one: each use has columns of its own.
    pub(super) fn common_table(
        &mut self,
        name: &str,
        position: Option<u32>,
    ) -> Result<Option<(Relation, Source)>> {
        let Some(at) = self.common_tables.find(name) else {
            return Ok(None);
        };
        let table = &mut self.common_tables[at];
        match &mut table.named {
            Named::Known => {}
            Named::Step(uses) => *uses += 1,
            refused => return Err(place(refused.error(name), position)),
        }
        let table = table.clone();
        let mut columns = Vec::with_capacity(table.columns.len());
        let mut shown = Vec::with_capacity(table.columns.len());
        for output in &table.columns {
            let id = self.new_column();
            columns.push((id, output.column));
            shown.push(SourceColumn::new(
                output.name.clone(),
                id,
                output.ty,
                output.modifier,
            ));
        }
        let source = Source {
            name: Some(table.name),
            schema: None,
            columns: shown,
            table: None,
            below_join: false,
        };
        Ok(Some((
            Relation::Shared {
                number: table.number,
                columns,
            },
            source,
        )))
    }
}
