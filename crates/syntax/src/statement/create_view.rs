//! `CREATE VIEW`.

use sqlparser::ast;
use types::Result;

use super::rows::Query;
use crate::name::{DottedName, Name};

/// A view that is created.
#[derive(Debug, Clone)]
pub struct CreateView {
    /// The name of the view, with or without a schema.
    pub name: DottedName,
    /// Whether `OR REPLACE` is written: a view of this name gets the new query.
    pub or_replace: bool,
    /// Names in place of the first columns' own.
    pub columns: Vec<Name>,
    /// The query whose rows the view has.
    pub query: Query,
}

impl CreateView {
    /// Takes a definition from the parser.
    ///
    /// # Errors
    /// 0A000 for clauses that there are not.
    pub(super) fn of(written: ast::CreateView) -> Result<Self> {
        refuse_foreign(&written)?;
        let columns = written.columns.iter();
        Ok(Self {
            name: DottedName::of(&written.name),
            or_replace: written.or_replace,
            columns: columns.map(|column| Name::of(&column.name)).collect(),
            query: Query::new(written.query),
        })
    }
}

fn refuse_foreign(create: &ast::CreateView) -> Result<()> {
    let foreign = [
        (create.materialized, "MATERIALIZED VIEW"),
        (create.temporary, "a temporary view"),
        (create.if_not_exists, "CREATE VIEW IF NOT EXISTS"),
        (
            !matches!(create.options, ast::CreateTableOptions::None),
            "options of a view",
        ),
    ];
    super::refuse_first(&foreign)
}
