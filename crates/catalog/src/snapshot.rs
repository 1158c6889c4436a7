//! The catalog as a statement sees it: all objects at one moment, and names.

use std::{collections::BTreeMap, sync::Arc};

use engine::Timestamp;
use types::{Result, SqlError, SqlState};

use super::{
    EnumType, Index, Object, ObjectId, Role, Schema, Sequence, StatisticsObject, Table, View,
    system,
};

/// The classes of objects that share names: PostgreSQL's namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameClass {
    /// Schemas of the database.
    Schema,
    /// Roles of the database.
    Role,
    /// Tables, indexes, sequences and views of a schema.
    Relation,
    /// Types of a schema.
    Type,
    /// Statistics objects of a schema.
    Statistics,
}

/// The object that a name of [`NameClass::Relation`] stands for.
#[derive(Debug, Clone)]
pub enum Relation<'c> {
    /// A table.
    Table(&'c Arc<Table>),
    /// An index, with its table.
    Index(&'c Arc<Table>, &'c Index),
    /// A sequence.
    Sequence(&'c Arc<Sequence>),
    /// A view.
    View(&'c Arc<View>),
}

impl Relation<'_> {
    /// Returns the number of the relation.
    pub fn id(&self) -> ObjectId {
        match self {
            Self::Table(table) => table.id,
            Self::Index(_, index) => index.id,
            Self::Sequence(sequence) => sequence.id,
            Self::View(view) => view.id,
        }
    }
}

/// The schemas in which names without a schema are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    /// Names of schemas, in order; those that do not exist are passed over. `pg_catalog` comes
    /// first unless it is named.
    pub schemas: Vec<String>,
}

impl Default for SearchPath {
    fn default() -> Self {
        Self {
            schemas: vec!["public".to_owned()],
        }
    }
}

/// All objects at one moment. Cloning it copies its maps.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    version: u64,
    is_private: bool,
    committed_at: Timestamp,
    objects: BTreeMap<ObjectId, Object>,
    names: BTreeMap<(NameClass, ObjectId), BTreeMap<Arc<str>, ObjectId>>,
    /// Table of each index and each statistics object.
    tables_of_parts: BTreeMap<ObjectId, ObjectId>,
}

impl Catalog {
    /// Returns the number of the version, which counts committed changes of the catalog: a larger
    /// one is newer.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns whether the catalog has changes that are not committed: those of the transaction
    /// that sees it. Its plans are of use to no other.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// Returns the commit timestamp of its newest change. A transaction that answers by this version
    /// of the catalog depends on that commit ([`engine::Transaction::depends_on`]).
    pub fn committed_at(&self) -> Timestamp {
        self.committed_at
    }

    /// Makes this the next version.
    pub(super) fn commit(&mut self, at: Timestamp) {
        self.version += 1;
        self.committed_at = at;
    }

    /// Marks the catalog as one with changes that are not committed.
    pub(super) fn make_private(&mut self) {
        self.is_private = true;
    }

    /// Iterates over all objects, by number; those that every database has are in
    /// `catalog/system.rs`.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// Returns the object with a number.
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(&id).or_else(|| system::object(id))
    }

    /// Returns the schema with a number.
    pub fn schema(&self, id: ObjectId) -> Option<&Arc<Schema>> {
        match self.object(id)? {
            Object::Schema(schema) => Some(schema),
            _ => None,
        }
    }

    /// Returns the name of a schema; an empty one if there is no schema with that number.
    pub fn schema_name(&self, id: ObjectId) -> &str {
        self.schema(id).map_or("", |schema| &schema.name)
    }

    /// Returns the table with a number.
    pub fn table(&self, id: ObjectId) -> Option<&Arc<Table>> {
        match self.object(id)? {
            Object::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the sequence with a number.
    pub fn sequence(&self, id: ObjectId) -> Option<&Arc<Sequence>> {
        match self.object(id)? {
            Object::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }

    /// Returns the sequence with a number.
    ///
    /// # Errors
    /// 42809 if that is another relation's number, 42P01 if it is no object's.
    pub fn expect_sequence(&self, id: ObjectId) -> Result<&Arc<Sequence>> {
        if let Some(sequence) = self.sequence(id) {
            return Ok(sequence);
        }
        let name = match self.relation(id) {
            Some(Relation::Table(table)) => &table.name,
            Some(Relation::Index(_, index)) => &index.name,
            Some(Relation::View(view)) => &view.name,
            Some(Relation::Sequence(_)) | None => {
                let message = format!("could not open relation with OID {id}");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        };
        let message = format!("\"{name}\" is not a sequence");
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
    }

    /// Returns the view with a number.
    pub fn view(&self, id: ObjectId) -> Option<&Arc<View>> {
        match self.object(id)? {
            Object::View(view) => Some(view),
            _ => None,
        }
    }

    /// Returns the enum type with a number.
    pub fn enum_type(&self, id: ObjectId) -> Option<&Arc<EnumType>> {
        match self.object(id)? {
            Object::Enum(ty) => Some(ty),
            _ => None,
        }
    }

    /// Returns the index with a number, and its table.
    pub fn index(&self, id: ObjectId) -> Option<(&Arc<Table>, &Index)> {
        let table = self.table(*self.tables_of_parts.get(&id)?)?;
        Some((table, table.index(id)?))
    }

    /// Returns the statistics object with a number, and its table.
    pub fn statistics_object(&self, id: ObjectId) -> Option<(&Arc<Table>, &StatisticsObject)> {
        let table = self.table(*self.tables_of_parts.get(&id)?)?;
        Some((table, table.statistics_object(id)?))
    }

    /// Returns the table whose primary key has a number and no index; clients know the key as an
    /// index.
    pub fn key_index(&self, id: ObjectId) -> Option<&Arc<Table>> {
        self.tables().find(|table| {
            let key = table.primary_key.as_ref();
            key.is_some_and(|key| key.id == id && key.index.is_none())
        })
    }

    /// Returns all tables of users, by number.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.objects().filter_map(|object| match object {
            Object::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Returns the schema with a name.
    pub fn schema_named(&self, name: &str) -> Option<&Arc<Schema>> {
        self.schema(self.named(NameClass::Schema, ObjectId::default(), name)?)
    }

    /// Returns the role with a name.
    pub fn role_named(&self, name: &str) -> Option<&Arc<Role>> {
        match self.object(self.named(NameClass::Role, ObjectId::default(), name)?)? {
            Object::Role(role) => Some(role),
            _ => None,
        }
    }

    /// Returns the number of the object with a name, in a schema (number 0 for objects that lie in
    /// none).
    pub fn named(&self, class: NameClass, schema: ObjectId, name: &str) -> Option<ObjectId> {
        let own = self.names.get(&(class, schema));
        let own = own.and_then(|names| names.get(name).copied());
        own.or_else(|| system::named(class, schema, name))
    }

    /// Iterates over all names of a class in a schema, in order, with numbers.
    pub fn names(
        &self,
        class: NameClass,
        schema: ObjectId,
    ) -> impl Iterator<Item = (&Arc<str>, ObjectId)> {
        let names = self.names.get(&(class, schema)).into_iter().flatten();
        names.map(|(name, id)| (name, *id))
    }

    /// Iterates over the schemas of a search path that exist, in the order in which they are
    /// searched.
    pub fn searched<'c>(&'c self, path: &'c SearchPath) -> impl Iterator<Item = ObjectId> + 'c {
        let is_named = path.schemas.iter().any(|name| name == "pg_catalog");
        let first = (!is_named).then_some(ObjectId::PG_CATALOG);
        first.into_iter().chain(self.named_schemas(path))
    }

    /// Iterates over the schemas that a path names and that exist, in order.
    pub fn named_schemas<'c>(
        &'c self,
        path: &'c SearchPath,
    ) -> impl Iterator<Item = ObjectId> + 'c {
        let named = path.schemas.iter();
        named.filter_map(|name| Some(self.schema_named(name)?.id))
    }

    /// Returns the search path of these schemas.
    pub fn path_of(&self, schemas: &[ObjectId]) -> SearchPath {
        let names = schemas.iter().filter_map(|id| self.schema(*id));
        SearchPath {
            schemas: names.map(|schema| schema.name.to_string()).collect(),
        }
    }

    /// Returns the schema in which objects without one are created.
    ///
    /// # Errors
    /// 3F000 if no schema of the path exists.
    pub fn creation_schema(&self, path: &SearchPath) -> Result<&Arc<Schema>> {
        let mut schemas = path.schemas.iter();
        schemas
            .find_map(|name| self.schema_named(name))
            .ok_or_else(|| {
                SqlError::new(
                    SqlState::INVALID_SCHEMA_NAME,
                    "no schema has been selected to create in",
                )
            })
    }

    /// Returns the schema with a name.
    ///
    /// # Errors
    /// 3F000 if there is none.
    pub fn expect_schema(&self, name: &str) -> Result<&Arc<Schema>> {
        self.schema_named(name).ok_or_else(|| {
            let message = format!("schema \"{name}\" does not exist");
            SqlError::new(SqlState::INVALID_SCHEMA_NAME, message)
        })
    }

    /// Returns the object that a name stands for, with its schema or by a search path.
    pub fn find(
        &self,
        class: NameClass,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
    ) -> Option<ObjectId> {
        match schema {
            Some(schema) => self.named(class, self.schema_named(schema)?.id, name),
            None => self
                .searched(path)
                .find_map(|schema| self.named(class, schema, name)),
        }
    }

    /// Returns the relation that a name stands for.
    pub fn find_relation(
        &self,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
    ) -> Option<Relation<'_>> {
        self.relation(self.find(NameClass::Relation, path, schema, name)?)
    }

    /// Returns the relation that a name stands for.
    ///
    /// # Errors
    /// 42P01 if there is none.
    pub fn expect_relation(
        &self,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Relation<'_>> {
        self.find_relation(path, schema, name).ok_or_else(|| {
            let name = match schema {
                Some(schema) => format!("{schema}.{name}"),
                None => name.to_owned(),
            };
            let message = format!("relation \"{name}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        })
    }

    /// Returns the relation with a number.
    pub fn relation(&self, id: ObjectId) -> Option<Relation<'_>> {
        match self.object(id) {
            Some(Object::Table(table)) => Some(Relation::Table(table)),
            Some(Object::Sequence(sequence)) => Some(Relation::Sequence(sequence)),
            Some(Object::View(view)) => Some(Relation::View(view)),
            Some(_) => None,
            None => self
                .index(id)
                .map(|(table, index)| Relation::Index(table, index)),
        }
    }

    /// Returns whether a name without a schema would find this object.
    pub fn is_visible(
        &self,
        path: &SearchPath,
        class: NameClass,
        id: ObjectId,
        name: &str,
    ) -> bool {
        self.find(class, path, None, name) == Some(id)
    }

    /// Puts an object in, in place of the one with its number.
    pub(super) fn put(&mut self, object: Object) {
        self.take(object.id());
        for (class, schema, name, id) in names_of(&object) {
            self.names
                .entry((class, schema))
                .or_default()
                .insert(name, id);
        }
        if let Object::Table(table) = &object {
            let parts = parts_of(table);
            self.tables_of_parts
                .extend(parts.map(|(_, _, part)| (part, table.id)));
        }
        self.objects.insert(object.id(), object);
    }

    /// Takes an object out.
    pub(super) fn take(&mut self, id: ObjectId) -> Option<Object> {
        let object = self.objects.remove(&id)?;
        for (class, schema, name, id) in names_of(&object) {
            if let Some(names) = self.names.get_mut(&(class, schema))
                // Two objects that swap their names may be put in one after the other.
                && names.get(&name) == Some(&id)
            {
                names.remove(&name);
            }
        }
        if let Object::Table(table) = &object {
            for (_, _, part) in parts_of(table) {
                self.tables_of_parts.remove(&part);
            }
        }
        Some(object)
    }
}

/// Returns the names that an object has: its own and those of its indexes and statistics objects.
pub(super) fn names_of(
    object: &Object,
) -> impl Iterator<Item = (NameClass, ObjectId, Arc<str>, ObjectId)> {
    let class = match object {
        Object::Schema(_) => NameClass::Schema,
        Object::Role(_) => NameClass::Role,
        Object::Enum(_) => NameClass::Type,
        Object::Table(_) | Object::Sequence(_) | Object::View(_) => NameClass::Relation,
    };
    let schema = object.schema().unwrap_or_default();
    let own = (class, schema, object.name().clone(), object.id());
    let parts = match object {
        Object::Table(table) => Some(parts_of(table)),
        _ => None,
    };
    let parts = parts.into_iter().flatten();
    let parts = parts.map(move |(class, name, id)| (class, schema, name.clone(), id));
    std::iter::once(own).chain(parts)
}

/// Returns the parts of a table that have names in its schema.
fn parts_of(table: &Table) -> impl Iterator<Item = (NameClass, &Arc<str>, ObjectId)> {
    let indexes = table.indexes.iter();
    let indexes = indexes.map(|index| (NameClass::Relation, &index.name, index.id));
    let objects = table.statistics_objects.iter();
    indexes.chain(objects.map(|object| (NameClass::Statistics, &object.name, object.id)))
}
