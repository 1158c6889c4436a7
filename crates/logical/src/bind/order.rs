//! ORDER BY, LIMIT, OFFSET, FETCH.

use std::sync::Arc;

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    clause::Clause,
    scope::{Part, Scope, Source, SourceColumn},
    select::{Item, List, sorted},
};
use crate::{
    expression::Expression,
    relation::{Output, Relation, SortKey},
};
use syntax::{
    expression::{Expr, ExprKind, Literal, NamedWindow},
    query::{OrderKey, Query, QueryBody},
};

impl Binder<'_> {
    /// Sort keys of a query block: outputs by position or name, or expressions over its sources.
    pub(super) fn sort_keys(
        &mut self,
        order: &[OrderKey],
        list: &mut List,
        windows: &Arc<[NamedWindow]>,
        scope: &Scope<'_>,
    ) -> Result<Vec<SortKey>> {
        let key = |key: &OrderKey| {
            let expression = self.item_or_output(&key.value, list, windows, scope, "ORDER BY")?;
            let expression = self.known(expression)?;
            self.sort_key(expression, key)
        };
        order.iter().map(key).collect()
    }

    /// Puts the rows of a query that is no query block into its order. A set operation can be ordered
    /// by its columns alone, VALUES by expressions over its columns too.
    pub(super) fn sorted_outputs(
        &mut self,
        query: &Query,
        (relation, outputs): (Relation, Vec<Output>),
        outer: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        if query.order.is_empty() {
            return Ok((relation, outputs));
        }
        let is_listed = matches!(query.body, QueryBody::Values(_));
        let mut scope = Scope::within(outer.parent);
        scope.part.set(Part::List);
        let column = |output: &Output| {
            let name = output.name.clone();
            SourceColumn::new(name, output.column, output.ty, output.modifier)
        };
        scope.add(Source {
            name: is_listed.then(|| "*VALUES*".to_owned()),
            schema: None,
            columns: outputs.iter().map(column).collect(),
            table: None,
            below_join: false,
        })?;
        let items = scope.all_columns().enumerate().map(|(place, column)| Item {
            name: column.name.clone(),
            value: column.value.clone(),
            place,
        });
        let mut list = List {
            items: items.collect(),
            ..List::default()
        };
        let keys = self.sort_keys(&query.order, &mut list, &Arc::default(), &scope)?;
        let is_item = |key: &SortKey| {
            let kind = &key.expression.kind;
            list.items.iter().any(|item| item.value.kind == *kind)
        };
        let is_collated = |key: &OrderKey| is_collated(&key.value);
        let refused = keys.iter().position(|key| !is_item(key));
        let refused = refused.or_else(|| query.order.iter().position(is_collated));
        if !is_listed && let Some(at) = refused {
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
            return Err(self.error_at(&query.order[at].value, error));
        }
        if !list.needs_nothing() || !scope.aggregates.take().is_empty() {
            return Err(SqlError::unsupported(
                "this expression in the ORDER BY of VALUES",
            ));
        }
        Ok((sorted(relation, keys), outputs))
    }

    /// A key with its direction; NULLs are greatest unless the query says otherwise.
    pub(super) fn sort_key(&self, expression: Expression, written: &OrderKey) -> Result<SortKey> {
        if !expression.ty.is_ordered() {
            let message = format!(
                "could not identify an ordering operator for type {}",
                self.type_name(expression.ty)
            );
            let error = SqlError::new(SqlState::UNDEFINED_FUNCTION, message)
                .hint("Use an explicit ordering operator or modify the query.");
            return Err(self.error_at(&written.value, error));
        }
        let descending = written.descending;
        let nulls_first = written.nulls_first.unwrap_or(descending);
        Ok(SortKey {
            expression,
            descending,
            nulls_first,
        })
    }

    /// Cuts a query's rows off.
    pub(super) fn limited(
        &mut self,
        relation: Relation,
        query: &Query,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        if query.with_ties
            && let Some(ExprKind::Literal(Literal::Null)) =
                query.limit.as_ref().map(|limit| &limit.kind)
        {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(SqlError::new(SqlState::INVALID_ROW_COUNT_IN_LIMIT, message));
        }
        let limit = query.limit.as_ref();
        let limit = limit
            .map(|limit| self.row_count(limit, "LIMIT", scope))
            .transpose()?;
        let offset = query.offset.as_ref();
        let offset = offset
            .map(|offset| self.row_count(offset, "OFFSET", scope))
            .transpose()?;
        if limit.is_none() && offset.is_none() {
            return Ok(relation);
        }
        // The order is the query's own: there is one, and volatile calls may be above it.
        let mut ordered = &relation;
        while let Relation::Lock { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Calls { input, .. }
        | Relation::Apply { input, .. } = ordered
        {
            ordered = input;
        }
        let with_ties = match (query.with_ties, ordered) {
            (false, _) => None,
            (true, Relation::Sort { keys, .. }) => Some(keys.clone()),
            (true, _) => {
                return Err(SqlError::unsupported("WITH TIES with DISTINCT ON"));
            }
        };
        Ok(Relation::Limit {
            input: Box::new(relation),
            limit,
            offset,
            with_ties,
        })
    }

    fn row_count(
        &mut self,
        expr: &Expr,
        name: &'static str,
        scope: &Scope<'_>,
    ) -> Result<Expression> {
        let mut clause = Clause::plain(name);
        // The rows of the query itself cannot be named here.
        let own = Scope::within(scope.parent);
        let bound = self.scalar(expr, &own, &mut clause)?;
        if !clause.subqueries.is_empty() {
            return Err(self.error_at(
                expr,
                SqlError::unsupported(format_args!("a subquery in {name}")),
            ));
        }
        self.coerce(
            bound,
            Type::Scalar(Scalar::Int8),
            TypeModifier::NONE,
            self.position(expr),
        )
    }
}

/// Whether an expression is a column that it gives a collation, which leaves no trace when it is bound.
fn is_collated(mut expr: &Expr) -> bool {
    while let ExprKind::Cast { operand, .. } = &expr.kind {
        expr = operand;
    }
    matches!(expr.kind, ExprKind::Collate { .. })
}
