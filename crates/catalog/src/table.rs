//! Tables and their columns.
//!
//! A row lies in the table's storage, in the form of `types::row` over all columns, dropped ones
//! included, under the key that [`RowKey`] says.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};
use types::{
    Result, Type, TypeModifier, Value,
    row::{Row, RowLayout},
};

use super::{
    Check, Comments, Dependency, ForeignKey, Index, ObjectId, PrimaryKey, StatisticsObject,
    StatisticsSlot, StoredExpression, Unique, type_name,
};

/// A table. Two descriptors are equal if they are of the same table and of the same version of it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Table {
    /// Number of the table.
    pub id: ObjectId,
    /// Schema of the table.
    pub schema: ObjectId,
    /// Name of the table.
    pub name: Arc<str>,
    /// Source of the rows.
    pub kind: TableKind,
    /// Version of the definition: each change of the table gives it another number, larger than all
    /// that the database had before. The number of a change that was rolled back is not used again.
    pub version: u64,
    /// All columns that were ever added, dropped ones too: a column keeps its position.
    pub columns: Arc<[Column]>,
    /// Key that the rows lie under.
    pub row_key: RowKey,
    /// Primary key of the table.
    pub primary_key: Option<PrimaryKey>,
    /// Indexes, those of constraints included. The key that rows lie under is not among them.
    pub indexes: Arc<[Index]>,
    /// Unique constraints.
    #[serde(default)]
    pub uniques: Arc<[Unique]>,
    /// `CHECK` constraints, by name.
    #[serde(default)]
    pub checks: Arc<[Check]>,
    /// References to other tables, by name.
    #[serde(default)]
    pub foreign_keys: Arc<[ForeignKey]>,
    /// Tables with references to this one, itself perhaps included: their [`Table::foreign_keys`]
    /// have its number.
    #[serde(default)]
    pub referenced_by: Arc<[ObjectId]>,
    /// Groups of columns whose values are looked at together, in the order of their creation.
    #[serde(default)]
    pub statistics_objects: Arc<[StatisticsObject]>,
    /// Comments on the table and its parts.
    #[serde(default)]
    pub comments: Comments,
    /// The engine's name of the storage of its rows, which stays the same when the table is
    /// renamed, and changes when it is rewritten.
    pub storage_name: Arc<str>,
    /// The engine's table. It is filled in before a transaction can get the descriptor.
    #[serde(skip)]
    pub storage: OnceLock<Arc<engine::Table>>,
    /// Statistics of its values, shared by all its descriptors.
    #[serde(skip)]
    pub statistics: Arc<StatisticsSlot>,
}

/// The source of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableKind {
    /// The table's storage.
    Ordinary,
    /// Computed rows: the table is one of the system's own.
    System,
}

/// The key that the rows of a table lie under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowKey {
    /// The key form (`types::key`) of these columns, by position: the primary key that the table
    /// was created with.
    Columns(Arc<[u16]>),
    /// A hidden number, counted up, in eight bytes, the most significant first.
    Hidden,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the column.
    pub name: Arc<str>,
    /// Type of the column.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// Modifier of the type.
    #[serde(with = "type_name::modifier")]
    pub modifier: TypeModifier,
    /// Whether the column cannot be NULL.
    pub not_null: bool,
    /// Default, for rows that are given no value.
    #[serde(default)]
    pub default: Option<StoredExpression>,
    /// Generation of the values, if they come from no default.
    #[serde(default)]
    pub generation: Option<Generation>,
    /// Whether the column is dropped; its position is not used again. A dropped column has no name.
    #[serde(default)]
    pub dropped: bool,
    /// Value in rows that are older than the column: a row of this column alone, in the form of
    /// `types::row`. `None` is NULL.
    #[serde(default)]
    pub missing: Option<Arc<[u8]>>,
}

/// The source of a column's values, other than a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generation {
    /// A sequence of the column's own.
    Identity {
        /// Whether a value may be given.
        mode: IdentityMode,
        /// Number of the sequence.
        sequence: ObjectId,
    },
    /// An expression over the other columns, whose value is stored.
    Stored(StoredExpression),
}

/// The cases in which an identity column takes values that are given to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdentityMode {
    /// Only with `OVERRIDING SYSTEM VALUE`.
    Always,
    /// Always.
    ByDefault,
}

impl Column {
    /// Makes a column that may be NULL and has no default.
    pub fn new(name: impl Into<Arc<str>>, ty: Type, modifier: TypeModifier) -> Self {
        Self {
            name: name.into(),
            ty,
            modifier,
            not_null: false,
            default: None,
            generation: None,
            dropped: false,
            missing: None,
        }
    }

    /// Adds dependencies to the column's expression, if it has one.
    pub fn refers_to(&mut self, others: impl IntoIterator<Item = Dependency>) {
        if let Some(expression) = self.expression_mut() {
            expression.refers_to(others);
        }
    }

    /// Returns the expression that the column is computed by, or its default.
    pub fn expression(&self) -> Option<&StoredExpression> {
        match &self.generation {
            Some(Generation::Stored(expression)) => Some(expression),
            _ => self.default.as_ref(),
        }
    }

    /// Returns the expression that the column is computed by, or its default, to be changed.
    pub fn expression_mut(&mut self) -> Option<&mut StoredExpression> {
        match &mut self.generation {
            Some(Generation::Stored(expression)) => Some(expression),
            _ => self.default.as_mut(),
        }
    }

    /// Returns the value of the column in rows that are older than it.
    ///
    /// # Errors
    /// XX001 if the value in the catalog is damaged.
    #[cold]
    pub fn missing_value(&self) -> Result<Value<'_>> {
        let Some(bytes) = &self.missing else {
            return Ok(Value::Null);
        };
        let layout = RowLayout::new(&[self.ty])?;
        Ok(Row::new(&layout, bytes)?.value(0)?.unwrap_or(Value::Null))
    }
}

impl Table {
    /// Returns the value of a column in a row of the table; a row that is older than the column has what the column
    /// says.
    ///
    /// # Errors
    /// XX001 for a row, or a value in the catalog, that is damaged.
    #[inline]
    pub fn value<'a>(&'a self, row: &Row<'_, 'a>, at: usize) -> Result<Value<'a>> {
        match row.value(at)? {
            Some(value) => Ok(value),
            None => self.columns[at].missing_value(),
        }
    }

    /// Returns whether the columns that are left of those it had `before` have the same names and
    /// types.
    pub(crate) fn has_columns_of(&self, before: &Table) -> bool {
        let both = before.columns.iter().zip(self.columns.iter());
        let mut left = both.filter(|(before, now)| !before.dropped && !now.dropped);
        let typed = |column: &Column| (column.ty, column.modifier);
        left.all(|(before, now)| before.name == now.name && typed(before) == typed(now))
    }

    /// Enters the primary key, whose columns are not NULL from then on.
    pub fn set_primary_key(&mut self, key: PrimaryKey) {
        let mut all = self.columns.to_vec();
        for position in key.columns.iter() {
            all[usize::from(*position)].not_null = true;
        }
        self.columns = all.into();
        self.primary_key = Some(key);
    }

    /// Enters a unique constraint.
    pub fn add_unique(&mut self, unique: Unique) {
        self.uniques = self.uniques.iter().cloned().chain([unique]).collect();
    }

    /// Returns the engine's table.
    ///
    /// # Panics
    /// If the descriptor is not one of a [`Catalog`](super::Catalog).
    pub fn storage(&self) -> &Arc<engine::Table> {
        self.storage
            .get()
            .expect("a table of a catalog has its storage")
    }

    /// Iterates over the columns that are not dropped, with their positions.
    pub fn live_columns(&self) -> impl DoubleEndedIterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| !column.dropped)
    }

    /// Returns a column that is not dropped, with its position, by its name.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.live_columns()
            .find(|(_, column)| *column.name == *name)
    }

    /// Returns the primary key's columns, by position.
    pub fn primary_key_columns(&self) -> Option<&[u16]> {
        self.primary_key.as_ref().map(|key| &*key.columns)
    }

    /// Returns the number of a constraint, by its name.
    pub fn constraint(&self, name: &str) -> Option<ObjectId> {
        let keys = self.primary_key.iter().map(|key| (&key.name, key.id));
        let uniques = self.uniques.iter().map(|unique| (&unique.name, unique.id));
        let checks = self.checks.iter().map(|check| (&check.name, check.id));
        let references = self.foreign_keys.iter().map(|key| (&key.name, key.id));
        let mut all = keys.chain(uniques).chain(checks).chain(references);
        let found = all.find(|(other, _)| ***other == *name);
        found.map(|(_, id)| id)
    }

    /// Returns the columns among `written` that are in a key to which foreign keys may refer.
    pub fn keys_among(&self, written: impl Iterator<Item = usize>) -> Vec<u16> {
        let mut keys: Vec<u16> = match &self.row_key {
            RowKey::Hidden => Vec::new(),
            RowKey::Columns(columns) => columns.to_vec(),
        };
        let may_be_referred_to = |index: &&Index| index.unique && index.predicate.is_none();
        let indexes = self.indexes.iter().filter(may_be_referred_to);
        keys.extend(indexes.filter_map(Index::key_columns).flatten());
        let mut among: Vec<u16> = written
            .filter_map(|at| keys.iter().copied().find(|of| usize::from(*of) == at))
            .collect();
        among.sort_unstable();
        among.dedup();
        among
    }

    /// Returns an index of the table, by number.
    pub fn index(&self, id: ObjectId) -> Option<&Index> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// Returns a statistics object of the table, by number.
    pub fn statistics_object(&self, id: ObjectId) -> Option<&StatisticsObject> {
        self.statistics_objects
            .iter()
            .find(|object| object.id == id)
    }

    /// Returns an index of the table, by name.
    pub fn index_named(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| *index.name == *name)
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.version) == (other.id, other.version)
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Table")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
