//! Tables: typed handles. Which types a table has, the engine keeps with it.

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
/// Cheap to clone. It can be used in transactions of the database it came from;
/// elsewhere they say [`Error::ForeignTable`]. It does not keep the database
/// open.
///
/// It stands for the table, whatever that is named: renaming and truncating the
/// table leave it as good as it was. After the table was dropped, transactions that
/// begin later say [`Error::TableDropped`], also if another table has its name.
pub struct Table<K, V> {
    table: Arc<engine::Table>,
    name: Arc<str>,
    /// Names the database; never upgraded.
    database: Weak<engine::Database>,
    _types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Table<K, V> {
    /// The name that the table was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table's number, by which a [`crate::Change`] names it: for its whole life, and
    /// no other table's ever.
    pub fn number(&self) -> u32 {
        self.table.object_number()
    }

    /// How long its records live after they were last written. `None`: for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.table.ttl()
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

/// What a handle stands for in a transaction: mostly what it was opened on.
pub(crate) enum Current<'t> {
    Opened(&'t engine::Table),
    /// The table was truncated since.
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

/// The table of a name, as of the newest commit.
pub(crate) fn open<K: Key, V: Value>(
    database: &Arc<engine::Database>,
    name: &str,
) -> Result<Table<K, V>> {
    match database.table(name) {
        Some(table) => typed(database, table, name),
        None => Err(Error::NoSuchTable(name.into())),
    }
}

/// All tables by name, with their types.
pub(crate) fn list(database: &engine::Database) -> Vec<(String, TypeTag)> {
    let names = database.table_names().into_iter();
    let tables = names.filter_map(|name| {
        let tag = TypeTag::decode(database.table(&name)?.description())?;
        Some((name, tag))
    });
    tables.collect()
}

/// A handle on a table that was opened by `name`.
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
    // One that this interface did not make is of no types that it knows.
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
