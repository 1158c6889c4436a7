//! A table whose values tell their key and the number of their changes: every read can be checked,
//! and at the end no change may be lost.

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft::{Database, Policy, Table, Transaction};

use crate::databases;
use crate::keys::{InsertOrder, KeyShape};
use crate::loading::in_batches;
use crate::values::{ValueShape, Verifier};
use commands::Result;
use commands::progress::Step;

/// Number of records per transaction while loading and while accessing all.
const BATCH: u64 = 64;
/// Number of parts of the range of keys that are compared by themselves.
const PARTS: u64 = 256;

/// A table with counting values. Its keys are hashes of the records' numbers.
#[derive(Clone)]
pub(crate) struct Counted {
    table: Table<Vec<u8>, Vec<u8>>,
    key: KeyShape,
    value: ValueShape,
}

/// Contents of a table, or of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    records: u64,
    /// Number of changes that the values have counted.
    changes: u64,
    are_whole: bool,
}

impl Content {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            records: self.records + other.records,
            changes: self.changes + other.changes,
            are_whole: self.are_whole && other.are_whole,
        }
    }

    /// Returns whether the contents are `records` whole records that have counted `changes`
    /// changes.
    pub(crate) fn is_right(self, records: u64, changes: u64) -> bool {
        // The count of a record wraps around after 2^16.
        self.are_whole && self.records == records && self.changes as u16 == changes as u16
    }
}

impl Counted {
    /// Creates the table, empty.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(crate) fn create(database: &Database, name: &str, value: ValueShape) -> Result<Self> {
        Self::of(database.create_table(name), value)
    }

    /// Opens the table again.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(crate) fn open(database: &Database, name: &str, value: ValueShape) -> Result<Self> {
        Self::of(database.open_table(name), value)
    }

    fn of(table: weft::Result<Table<Vec<u8>, Vec<u8>>>, value: ValueShape) -> Result<Self> {
        Ok(Self {
            table: table.map_err(databases::failure)?,
            key: KeyShape::new(KeyShape::BYTES_MIN, InsertOrder::Hashed)?,
            value,
        })
    }

    /// Inserts `count` records, advancing `step` by them.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(crate) fn load(&self, database: &Database, count: u64, step: &Step) -> Result<()> {
        let (key_shape, value_shape) = (self.key, self.value);
        in_batches(database, 0..count, BATCH, Some(step), |records| {
            let table = self.table.clone();
            async move |txn: &Transaction| {
                let (mut key, mut value) =
                    (vec![0; key_shape.bytes()], vec![0; value_shape.bytes()]);
                txn.set_durability(weft::Durability::Relaxed);
                for record in records.clone() {
                    let word = key_shape.write(record, &mut key);
                    value_shape.write(word, 0, &mut value);
                    txn.insert(&table, &*key, &*value).await?;
                }
                Ok(())
            }
        })
    }

    /// Accesses the first `count` records.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(crate) fn touch(&self, database: &Database, count: u64) -> Result<()> {
        let key_shape = self.key;
        in_batches(database, 0..count, BATCH, None, |records| {
            let table = self.table.clone();
            async move |txn: &Transaction| {
                for record in records.clone() {
                    txn.get_with(&table, &*key_shape.key(record), |_| ())
                        .await?;
                }
                Ok(())
            }
        })
    }

    /// Reads a record, or changes it, and checks its value.
    pub(crate) async fn access<P: Policy>(
        &self,
        txn: &Transaction<P>,
        record: u64,
        writes: bool,
        verifier: &RefCell<Verifier>,
    ) -> weft::Result<()> {
        let mut key = [0; KeyShape::BYTES_MIN];
        let word = self.key.write(record, &mut key);
        let found = match writes {
            false => {
                let check = |found: &[u8]| verifier.borrow_mut().check(word, found);
                txn.get_with(&self.table, &key[..], check).await?
            }
            true => {
                let count = |value: &mut Vec<u8>| {
                    verifier.borrow_mut().check(word, value);
                    let version = ValueShape::version(value).wrapping_add(1);
                    self.value.write(word, version, value);
                };
                txn.modify(&self.table, &key[..], count).await?
            }
        };
        if found.is_none() {
            verifier.borrow_mut().missing();
        }
        Ok(())
    }

    /// Reads the whole table, and returns its contents.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(crate) fn content(&self, database: &Database) -> Result<Content> {
        let (count, counted) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let are_whole = Arc::new(AtomicBool::new(true));
        in_batches(database, 0..PARTS, 1, None, |part| {
            let (table, value_shape) = (self.table.clone(), self.value);
            let (count, counted) = (Arc::clone(&count), Arc::clone(&counted));
            let are_whole = Arc::clone(&are_whole);
            async move |txn: &Transaction| {
                let bound = |part: u64| part.checked_mul(u64::MAX / PARTS + 1);
                let [from, to] =
                    [part.start, part.end].map(|part| bound(part).map(u64::to_be_bytes));
                let from = from
                    .as_ref()
                    .map_or(Bound::Unbounded, |from| Bound::Included(&from[..]));
                // The last part has no end.
                let to = to
                    .as_ref()
                    .map_or(Bound::Unbounded, |to| Bound::Excluded(&to[..]));
                let (mut records, mut versions) = (0, 0);
                let rows = txn.scan(&table, (from, to));
                rows.for_each_bytes(|key, value| {
                    if !value_shape.is_whole(KeyShape::word_of(key), value) {
                        are_whole.store(false, Ordering::Relaxed);
                    }
                    records += 1;
                    versions += u64::from(ValueShape::version(value));
                    ControlFlow::Continue(())
                })
                .await?;
                // Relaxed: the counters are read when all parts have ended.
                count.fetch_add(records, Ordering::Relaxed);
                counted.fetch_add(versions, Ordering::Relaxed);
                Ok(())
            }
        })?;
        Ok(Content {
            records: count.load(Ordering::Relaxed),
            changes: counted.load(Ordering::Relaxed),
            are_whole: are_whole.load(Ordering::Relaxed),
        })
    }
}
