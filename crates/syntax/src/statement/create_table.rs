//! `CREATE TABLE`.

use sqlparser::{ast, keywords::Keyword};
use types::{Result, SqlError, SqlState};

use super::{column::ColumnDefinition, constraint::TableConstraint};
use crate::{
    name::DottedName,
    refusal::{Misplaced, refuse_keywords},
    table_like::TableLike,
};

/// A table that is created.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// The name of the new table, with or without a schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// Whether the table is `TEMPORARY`.
    pub temporary: bool,
    /// The columns that are written out.
    pub columns: Vec<ColumnDefinition>,
    /// The `LIKE` elements, in order.
    pub likes: Vec<TableLike>,
    /// The constraints that belong to no column.
    pub constraints: Vec<TableConstraint>,
    /// The error for a clause behind or before the elements that there is not.
    pub supported: Result<()>,
}

impl CreateTable {
    /// Takes a definition from the parser, and its `LIKE` elements, which the parser has not seen.
    ///
    /// # Errors
    /// Clauses of other systems; those of the columns and constraints.
    pub(crate) fn of(
        written: ast::CreateTable,
        likes: Vec<TableLike>,
    ) -> std::result::Result<Self, Misplaced> {
        refuse_foreign(&written)?;
        let supported = refuse_unsupported(&written);
        let columns = written.columns.into_iter().map(ColumnDefinition::of);
        let columns = columns.collect::<std::result::Result<_, _>>()?;
        let constraints = written.constraints.into_iter().map(TableConstraint::of);
        Ok(Self {
            name: DottedName::of(&written.name),
            if_not_exists: written.if_not_exists,
            temporary: written.temporary,
            columns,
            likes,
            constraints: constraints.collect::<std::result::Result<_, _>>()?,
            supported,
        })
    }
}

/// Refuses clauses of other systems that the parser takes.
fn refuse_foreign(create: &ast::CreateTable) -> std::result::Result<(), Misplaced> {
    refuse_keywords(&[
        (create.or_replace, Keyword::TABLE),
        (create.external, Keyword::EXTERNAL),
        (create.transient, Keyword::TRANSIENT),
        (create.volatile, Keyword::VOLATILE),
        (create.like.is_some(), Keyword::LIKE),
        (create.query.is_some(), Keyword::AS),
        (create.order_by.is_some(), Keyword::ORDER),
        (create.comment.is_some(), Keyword::COMMENT),
        (create.location.is_some(), Keyword::LOCATION),
        (create.file_format.is_some(), Keyword::STORED),
        (create.cluster_by.is_some(), Keyword::CLUSTER),
        (create.clustered_by.is_some(), Keyword::CLUSTERED),
        (create.clone.is_some(), Keyword::CLONE),
        (create.on_cluster.is_some(), Keyword::ON),
        (create.without_rowid, Keyword::ROWID),
        (create.strict, Keyword::STRICT),
    ])
}

fn refuse_unsupported(create: &ast::CreateTable) -> Result<()> {
    let is_partitioned = create.partition_by.is_some() || create.partition_of.is_some();
    super::refuse_first(&[
        (create.inherits.is_some(), "INHERITS"),
        (is_partitioned, "partitioning"),
    ])?;
    if create.on_commit.is_some() && !create.temporary {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    Ok(())
}
