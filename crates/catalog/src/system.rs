//! The relations that every database has: those of `pg_catalog` and `information_schema`.
//!
//! They are the same in all databases and at all times, and therefore in no version: a [`Catalog`]
//! looks here for numbers and names that it does not have itself. Nothing here can be changed or
//! dropped. The relations and their columns are listed in `system/relations.txt`; views over others
//! are queries, in `system/*.sql`. The rows of the others are made in the crate `system-catalog`.
//!
//! [`Catalog`]: super::Catalog

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, OnceLock},
};

use types::{Scalar, Type, TypeModifier};

use super::{
    Column, Comments, NameClass, Object, ObjectId, RowKey, Schema, Table, TableKind, View,
    ViewColumn,
};

const RELATIONS: &str = include_str!("system/relations.txt");

/// Files of the views' queries, each after its name: `view <name> as`.
const VIEWS: [&str; 2] = [
    include_str!("system/pg_catalog.sql"),
    include_str!("system/information_schema.sql"),
];

/// Number of the schema of the standard's views, the number that PostgreSQL 15 gives it.
pub const INFORMATION_SCHEMA: ObjectId = ObjectId(13207);

/// The names of the two schemas.
const CATALOG_NAME: &str = "pg_catalog";
const INFORMATION_SCHEMA_NAME: &str = "information_schema";

/// A relation of the system.
#[derive(Debug)]
pub struct SystemRelation {
    /// Object that look-ups find: a table of the system's, or a view over others.
    pub object: Object,
    /// Whether it is shown as a view, be it a query or computed.
    pub is_view: bool,
    /// Names and types of the columns, and whether they are never NULL.
    pub columns: Vec<(&'static str, Type, bool)>,
}

/// All relations of the system.
struct System {
    relations: BTreeMap<ObjectId, SystemRelation>,
    schemas: [Object; 2],
    names: HashMap<(ObjectId, &'static str), ObjectId>,
}

static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let queries: HashMap<&str, &str> = VIEWS.into_iter().flat_map(queries).collect();
    let mut names = HashMap::new();
    let relations = relations(&queries).map(|(schema, name, relation)| {
        let id = relation.object.id();
        names.insert((schema, name), id);
        (id, relation)
    });
    let schema = |id, name| {
        let name = Arc::from(name);
        Object::Schema(Arc::new(Schema {
            id,
            name,
            comments: Comments::default(),
        }))
    };
    System {
        relations: relations.collect(),
        schemas: [
            schema(ObjectId::PG_CATALOG, CATALOG_NAME),
            schema(INFORMATION_SCHEMA, INFORMATION_SCHEMA_NAME),
        ],
        names,
    }
});

/// Returns an object of the system's, by its number.
pub(super) fn object(id: ObjectId) -> Option<&'static Object> {
    if id >= ObjectId::FIRST {
        return None;
    }
    let relation = SYSTEM.relations.get(&id).map(|relation| &relation.object);
    relation.or_else(|| SYSTEM.schemas.iter().find(|schema| schema.id() == id))
}

/// Returns the number of the system's object with a name.
pub(super) fn named(class: NameClass, schema: ObjectId, name: &str) -> Option<ObjectId> {
    match class {
        NameClass::Relation => SYSTEM.names.get(&(schema, name)).copied(),
        NameClass::Schema => match name {
            CATALOG_NAME => Some(ObjectId::PG_CATALOG),
            INFORMATION_SCHEMA_NAME => Some(INFORMATION_SCHEMA),
            _ => None,
        },
        _ => None,
    }
}

/// Iterates over all relations of the system, by number.
pub fn all_relations() -> impl Iterator<Item = &'static SystemRelation> {
    SYSTEM.relations.values()
}

/// Returns a relation of the system, by its number.
pub fn relation(id: ObjectId) -> Option<&'static SystemRelation> {
    SYSTEM.relations.get(&id)
}

/// Returns the queries of a file, with the names of their views.
fn queries(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let views = file.split(";\n").filter_map(|part| {
        let at = part.find("view ")?;
        part[at + "view ".len()..].split_once(" as\n")
    });
    views.map(|(name, query)| (name, query.trim_end()))
}

/// Reads the relations of the list.
fn relations(
    queries: &HashMap<&str, &'static str>,
) -> impl Iterator<Item = (ObjectId, &'static str, SystemRelation)> {
    let mut found: Vec<(&str, &str, &str, Vec<_>)> = Vec::new();
    let lines = RELATIONS.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let mut words = line.split_whitespace();
        if !line.starts_with(' ') {
            if let (Some(name), Some(number), Some(kind)) =
                (words.next(), words.next(), words.next())
            {
                found.push((name, number, kind, Vec::new()));
            }
        } else if let Some((.., columns)) = found.last_mut() {
            columns.extend(words.filter_map(column));
        }
    }
    let described = found
        .into_iter()
        .filter_map(|(full_name, number, kind, columns)| {
            let (schema, name) = full_name.split_once('.')?;
            let schema = match schema {
                INFORMATION_SCHEMA_NAME => INFORMATION_SCHEMA,
                _ => ObjectId::PG_CATALOG,
            };
            let id = ObjectId(number.parse().ok()?);
            let object = match queries.get(full_name) {
                Some(query) => Object::View(Arc::new(view(id, schema, name, &columns, query))),
                None => Object::Table(Arc::new(table(id, schema, name, &columns))),
            };
            let relation = SystemRelation {
                object,
                is_view: kind == "view",
                columns,
            };
            Some((schema, name, relation))
        });
    described.collect::<Vec<_>>().into_iter()
}

/// Reads `name:type`, with `!` if the column is never NULL.
fn column(word: &'static str) -> Option<(&'static str, Type, bool)> {
    let (name, ty) = word.split_once(':')?;
    let (ty, not_null) = match ty.strip_suffix('!') {
        Some(ty) => (ty, true),
        None => (ty, false),
    };
    let ty = match (ty, ty.strip_prefix('_')) {
        ("int2vector", _) => Type::Vector(Scalar::Int2),
        ("oidvector", _) => Type::Vector(Scalar::Oid),
        (_, Some(element)) => Type::Array(Scalar::from_internal_name(element)?),
        (scalar, None) => Type::Scalar(Scalar::from_internal_name(scalar)?),
    };
    Some((name, ty, not_null))
}

fn table(
    id: ObjectId,
    schema: ObjectId,
    name: &str,
    columns: &[(&'static str, Type, bool)],
) -> Table {
    let column = |(name, ty, not_null): &(&str, Type, bool)| Column {
        name: Arc::from(*name),
        ty: *ty,
        modifier: TypeModifier::NONE,
        not_null: *not_null,
        default: None,
        generation: None,
        dropped: false,
        missing: None,
    };
    Table {
        id,
        schema,
        name: Arc::from(name),
        kind: TableKind::System,
        version: 0,
        columns: columns.iter().map(column).collect(),
        row_key: RowKey::Hidden,
        primary_key: None,
        indexes: Arc::default(),
        uniques: Arc::default(),
        checks: Arc::default(),
        foreign_keys: Arc::default(),
        referenced_by: Arc::default(),
        storage_name: Arc::default(),
        storage: OnceLock::new(),
        statistics: Arc::default(),
        statistics_objects: Arc::default(),
        comments: Comments::default(),
    }
}

fn view(
    id: ObjectId,
    schema: ObjectId,
    name: &str,
    columns: &[(&'static str, Type, bool)],
    query: &str,
) -> View {
    let column = |(name, ty, _): &(&str, Type, bool)| ViewColumn {
        name: Arc::from(*name),
        ty: *ty,
        modifier: TypeModifier::NONE,
    };
    View {
        id,
        schema,
        name: Arc::from(name),
        text: Arc::from(query),
        search_path: Arc::default(),
        columns: columns.iter().map(column).collect(),
        dependencies: Arc::default(),
        names_columns: false,
        grouped_by: Arc::default(),
        comments: Comments::default(),
    }
}
