//! Constraints of tables, as CREATE and ALTER TABLE define them.

use sqlparser::ast;
use types::{Result, SqlError};

use super::{
    expression::Expression,
    foreign_key::{ForeignKey, refuse_deferrable},
};
use crate::name::Name;

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
}

impl TableConstraint {
    /// Takes a constraint from the parser.
    ///
    /// # Errors
    /// 0A000 for constraints that there are not; 42601 for constraint times that contradict each other.
    pub(crate) fn of(written: ast::TableConstraint) -> Result<Self> {
        let (name, kind) = match written {
            ast::TableConstraint::PrimaryKey(key) => {
                refuse_deferrable(key.characteristics.as_ref())?;
                (key.name, ConstraintKind::PrimaryKey(names(&key.columns)?))
            }
            ast::TableConstraint::Unique(unique) => {
                refuse_deferrable(unique.characteristics.as_ref())?;
                let kind = ConstraintKind::Unique {
                    columns: names(&unique.columns)?,
                    nulls_not_distinct: unique.nulls_distinct
                        == ast::NullsDistinctOption::NotDistinct,
                };
                (unique.name, kind)
            }
            ast::TableConstraint::Check(check) => {
                let condition = Expression::new(check.expr);
                (check.name, ConstraintKind::Check(condition))
            }
            ast::TableConstraint::ForeignKey(key) => {
                let kind = ConstraintKind::ForeignKey {
                    columns: key.columns.iter().map(Name::of).collect(),
                    key: ForeignKey::of(&key)?,
                };
                (key.name, kind)
            }
            other => return Err(SqlError::unsupported(format_args!("constraint {other}"))),
        };
        Ok(Self {
            name: name.as_ref().map(Name::of),
            kind,
        })
    }
}

fn names(columns: &[ast::IndexColumn]) -> Result<Vec<Name>> {
    let name = |column: &ast::IndexColumn| match &column.column.expr {
        ast::Expr::Identifier(ident) => Ok(Name::of(ident)),
        _ => Err(SqlError::unsupported("a key over an expression")),
    };
    columns.iter().map(name).collect()
}
