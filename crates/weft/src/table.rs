//! Tables: typed handles, and the catalogue that remembers their types.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use engine::TableError;

use crate::{
    error::{Error, Result, WrongType},
    key::Key,
    value::Value,
};

/// The types of a table's keys and values, by the names that their codecs give
/// themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TypeTag {
    /// [`Key::type_name`].
    pub key: Cow<'static, str>,
    /// [`Value::type_name`].
    pub value: Cow<'static, str>,
}

impl TypeTag {
    /// The tag of tables with these types.
    pub fn of<K: Key, V: Value>() -> TypeTag {
        TypeTag {
            key: K::type_name(),
            value: V::type_name(),
        }
    }
}

impl fmt::Display for TypeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "values of type {} under keys of type {}",
            self.value, self.key
        )
    }
}

impl TypeTag {
    /// As the engine keeps it with the table: the type of the keys, a zero byte,
    /// the type of the values.
    fn encode(&self) -> Vec<u8> {
        format!("{}\0{}", self.key, self.value).into_bytes()
    }

    fn decode(description: &[u8]) -> Option<TypeTag> {
        let (key, value) = std::str::from_utf8(description).ok()?.split_once('\0')?;
        Some(TypeTag {
            key: Cow::Owned(key.to_owned()),
            value: Cow::Owned(value.to_owned()),
        })
    }
}

/// A handle on a table with keys of type `K` and values of type `V`.
///
/// Cheap to clone. It can be used in transactions of the database it came from;
/// elsewhere they say [`Error::ForeignTable`]. It does not keep the database
/// open.
pub struct Table<K, V> {
    table: Arc<engine::Table>,
    /// Names the database; never upgraded.
    database: Weak<engine::Database>,
    _types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Table<K, V> {
    /// The table's name.
    pub fn name(&self) -> &str {
        self.table.name()
    }

    /// The table's number, by which a [`crate::Change`] names it.
    pub fn number(&self) -> u32 {
        self.table.number()
    }

    /// Whether it belongs to a database.
    pub(crate) fn is_of(&self, database: &Weak<engine::Database>) -> bool {
        Weak::ptr_eq(&self.database, database)
    }

    /// What lies beneath, for the comparison baselines of the benchmark.
    #[doc(hidden)]
    pub fn engine(&self) -> &engine::Table {
        &self.table
    }

    pub(crate) fn engine_table(&self) -> &Arc<engine::Table> {
        &self.table
    }

    /// The engine's table, if it is one of `database`. As long as this handle
    /// lives, no other database can have the address that it compares.
    #[inline(always)]
    pub(crate) fn within(&self, database: &Arc<engine::Database>) -> Option<&engine::Table> {
        std::ptr::eq(self.database.as_ptr(), Arc::as_ptr(database)).then_some(&*self.table)
    }

    #[cold]
    pub(crate) fn foreign(&self) -> Error {
        Error::ForeignTable(self.name().into())
    }
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Table<K, V> {
        Table {
            table: self.table.clone(),
            database: self.database.clone(),
            _types: PhantomData,
        }
    }
}

impl<K: Key, V: Value> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name())
            .field("key", &K::type_name())
            .field("value", &V::type_name())
            .finish()
    }
}

/// Types of all tables by name.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    types: Mutex<BTreeMap<String, TypeTag>>,
}

impl Catalogue {
    /// Knows the tables that were recovered.
    pub(crate) fn restore(&self, database: &engine::Database) {
        let mut types = self.types();
        for name in database.table_names() {
            let table = database.table(&name);
            if let Some(tag) = table.and_then(|table| TypeTag::decode(table.description())) {
                types.insert(name, tag);
            }
        }
    }

    fn types(&self) -> MutexGuard<'_, BTreeMap<String, TypeTag>> {
        self.types.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn create<K: Key, V: Value>(
        &self,
        database: &Arc<engine::Database>,
        name: &str,
    ) -> Result<Table<K, V>> {
        // Held while the table is made: nobody finds it without its types.
        let mut types = self.types();
        let tag = TypeTag::of::<K, V>();
        let table = database.create_table(name, &tag.encode());
        let table = table.map_err(|error| match error {
            TableError::Exists(name) => Error::TableExists(name.into()),
            TableError::Device(error) => Error::System(error),
            // Nothing else can go wrong with a new table.
            _ => Error::MemoryExhausted,
        })?;
        types.insert(name.to_owned(), tag);
        Ok(typed(database, table))
    }

    pub(crate) fn open<K: Key, V: Value>(
        &self,
        database: &Arc<engine::Database>,
        name: &str,
    ) -> Result<Table<K, V>> {
        let types = self.types();
        let (Some(found), Some(table)) = (types.get(name), database.table(name)) else {
            return Err(Error::NoSuchTable(name.into()));
        };
        let expected = TypeTag::of::<K, V>();
        if *found != expected {
            return Err(Error::from(Box::new(WrongType {
                table: name.to_owned(),
                expected,
                found: found.clone(),
            })));
        }
        Ok(typed(database, table))
    }

    pub(crate) fn list(&self) -> Vec<(String, TypeTag)> {
        let types = self.types();
        types.iter().map(|(n, t)| (n.clone(), t.clone())).collect()
    }
}

fn typed<K, V>(database: &Arc<engine::Database>, table: Arc<engine::Table>) -> Table<K, V> {
    Table {
        table,
        database: Arc::downgrade(database),
        _types: PhantomData,
    }
}
