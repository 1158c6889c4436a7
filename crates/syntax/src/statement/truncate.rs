//! `TRUNCATE`.

use sqlparser::{ast, keywords::Keyword};

use crate::{
    name::DottedName,
    refusal::{Misplaced, refuse_keywords},
};

/// Tables that lose all their rows.
#[derive(Debug, Clone)]
pub struct Truncate {
    /// The names of the tables, with or without a schema.
    pub tables: Vec<DottedName>,
    /// Whether `RESTART IDENTITY` has sequences of the columns begin again.
    pub restarts: bool,
    /// Whether `CASCADE` empties tables that refer to these.
    pub cascade: bool,
}

impl Truncate {
    /// Takes what is truncated from the parser.
    ///
    /// # Errors
    /// Clauses of other systems, among them that for a part of a table.
    pub(super) fn of(written: ast::Truncate) -> Result<Self, Misplaced> {
        let ast::Truncate {
            table_names,
            partitions,
            table: _,
            if_exists,
            identity,
            cascade,
            on_cluster,
        } = written;
        refuse_keywords(&[
            (if_exists, Keyword::EXISTS),
            (partitions.is_some(), Keyword::PARTITION),
            (on_cluster.is_some(), Keyword::ON),
        ])?;
        let tables = table_names.iter();
        Ok(Self {
            tables: tables.map(|table| DottedName::of(&table.name)).collect(),
            restarts: matches!(identity, Some(ast::TruncateIdentityOption::Restart)),
            cascade: matches!(cascade, Some(ast::CascadeOption::Cascade)),
        })
    }
}
