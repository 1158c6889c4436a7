//! `CREATE SCHEMA`.

use sqlparser::ast;
use types::{Result, SqlError};

use crate::name::DottedName;

/// A schema that is created.
#[derive(Debug, Clone)]
pub struct CreateSchema {
    /// The name of the schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a schema of this name makes the statement do nothing.
    pub if_not_exists: bool,
}

impl CreateSchema {
    /// Takes a definition from the parser.
    ///
    /// # Errors
    /// 0A000 for `AUTHORIZATION`.
    pub(super) fn of(written: &ast::SchemaName, if_not_exists: bool) -> Result<Self> {
        match written {
            ast::SchemaName::Simple(name) => Ok(Self {
                name: DottedName::of(name),
                if_not_exists,
            }),
            ast::SchemaName::UnnamedAuthorization(_) | ast::SchemaName::NamedAuthorization(..) => {
                Err(SqlError::unsupported("AUTHORIZATION"))
            }
        }
    }
}
