//! `CREATE VIEW`.

use sqlparser::{ast, keywords::Keyword};
use types::{Result, SqlError, SqlState};

use super::rows::DefiningQuery;
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
    pub query: DefiningQuery,
    /// 0A000 for a clause that there is not.
    pub supported: Result<()>,
}

impl CreateView {
    /// Takes a definition from the parser.
    ///
    /// # Errors
    /// Clauses of other systems.
    pub(super) fn of(written: ast::CreateView) -> std::result::Result<Self, Misplaced> {
        refuse_foreign(&written)?;
        let supported = refuse_unsupported(&written);
        let columns = written.columns.iter();
        Ok(Self {
            name: DottedName::of(&written.name),
            or_replace: written.or_replace,
            columns: columns.map(|column| Name::of(&column.name)).collect(),
            query: DefiningQuery::of(written.query)?,
            supported,
        })
    }
}

/// Refuses clauses of other systems that the parser takes. All fields are named, so that none which a
/// later parser adds is ignored in silence.
fn refuse_foreign(create: &ast::CreateView) -> std::result::Result<(), Misplaced> {
    let ast::CreateView {
        or_alter,
        or_replace: _,
        materialized,
        secure,
        name: _,
        name_before_not_exists: _,
        columns,
        query: _,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists,
        temporary: _,
        copy_grants,
        to,
        params,
    } = create;
    let params = params.as_ref();
    let written = |column: &ast::ViewColumnDef| column.data_type.is_some();
    let described = |column: &ast::ViewColumnDef| column.options.is_some();
    if columns
        .iter()
        .any(|column| written(column) || described(column))
    {
        let message = "a column of a view has a name alone";
        return Err(Misplaced::Told(SqlError::new(
            SqlState::SYNTAX_ERROR,
            message,
        )));
    }
    refuse_keywords(&[
        (*or_alter, Keyword::ALTER),
        (
            params.is_some_and(|params| params.algorithm.is_some()),
            Keyword::ALGORITHM,
        ),
        (
            params.is_some_and(|params| params.definer.is_some()),
            Keyword::DEFINER,
        ),
        (
            params.is_some_and(|params| params.security.is_some()),
            Keyword::SQL,
        ),
        (*secure, Keyword::SECURE),
        (*if_not_exists && !materialized, Keyword::NOT),
        (*copy_grants, Keyword::COPY),
        (
            matches!(options, ast::CreateTableOptions::Options(_)),
            Keyword::OPTIONS,
        ),
        (!cluster_by.is_empty(), Keyword::CLUSTER),
        (to.is_some(), Keyword::TO),
        (comment.is_some(), Keyword::COMMENT),
        (*with_no_schema_binding, Keyword::BINDING),
    ])
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
