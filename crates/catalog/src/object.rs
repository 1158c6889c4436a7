//! The common properties of all objects of the catalog: a number and a kind.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Catalog, Comments, EnumType, Role, Schema, Sequence, Table, View};

/// The number of an object of any kind, for ever: PostgreSQL's oid. A number is never used again,
/// also not after the object is gone.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Number of the role that a database has from the beginning.
    pub const FIRST_ROLE: Self = Self(10);
    /// Number of the schema `pg_catalog`, as in PostgreSQL.
    pub const PG_CATALOG: Self = Self(11);
    /// Number of the schema `public`, as in PostgreSQL.
    pub const PUBLIC: Self = Self(2200);
    /// First number of users' objects, as in PostgreSQL.
    pub const FIRST: Self = Self(16384);
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The kinds of objects. Indexes are parts of their tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A schema.
    Schema,
    /// A table.
    Table,
    /// An index of a table.
    Index,
    /// A sequence.
    Sequence,
    /// A view.
    View,
    /// An enum type.
    Enum,
    /// A role.
    Role,
}

impl Kind {
    /// Returns the name of the kind for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Table => "table",
            Self::Index => "index",
            Self::Sequence => "sequence",
            Self::View => "view",
            Self::Enum => "type",
            Self::Role => "role",
        }
    }
}

/// An object that has a record of its own in the catalog.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Object {
    /// A schema.
    Schema(Arc<Schema>),
    /// A table with its columns, indexes and constraints.
    Table(Arc<Table>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// A view.
    View(Arc<View>),
    /// An enum type.
    Enum(Arc<EnumType>),
    /// A role.
    Role(Arc<Role>),
}

impl Object {
    /// Returns whether texts that were bound where this was `before`, in another catalog, name the
    /// same now. Parts that are gone are not looked at: an error is raised where the texts refer to
    /// them.
    pub(super) fn is_called_as(&self, now: &Catalog, before: &Object, then: &Catalog) -> bool {
        let schema = |object: &Object, catalog: &Catalog| {
            let schema = object.schema();
            schema.map(|schema| Arc::<str>::from(catalog.schema_name(schema)))
        };
        let has_parts = match (before, self) {
            (Self::Table(before), Self::Table(table)) => table.has_columns_of(before),
            (Self::View(before), Self::View(view)) => view.columns.starts_with(&before.columns),
            (Self::Enum(before), Self::Enum(ty)) => before
                .labels
                .iter()
                .all(|label| ty.position(label).is_some()),
            _ => true,
        };
        let names = (self.name(), schema(self, now));
        has_parts && names == (before.name(), schema(before, then))
    }

    /// Returns the number of the object.
    pub fn id(&self) -> ObjectId {
        match self {
            Self::Schema(schema) => schema.id,
            Self::Table(table) => table.id,
            Self::Sequence(sequence) => sequence.id,
            Self::View(view) => view.id,
            Self::Enum(ty) => ty.id,
            Self::Role(role) => role.id,
        }
    }

    /// Returns the name of the object, without its schema.
    pub fn name(&self) -> &Arc<str> {
        match self {
            Self::Schema(schema) => &schema.name,
            Self::Table(table) => &table.name,
            Self::Sequence(sequence) => &sequence.name,
            Self::View(view) => &view.name,
            Self::Enum(ty) => &ty.name,
            Self::Role(role) => &role.name,
        }
    }

    /// Returns the schema of the object, if it lies in one.
    pub fn schema(&self) -> Option<ObjectId> {
        match self {
            Self::Schema(_) | Self::Role(_) => None,
            Self::Table(table) => Some(table.schema),
            Self::Sequence(sequence) => Some(sequence.schema),
            Self::View(view) => Some(view.schema),
            Self::Enum(ty) => Some(ty.schema),
        }
    }

    /// Returns the comments on the object and its parts.
    pub fn comments(&self) -> &Comments {
        match self {
            Self::Schema(schema) => &schema.comments,
            Self::Table(table) => &table.comments,
            Self::Sequence(sequence) => &sequence.comments,
            Self::View(view) => &view.comments,
            Self::Enum(ty) => &ty.comments,
            Self::Role(role) => &role.comments,
        }
    }

    /// Returns the kind of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Schema(_) => Kind::Schema,
            Self::Table(_) => Kind::Table,
            Self::Sequence(_) => Kind::Sequence,
            Self::View(_) => Kind::View,
            Self::Enum(_) => Kind::Enum,
            Self::Role(_) => Kind::Role,
        }
    }
}
