//! Changes of a statement to keys that foreign keys are about: noted where rows are written,
//! checked when the statement ends (`sql/session/references.rs`).
//!
//! The notes are about keys, not rows: keys that new rows refer to, each once, and keys that rows
//! which may be referred to have lost.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    rc::Rc,
    sync::Arc,
};

use types::{
    Charge, Memory, Result, Value,
    compare::compare_as,
    key::{KeyColumn, Nulls, write_all},
};

use super::Budget;
use batch::Rows;
use catalog::{Catalog, ForeignKey, MatchKind, ObjectId, Table};

/// A foreign key with its two tables, which may be one.
#[derive(Debug)]
pub struct Reference {
    /// Definition of the foreign key.
    pub key: ForeignKey,
    /// Table that has the foreign key.
    pub referring: Arc<Table>,
    /// Table to which the foreign key refers.
    pub referenced: Arc<Table>,
}

impl Reference {
    /// Returns the foreign keys of a table.
    pub fn from(table: &Arc<Table>, catalog: &Catalog) -> Vec<Arc<Reference>> {
        let keys = table.foreign_keys.iter().filter_map(|key| {
            Some(Arc::new(Reference {
                key: key.clone(),
                referring: table.clone(),
                referenced: catalog.table(key.referenced)?.clone(),
            }))
        });
        in_order(keys.collect())
    }

    /// Returns the foreign keys that refer to a table, its own among them.
    fn to(table: &Table, catalog: &Catalog) -> Vec<Arc<Reference>> {
        let others = table.referenced_by.iter();
        let others = others.filter_map(|id| catalog.table(*id));
        let keys = others.flat_map(|other| Reference::from(other, catalog));
        in_order(keys.filter(|key| key.key.referenced == table.id).collect())
    }
}

/// Sorts foreign keys by their age, the order in which PostgreSQL checks constraints.
fn in_order(mut references: Vec<Arc<Reference>>) -> Vec<Arc<Reference>> {
    references.sort_by_key(|reference| reference.key.id);
    references
}

/// The events that happen to keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// Rows refer to them now.
    Referred,
    /// The rows that had the keys are deleted.
    Deleted,
    /// The rows that had the keys have others now; a row's new key follows its old one.
    Changed,
}

/// The place of a key among all that a statement has noted. PostgreSQL checks one row after the
/// other, and for each the keys that it has lost, then those that it refers to, both in the order
/// of their constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    row: u64,
    refers: bool,
    constraint: ObjectId,
}

/// Keys of one foreign key, with the event that happened to all of them.
#[derive(Debug)]
pub struct Noted {
    /// Foreign key that has to be checked.
    pub reference: Arc<Reference>,
    /// Event that all of the keys have in common.
    pub happened: Happened,
    /// Values of each key's columns in the order of the foreign key.
    pub keys: Rows,
    /// Number of the statement's row that each key was noted for, in ascending order.
    rows: Vec<u64>,
    /// Encoded keys that were noted already, and their bytes.
    seen: HashSet<Box<[u8]>>,
    seen_bytes: usize,
    charge: Charge,
}

impl Noted {
    /// Returns the place of the key with the number `key`.
    pub fn place(&self, key: usize) -> Place {
        self.place_of(self.rows.get(key).copied().unwrap_or(u64::MAX))
    }

    fn place_of(&self, row: u64) -> Place {
        Place {
            row,
            refers: self.happened == Happened::Referred,
            constraint: self.reference.key.id,
        }
    }

    /// Returns how many keys come before `place`; all, if it is `None`.
    pub fn keys_before(&self, place: Option<Place>) -> usize {
        let Some(place) = place else {
            return self.rows.len();
        };
        let is_before = |row: &u64| self.place_of(*row) < place;
        self.rows.partition_point(is_before)
    }

    fn add<'v>(&mut self, key: impl IntoIterator<Item = Value<'v>>, row: u64) {
        self.keys.push(key);
        self.rows.push(row);
    }

    fn referred(&mut self, key: &[Value<'_>], row: u64) -> Result<()> {
        let table = &self.reference.referring;
        let columns = self.reference.key.columns.iter().map(|at| KeyColumn {
            ty: table.columns[usize::from(*at)].ty,
            descending: false,
            nulls: Nulls::Last,
        });
        let columns: Vec<KeyColumn> = columns.collect();
        let mut bytes = Vec::new();
        write_all(&columns, key, &mut bytes)?;
        let length = bytes.len();
        if self.seen.insert(bytes.into()) {
            self.seen_bytes += length;
            self.add(key.iter().copied(), row);
        }
        Ok(())
    }

    /// Charges the keys that were noted since the last call.
    fn charge(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.keys.settle(memory)?;
        let places = self.seen.capacity() * size_of::<Box<[u8]>>();
        let rows = self.rows.capacity() * size_of::<u64>();
        self.charge.set(memory, places + self.seen_bytes + rows)
    }
}

/// The foreign keys from and to a table.
struct Watched {
    table: ObjectId,
    referenced: Vec<Arc<Reference>>,
    referring: Vec<Arc<Reference>>,
}

/// The notes of a statement about changed keys: see the module text.
pub struct KeyChanges<'c> {
    catalog: &'c Catalog,
    watched: RefCell<Vec<Watched>>,
    noted: RefCell<Vec<Noted>>,
    /// Number of rows that were looked at.
    rows: Cell<u64>,
    /// Memory that the notes are charged to.
    memory: Rc<Memory>,
}

impl<'c> KeyChanges<'c> {
    /// Makes empty notes for a statement that sees this catalog and has this budget.
    pub fn new(catalog: &'c Catalog, budget: &Budget) -> Self {
        Self {
            catalog,
            memory: budget.memory().clone(),
            watched: RefCell::default(),
            noted: RefCell::default(),
            rows: Cell::default(),
        }
    }

    /// Returns the keys that were noted since the last call, in the order of their first rows.
    pub fn take(&self) -> Vec<Noted> {
        self.noted.take()
    }

    /// Notes that a row was put into a table.
    pub(crate) fn inserted(&self, table: &Arc<Table>, new: &[Value<'_>]) -> Result<()> {
        if table.foreign_keys.is_empty() {
            return Ok(());
        }
        self.watch(table, |watched| self.refer(watched, None, new))
    }

    /// Notes that a row of a table was changed.
    pub(crate) fn updated<'v>(
        &self,
        table: &Arc<Table>,
        old: impl FnOnce() -> &'v [Value<'v>],
        new: &[Value<'_>],
    ) -> Result<()> {
        if table.foreign_keys.is_empty() && table.referenced_by.is_empty() {
            return Ok(());
        }
        let old = old();
        self.watch(table, |watched| {
            self.lose(watched, old, Some(new))?;
            self.refer(watched, Some(old), new)
        })
    }

    /// Notes that a row of a table was deleted.
    pub fn deleted<'v>(
        &self,
        table: &Arc<Table>,
        old: impl FnOnce() -> &'v [Value<'v>],
    ) -> Result<()> {
        if table.referenced_by.is_empty() {
            return Ok(());
        }
        self.watch(table, |watched| self.lose(watched, old(), None))
    }

    fn watch(&self, table: &Arc<Table>, look: impl FnOnce(&Watched) -> Result<()>) -> Result<()> {
        self.rows.set(self.rows.get() + 1);
        let mut watched = self.watched.borrow_mut();
        let found = watched.iter().position(|other| other.table == table.id);
        let at = found.unwrap_or_else(|| {
            watched.push(Watched {
                table: table.id,
                referenced: Reference::to(table, self.catalog),
                referring: Reference::from(table, self.catalog),
            });
            watched.len() - 1
        });
        look(&watched[at])
    }

    /// Notes the keys that a new row refers to.
    fn refer(&self, watched: &Watched, old: Option<&[Value<'_>]>, new: &[Value<'_>]) -> Result<()> {
        for reference in &watched.referring {
            let columns = &reference.key.columns;
            if old.is_some_and(|old| is_same(&reference.referring, columns, old, new)) {
                continue;
            }
            let key = values(columns, new);
            let nulls = key.iter().filter(|value| value.is_null()).count();
            let refers = match reference.key.match_kind {
                MatchKind::Simple => nulls == 0,
                MatchKind::Full => nulls < key.len(),
            };
            if refers {
                self.note(reference, Happened::Referred, |noted, row| {
                    noted.referred(&key, row)
                })?;
            }
        }
        Ok(())
    }

    /// Notes the keys that a row has lost and other rows may refer to.
    fn lose(&self, watched: &Watched, old: &[Value<'_>], new: Option<&[Value<'_>]>) -> Result<()> {
        for reference in &watched.referenced {
            let columns = &reference.key.referenced_columns;
            let key = values(columns, old);
            // Nothing refers to a key with NULLs.
            if key.iter().any(Value::is_null) {
                continue;
            }
            match new {
                None => self.note(reference, Happened::Deleted, |noted, row| {
                    noted.add(key, row);
                    Ok(())
                })?,
                Some(new) if is_same(&reference.referenced, columns, old, new) => {}
                Some(new) => self.note(reference, Happened::Changed, |noted, row| {
                    noted.add(key.into_iter().chain(values(columns, new)), row);
                    Ok(())
                })?,
            }
        }
        Ok(())
    }

    fn note(
        &self,
        reference: &Arc<Reference>,
        happened: Happened,
        add: impl FnOnce(&mut Noted, u64) -> Result<()>,
    ) -> Result<()> {
        let mut noted = self.noted.borrow_mut();
        let found = noted.iter().position(|other| {
            other.happened == happened && Arc::ptr_eq(&other.reference, reference)
        });
        let at = found.unwrap_or_else(|| {
            let columns = reference.key.columns.len();
            let width = match happened {
                Happened::Referred | Happened::Deleted => columns,
                Happened::Changed => 2 * columns,
            };
            noted.push(Noted {
                reference: reference.clone(),
                happened,
                keys: Rows::new(width),
                rows: Vec::new(),
                seen: HashSet::new(),
                seen_bytes: 0,
                charge: Charge::default(),
            });
            noted.len() - 1
        });
        add(&mut noted[at], self.rows.get())?;
        noted[at].charge(&self.memory)
    }
}

fn values<'v>(columns: &[u16], row: &[Value<'v>]) -> Vec<Value<'v>> {
    columns.iter().map(|at| row[usize::from(*at)]).collect()
}

/// Returns whether some columns are the same in two rows of a table.
pub(super) fn is_same(
    table: &Table,
    columns: &[u16],
    old: &[Value<'_>],
    new: &[Value<'_>],
) -> bool {
    columns.iter().all(|at| {
        let at = usize::from(*at);
        match (old[at].is_null(), new[at].is_null()) {
            (false, false) => compare_as(table.columns[at].ty, old[at], new[at]).is_eq(),
            (one, other) => one && other,
        }
    })
}
