//! Constraints of tables, as CREATE and ALTER TABLE define them.

use sqlparser::{ast, keywords::Keyword};
use types::{SqlError, SqlState};

use super::{
    create_index::refuse_index_option,
    expression::Expression,
    foreign_key::{ForeignKey, refuse_deferrable, refuse_enforced, refuse_partial},
};
use crate::{
    name::Name,
    refusal::{Misplaced, refuse_keywords},
};

/// A constraint of a table.
#[derive(Debug, Clone)]
pub struct TableConstraint {
    /// The name behind `CONSTRAINT`.
    pub name: Option<Name>,
    /// The condition that rows have to satisfy.
    pub kind: ConstraintKind,
}

/// A condition that rows have to satisfy.
#[derive(Debug, Clone)]
pub enum ConstraintKind {
    /// `PRIMARY KEY (columns)`.
    PrimaryKey(Vec<Name>),
    /// `UNIQUE (columns)`.
    Unique {
        /// The columns of the key.
        columns: Vec<Name>,
        /// Whether two NULLs are equal.
        nulls_not_distinct: bool,
    },
    /// `CHECK (condition)`.
    Check(Expression),
    /// `FOREIGN KEY (columns) REFERENCES ...`.
    ForeignKey {
        /// The columns that refer to others.
        columns: Vec<Name>,
        /// The columns that they refer to, and what is said of that.
        key: ForeignKey,
    },
    /// A constraint that there is not, by the error that refuses it.
    Refused(SqlError),
}

impl ConstraintKind {
    /// Returns the words that a key of the table itself begins with.
    pub(super) fn key(&self) -> Option<&'static str> {
        match self {
            Self::PrimaryKey(_) => Some("PRIMARY KEY"),
            Self::Unique { .. } => Some("UNIQUE"),
            Self::Check(_) | Self::ForeignKey { .. } | Self::Refused(_) => None,
        }
    }
}

impl TableConstraint {
    /// Takes a constraint from the parser.
    ///
    /// # Errors
    /// Keys that are not of columns alone, and constraint times that contradict each other.
    pub(crate) fn of(written: ast::TableConstraint) -> std::result::Result<Self, Misplaced> {
        let (name, kind) = match written {
            ast::TableConstraint::PrimaryKey(key) => {
                refuse_index(
                    key.index_name.as_ref(),
                    key.index_type.as_ref(),
                    &key.index_options,
                )?;
                let columns = names(&key.columns)?;
                let supported = refuse_deferrable(key.characteristics.as_ref());
                (
                    key.name,
                    supported.map(|()| ConstraintKind::PrimaryKey(columns)),
                )
            }
            ast::TableConstraint::Unique(unique) => {
                let ast::UniqueConstraint {
                    index_name,
                    index_type,
                    index_options,
                    ..
                } = &unique;
                refuse_index(index_name.as_ref(), index_type.as_ref(), index_options)?;
                let columns = names(&unique.columns)?;
                let nulls_not_distinct =
                    unique.nulls_distinct == ast::NullsDistinctOption::NotDistinct;
                let supported = refuse_deferrable(unique.characteristics.as_ref());
                let kind = supported.map(|()| ConstraintKind::Unique {
                    columns,
                    nulls_not_distinct,
                });
                (unique.name, kind)
            }
            ast::TableConstraint::Check(check) => {
                let condition = Expression::of(*check.expr)?;
                let supported = refuse_enforced(check.enforced);
                (
                    check.name,
                    supported.map(|()| ConstraintKind::Check(condition)),
                )
            }
            ast::TableConstraint::ForeignKey(key) => {
                refuse_index(key.index_name.as_ref(), None, &[])?;
                refuse_partial(&key)?;
                let columns = key.columns.iter().map(Name::of).collect();
                let kind =
                    ForeignKey::of(&key).map(|key| ConstraintKind::ForeignKey { columns, key });
                (key.name, kind)
            }
            other => {
                let error = SqlError::unsupported(format_args!("constraint {other}"));
                (None, Err(error))
            }
        };
        let kind = match kind {
            Ok(kind) => kind,
            // PostgreSQL's grammar checks the times of a table's constraint, but not those of a column's.
            Err(error) if error.state() == SqlState::SYNTAX_ERROR => {
                return Err(Misplaced::Told(error));
            }
            Err(error) => ConstraintKind::Refused(error),
        };
        Ok(Self {
            name: name.as_ref().map(Name::of),
            kind,
        })
    }
}

/// Refuses what other systems say of a key's index.
fn refuse_index(
    name: Option<&ast::Ident>,
    kind: Option<&ast::IndexType>,
    options: &[ast::IndexOption],
) -> std::result::Result<(), Misplaced> {
    if let Some(name) = name {
        return Err(Misplaced::At(name.span.into()));
    }
    refuse_keywords(&[(kind.is_some(), Keyword::USING)])?;
    refuse_index_option(options)
}

/// Takes the columns of a key from the parser, which reads them as those of an index.
fn names(columns: &[ast::IndexColumn]) -> std::result::Result<Vec<Name>, Misplaced> {
    let name = |written: &ast::IndexColumn| {
        let ast::OrderByOptions { asc, nulls_first } = written.column.options;
        refuse_keywords(&[
            (asc == Some(true), Keyword::ASC),
            (asc == Some(false), Keyword::DESC),
            (nulls_first.is_some(), Keyword::NULLS),
        ])?;
        match (&written.column.expr, &written.operator_class) {
            (ast::Expr::Identifier(ident), None) => Ok(Name::of(ident)),
            (key, _) => {
                let message = format!("syntax error at or near \"{key}\"");
                let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
                Err(Misplaced::Told(
                    error.detail("A key is written as names of columns."),
                ))
            }
        }
    };
    columns.iter().map(name).collect()
}
