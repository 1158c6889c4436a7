//! Whole queries: WITH, two queries that a set operation combines, VALUES, and what comes after
//! them.

use types::{Result, SqlError, SqlState, Type};

use super::{
    Binder,
    clause::Clause,
    convert::common_modifier,
    scalar::place,
    scope::Scope,
    select::applied,
    set_operation::{name, types_of, unequal},
};
use crate::{
    expression::{ColumnId, Expression},
    relation::{Applied, Output, Relation, SetKind, SetOperation},
};
use syntax::{
    expression::Expr,
    phase,
    query::{Query, QueryBody},
};

impl Binder<'_> {
    /// Binds a query that is a statement of its own.
    pub(super) fn whole_query(&mut self, query: &Query) -> Result<Bound> {
        self.is_statement = true;
        self.query(query, &Scope::default())
    }

    /// Binds a query; `scope` has the queries around it as its parent, and nothing of its own.
    pub(super) fn query(
        &mut self,
        query: &Query,
        scope: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        self.deeper(|binder| binder.query_within(query, scope))
    }

    fn query_within(
        &mut self,
        query: &Query,
        scope: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        query.supported()?;
        let depth = self.common_tables.len();
        // Of this query's outputs, not of those of what it defines.
        let wanted = std::mem::take(&mut self.wanted);
        let is_statement = std::mem::take(&mut self.is_statement);
        let definitions = match &query.with {
            Some(with) => self.with(with, is_statement, scope)?,
            None => Vec::new(),
        };
        self.wanted = wanted;
        let bound = self.ordered(query, scope);
        self.common_tables.truncate(depth);
        let (relation, outputs) = bound?;
        let mut relation = self.cut(relation, query, scope)?;
        if !definitions.is_empty() {
            relation = Relation::With {
                definitions,
                body: Box::new(relation),
            };
        }
        Ok((relation, outputs))
    }

    /// Locks a query's rows and cuts them off.
    pub(super) fn cut(
        &mut self,
        relation: Relation,
        query: &Query,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        // Rows that are passed over because of their locks do not count towards the limit, and rows
        // beyond it are not locked.
        let relation = match query.locks.as_slice() {
            [] => relation,
            locks => self.locked(relation, locks)?,
        };
        self.limited(relation, query, scope)
    }

    fn ordered(&mut self, query: &Query, scope: &Scope<'_>) -> Result<(Relation, Vec<Output>)> {
        match &query.body {
            QueryBody::Select(select) => self.select(select, &query.order, scope),
            body => {
                let bound = self.body(body, scope)?;
                self.sorted_outputs(query, bound, scope)
            }
        }
    }

    pub(super) fn body(
        &mut self,
        body: &QueryBody,
        scope: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        match body {
            QueryBody::Select(select) => self.select(select, &[], scope),
            QueryBody::Query(query) => self.query(query, scope),
            QueryBody::Values(rows) => self.values(rows, scope),
            QueryBody::SetOperation(operation) => {
                self.deeper(|binder| binder.set_operations(operation, scope))
            }
            QueryBody::Change(change) => self.change(change),
        }
    }

    /// Both sides of a set operation; literals on one have the type of what is on the other.
    pub(super) fn sides(
        &mut self,
        left: &QueryBody,
        right: &QueryBody,
        scope: &Scope<'_>,
    ) -> Result<(Bound, Bound)> {
        if left.has_untyped_literals() && !right.has_untyped_literals() {
            let right = self.body(right, scope)?;
            let left = self.side(left, types_of(&right.1), scope)?;
            return Ok((left, right));
        }
        let left = self.body(left, scope)?;
        let right = self.side(right, types_of(&left.1), scope)?;
        Ok((left, right))
    }

    /// A side of a set operation, whose literals have these types.
    pub(super) fn side(
        &mut self,
        body: &QueryBody,
        types: Vec<Type>,
        scope: &Scope<'_>,
    ) -> Result<Bound> {
        if let QueryBody::Select(_) = body {
            self.wanted = types;
        }
        self.body(body, scope)
    }

    fn values(
        &mut self,
        written: &[Vec<Expr>],
        outer: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        let scope = Scope::within(outer.parent);
        let mut rows: Vec<Vec<Expression>> = Vec::with_capacity(written.len());
        let mut clause = Clause::plain("VALUES");
        for row in written {
            phase::pause();
            let row = row.iter();
            let row = row.map(|expr| self.scalar(expr, &scope, &mut clause));
            let row = row.collect::<Result<Vec<_>>>()?;
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                let message = "VALUES lists must all be the same length";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            rows.push(row);
        }
        let width = rows.first().map_or(0, Vec::len);
        let mut outputs = Vec::with_capacity(width);
        for at in 0..width {
            let mut column: Vec<_> = rows.iter().map(|row| row[at].clone()).collect();
            let ty = self.unify(&mut column, "VALUES", None)?;
            let modifier = common_modifier(column.iter());
            for (row, value) in rows.iter_mut().zip(column) {
                row[at] = value;
            }
            outputs.push(Output {
                name: format!("column{}", at + 1),
                column: self.new_column(),
                ty,
                modifier,
                origin: None,
            });
        }
        let columns = outputs.iter().map(|output| output.column).collect();
        Ok((listed(columns, rows, clause.subqueries), outputs))
    }

    /// Two queries whose columns are brought to common types.
    pub(super) fn set_operation(
        &mut self,
        kind: SetKind,
        all: bool,
        (left, left_outputs): (Relation, Vec<Output>),
        (right, right_outputs): (Relation, Vec<Output>),
    ) -> Result<(Relation, Vec<Output>)> {
        if left_outputs.len() != right_outputs.len() {
            return Err(unequal(kind));
        }
        let mut left_columns = Vec::new();
        let mut right_columns = Vec::new();
        let mut outputs = Vec::with_capacity(left_outputs.len());
        let mut columns = Vec::with_capacity(left_outputs.len());
        for (left, right) in left_outputs.iter().zip(&right_outputs) {
            let mut both = vec![output_value(left), output_value(right)];
            let ty = self.unify(&mut both, name(kind), None)?;
            let modifier = if left.modifier == right.modifier && left.ty == right.ty {
                left.modifier
            } else {
                types::TypeModifier::NONE
            };
            let mut side = |value: Expression, output: &Output, columns: &mut Vec<_>| {
                if value.ty == output.ty && matches!(value.kind, crate::expression::Kind::Column(_))
                {
                    return output.column;
                }
                let id = self.new_column();
                columns.push((id, value));
                id
            };
            let (right_value, left_value) = (both.pop(), both.pop());
            let (Some(left_value), Some(right_value)) = (left_value, right_value) else {
                return Err(SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    "a set operation without two sides",
                ));
            };
            let left_id = side(left_value, left, &mut left_columns);
            let right_id = side(right_value, right, &mut right_columns);
            let column = self.new_column();
            columns.push((column, left_id, right_id));
            outputs.push(Output {
                name: left.name.clone(),
                column,
                ty,
                modifier,
                origin: None,
            });
        }
        let left = Box::new(computed(left, left_columns));
        let right = Box::new(computed(right, right_columns));
        let types = outputs.iter().map(|output| output.ty).collect();
        Ok((
            Relation::Set(SetOperation {
                kind,
                all,
                left,
                right,
                columns,
                types,
            }),
            outputs,
        ))
    }

    /// A subquery's outputs as they are, but for literals: these are text.
    pub(super) fn known_outputs(&self, outputs: &[Output]) -> Result<()> {
        match outputs.iter().find(|output| output.ty == Type::Unknown) {
            None => Ok(()),
            Some(output) => Err(place(
                SqlError::new(
                    SqlState::INDETERMINATE_DATATYPE,
                    format!("column \"{}\" has no type", output.name),
                ),
                None,
            )),
        }
    }
}

/// A query that was bound, and its columns.
type Bound = (Relation, Vec<Output>);

fn output_value(output: &Output) -> Expression {
    Expression::column(output.column, output.ty, output.modifier)
}

/// Further columns, if there are any.
pub(super) fn computed(
    relation: Relation,
    columns: Vec<(crate::expression::ColumnId, Expression)>,
) -> Relation {
    if columns.is_empty() {
        relation
    } else {
        Relation::Compute {
            input: Box::new(relation),
            columns,
        }
    }
}

/// Rows that are written out. What they need besides is applied to a single row, which they are
/// then joined with.
pub(super) fn listed(
    columns: Vec<ColumnId>,
    rows: Vec<Vec<Expression>>,
    needed: Vec<Applied>,
) -> Relation {
    let rows = Relation::Rows { columns, rows };
    if needed.is_empty() {
        return rows;
    }
    Relation::Join(crate::relation::Join {
        kind: crate::relation::JoinKind::Inner,
        left: Box::new(applied(super::from::no_columns(), needed)),
        right: Box::new(rows),
        on: Vec::new(),
        lateral: true,
    })
}
