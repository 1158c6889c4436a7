//! Answers to what functions ask about objects.

use functions::{ObjectClass, Objects, SizeOf};
use types::{EnumId, Names, Result, SqlError, SqlState, Type};

use super::{comments, definitions, keys, names};
use catalog::{
    Catalog, NameClass, Object, ObjectId, OwnedBy, Relation, SearchPath, Searched, Table,
    TableKind, postgres,
};
use syntax::name;

/// Guessed bytes of a record beside its values, and of a value whose type says no length.
const RECORD_BYTES: i64 = 48;
const VALUE_BYTES: i64 = 24;

/// A view of the catalog for functions.
#[derive(Clone, Copy)]
pub struct Lookup<'s> {
    /// Catalog that the statement sees.
    pub catalog: &'s Catalog,
    /// Search path for names that are given without a schema.
    pub search_path: &'s SearchPath,
    /// Name of the session's database.
    pub database: &'s str,
}

impl Lookup<'_> {
    /// Returns the relation of a name, by the session's search path.
    fn relation(&self, name: &str) -> Option<ObjectId> {
        self.names().relation_named(name).map(ObjectId)
    }

    fn names(&self) -> Searched<'_> {
        Searched {
            catalog: self.catalog,
            search_path: self.search_path,
        }
    }

    fn bytes(&self, table: &Table) -> i64 {
        if table.kind == TableKind::System {
            return 0;
        }
        let values = table
            .live_columns()
            .map(|(_, column)| match column.ty.length() {
                length @ 0.. => i64::from(length),
                _ => VALUE_BYTES,
            });
        let record = RECORD_BYTES + values.sum::<i64>();
        record.saturating_mul(records(table))
    }

    fn index_bytes(&self, columns: usize, table: &Table) -> i64 {
        let entry = VALUE_BYTES.saturating_mul(i64::try_from(columns).unwrap_or(i64::MAX));
        entry.saturating_mul(records(table))
    }
}

fn records(table: &Table) -> i64 {
    i64::try_from(table.storage().records_estimate()).unwrap_or(i64::MAX)
}

impl Objects for Lookup<'_> {
    fn exists(&self, class: ObjectClass, oid: u32) -> bool {
        let id = ObjectId(oid);
        match class {
            ObjectClass::Relation => {
                self.catalog.relation(id).is_some() || self.catalog.key_index(id).is_some()
            }
            ObjectClass::Schema => self.catalog.schema(id).is_some(),
            ObjectClass::Role => matches!(self.catalog.object(id), Some(Object::Role(_))),
            ObjectClass::Database => oid == names::DATABASE,
            ObjectClass::Type if self.catalog.enum_type(id).is_some() => true,
            class => postgres::is_known(class, oid),
        }
    }

    fn named(&self, class: ObjectClass, name: &str) -> Option<u32> {
        match class {
            ObjectClass::Relation => self.relation(name).map(|id| id.0),
            ObjectClass::Schema => Names::schema_named(self.catalog, name),
            ObjectClass::Role => Names::role_named(self.catalog, name),
            ObjectClass::Database => match name::written(name).as_slice() {
                [name] if name == self.database => Some(names::DATABASE),
                _ => None,
            },
            ObjectClass::Type => match Type::named(name) {
                Some(ty) => Some(ty.oid()),
                None => self.names().enum_named(name).map(|EnumId(id)| id),
            },
            ObjectClass::Routine => {
                let name = name.split('(').next().unwrap_or(name);
                postgres::procedure_named(name)
            }
            ObjectClass::Operator
            | ObjectClass::Collation
            | ObjectClass::OperatorClass
            | ObjectClass::Other => None,
        }
    }

    fn is_visible(&self, class: ObjectClass, oid: u32) -> Option<bool> {
        let id = ObjectId(oid);
        let is_found =
            |class, name: &str| self.catalog.is_visible(self.search_path, class, id, name);
        match class {
            ObjectClass::Relation => {
                if let Some(table) = self.catalog.key_index(id) {
                    let mut searched = self.catalog.searched(self.search_path);
                    return Some(searched.any(|schema| schema == table.schema));
                }
                let name = match self.catalog.relation(id)? {
                    Relation::Table(table) => &table.name,
                    Relation::Index(_, index) => &index.name,
                    Relation::Sequence(sequence) => &sequence.name,
                    Relation::View(view) => &view.name,
                };
                Some(is_found(NameClass::Relation, name))
            }
            ObjectClass::Type => match self.catalog.enum_type(id) {
                Some(ty) => Some(is_found(NameClass::Type, &ty.name)),
                None => postgres::is_known(class, oid).then_some(true),
            },
            ObjectClass::Routine | ObjectClass::Operator => {
                postgres::is_known(class, oid).then_some(true)
            }
            ObjectClass::Collation | ObjectClass::OperatorClass => Some(true),
            _ => None,
        }
    }

    fn role_name(&self, oid: u32) -> Option<&str> {
        match self.catalog.object(ObjectId(oid))? {
            Object::Role(role) => Some(&role.name),
            _ => None,
        }
    }

    fn index_definition(&self, oid: u32, column: Option<u32>, pretty: bool) -> Option<String> {
        let (table, key) = keys::find(self.catalog, ObjectId(oid))?;
        match column {
            None => Some(definitions::index(self.catalog, table, &key, pretty)),
            Some(number) => definitions::index_column(self.catalog, table, &key, number, pretty),
        }
    }

    fn constraint_definition(&self, oid: u32, pretty: bool) -> Option<String> {
        let id = ObjectId(oid);
        let mut tables = self.catalog.tables();
        tables.find_map(|table| definitions::constraint(self.catalog, table, id, pretty))
    }

    fn statistics_definition(&self, oid: u32, only_columns: bool) -> Option<String> {
        let (table, object) = self.catalog.statistics_object(ObjectId(oid))?;
        Some(match only_columns {
            true => definitions::names(table, &object.columns),
            false => definitions::statistics(self.catalog, table, object),
        })
    }

    fn view_definition(&self, oid: u32) -> Option<String> {
        let view = self.catalog.view(ObjectId(oid))?;
        Some(definitions::view(view))
    }

    fn signature(&self, oid: u32) -> Option<(String, String)> {
        let procedure = postgres::procedure_of(oid)?;
        let name = |number: &u32| match Type::from_oid(*number) {
            Some(ty) => ty.name(self.catalog).into_owned(),
            None => {
                let mut known = postgres::types().iter();
                let found = known.find(|facts| facts.oid == *number);
                found.map_or("???", |facts| facts.name).to_owned()
            }
        };
        let mut parameters: Vec<_> = procedure.parameters.iter().map(name).collect();
        if procedure.variadic != 0
            && let Some(last) = parameters.last_mut()
        {
            *last = format!("VARIADIC {last}");
        }
        let result = name(&procedure.result);
        let result = if procedure.returns_set {
            format!("SETOF {result}")
        } else {
            result
        };
        Some((parameters.join(", "), result))
    }

    fn owned_sequence(&self, table: &str, column: &str) -> Result<Option<String>> {
        let missing = || {
            let message = format!("relation \"{table}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        };
        let id = self.relation(table).ok_or_else(missing)?;
        let found = self.catalog.table(id).ok_or_else(missing)?;
        let (position, _) = found.column(column).ok_or_else(|| {
            let message = format!(
                "column \"{column}\" of relation \"{}\" does not exist",
                found.name
            );
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        let is_owner = |owner: &OwnedBy| owner.table == id && usize::from(owner.column) == position;
        let sequence = self.catalog.objects().find_map(|object| match object {
            Object::Sequence(sequence) if sequence.owned_by.as_ref().is_some_and(is_owner) => {
                Some(sequence)
            }
            _ => None,
        });
        Ok(sequence.map(|sequence| {
            let schema = functions::quoted_identifier(self.catalog.schema_name(sequence.schema));
            format!("{schema}.{}", functions::quoted_identifier(&sequence.name))
        }))
    }

    fn comment(&self, catalog: Option<&str>, oid: u32, column: i32) -> Option<&str> {
        comments::comment_on(self.catalog, catalog, ObjectId(oid), column)
    }

    fn size(&self, of: SizeOf, oid: u32) -> Option<i64> {
        let id = ObjectId(oid);
        let all_indexes = |table: &Table| {
            let indexes = table.indexes.iter();
            let sizes = indexes.map(|index| self.index_bytes(index.columns.len(), table));
            sizes.sum::<i64>()
        };
        let Some(table) = self.catalog.table(id) else {
            return match keys::find(self.catalog, id) {
                Some((table, key)) => Some(self.index_bytes(key.columns.len(), table)),
                None => self.catalog.relation(id).map(|_| 0),
            };
        };
        Some(match of {
            SizeOf::Relation => self.bytes(table),
            SizeOf::Indexes => all_indexes(table),
            SizeOf::Total => self.bytes(table).saturating_add(all_indexes(table)),
        })
    }

    fn database_size(&self) -> i64 {
        let sizes = self.catalog.tables().map(|table| self.bytes(table));
        sizes.fold(0, i64::saturating_add)
    }
}
