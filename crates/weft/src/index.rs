//! Secondary indexes: access to records by other properties than their keys.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    sync::{Arc, Weak},
};

use engine::{BuildError, BuildProgress, Extractor, IndexOptions};

use crate::{
    error::{Error, Result},
    key::Key,
    table::Table,
    value::Value,
};

type Report = Box<dyn FnMut(BuildProgress) + Send>;

/// Marker for types that a handle only names.
pub(crate) type Types<T> = PhantomData<fn() -> T>;

/// Definition of an index: its name, whether it is unique, and the function that gives a record's
/// index keys. Made into an index by [`crate::Database::create_index`].
///
/// The function is called with a record's key and value and gives any number of index keys:
/// `Some(key)` for one, `None` for a record that the index is to leave out, a `Vec` for several. It
/// must give the same keys whenever it is called with the same record. If it panics, the operation
/// that called it has no effect, and the transaction ends as with any panic.
///
/// Index keys are [`Key`]s: tuples make composite indexes, options nullable columns (`None` sorts
/// before everything else and is a key like any other: two records with `None` are duplicates in a
/// unique index. To avoid that, let the function give no key for them).
pub struct IndexDefinition<I, K, V, C = ()> {
    name: String,
    unique: bool,
    extract: Extractor,
    progress: Report,
    _types: Types<(I, K, V, C)>,
}

impl<I: Key, K: Key, V: Value> IndexDefinition<I, K, V> {
    /// Returns the definition of an index in which no two records may have the same key.
    pub fn unique<F, O>(name: &str, keys: F) -> IndexDefinition<I, K, V>
    where
        F: Fn(K, V) -> O + Send + Sync + 'static,
        O: IntoIterator<Item = I>,
    {
        let keys = move |key, value| keys(key, value).into_iter().map(|key| (key, ()));
        IndexDefinition::new(name, true, keys)
    }

    /// Returns the definition of an index in which any number of records may have the same key.
    pub fn non_unique<F, O>(name: &str, keys: F) -> IndexDefinition<I, K, V>
    where
        F: Fn(K, V) -> O + Send + Sync + 'static,
        O: IntoIterator<Item = I>,
    {
        let keys = move |key, value| keys(key, value).into_iter().map(|key| (key, ()));
        IndexDefinition::new(name, false, keys)
    }
}

impl<I: Key, K: Key, V: Value, C: Value> IndexDefinition<I, K, V, C> {
    /// Returns the definition of a unique index that stores a value of its own with each key, which
    /// [`crate::Transaction::scan_covered`] reads without the table.
    pub fn unique_covering<F, O>(name: &str, keys: F) -> IndexDefinition<I, K, V, C>
    where
        F: Fn(K, V) -> O + Send + Sync + 'static,
        O: IntoIterator<Item = (I, C)>,
    {
        IndexDefinition::new(name, true, keys)
    }

    /// Returns the definition of an index as [`IndexDefinition::unique_covering`] does, but of one
    /// that is not unique.
    pub fn non_unique_covering<F, O>(name: &str, keys: F) -> IndexDefinition<I, K, V, C>
    where
        F: Fn(K, V) -> O + Send + Sync + 'static,
        O: IntoIterator<Item = (I, C)>,
    {
        IndexDefinition::new(name, false, keys)
    }

    fn new<F, O>(name: &str, unique: bool, keys: F) -> IndexDefinition<I, K, V, C>
    where
        F: Fn(K, V) -> O + Send + Sync + 'static,
        O: IntoIterator<Item = (I, C)>,
    {
        let extract: Extractor = Arc::new(move |key, value, found| {
            // A table opens with its own types only.
            let key = K::decode_key(key).expect("a table's keys are of its type");
            let value = V::decode(value).expect("a table's values are of its type");
            for (key, covered) in keys(key, value) {
                found.push_covering(key.encode_key().as_ref(), covered.encode().as_ref());
            }
        });
        IndexDefinition {
            name: name.to_owned(),
            unique,
            extract,
            progress: Box::new(|_| {}),
            _types: PhantomData,
        }
    }

    /// Makes the worker that builds the index call `progress`, some hundred records at a time.
    pub fn on_progress(mut self, progress: impl FnMut(BuildProgress) + Send + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Builds the index, on the session's worker.
    pub(crate) async fn build(
        self,
        session: std::rc::Rc<engine::Session>,
        table: Table<K, V>,
    ) -> Result<Index<I, K, V, C>> {
        let database = session.database().clone();
        if table.within(&database).is_none() {
            return Err(table.foreign());
        }
        let options = IndexOptions {
            unique: self.unique,
            prefix_free: I::is_prefix_free(),
        };
        let table = table.engine_table();
        let failed = |error| match error {
            // The session of the builder's worker winds up.
            BuildError::Engine(engine::Error::Ended) => Error::Closed,
            BuildError::Engine(error) => Error::from(error),
            error => Error::Index(Box::new((self.name.clone(), error).into())),
        };
        let description = IndexTag::of::<I, C>().encode();
        let build = session
            .begin_index_described(table, &self.name, &description, options, self.extract)
            .map_err(failed)?;
        let index = build.run(self.progress).await.map_err(failed)?;
        Ok(Index {
            name: index.name(),
            index,
            database: Arc::downgrade(&database),
            _types: PhantomData,
        })
    }
}

impl<I, K, V, C> fmt::Debug for IndexDefinition<I, K, V, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexDefinition")
            .field("name", &self.name)
            .field("unique", &self.unique)
            .finish_non_exhaustive()
    }
}

/// A handle on an index with keys of type `I` of a table with keys of type `K` and
/// values of type `V`, which covers values of type `C`. Cheap to clone, as a [`Table`].
///
/// Truncating the table empties the index and leaves the handle valid; the handle ends with the
/// table.
pub struct Index<I, K, V, C = ()> {
    index: engine::Index,
    name: Arc<str>,
    /// Identity of the database; never upgraded.
    database: Weak<engine::Database>,
    _types: Types<(I, K, V, C)>,
}

impl<I, K, V, C> Index<I, K, V, C> {
    /// Returns the name that the index was created with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether no two records may have the same key.
    pub fn is_unique(&self) -> bool {
        self.index.options().unique
    }

    /// Returns the engine's index, if it is one of `database`.
    pub(crate) fn checked(&self, database: &Arc<engine::Database>) -> Result<&engine::Index> {
        if std::ptr::eq(self.database.as_ptr(), Arc::as_ptr(database)) {
            return Ok(&self.index);
        }
        Err(Error::ForeignTable((*self.index.table().name()).into()))
    }
}

impl<I, K, V, C> Index<I, K, V, C> {
    /// Returns the index that the handle refers to now: the table may have been truncated since.
    pub(crate) fn newest(&self, database: &Arc<engine::Database>) -> Result<engine::Index> {
        let newest = self.checked(database)?.newest();
        newest.ok_or(Error::IndexNotReady)
    }
}

impl<I, K, V, C> Clone for Index<I, K, V, C> {
    fn clone(&self) -> Self {
        Index {
            index: self.index.clone(),
            name: self.name.clone(),
            database: self.database.clone(),
            _types: PhantomData,
        }
    }
}

impl<I, K, V, C> fmt::Debug for Index<I, K, V, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("name", &self.name())
            .field("table", &self.index.table().name())
            .field("unique", &self.is_unique())
            .finish_non_exhaustive()
    }
}

/// The types of an index, as the engine keeps them with it: the type of its keys, a zero byte, the
/// type of the covered value.
struct IndexTag {
    key: Cow<'static, str>,
    covered: Cow<'static, str>,
}

impl IndexTag {
    fn of<I: Key, C: Value>() -> IndexTag {
        IndexTag {
            key: I::type_name(),
            covered: C::type_name(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        format!("{}\0{}", self.key, self.covered).into_bytes()
    }

    fn decode(description: &[u8]) -> Option<IndexTag> {
        let (key, covered) = std::str::from_utf8(description).ok()?.split_once('\0')?;
        Some(IndexTag {
            key: Cow::Owned(key.to_owned()),
            covered: Cow::Owned(covered.to_owned()),
        })
    }
}

/// Description of an index, whether it is attached or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexSummary {
    /// Name of the index.
    pub name: String,
    /// Whether no two records may have the same key.
    pub is_unique: bool,
    /// [`Key::type_name`] of the index's keys.
    pub key: Cow<'static, str>,
    /// [`Value::type_name`] of the covered value.
    pub covered: Cow<'static, str>,
    /// Whether the index is attached. If not, its table cannot be written until the index is
    /// created again or dropped.
    pub is_attached: bool,
}

impl IndexSummary {
    /// Returns the description of an index that this interface made.
    pub(crate) fn of(index: engine::IndexDefinition) -> Option<IndexSummary> {
        let IndexTag { key, covered } = IndexTag::decode(&index.description)?;
        Some(IndexSummary {
            name: index.name,
            is_unique: index.unique,
            key,
            covered,
            is_attached: index.is_attached,
        })
    }
}

/// Error of building an index, which was dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index {index:?} was not made: {reason}")]
#[non_exhaustive]
pub struct IndexError {
    /// Name of the index.
    pub index: String,
    /// Reason of the failure.
    pub reason: BuildError,
}

impl From<(String, BuildError)> for IndexError {
    fn from((index, reason): (String, BuildError)) -> IndexError {
        IndexError { index, reason }
    }
}

/// Converts the error of a write on `table`, with the index named.
#[cold]
pub(crate) fn explain(table: &engine::Table, error: engine::Error) -> Error {
    let name = |index| table.index_name(index).unwrap_or_default();
    match error {
        engine::Error::IndexNotAttached { index } => Error::IndexNotAttached((*name(index)).into()),
        engine::Error::DuplicateIndexKey { index } => {
            Error::DuplicateIndexKey((*name(index)).into())
        }
        engine::Error::IndexKeyTooLong { index } => Error::IndexKeyTooLong((*name(index)).into()),
        error => error.into(),
    }
}
