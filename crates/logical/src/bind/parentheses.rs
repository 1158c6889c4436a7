//! A query without the parentheses around it and around what it is.
//!
//! Parentheses make no query of their own, as in PostgreSQL's grammar: what stands behind them and
//! before them are further clauses of the query in them. So `(SELECT a FROM t LIMIT 2) ORDER BY a`
//! sorts before it cuts, and each clause but FOR UPDATE can be written once.

use std::borrow::Cow;

use sqlparser::ast::{self, Expr, OrderByKind, SetExpr};
use types::{Result, SqlError, SqlState};

use super::order::Ordering;

/// The clauses of a query, with those of all parentheses.
pub(super) struct Unwrapped<'q> {
    pub(super) with: Option<&'q ast::With>,
    /// Never a query in parentheses.
    pub(super) body: &'q SetExpr,
    pub(super) ordering: Ordering<'q>,
    /// The innermost first.
    pub(super) locks: Vec<&'q ast::LockClause>,
    pub(super) limit: Option<Cow<'q, Expr>>,
    pub(super) offset: Option<&'q Expr>,
    pub(super) with_ties: bool,
}

impl<'q> Unwrapped<'q> {
    /// # Errors
    /// 42601 for a clause that is written twice, or that does not go with another; 0A000 for clauses
    /// of other dialects.
    pub(super) fn of(query: &'q ast::Query) -> Result<Self> {
        // Parentheses within each other are as many as the parser lets be nested.
        let mut levels = vec![query];
        let mut body = &*query.body;
        while let SetExpr::Query(inner) = body {
            levels.push(inner);
            body = &inner.body;
        }
        let mut all = Self {
            with: None,
            body,
            ordering: Ordering(&[]),
            locks: Vec::new(),
            limit: None,
            offset: None,
            with_ties: false,
        };
        for level in levels.into_iter().rev() {
            all.add(level)?;
        }
        Ok(all)
    }

    /// Whether it is its body alone.
    pub(super) fn is_bare(&self) -> bool {
        let cuts = self.limit.is_some() || self.offset.is_some();
        self.with.is_none() && self.ordering.0.is_empty() && self.locks.is_empty() && !cuts
    }

    /// Adds the clauses of the next parentheses around it.
    fn add(&mut self, level: &'q ast::Query) -> Result<()> {
        if !level.pipe_operators.is_empty()
            || level.for_clause.is_some()
            || level.settings.is_some()
        {
            return Err(SqlError::unsupported("this clause"));
        }
        match level.order_by.as_ref().map(|order_by| &order_by.kind) {
            None => {}
            Some(OrderByKind::Expressions(_)) if !self.ordering.0.is_empty() => {
                return Err(several("ORDER BY"));
            }
            Some(OrderByKind::Expressions(keys)) => self.ordering = Ordering(keys),
            Some(OrderByKind::All(_)) => return Err(SqlError::unsupported("ORDER BY ALL")),
        }
        self.locks.extend(&level.locks);
        let (limit, offset, with_ties) = rows_of(level)?;
        if offset.is_some() && self.offset.is_some() {
            return Err(several("OFFSET"));
        }
        if limit.is_some() && self.limit.is_some() {
            return Err(several("LIMIT"));
        }
        self.offset = self.offset.or(offset);
        self.limit = self.limit.take().or(limit);
        self.with_ties |= with_ties;
        if with_ties && self.ordering.0.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let skips =
            |lock: &&ast::LockClause| matches!(lock.nonblock, Some(ast::NonBlock::SkipLocked));
        if with_ties && self.locks.iter().any(skips) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if level.with.is_some() && self.with.is_some() {
            return Err(several("WITH"));
        }
        self.with = self.with.or(level.with.as_ref());
        Ok(())
    }
}

fn several(clause: &str) -> SqlError {
    let message = format!("multiple {clause} clauses not allowed");
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

type Rows<'q> = (Option<Cow<'q, Expr>>, Option<&'q Expr>, bool);

/// LIMIT or FETCH, OFFSET, and whether rows like the last one count too.
fn rows_of(query: &ast::Query) -> Result<Rows<'_>> {
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
            return Err(
                SqlError::new(SqlState::SYNTAX_ERROR, "LIMIT #,# syntax is not supported")
                    .hint("Use separate LIMIT and OFFSET clauses."),
            );
        }
    };
    let limit = limit.map(Cow::Borrowed);
    let Some(fetch) = &query.fetch else {
        return Ok((limit, offset, false));
    };
    if fetch.percent {
        return Err(SqlError::unsupported("FETCH ... PERCENT"));
    }
    match (limit, &fetch.quantity) {
        // `syntax/forms.rs` writes the number of FETCH ... WITH TIES as a LIMIT.
        (Some(limit), None) if fetch.with_ties => Ok((Some(limit), offset, true)),
        (Some(_), _) => {
            let message = "syntax error at or near \"fetch\"";
            Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
        }
        (None, Some(quantity)) => Ok((Some(Cow::Borrowed(quantity)), offset, fetch.with_ties)),
        (None, None) => {
            let one = Expr::value(ast::Value::Number("1".to_owned(), false));
            Ok((Some(Cow::Owned(one)), offset, fetch.with_ties))
        }
    }
}
