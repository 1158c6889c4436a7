//! Statements that read or change rows: queries, INSERT, UPDATE, DELETE and MERGE. Their trees are
//! the binder's alone to look into.

use std::fmt;

use sqlparser::ast::{self, SetExpr};

use super::create_table_as::has_into;

/// A query whose rows a view or a new table has.
#[derive(Debug, Clone)]
pub struct Query(RowStatement);

impl Query {
    /// Wraps the parser's tree of a query.
    pub(crate) fn new(tree: Box<ast::Query>) -> Self {
        Self(RowStatement {
            kind: RowKind::Select,
            tree: Box::new(ast::Statement::Query(tree)),
        })
    }

    /// Returns the query as a statement by itself.
    pub fn statement(&self) -> &RowStatement {
        &self.0
    }
}

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.tree.fmt(formatter)
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
pub struct RowStatement {
    kind: RowKind,
    tree: Box<ast::Statement>,
}

impl RowStatement {
    /// Takes a parser's tree, or gives it back if it is one of another statement.
    pub(crate) fn of(tree: Box<ast::Statement>) -> Result<Self, Box<ast::Statement>> {
        match kind_of(&tree) {
            Some(kind) => Ok(Self { kind, tree }),
            None => Err(tree),
        }
    }

    /// Returns the kind of the statement.
    pub fn kind(&self) -> RowKind {
        self.kind
    }

    /// Returns the parser's tree, for the binder.
    pub fn tree(&self) -> &ast::Statement {
        &self.tree
    }
}

/// Returns the kind of a statement; `None` for one that does not just read or change rows, as
/// `SELECT INTO`.
fn kind_of(statement: &ast::Statement) -> Option<RowKind> {
    Some(match statement {
        ast::Statement::Query(query) if has_into(&query.body) => return None,
        // WITH before a statement that changes rows is read as a query whose body it is.
        ast::Statement::Query(query) => match &*query.body {
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => return kind_of(statement),
            _ => RowKind::Select,
        },
        ast::Statement::Insert(_) => RowKind::Insert,
        ast::Statement::Update(_) => RowKind::Update,
        ast::Statement::Delete(_) => RowKind::Delete,
        ast::Statement::Merge(_) => RowKind::Merge,
        _ => return None,
    })
}
