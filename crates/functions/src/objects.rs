//! Functions that look objects up: what they are called, how they are defined, who may use them.
//!
//! What there is, a session knows ([`Objects`]); here are the functions' names and signatures. There
//! are no privileges on single objects: whoever is connected may do everything with what exists.

mod definitions;
mod privileges;
mod server;
mod sizes;
mod visibility;

use types::Result;

use crate::Function;

/// Stands between the plain and the pretty form of an expression where catalogs have one. Only
/// `pg_get_expr` makes sense of that, as of PostgreSQL's trees.
pub const BETWEEN_FORMS: char = '\u{1f}';

/// Which catalog an object is in: a name or number means something in one only.
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
    /// Kinds of which there are none.
    Other,
}

/// What a size is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeOf {
    /// The relation alone.
    Relation,
    /// All indexes of a table.
    Indexes,
    /// A table with its indexes.
    Total,
}

/// The catalog that a session sees, as functions ask about it. Answers are `None` where there is no
/// such object.
pub trait Objects {
    /// Whether there is an object of a number.
    fn exists(&self, _class: ObjectClass, _oid: u32) -> bool {
        false
    }

    /// The object that is called so, quoted and qualified as in SQL.
    fn named(&self, _class: ObjectClass, _name: &str) -> Option<u32> {
        None
    }

    /// Whether its name alone finds it.
    fn is_visible(&self, _class: ObjectClass, _oid: u32) -> Option<bool> {
        None
    }

    /// The name of a role.
    fn role_name(&self, _oid: u32) -> Option<&str> {
        None
    }

    /// The statement that makes an index, or what it is ordered by at a position from 1; pretty as
    /// constraints are.
    fn index_definition(&self, _oid: u32, _column: Option<u32>, _pretty: bool) -> Option<String> {
        None
    }

    /// A constraint as it stands in a definition of a table; with as few parentheses as PostgreSQL
    /// has if it is asked to be pretty, and as many as it has otherwise.
    fn constraint_definition(&self, _oid: u32, _pretty: bool) -> Option<String> {
        None
    }

    /// The query of a view.
    fn view_definition(&self, _oid: u32) -> Option<String> {
        None
    }

    /// The parameters of a function, and what it returns.
    fn signature(&self, _oid: u32) -> Option<(String, String)> {
        None
    }

    /// The sequence that goes with a column.
    ///
    /// # Errors
    /// 42P01 and 42703 if there is no such table or column.
    fn owned_sequence(&self, _table: &str, _column: &str) -> Result<Option<String>> {
        Ok(None)
    }

    /// What is said of an object of one of the system's catalogs, or of any of them, or of a column of
    /// it, by number.
    fn comment(&self, _catalog: Option<&str>, _oid: u32, _column: i32) -> Option<&str> {
        None
    }

    /// Bytes, roughly.
    fn size(&self, _of: SizeOf, _oid: u32) -> Option<i64> {
        None
    }

    /// Bytes of all that is in the database, roughly.
    fn database_size(&self) -> i64 {
        0
    }
}

/// Where there is no catalog.
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
