//! `CREATE VIEW`.

use sqlparser::{ast, keywords::Keyword};
use types::Result;

use super::rows::Query;
use crate::{
    name::{DottedName, Name},
    refusal::{Misplaced, refuse_keywords},
};

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
    /// 0A000 for a clause that there is not.
    pub supported: Result<()>,
}

impl CreateView {
    /// Takes a definition from the parser.
    ///
    /// # Errors
    /// Clauses of other systems.
    pub(super) fn of(written: ast::CreateView) -> std::result::Result<Self, Misplaced> {
        let is_view = !written.materialized;
        refuse_keywords(&[(written.if_not_exists && is_view, Keyword::NOT)])?;
        let supported = refuse_unsupported(&written);
        let columns = written.columns.iter();
        Ok(Self {
            name: DottedName::of(&written.name),
            or_replace: written.or_replace,
            columns: columns.map(|column| Name::of(&column.name)).collect(),
            query: Query::new(written.query),
            supported,
        })
    }
}

fn refuse_unsupported(create: &ast::CreateView) -> Result<()> {
    let unsupported = [
        (create.materialized, "MATERIALIZED VIEW"),
        (create.temporary, "a temporary view"),
        (
            !matches!(create.options, ast::CreateTableOptions::None),
            "options of a view",
        ),
    ];
    super::refuse_first(&unsupported)
}
