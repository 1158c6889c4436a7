//! Names that users gave, for those who write and read values.

use std::borrow::Cow;

use types::{EnumId, Names};

use super::{Catalog, NameClass, ObjectId, Relation, SearchPath};

/// By the default search path.
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
        let (schema, name) = match self.relation(ObjectId(oid))? {
            Relation::Table(table) => (table.schema, &table.name),
            Relation::Index(table, index) => (table.schema, &index.name),
            Relation::Sequence(sequence) => (sequence.schema, &sequence.name),
            Relation::View(view) => (view.schema, &view.name),
        };
        Some(match schema {
            ObjectId::PUBLIC | ObjectId::PG_CATALOG => Cow::Borrowed(&**name),
            schema => Cow::Owned(format!("{}.{name}", self.schema_name(schema))),
        })
    }

    fn relation_named(&self, name: &str) -> Option<u32> {
        let (schema, name) = match name.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, name),
        };
        let id = self.find(NameClass::Relation, &SearchPath::default(), schema, name)?;
        Some(id.0)
    }
}
