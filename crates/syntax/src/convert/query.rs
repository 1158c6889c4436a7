//! Queries: parentheses around them, their clauses and their bodies.
//!
//! Parentheses make no query of their own, as in PostgreSQL's grammar: the clauses behind them and before them are
//! further clauses of the query in them. `(SELECT a FROM t LIMIT 2) ORDER BY a` sorts before it cuts, and each
//! clause but FOR UPDATE can be written once.

use sqlparser::ast::{
    self, CteAsMaterialized, GroupByExpr, LimitClause, OrderByKind,
    SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier,
};
use types::{Result, SqlError, SqlState};

use super::{Conversion, one, refuse_first, unsupported};
use crate::{
    expression::{Expr, ExprKind, Refused},
    lock_strength,
    name::Name,
    phase,
    query::{
        Alias, CommonTable, Distinct, FromItem, GroupingElement, IfLocked, Lock, OrderKey, Query,
        QueryBody, Select, SelectItem, SetKind, SetOperation, TableReference, With,
    },
    refusal::Misplaced,
};

impl Conversion {
    /// Converts a query.
    pub(super) fn query(&mut self, tree: ast::Query) -> Query {
        phase::pause();
        // Parentheses within each other are as many as the parser lets be nested.
        let mut levels = Vec::new();
        let mut level = tree;
        let body = loop {
            let body = std::mem::replace(&mut *level.body, SetExpr::Table(Box::new(NO_TABLE)));
            levels.push(level);
            match body {
                SetExpr::Query(inner) => level = *inner,
                body => break body,
            }
        };
        let mut query = Query {
            with: None,
            body: self.body(body),
            order: Vec::new(),
            locks: Vec::new(),
            limit: None,
            offset: None,
            with_ties: false,
            refused: None,
        };
        for level in levels.into_iter().rev() {
            if let Err(error) = self.add_clauses(&mut query, level) {
                if error.state() == SqlState::SYNTAX_ERROR {
                    self.misplace(Misplaced::Told(error.clone()));
                }
                query.refused = Some(Refused(error));
                break;
            }
        }
        query
    }

    /// Adds the clauses of the next parentheses around a query.
    ///
    /// # Errors
    /// 42601 for a clause that is written twice, or that does not go with another; 0A000 for clauses of other dialects.
    fn add_clauses(&mut self, query: &mut Query, level: ast::Query) -> Result<()> {
        if !level.pipe_operators.is_empty()
            || level.for_clause.is_some()
            || level.settings.is_some()
        {
            return Err(SqlError::unsupported("this clause"));
        }
        match level.order_by.map(|order_by| order_by.kind) {
            None => {}
            Some(OrderByKind::Expressions(_)) if !query.order.is_empty() => {
                return Err(several("ORDER BY"));
            }
            Some(OrderByKind::Expressions(keys)) => query.order = self.order_keys(keys),
            Some(OrderByKind::All(_)) => return Err(SqlError::unsupported("ORDER BY ALL")),
        }
        for lock in level.locks {
            let (strength, of, wait) = lock_strength::of(lock);
            let of = of.map(|of| self.dotted_name(of));
            query.locks.push(Lock {
                strength,
                of,
                if_locked: match wait {
                    None => IfLocked::Wait,
                    Some(ast::NonBlock::Nowait) => IfLocked::Fail,
                    Some(ast::NonBlock::SkipLocked) => IfLocked::Skip,
                },
            });
        }
        let (limit, offset) = limits(level.limit_clause)?;
        let (limit, with_ties) = fetched(limit, level.fetch)?;
        if offset.is_some() && query.offset.is_some() {
            return Err(several("OFFSET"));
        }
        if limit.is_some() && query.limit.is_some() {
            return Err(several("LIMIT"));
        }
        if let Some(offset) = offset {
            query.offset = Some(self.expr(offset));
        }
        if let Some(limit) = limit {
            query.limit = Some(self.expr(limit));
        }
        query.with_ties |= with_ties;
        if with_ties && query.order.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let skips = |lock: &Lock| lock.if_locked == IfLocked::Skip;
        if with_ties && query.locks.iter().any(skips) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if level.with.is_some() && query.with.is_some() {
            return Err(several("WITH"));
        }
        if let Some(with) = level.with {
            query.with = Some(self.with(with));
        }
        Ok(())
    }

    fn with(&mut self, with: ast::With) -> With {
        self.see(with.with_token.0.span);
        let tables = with.cte_tables.into_iter().map(|table| {
            self.see(table.closing_paren_token.0.span);
            let Alias { name, columns } = self.table_alias(table.alias);
            CommonTable {
                name,
                columns,
                materialized: table.materialized == Some(CteAsMaterialized::Materialized),
                query: self.query(*table.query),
            }
        });
        With {
            recursive: with.recursive,
            tables: tables.collect(),
        }
    }

    fn body(&mut self, body: SetExpr) -> QueryBody {
        match body {
            SetExpr::Select(select) => QueryBody::Select(Box::new(self.select(*select))),
            SetExpr::Query(query) => {
                let query = self.query(*query);
                match query.is_bare() {
                    true => query.body,
                    false => QueryBody::Query(Box::new(query)),
                }
            }
            SetExpr::Values(values) => QueryBody::Values(self.rows(values)),
            body @ SetExpr::SetOperation { .. } => self.set_operations(body),
            SetExpr::Table(table) => self.whole_table(*table),
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => QueryBody::Change(self.change(statement)),
        }
    }

    /// Converts the rows of VALUES.
    pub(super) fn rows(&mut self, values: ast::Values) -> Vec<Vec<Expr>> {
        let rows = values.rows.into_iter().map(|row| {
            phase::pause();
            self.see(row.opening_token.0.span);
            self.see(row.closing_token.0.span);
            self.exprs(row.content)
        });
        rows.collect()
    }

    /// Converts a chain of set operations, down its left side.
    fn set_operations(&mut self, body: SetExpr) -> QueryBody {
        let mut links = Vec::new();
        let mut first = body;
        while let SetExpr::SetOperation {
            left,
            op,
            set_quantifier,
            right,
        } = first
        {
            phase::pause();
            links.push((op, set_quantifier, right));
            first = *left;
        }
        let mut left = self.body(first);
        for (op, quantifier, right) in links.into_iter().rev() {
            phase::pause();
            if let SetQuantifier::ByName
            | SetQuantifier::AllByName
            | SetQuantifier::DistinctByName = quantifier
            {
                self.misplace(Misplaced::ByName);
            }
            let (kind, refused) = match op {
                SetOperator::Union => (SetKind::Union, None),
                SetOperator::Intersect => (SetKind::Intersect, None),
                SetOperator::Except => (SetKind::Except, None),
                SetOperator::Minus => {
                    let error = SqlError::unsupported("MINUS").hint("Use EXCEPT.");
                    (SetKind::Except, Some(Refused(error)))
                }
            };
            left = QueryBody::SetOperation(Box::new(SetOperation {
                kind,
                all: quantifier == SetQuantifier::All,
                left,
                right: self.body(*right),
                refused,
            }));
        }
        left
    }

    /// Converts `TABLE name`, which is `SELECT * FROM name`.
    fn whole_table(&mut self, table: ast::Table) -> QueryBody {
        let names = table.schema_name.into_iter().chain(table.table_name);
        let names: Vec<Name> = names.map(|name| ast::Ident::new(name).into()).collect();
        let first = TableReference::Named {
            name: names.into(),
            alias: None,
        };
        let item = FromItem {
            first,
            joins: Vec::new(),
        };
        QueryBody::Select(Box::new(Select {
            distinct: None,
            items: vec![SelectItem::Star],
            from: vec![item],
            condition: None,
            grouping: Vec::new(),
            having: None,
            windows: std::sync::Arc::default(),
            refused: None,
            refused_grouping: None,
        }))
    }

    fn select(&mut self, select: ast::Select) -> Select {
        self.see(select.select_token.0.span);
        let refused = refuse_foreign(&select);
        let (grouping, refused_grouping) = match select.group_by {
            GroupByExpr::All(_) => (Vec::new(), Some(unsupported("GROUP BY ALL"))),
            GroupByExpr::Expressions(_, modifiers) if !modifiers.is_empty() => {
                let error = SqlError::unsupported("WITH ROLLUP");
                let error = error.hint("Write GROUP BY ROLLUP (...).");
                (Vec::new(), Some(Refused(error)))
            }
            GroupByExpr::Expressions(elements, _) => {
                let elements = elements.into_iter();
                let elements = elements.map(|element| self.grouping_element(element));
                (elements.collect(), None)
            }
        };
        let distinct = match select.distinct {
            None | Some(ast::Distinct::All) => None,
            Some(ast::Distinct::Distinct) => Some(Distinct::Rows),
            Some(ast::Distinct::On(keys)) => Some(Distinct::On(self.exprs(keys))),
        };
        let windows = select.named_window.into_iter();
        Select {
            distinct,
            items: self.select_items(select.projection, "a select list"),
            from: self.from(select.from),
            condition: self.optional(select.selection),
            grouping,
            having: self.optional(select.having),
            windows: windows.map(|window| self.named_window(window)).collect(),
            refused,
            refused_grouping,
        }
    }

    /// Converts the items of a list; `list` is its name in errors.
    pub(super) fn select_items(
        &mut self,
        items: Vec<ast::SelectItem>,
        list: &str,
    ) -> Vec<SelectItem> {
        let items = items.into_iter().map(|item| match item {
            ast::SelectItem::UnnamedExpr(value) => SelectItem::Value {
                value: self.expr(value),
                alias: None,
            },
            ast::SelectItem::ExprWithAlias { expr, alias } => SelectItem::Value {
                value: self.expr(expr),
                alias: Some(self.name(alias)),
            },
            ast::SelectItem::Wildcard(options) => {
                self.see(options.wildcard_token.0.span);
                SelectItem::Star
            }
            ast::SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => {
                self.see(options.wildcard_token.0.span);
                SelectItem::RelationStar(self.dotted_name(name))
            }
            ast::SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(_), _) => {
                SelectItem::Refused(unsupported(format_args!(
                    "a star behind an expression in {list}"
                )))
            }
            _ => SelectItem::Refused(unsupported(format_args!("this item in {list}"))),
        });
        items.collect()
    }

    fn grouping_element(&mut self, element: ast::Expr) -> GroupingElement {
        match element {
            ast::Expr::Rollup(parts) => GroupingElement::Rollup(self.grouping_parts(parts)),
            ast::Expr::Cube(parts) => GroupingElement::Cube(self.grouping_parts(parts)),
            ast::Expr::GroupingSets(sets) => {
                let sets = sets.into_iter().map(|set| self.grouping_set(set));
                GroupingElement::Sets(sets.collect())
            }
            key => {
                let key = self.expr(key);
                GroupingElement::Keys(match key.kind {
                    // `GROUP BY (a, b)` is `GROUP BY a, b`.
                    ExprKind::Row {
                        items,
                        is_explicit: false,
                    } => items,
                    _ => vec![key],
                })
            }
        }
    }

    /// Converts a grouping set: sets may be nested, as in `GROUPING SETS (ROLLUP (a, b), c)`.
    fn grouping_set(&mut self, mut set: Vec<ast::Expr>) -> GroupingElement {
        match (set.pop(), set.is_empty()) {
            (
                Some(
                    inner
                    @ (ast::Expr::Rollup(_) | ast::Expr::Cube(_) | ast::Expr::GroupingSets(_)),
                ),
                true,
            ) => self.grouping_element(inner),
            (last, _) => {
                set.extend(last);
                GroupingElement::Keys(self.exprs(set))
            }
        }
    }

    fn grouping_parts(&mut self, parts: Vec<Vec<ast::Expr>>) -> Vec<Vec<Expr>> {
        parts.into_iter().map(|part| self.exprs(part)).collect()
    }

    /// Converts the keys of an order.
    pub(super) fn order_keys(&mut self, keys: Vec<ast::OrderByExpr>) -> Vec<OrderKey> {
        let keys = keys.into_iter().map(|key| OrderKey {
            value: self.expr(key.expr),
            descending: key.options.asc == Some(false),
            nulls_first: key.options.nulls_first,
        });
        keys.collect()
    }
}

/// The body of a query that was taken out.
const NO_TABLE: ast::Table = ast::Table {
    table_name: None,
    schema_name: None,
};

fn several(clause: &str) -> SqlError {
    let message = format!("multiple {clause} clauses not allowed");
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

/// Returns the numbers of LIMIT and OFFSET.
fn limits(clause: Option<LimitClause>) -> Result<(Option<ast::Expr>, Option<ast::Expr>)> {
    match clause {
        None => Ok((None, None)),
        Some(LimitClause::LimitOffset { limit_by, .. }) if !limit_by.is_empty() => {
            Err(SqlError::unsupported("LIMIT BY"))
        }
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            Ok((limit, offset.map(|offset| offset.value)))
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => {
            let message = "LIMIT #,# syntax is not supported";
            let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
            Err(error.hint("Use separate LIMIT and OFFSET clauses."))
        }
    }
}

/// Returns the number of LIMIT or FETCH, and whether rows like the last one count too.
fn fetched(
    limit: Option<ast::Expr>,
    fetch: Option<ast::Fetch>,
) -> Result<(Option<ast::Expr>, bool)> {
    let Some(fetch) = fetch else {
        return Ok((limit, false));
    };
    if fetch.percent {
        return Err(SqlError::unsupported("FETCH ... PERCENT"));
    }
    match (limit, fetch.quantity) {
        // `forms.rs` writes the number of FETCH ... WITH TIES as a LIMIT.
        (Some(limit), None) if fetch.with_ties => Ok((Some(limit), true)),
        (Some(_), _) => {
            let message = "syntax error at or near \"fetch\"";
            Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
        }
        // `FETCH FIRST ROW ONLY` is one row.
        (None, quantity) => Ok((Some(quantity.unwrap_or_else(one)), fetch.with_ties)),
    }
}

/// Refuses clauses of other dialects that the parser knows.
fn refuse_foreign(select: &ast::Select) -> Option<Refused> {
    if select.into.is_some() {
        let message = "SELECT ... INTO is not allowed here";
        return Some(Refused(SqlError::new(SqlState::SYNTAX_ERROR, message)));
    }
    refuse_first(&[
        (select.top.is_some(), "TOP"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (select.qualify.is_some(), "QUALIFY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.value_table_mode.is_some(), "AS VALUE"),
    ])
}
