//! `CREATE INDEX`.

use sqlparser::{ast, keywords::Keyword};
use types::{Result, SqlError, SqlState};

use super::{expression::Expression, storage_parameter::Owner};
use crate::{
    name::{DottedName, Name},
    refusal::{Misplaced, refuse_keywords},
};

/// An index that is created.
#[derive(Debug, Clone)]
pub struct CreateIndex {
    /// The name of the index; one is made up for `None`.
    pub name: Option<DottedName>,
    /// The table of the index, with or without a schema.
    pub table: DottedName,
    /// Whether no two entries are equal.
    pub unique: bool,
    /// Whether two NULLs are equal.
    pub nulls_not_distinct: bool,
    /// Whether `CONCURRENTLY` is written: writers go on meanwhile.
    pub concurrently: bool,
    /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// The columns and expressions that the index is ordered by.
    pub columns: Vec<IndexColumn>,
    /// Columns whose values entries have too.
    pub included: Vec<Name>,
    /// The condition of rows that have an entry; `None` for all rows.
    pub predicate: Option<Expression>,
    /// 0A000, 42704 or 22023 for a method or a parameter that there is not.
    pub supported: Result<()>,
}

/// A column or an expression that an index is ordered by.
#[derive(Debug, Clone)]
pub struct IndexColumn {
    /// The column or the expression.
    pub key: Expression,
    /// The operator class behind the key.
    pub operator_class: Option<DottedName>,
    /// Whether the order is `DESC`.
    pub descending: bool,
    /// The place of NULLs, if it is said.
    pub nulls_first: Option<bool>,
}

impl CreateIndex {
    /// Takes a definition from the parser.
    ///
    /// # Errors
    /// Clauses of other systems.
    pub(super) fn of(written: ast::CreateIndex) -> std::result::Result<Self, Misplaced> {
        refuse_foreign(&written)?;
        let supported = check_method(&written);
        let columns = written.columns.into_iter().map(|column| {
            Ok(IndexColumn {
                operator_class: column.operator_class.as_ref().map(DottedName::of),
                descending: column.column.options.asc == Some(false),
                nulls_first: column.column.options.nulls_first,
                key: Expression::of(column.column.expr)?,
            })
        });
        Ok(Self {
            name: written.name.as_ref().map(DottedName::of),
            table: DottedName::of(&written.table_name),
            unique: written.unique,
            nulls_not_distinct: written.nulls_distinct == Some(false),
            concurrently: written.concurrently,
            if_not_exists: written.if_not_exists,
            columns: columns.collect::<std::result::Result<_, Misplaced>>()?,
            included: written.include.iter().map(Name::of).collect(),
            predicate: written.predicate.map(Expression::of).transpose()?,
            supported,
        })
    }
}

/// Refuses clauses of other systems that the parser takes behind an index.
fn refuse_foreign(create: &ast::CreateIndex) -> std::result::Result<(), Misplaced> {
    refuse_index_option(&create.index_options)?;
    match create.alter_options.first() {
        Some(ast::AlterTableOperation::Lock { .. }) => refuse_keywords(&[(true, Keyword::LOCK)]),
        Some(_) => refuse_keywords(&[(true, Keyword::ALGORITHM)]),
        None => Ok(()),
    }
}

/// Refuses the first option of other systems that the parser takes behind the columns of an index or of a key.
pub(super) fn refuse_index_option(
    options: &[ast::IndexOption],
) -> std::result::Result<(), Misplaced> {
    let keyword = options.first().map(|option| match option {
        ast::IndexOption::Using(_) => Keyword::USING,
        ast::IndexOption::Comment(_) => Keyword::COMMENT,
    });
    match keyword {
        Some(keyword) => Err(Misplaced::Keyword(keyword)),
        None => Ok(()),
    }
}

fn check_method(create: &ast::CreateIndex) -> Result<()> {
    match &create.using {
        None | Some(ast::IndexType::BTree) => {}
        Some(ast::IndexType::Custom(name)) => {
            let message = format!("access method \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        Some(other) => {
            let method = other.to_string().to_lowercase();
            return Err(
                SqlError::unsupported(format_args!("an index using {method}"))
                    .hint("All indexes are ordered; leave USING out."),
            );
        }
    }
    Owner::Index.accept_expressions(&create.with)
}
