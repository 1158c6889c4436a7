//! `CREATE TABLE`.

use sqlparser::ast;
use types::Result;

use super::{column::ColumnDefinition, constraint::TableConstraint};
use crate::{name::DottedName, table_like::TableLike};

/// A table that is created.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// The name of the new table, with or without a schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// The columns that are written out.
    pub columns: Vec<ColumnDefinition>,
    /// The `LIKE` elements, in order.
    pub likes: Vec<TableLike>,
    /// The constraints that belong to no column.
    pub constraints: Vec<TableConstraint>,
}

impl CreateTable {
    /// Takes a definition from the parser, and its `LIKE` elements, which the parser has not seen.
    ///
    /// # Errors
    /// 0A000 for clauses that there are not; 42601 for constraint times that contradict each other.
    pub(crate) fn of(written: ast::CreateTable, likes: Vec<TableLike>) -> Result<Self> {
        refuse_foreign(&written)?;
        let columns = written.columns.into_iter().map(ColumnDefinition::of);
        let columns = columns.collect::<Result<_>>()?;
        let constraints = written.constraints.into_iter().map(TableConstraint::of);
        Ok(Self {
            name: DottedName::of(&written.name),
            if_not_exists: written.if_not_exists,
            columns,
            likes,
            constraints: constraints.collect::<Result<_>>()?,
        })
    }
}

fn refuse_foreign(create: &ast::CreateTable) -> Result<()> {
    let foreign = [
        (create.inherits.is_some(), "INHERITS"),
        (
            create.partition_by.is_some() || create.partition_of.is_some(),
            "partitioning",
        ),
        (create.temporary, "a temporary table"),
        (create.or_replace, "OR REPLACE"),
        (create.external, "an external table"),
    ];
    super::refuse_first(&foreign)
}
