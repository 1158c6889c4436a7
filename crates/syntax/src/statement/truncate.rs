//! `TRUNCATE`.

use sqlparser::ast;

use crate::name::DottedName;

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
    pub(super) fn of(written: &ast::Truncate) -> Self {
        let tables = written.table_names.iter();
        Self {
            tables: tables.map(|table| DottedName::of(&table.name)).collect(),
            restarts: matches!(written.identity, Some(ast::TruncateIdentityOption::Restart)),
            cascade: matches!(written.cascade, Some(ast::CascadeOption::Cascade)),
        }
    }
}
