//! ORDER BY, LIMIT, OFFSET, FETCH.

use sqlparser::ast::{self, Expr, OrderByKind};
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

/// What a query says about the order of its rows.
pub(super) struct Ordering<'q>(pub(super) &'q [ast::OrderByExpr]);

impl<'q> Ordering<'q> {
    pub(super) fn of(query: &'q ast::Query) -> Result<Self> {
        match query.order_by.as_ref().map(|order_by| &order_by.kind) {
            None => Ok(Self(&[])),
            Some(OrderByKind::Expressions(expressions)) => Ok(Self(expressions)),
            Some(OrderByKind::All(_)) => Err(SqlError::unsupported("ORDER BY ALL")),
        }
    }
}

impl Binder<'_> {
    /// Sort keys of a query block: outputs by position or name, or expressions over its sources.
    pub(super) fn sort_keys(
        &mut self,
        ordering: &Ordering<'_>,
        list: &mut List,
        windows: &[ast::NamedWindowDefinition],
        scope: &Scope<'_>,
    ) -> Result<Vec<SortKey>> {
        let key = |key: &ast::OrderByExpr| {
            let expression = self.item_or_output(&key.expr, list, windows, scope, "ORDER BY")?;
            let expression = self.known(expression)?;
            self.sort_key(expression, &key.options, &key.expr)
        };
        ordering.0.iter().map(key).collect()
    }

    /// Puts the rows of a query that is no query block into its order. A set operation can be ordered
    /// by its columns alone, VALUES by expressions over its columns too.
    pub(super) fn sorted_outputs(
        &mut self,
        body: &ast::SetExpr,
        ordering: &Ordering<'_>,
        (relation, outputs): (Relation, Vec<Output>),
        outer: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        if ordering.0.is_empty() {
            return Ok((relation, outputs));
        }
        let is_listed = matches!(body, ast::SetExpr::Values(_));
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
        let keys = self.sort_keys(ordering, &mut list, &[], &scope)?;
        let is_item = |key: &SortKey| {
            let kind = &key.expression.kind;
            list.items.iter().any(|item| item.value.kind == *kind)
        };
        if !is_listed && let Some(at) = keys.iter().position(|key| !is_item(key)) {
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
            return Err(self.error_at(&ordering.0[at].expr, error));
        }
        if !list.needs_nothing() || !scope.aggregates.take().is_empty() {
            return Err(SqlError::unsupported(
                "this expression in the ORDER BY of VALUES",
            ));
        }
        Ok((sorted(relation, keys), outputs))
    }

    /// A key with its direction; NULLs are greatest unless the query says otherwise.
    pub(super) fn sort_key(
        &self,
        expression: Expression,
        options: &ast::OrderByOptions,
        place: &Expr,
    ) -> Result<SortKey> {
        if !expression.ty.is_ordered() {
            let message = format!(
                "could not identify an ordering operator for type {}",
                self.type_name(expression.ty)
            );
            let error = SqlError::new(SqlState::UNDEFINED_FUNCTION, message)
                .hint("Use an explicit ordering operator or modify the query.");
            return Err(self.error_at(place, error));
        }
        let descending = options.asc == Some(false);
        let nulls_first = options.nulls_first.unwrap_or(descending);
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
        query: &ast::Query,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) => {
                if !limit_by.is_empty() {
                    return Err(SqlError::unsupported("LIMIT BY"));
                }
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { .. }) => {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "LIMIT #,# syntax is not supported",
                )
                .hint("Use separate LIMIT and OFFSET clauses."));
            }
        };
        let fetched = Expr::value(ast::Value::Number("1".to_owned(), false));
        let (limit, with_ties) = match &query.fetch {
            None => (limit, false),
            Some(fetch) if fetch.percent => return Err(SqlError::unsupported("FETCH ... PERCENT")),
            // `parse/forms.rs` has written a number in parentheses as a LIMIT.
            Some(fetch) if fetch.with_ties && fetch.quantity.is_none() && limit.is_some() => {
                (limit, true)
            }
            Some(_) if limit.is_some() => {
                let message = "syntax error at or near \"fetch\"";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            Some(fetch) => (
                Some(fetch.quantity.as_ref().unwrap_or(&fetched)),
                fetch.with_ties,
            ),
        };
        let limit = limit
            .map(|limit| self.row_count(limit, "LIMIT", scope))
            .transpose()?;
        let offset = offset
            .map(|offset| self.row_count(offset, "OFFSET", scope))
            .transpose()?;
        if limit.is_none() && offset.is_none() {
            return Ok(relation);
        }
        let ordered = match &relation {
            Relation::Lock { input, .. } => input,
            relation => relation,
        };
        let with_ties = match (with_ties, ordered) {
            (false, _) => None,
            (true, Relation::Sort { keys, .. }) => Some(keys.clone()),
            (true, _) => {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
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
