//! Statements that read or change rows: queries, INSERT, UPDATE, DELETE and MERGE.

use std::fmt;

use sqlparser::ast;

use super::create_table_as::has_into;
use crate::{
    change::Change,
    convert,
    query::{Query, QueryBody},
    refusal::Misplaced,
};

/// The query of a view.
///
/// Its text, as the catalog keeps it, is what [`fmt::Display`] writes.
#[derive(Debug, Clone)]
pub struct DefiningQuery {
    text: String,
    statement: RowStatement,
}

impl DefiningQuery {
    /// Takes a query from the parser.
    ///
    /// # Errors
    /// Forms that PostgreSQL's grammar does not have.
    pub(crate) fn of(tree: Box<ast::Query>) -> Result<Self, Misplaced> {
        Ok(Self {
            text: tree.to_string(),
            statement: RowStatement::of_query(tree)?,
        })
    }

    /// Returns the query as a statement by itself.
    pub fn statement(&self) -> &RowStatement {
        &self.statement
    }
}

impl fmt::Display for DefiningQuery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The kind of a statement that reads or changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// A query, also one in whose WITH clause rows are changed.
    Select,
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `MERGE`.
    Merge,
}

impl RowKind {
    /// Returns the word that the command tag of the statement begins with.
    pub fn word(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Merge => "MERGE",
        }
    }

    /// Returns the name of a statement of this kind that writes: a query writes by its locks.
    pub fn writing(self) -> &'static str {
        match self {
            Self::Select => "SELECT FOR UPDATE",
            other => other.word(),
        }
    }
}

/// A statement that reads or changes rows.
#[derive(Debug, Clone)]
pub enum RowStatement {
    /// A query, also one in whose place a statement stands that changes rows, behind a WITH clause.
    Query(Box<Query>),
    /// A statement that changes rows.
    Change(Change),
}

impl RowStatement {
    /// Takes a query from the parser.
    ///
    /// # Errors
    /// Forms that PostgreSQL's grammar does not have.
    pub(crate) fn of_query(tree: Box<ast::Query>) -> Result<Self, Misplaced> {
        Ok(Self::Query(Box::new(convert::query(*tree)?)))
    }

    /// Takes a statement from the parser, or gives it back if it does not just read or change rows, as
    /// `SELECT INTO`.
    ///
    /// # Errors
    /// Forms that PostgreSQL's grammar does not have.
    pub(crate) fn of(
        tree: Box<ast::Statement>,
    ) -> Result<Result<Self, Box<ast::Statement>>, Misplaced> {
        Ok(Ok(match *tree {
            ast::Statement::Query(query) if !has_into(&query.body) => Self::of_query(query)?,
            tree @ (ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_)) => Self::Change(convert::change(tree)?),
            tree => return Ok(Err(Box::new(tree))),
        }))
    }

    /// Returns the kind of the statement.
    pub fn kind(&self) -> RowKind {
        let change = match self {
            Self::Query(query) => match &query.body {
                // WITH before a statement that changes rows is read as a query whose body it is.
                QueryBody::Change(change) => change,
                _ => return RowKind::Select,
            },
            Self::Change(change) => change,
        };
        change.kind()
    }
}
