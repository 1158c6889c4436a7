//! `CREATE SCHEMA`.

use sqlparser::ast::{self, ObjectName};
use types::Result;

use crate::name::DottedName;

/// A schema that is created.
#[derive(Debug, Clone)]
pub struct CreateSchema {
    /// The name of the schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a schema of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// 0A000 for `AUTHORIZATION`.
    pub supported: Result<()>,
}

impl CreateSchema {
    /// Takes a definition from the parser. A schema without a name has that of its owner.
    pub(super) fn of(written: ast::SchemaName, if_not_exists: bool) -> Self {
        let (name, has_owner) = match written {
            ast::SchemaName::Simple(name) => (name, false),
            ast::SchemaName::UnnamedAuthorization(owner) => (ObjectName::from(vec![owner]), true),
            ast::SchemaName::NamedAuthorization(name, _) => (name, true),
        };
        Self {
            name: DottedName::of(&name),
            if_not_exists,
            supported: super::refuse_first(&[(has_owner, "AUTHORIZATION")]),
        }
    }
}
