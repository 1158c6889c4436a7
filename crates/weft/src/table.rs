//! Tables: typed handles. The engine keeps the types with each table.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    ops::Deref,
    sync::{Arc, Weak},
    time::Duration,
};

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
    /// Returns the tag of tables with these types.
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
    /// Encodes the tag as the engine keeps it with the table: the type of the keys, a zero byte,
    /// the type of the values.
    pub(crate) fn encode(&self) -> Vec<u8> {
        format!("{}\0{}", self.key, self.value).into_bytes()
    }

    pub(crate) fn decode(description: &[u8]) -> Option<TypeTag> {
        let (key, value) = std::str::from_utf8(description).ok()?.split_once('\0')?;
        Some(TypeTag {
            key: Cow::Owned(key.to_owned()),
            value: Cow::Owned(value.to_owned()),
        })
    }
}

/// A handle on a table with keys of type `K` and values of type `V`.
///
/// The handle is cheap to clone. It can be used in transactions of the database it came from; in
/// others they return [`Error::ForeignTable`]. It does not keep the database open.
///
/// The handle refers to the table, whatever that is named: renaming and truncating the table leave
/// it valid. After the table was dropped, transactions that begin later return
/// [`Error::TableDropped`], also if another table has its name.
pub struct Table<K, V> {
    table: Arc<engine::Table>,
    name: Arc<str>,
    /// Identity of the database; never upgraded.
    database: Weak<engine::Database>,
    _types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Table<K, V> {
    /// Returns the name that the table was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the table's number, by which a [`crate::Change`] names it: the number stays for the
    /// table's whole life, and is never another table's.
    pub fn number(&self) -> u32 {
        self.table.object_number()
    }

    /// Returns the time to live of the table's records after they were last written; `None` if they
    /// live for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.table.ttl()
    }

    /// Returns whether the table belongs to `database`.
    pub(crate) fn is_of(&self, database: &Weak<engine::Database>) -> bool {
        Weak::ptr_eq(&self.database, database)
    }

    /// Returns the engine's table, for the comparison baselines of the benchmark.
    #[doc(hidden)]
    pub fn engine(&self) -> &engine::Table {
        &self.table
    }

    pub(crate) fn engine_table(&self) -> &Arc<engine::Table> {
        &self.table
    }

    /// Returns the engine's table, if it is one of `database`. As long as this handle lives, no
    /// other database can have the address that is compared.
    #[inline(always)]
    pub(crate) fn within(&self, database: &Arc<engine::Database>) -> Option<&Arc<engine::Table>> {
        std::ptr::eq(self.database.as_ptr(), Arc::as_ptr(database)).then_some(&self.table)
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
            name: self.name.clone(),
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

/// The table that a handle refers to in a transaction: mostly the one it was opened on.
pub(crate) enum Current<'t> {
    Opened(&'t engine::Table),
    /// The table that succeeds it after a truncation.
    Successor(Arc<engine::Table>),
}

impl Deref for Current<'_> {
    type Target = engine::Table;

    #[inline(always)]
    fn deref(&self) -> &engine::Table {
        match self {
            Current::Opened(table) => table,
            Current::Successor(table) => table,
        }
    }
}

/// Opens the table of a name, as of the newest commit.
pub(crate) fn open<K: Key, V: Value>(
    database: &Arc<engine::Database>,
    name: &str,
) -> Result<Table<K, V>> {
    match database.table(name) {
        Some(table) => typed(database, table, name),
        None => Err(Error::NoSuchTable(name.into())),
    }
}

/// Returns all tables by name, with their types.
pub(crate) fn list(database: &engine::Database) -> Vec<(String, TypeTag)> {
    let names = database.table_names().into_iter();
    let tables = names.filter_map(|name| {
        let tag = TypeTag::decode(database.table(&name)?.description())?;
        Some((name, tag))
    });
    tables.collect()
}

/// Returns a handle on a table that was opened by `name`.
///
/// # Errors
/// [`Error::WrongType`].
pub(crate) fn typed<K: Key, V: Value>(
    database: &Arc<engine::Database>,
    table: Arc<engine::Table>,
    name: &str,
) -> Result<Table<K, V>> {
    let expected = TypeTag::of::<K, V>();
    let found = TypeTag::decode(table.description());
    // A table that another interface made has types that are unknown here.
    let found = found.unwrap_or(TypeTag {
        key: Cow::Borrowed("unknown"),
        value: Cow::Borrowed("unknown"),
    });
    if found != expected {
        return Err(Error::from(Box::new(WrongType {
            table: name.to_owned(),
            expected,
            found,
        })));
    }
    Ok(Table {
        table,
        name: Arc::from(name),
        database: Arc::downgrade(database),
        _types: PhantomData,
    })
}
