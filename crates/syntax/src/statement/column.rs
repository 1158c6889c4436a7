//! Columns of tables, as CREATE and ALTER TABLE define them.

use sqlparser::{
    ast::{self, GeneratedAs},
    keywords::Keyword,
};
use types::SqlError;

use super::{
    expression::Expression,
    foreign_key::{ForeignKey, refuse_deferrable, refuse_enforced, refuse_partial},
    sequence::SequenceClauses,
    type_name::TypeName,
};
use crate::{
    name::{DottedName, Name},
    refusal::Misplaced,
};

/// The definition of a column.
#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    /// The name of the column.
    pub name: Name,
    /// The type of its values.
    pub data_type: TypeName,
    /// Everything else that is said of the column, in the order in which it was written.
    pub options: Vec<ColumnOption>,
}

/// One thing that is said of a column.
#[derive(Debug, Clone)]
pub struct ColumnOption {
    /// The name behind `CONSTRAINT`.
    pub name: Option<Name>,
    /// The thing that is said.
    pub kind: ColumnOptionKind,
}

/// A thing that is said of a column.
#[derive(Debug, Clone)]
pub enum ColumnOptionKind {
    /// `NULL`.
    Null,
    /// `NOT NULL`.
    NotNull,
    /// `DEFAULT expression`.
    Default(Expression),
    /// `PRIMARY KEY`.
    PrimaryKey,
    /// `UNIQUE`.
    Unique,
    /// `CHECK (condition)`.
    Check(Expression),
    /// `GENERATED ALWAYS AS (expression) STORED`.
    Generated(Expression),
    /// `GENERATED ... AS IDENTITY`.
    Identity {
        /// The treatment of values that are given.
        mode: IdentityMode,
        /// The clauses of the column's sequence.
        clauses: SequenceClauses,
    },
    /// `REFERENCES table (column)`.
    References(ForeignKey),
    /// `COLLATE collation`.
    Collation(DottedName),
    /// A thing that there is not, by the error that refuses it.
    Refused(SqlError),
}

/// The treatment of values that are given for an identity column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityMode {
    /// `ALWAYS`: they are refused.
    Always,
    /// `BY DEFAULT`: they are taken.
    ByDefault,
}

impl IdentityMode {
    fn of(generated: GeneratedAs) -> Self {
        match generated {
            GeneratedAs::Always => Self::Always,
            GeneratedAs::ByDefault | GeneratedAs::ExpStored => Self::ByDefault,
        }
    }
}

impl ColumnDefinition {
    /// Takes a column from the parser.
    ///
    /// # Errors
    /// Values of a sequence that are no numbers.
    pub(crate) fn of(written: ast::ColumnDef) -> Result<Self, Misplaced> {
        let options = written.options.into_iter().map(|option| {
            Ok(ColumnOption {
                name: option.name.as_ref().map(Name::of),
                kind: ColumnOptionKind::of(option.option)?,
            })
        });
        Ok(Self {
            name: Name::of(&written.name),
            data_type: TypeName::of(&written.data_type),
            options: options.collect::<Result<_, Misplaced>>()?,
        })
    }
}

impl ColumnOptionKind {
    fn of(written: ast::ColumnOption) -> Result<Self, Misplaced> {
        let kind = match written {
            ast::ColumnOption::Null => Ok(Self::Null),
            ast::ColumnOption::NotNull => Ok(Self::NotNull),
            ast::ColumnOption::Default(value) => Ok(Self::Default(Expression::of(value)?)),
            ast::ColumnOption::PrimaryKey(key) => {
                refuse_deferrable(key.characteristics.as_ref()).map(|()| Self::PrimaryKey)
            }
            ast::ColumnOption::Unique(unique) => {
                refuse_deferrable(unique.characteristics.as_ref()).map(|()| Self::Unique)
            }
            ast::ColumnOption::Check(check) => {
                let condition = Expression::of(*check.expr)?;
                refuse_enforced(check.enforced).map(|()| Self::Check(condition))
            }
            ast::ColumnOption::Generated {
                generated_as: GeneratedAs::ExpStored,
                generation_expr: Some(value),
                ..
            } => Ok(Self::Generated(Expression::of(value)?)),
            ast::ColumnOption::Generated {
                generated_as,
                sequence_options,
                generation_expr: None,
                ..
            } => Ok(Self::Identity {
                mode: IdentityMode::of(generated_as),
                clauses: SequenceClauses::of(sequence_options.as_deref().unwrap_or_default())?,
            }),
            ast::ColumnOption::ForeignKey(key) => {
                refuse_partial(&key)?;
                ForeignKey::of(&key).map(Self::References)
            }
            ast::ColumnOption::Collation(collation) => {
                Ok(Self::Collation(DottedName::of(&collation)))
            }
            ast::ColumnOption::Comment(_) => return Err(Misplaced::Keyword(Keyword::COMMENT)),
            ast::ColumnOption::Invisible => return Err(Misplaced::Keyword(Keyword::INVISIBLE)),
            ast::ColumnOption::CharacterSet(_) => return Err(Misplaced::Keyword(Keyword::SET)),
            other => Err(SqlError::unsupported(format_args!("column option {other}"))),
        };
        Ok(kind.unwrap_or_else(Self::Refused))
    }
}
