//! Functions that look objects up: their names, definitions and privileges.
//!
//! A session knows the objects ([`Objects`]); this module has the functions' names and signatures.
//! There are no privileges on single objects: a connected role may do everything with existing
//! objects.

mod definitions;
mod privileges;
mod server;
mod sizes;
mod visibility;

use types::Result;

use crate::Function;

/// Separator between the plain and the pretty form of an expression where catalogs have one. Only
/// `pg_get_expr` understands it, as PostgreSQL's own reads its trees.
pub const BETWEEN_FORMS: char = '\u{1f}';

/// Catalog of an object: a name or number has a meaning in one only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectClass {
    /// `pg_class`
    Relation,
    /// `pg_type`
    Type,
    /// `pg_proc`
    Routine,
    /// `pg_operator`
    Operator,
    /// `pg_namespace`
    Schema,
    /// `pg_authid`
    Role,
    /// `pg_database`
    Database,
    /// `pg_collation`
    Collation,
    /// `pg_opclass` and `pg_opfamily`
    OperatorClass,
    /// Kinds without any objects.
    Other,
}

/// Subject of a request for a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeOf {
    /// The relation alone.
    Relation,
    /// All indexes of a table.
    Indexes,
    /// A table with its indexes.
    Total,
}

/// The catalog that a session sees, for functions. Answers are `None` if there is no such object.
pub trait Objects {
    /// Returns whether there is an object of a number.
    fn exists(&self, _class: ObjectClass, _oid: u32) -> bool {
        false
    }

    /// Returns the object of a name, quoted and qualified as in SQL.
    fn named(&self, _class: ObjectClass, _name: &str) -> Option<u32> {
        None
    }

    /// Returns whether an object is found by its name alone.
    fn is_visible(&self, _class: ObjectClass, _oid: u32) -> Option<bool> {
        None
    }

    /// Returns the name of a role.
    fn role_name(&self, _oid: u32) -> Option<&str> {
        None
    }

    /// Returns the statement that makes an index, or its key at a position from 1; pretty as
    /// constraints are.
    fn index_definition(&self, _oid: u32, _column: Option<u32>, _pretty: bool) -> Option<String> {
        None
    }

    /// Returns a constraint as it stands in a definition of a table; if pretty, with as few
    /// parentheses as PostgreSQL then has, otherwise with as many as it has.
    fn constraint_definition(&self, _oid: u32, _pretty: bool) -> Option<String> {
        None
    }

    /// Returns the statement that makes a statistics object, or the names of its columns.
    fn statistics_definition(&self, _oid: u32, _only_columns: bool) -> Option<String> {
        None
    }

    /// Returns the query of a view.
    fn view_definition(&self, _oid: u32) -> Option<String> {
        None
    }

    /// Returns the parameters of a function, and its result.
    fn signature(&self, _oid: u32) -> Option<(String, String)> {
        None
    }

    /// Returns the sequence that belongs to a column.
    ///
    /// # Errors
    /// 42P01 and 42703 if there is no such table or column.
    fn owned_sequence(&self, _table: &str, _column: &str) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns the comment on an object of one of the system's catalogs, or of any of them, or on a
    /// column of it, by number.
    fn comment(&self, _catalog: Option<&str>, _oid: u32, _column: i32) -> Option<&str> {
        None
    }

    /// Returns the approximate bytes of an object.
    fn size(&self, _of: SizeOf, _oid: u32) -> Option<i64> {
        None
    }

    /// Returns the approximate bytes of the whole database.
    fn database_size(&self) -> i64 {
        0
    }
}

/// The objects without a catalog: there are none.
#[derive(Debug, Clone, Copy)]
pub struct NoObjects;

impl Objects for NoObjects {}

pub(crate) static FUNCTIONS: &[&[Function]] = &[
    visibility::FUNCTIONS,
    definitions::FUNCTIONS,
    server::FUNCTIONS,
    sizes::FUNCTIONS,
];

pub(crate) use privileges::FUNCTIONS as PRIVILEGES;
