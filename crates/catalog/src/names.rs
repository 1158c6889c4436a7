//! Names that users gave, for writing and reading values.

use std::{borrow::Cow, sync::Arc};

use functions::quoted_identifier;
use types::{EnumId, Names};

use super::{Catalog, NameClass, Object, ObjectId, Relation, SearchPath, postgres};
use syntax::name;

/// A catalog's names as they are looked up, and written, under a search path.
#[derive(Debug, Clone, Copy)]
pub struct Searched<'c> {
    /// Catalog in which the names are looked up.
    pub catalog: &'c Catalog,
    /// Search path for names that are given without a schema.
    pub search_path: &'c SearchPath,
}

impl Searched<'_> {
    /// Returns the schemas that are named by the path and exist, for later look-ups in them.
    pub fn schemas(&self) -> Arc<[ObjectId]> {
        self.catalog.named_schemas(self.search_path).collect()
    }

    /// Returns the object that a name stands for; the name is the text of a value, as in
    /// `'"Schema".name'`.
    fn find(&self, class: NameClass, text: &str) -> Option<ObjectId> {
        let (schema, name) = match name::written(text).as_slice() {
            [name] => (None, name.clone()),
            [schema, name] => (Some(schema.clone()), name.clone()),
            _ => return None,
        };
        let path = self.search_path;
        self.catalog.find(class, path, schema.as_deref(), &name)
    }
}

impl Names for Searched<'_> {
    fn enum_name(&self, id: EnumId) -> Option<&str> {
        self.catalog.enum_type(ObjectId(id.0)).map(|ty| &*ty.name)
    }

    fn enum_label(&self, id: EnumId, position: u32) -> Option<&str> {
        self.catalog.enum_type(ObjectId(id.0))?.label(position)
    }

    fn enum_position(&self, id: EnumId, label: &str) -> Option<u32> {
        self.catalog.enum_type(ObjectId(id.0))?.rank(label)
    }

    fn enum_positions(&self, id: EnumId) -> Option<&[u32]> {
        let ty = self.catalog.enum_type(ObjectId(id.0))?;
        Some(&ty.ranks)
    }

    fn enum_named(&self, name: &str) -> Option<EnumId> {
        let id = self.find(NameClass::Type, name)?;
        Some(EnumId(id.0))
    }

    fn relation_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        let id = ObjectId(oid);
        if let Some(table) = self.catalog.key_index(id) {
            let key = table.primary_key.as_ref()?;
            let mut searched = self.catalog.searched(self.search_path);
            let is_visible = searched.any(|schema| schema == table.schema);
            return Some(
                self.catalog
                    .name_within(table.schema, &key.name, is_visible),
            );
        }
        let (schema, name) = match self.catalog.relation(id)? {
            Relation::Table(table) => (table.schema, &table.name),
            Relation::Index(table, index) => (table.schema, &index.name),
            Relation::Sequence(sequence) => (sequence.schema, &sequence.name),
            Relation::View(view) => (view.schema, &view.name),
        };
        let path = self.search_path;
        let is_visible = self.catalog.is_visible(path, NameClass::Relation, id, name);
        Some(self.catalog.name_within(schema, name, is_visible))
    }

    fn relation_named(&self, name: &str) -> Option<u32> {
        Some(self.find(NameClass::Relation, name)?.0)
    }

    fn schema_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        let schema = self.catalog.schema(ObjectId(oid))?;
        Some(quoted_identifier(&schema.name))
    }

    fn schema_named(&self, name: &str) -> Option<u32> {
        match name::written(name).as_slice() {
            [name] => Some(self.catalog.schema_named(name)?.id.0),
            _ => None,
        }
    }

    fn role_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        match self.catalog.object(ObjectId(oid))? {
            Object::Role(role) => Some(quoted_identifier(&role.name)),
            _ => None,
        }
    }

    fn role_named(&self, name: &str) -> Option<u32> {
        match name::written(name).as_slice() {
            [name] => Some(self.catalog.role_named(name)?.id.0),
            _ => None,
        }
    }

    fn function_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        postgres::procedure_name(oid).map(Cow::Borrowed)
    }

    fn function_named(&self, name: &str) -> Option<u32> {
        postgres::procedure_named(name)
    }
}

/// Names are looked up, and written, by the default search path.
impl Names for Catalog {
    fn enum_name(&self, id: EnumId) -> Option<&str> {
        self.enum_type(ObjectId(id.0)).map(|ty| &*ty.name)
    }

    fn enum_label(&self, id: EnumId, position: u32) -> Option<&str> {
        self.enum_type(ObjectId(id.0))?.label(position)
    }

    fn enum_position(&self, id: EnumId, label: &str) -> Option<u32> {
        self.enum_type(ObjectId(id.0))?.rank(label)
    }

    fn enum_positions(&self, id: EnumId) -> Option<&[u32]> {
        self.enum_type(ObjectId(id.0)).map(|ty| &*ty.ranks)
    }

    fn enum_named(&self, name: &str) -> Option<EnumId> {
        let id = self.find(NameClass::Type, &SearchPath::default(), None, name)?;
        Some(EnumId(id.0))
    }

    fn relation_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        if let Some(table) = self.key_index(ObjectId(oid)) {
            let key = table.primary_key.as_ref()?;
            return Some(self.qualified_name(table.schema, &key.name));
        }
        let (schema, name) = match self.relation(ObjectId(oid))? {
            Relation::Table(table) => (table.schema, &table.name),
            Relation::Index(table, index) => (table.schema, &index.name),
            Relation::Sequence(sequence) => (sequence.schema, &sequence.name),
            Relation::View(view) => (view.schema, &view.name),
        };
        Some(self.qualified_name(schema, name))
    }

    fn relation_named(&self, name: &str) -> Option<u32> {
        let (schema, name) = match name::written(name).as_slice() {
            [name] => (None, name.clone()),
            [schema, name] => (Some(schema.clone()), name.clone()),
            _ => return None,
        };
        let path = SearchPath::default();
        let found = self.find(NameClass::Relation, &path, schema.as_deref(), &name);
        Some(found?.0)
    }

    fn schema_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        let schema = self.schema(ObjectId(oid))?;
        Some(quoted_identifier(&schema.name))
    }

    fn schema_named(&self, name: &str) -> Option<u32> {
        match name::written(name).as_slice() {
            [name] => Some(Catalog::schema_named(self, name)?.id.0),
            _ => None,
        }
    }

    fn role_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        match self.object(ObjectId(oid))? {
            Object::Role(role) => Some(quoted_identifier(&role.name)),
            _ => None,
        }
    }

    fn role_named(&self, name: &str) -> Option<u32> {
        match name::written(name).as_slice() {
            [name] => Some(Catalog::role_named(self, name)?.id.0),
            _ => None,
        }
    }

    fn function_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        postgres::procedure_name(oid).map(Cow::Borrowed)
    }

    fn function_named(&self, name: &str) -> Option<u32> {
        postgres::procedure_named(name)
    }
}

impl Catalog {
    /// Returns a name with its schema, unless that is always searched, quoted as needed.
    pub fn qualified_name<'n>(&self, schema: ObjectId, name: &'n str) -> Cow<'n, str> {
        let is_visible = matches!(schema, ObjectId::PUBLIC | ObjectId::PG_CATALOG);
        self.name_within(schema, name, is_visible)
    }

    /// Returns a name, with its schema unless it is visible without, quoted as needed.
    fn name_within<'n>(&self, schema: ObjectId, name: &'n str, is_visible: bool) -> Cow<'n, str> {
        if is_visible {
            return quoted_identifier(name);
        }
        let schema = quoted_identifier(Catalog::schema_name(self, schema));
        Cow::Owned(format!("{schema}.{}", quoted_identifier(name)))
    }
}
