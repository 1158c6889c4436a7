//! The changes that a transaction has made to the catalog: its own view, and the records it writes.
//!
//! A statement that fails, or is dropped, leaves some of its records written. The code that runs a
//! statement therefore makes a [`Mark`] before, and returns to it unless the statement succeeds.

use std::{cell::RefCell, sync::Arc};

use engine::{Error, IfLocked, Savepoint, Strength, TableLockMode, Transaction};
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{
    Catalog, Kind, NameClass, Object, ObjectId, Table, TableKind, failure::from_engine, record,
    snapshot::names_of, store::Catalogs,
};

/// One change of the catalog.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Puts this object in, new or in place of the one with its number.
    Put(Object),
    /// Takes out the object with this number.
    Remove(ObjectId),
}

impl Change {
    /// Returns the counter that a sequence has in this catalog and loses by the change.
    pub(super) fn retires(&self, catalog: &Catalog) -> Option<ObjectId> {
        let (id, next) = match self {
            Self::Put(Object::Sequence(sequence)) => (sequence.id, Some(sequence.counter)),
            Self::Put(_) => return None,
            Self::Remove(id) => (*id, None),
        };
        let counter = catalog.sequence(id)?.counter;
        (next != Some(counter)).then_some(counter)
    }

    pub(super) fn apply(&self, catalog: &mut Catalog) {
        match self {
            Self::Put(object) => catalog.put(object.clone()),
            Self::Remove(id) => drop(catalog.take(*id)),
        }
    }
}

/// A point within a transaction to which it can return, changes of the catalog included.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    savepoint: Savepoint,
    changes: usize,
}

/// The catalog as one transaction sees it: the newest committed one, with its own changes.
#[derive(Debug)]
pub struct Changes {
    catalogs: Arc<Catalogs>,
    log: RefCell<Vec<Change>>,
    /// View that was made last, and the number of changes in it.
    seen: RefCell<Option<(Arc<Catalog>, usize)>>,
    /// Catalog that was committed when the current definition began: its texts are bound in it.
    bound_in: RefCell<Option<Arc<Catalog>>>,
}

impl Changes {
    /// Makes an empty set of changes for a transaction that begins.
    pub fn new(catalogs: &Arc<Catalogs>) -> Changes {
        Changes {
            catalogs: catalogs.clone(),
            log: RefCell::default(),
            seen: RefCell::default(),
            bound_in: RefCell::default(),
        }
    }

    /// Forgets all changes, for the session's next transaction.
    pub fn clear(&self) {
        self.bound_in.take();
        if !self.log.borrow().is_empty() {
            self.log.borrow_mut().clear();
            self.seen.take();
        }
    }

    /// Begins a definition: names in its texts are looked up from now on, and have to mean the same
    /// when it is kept.
    pub fn begin_definition(&self) {
        self.bound_in(self.catalogs.current());
    }

    /// Begins a definition whose texts were bound in a committed catalog.
    pub(super) fn bound_in(&self, catalog: Arc<Catalog>) {
        *self.bound_in.borrow_mut() = Some(catalog);
    }

    /// Returns the catalogs that all sessions share.
    pub fn catalogs(&self) -> &Arc<Catalogs> {
        &self.catalogs
    }

    /// Returns whether the transaction has made no change to the catalog.
    pub fn is_empty(&self) -> bool {
        self.log.borrow().is_empty()
    }

    /// Returns the catalog as the transaction sees it now. The call is cheap while nothing changes.
    pub fn catalog(&self) -> Arc<Catalog> {
        let changes = self.log.borrow().len();
        if let Some((seen, count)) = &*self.seen.borrow()
            && *count == changes
            && self.catalogs.is_current(seen)
        {
            return seen.clone();
        }
        let mut catalog = self.catalogs.current();
        if changes > 0 {
            let own = Arc::make_mut(&mut catalog);
            own.make_private();
            self.log
                .borrow()
                .iter()
                .for_each(|change| change.apply(own));
        }
        *self.seen.borrow_mut() = Some((catalog.clone(), changes));
        catalog
    }

    /// Returns whether `catalog` is the one that [`Changes::catalog`] would return.
    #[inline]
    pub fn is_current(&self, catalog: &Catalog) -> bool {
        match self.is_empty() {
            // A private catalog, of a transaction that was rolled back, has the version that it
            // began from.
            true => !catalog.is_private() && self.catalogs.is_current(catalog),
            false => std::ptr::eq(&*self.catalog(), catalog),
        }
    }

    /// Makes a savepoint.
    ///
    /// # Errors
    /// Errors of [`Transaction::savepoint`].
    pub fn mark(&self, transaction: &Transaction) -> Result<Mark> {
        Ok(Mark {
            savepoint: transaction.savepoint().map_err(from_engine)?,
            changes: self.log.borrow().len(),
        })
    }

    /// Undoes everything since `mark`, in the database and in the view of the catalog.
    ///
    /// # Errors
    /// Errors of [`Transaction::rollback_to`].
    ///
    /// # Suspension
    /// Yields if there is much to undo.
    pub async fn return_to(&self, transaction: &Transaction, mark: &Mark) -> Result<()> {
        let returned = transaction.rollback_to_in_turns(&mark.savepoint).await;
        returned.map_err(from_engine)?;
        let mut log = self.log.borrow_mut();
        if log.len() > mark.changes {
            log.truncate(mark.changes);
            self.seen.take();
        }
        Ok(())
    }

    /// Forgets a mark; changes made since stay.
    ///
    /// # Errors
    /// Errors of [`Transaction::release_savepoint`].
    pub fn release(&self, transaction: &Transaction, mark: &Mark) -> Result<()> {
        transaction
            .release_savepoint(&mark.savepoint)
            .map_err(from_engine)
    }

    /// Locks a table and returns its descriptor as it is then; `None` if the table is gone.
    ///
    /// # Errors
    /// 55P03 and 40P01 for a lock that is not granted; other errors of [`Transaction::lock_table`].
    pub async fn lock_table(
        &self,
        transaction: &Transaction,
        id: ObjectId,
        mode: TableLockMode,
        if_locked: IfLocked,
    ) -> Result<Option<Arc<Table>>> {
        loop {
            let catalog = self.catalog();
            let Some(table) = catalog.table(id) else {
                return Ok(None);
            };
            if table.kind == TableKind::System {
                return Ok(Some(table.clone()));
            }
            let storage = table.storage();
            let locked = transaction.lock_table(storage, mode, if_locked).await;
            locked.map_err(|error| match error {
                Error::Locked => {
                    let message = format!("could not obtain lock on relation \"{}\"", table.name);
                    SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message)
                }
                error => from_engine(error),
            })?;
            // The table may have been changed, and even got another storage, during the wait.
            let now = self.catalog();
            match now.table(id) {
                None => return Ok(None),
                Some(now) if transaction.has_table_lock(now.storage(), mode) => {
                    return Ok(Some(now.clone()));
                }
                Some(_) => {}
            }
        }
    }

    /// Keeps an object from being dropped or changed by other transactions until this one ends.
    ///
    /// # Errors
    /// 42704 and similar if the object is gone; errors of [`Changes::expect_as_bound`].
    pub(super) async fn keep(&self, transaction: &Transaction, id: ObjectId) -> Result<()> {
        self.lock_object(transaction, id, Strength::Share).await?;
        self.expect_as_bound(id)
    }

    /// Checks that an object, which is locked, has the names by which texts that were bound before
    /// refer to it.
    ///
    /// # Errors
    /// 40001 if the object, or a part of it, was renamed since the definition began.
    pub(super) fn expect_as_bound(&self, id: ObjectId) -> Result<()> {
        let (bound_in, now) = (self.bound_in.borrow(), self.catalogs.current());
        let before = bound_in
            .as_deref()
            .and_then(|before| Some((before, before.object(id)?)));
        match (before, now.object(id)) {
            (Some((catalog, before)), Some(object))
                if !object.is_called_as(&now, before, catalog) =>
            {
                Err(renamed_meanwhile(before))
            }
            _ => Ok(()),
        }
    }

    /// Locks an object's record and returns the object as it is then.
    ///
    /// # Errors
    /// 42704 and similar if the object is gone; errors of the engine.
    pub(super) async fn hold(&self, transaction: &Transaction, id: ObjectId) -> Result<Object> {
        self.lock_object(transaction, id, Strength::Update).await
    }

    async fn lock_object(
        &self,
        transaction: &Transaction,
        id: ObjectId,
        strength: Strength,
    ) -> Result<Object> {
        let objects = &self.catalogs.tables.objects;
        let key = record::key_of(id);
        let locked =
            transaction.lock::<Interleaved, _>(objects, &key, strength, IfLocked::Wait, |_| ());
        let locked = locked.await.map_err(from_engine)?;
        // A transaction that held the record has published its changes to the object.
        let catalog = self.catalog();
        match (locked, catalog.object(id)) {
            (Some(()), Some(object)) => Ok(object.clone()),
            _ => Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("object with OID {id} does not exist: it was dropped meanwhile"),
            )),
        }
    }

    /// Writes an object, new or in place of the one with its number.
    ///
    /// # Errors
    /// 42P07, 42710 or 42P06 if another object has its name, or the name of one of its indexes.
    pub(super) async fn put(&self, transaction: &Transaction, object: Object) -> Result<()> {
        let catalog = self.catalog();
        let before: Vec<_> = match catalog.object(object.id()) {
            Some(before) => names_of(before).collect(),
            None => Vec::new(),
        };
        let after: Vec<_> = names_of(&object).collect();
        let names = &self.catalogs.tables.names;
        for (class, schema, name, _) in before.iter().filter(|name| !after.contains(name)) {
            let key = record::name_key(*class, *schema, name);
            let freed = transaction.delete::<Interleaved>(names, &key).await;
            freed.map_err(from_engine)?;
        }
        for (class, schema, name, id) in after.iter().filter(|name| !before.contains(name)) {
            let key = record::name_key(*class, *schema, name);
            let taken = transaction
                .insert::<Interleaved>(names, &key, &record::key_of(*id))
                .await;
            taken.map_err(|error| match error {
                Error::DuplicateKey => name_is_taken(*class, object.kind(), name),
                error => from_engine(error),
            })?;
        }
        let (key, value) = (record::key_of(object.id()), record::encode(&object)?);
        let objects = &self.catalogs.tables.objects;
        let written = transaction
            .upsert::<Interleaved>(objects, &key, &value)
            .await;
        written.map_err(from_engine)?;
        self.note(transaction, Change::Put(object))
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) async fn remove(&self, transaction: &Transaction, id: ObjectId) -> Result<()> {
        let catalog = self.catalog();
        let names = &self.catalogs.tables.names;
        let object = catalog.object(id);
        for (class, schema, name, _) in object.into_iter().flat_map(names_of) {
            let key = record::name_key(class, schema, &name);
            let freed = transaction.delete::<Interleaved>(names, &key).await;
            freed.map_err(from_engine)?;
        }
        let objects = &self.catalogs.tables.objects;
        let removed = transaction
            .delete::<Interleaved>(objects, &record::key_of(id))
            .await;
        removed.map_err(from_engine)?;
        if let Some(Object::Table(_)) = object {
            let statistics = &self.catalogs.tables.statistics;
            let removed = transaction
                .delete::<Interleaved>(statistics, &record::key_of(id))
                .await;
            removed.map_err(from_engine)?;
        }
        self.note(transaction, Change::Remove(id))
    }

    fn note(&self, transaction: &Transaction, change: Change) -> Result<()> {
        let note = Box::new(change.clone());
        transaction.note_for_commit(note).map_err(from_engine)?;
        self.log.borrow_mut().push(change);
        Ok(())
    }
}

fn renamed_meanwhile(before: &Object) -> SqlError {
    let (noun, name) = (before.kind().noun(), before.name());
    let message = format!(
        "could not serialize access: {noun} \"{name}\", or a part of it, was renamed or changed meanwhile"
    );
    SqlError::new(SqlState::SERIALIZATION_FAILURE, message).hint("Run the statement again.")
}

fn name_is_taken(class: NameClass, kind: Kind, name: &str) -> SqlError {
    let (state, noun) = match class {
        NameClass::Relation => (SqlState::DUPLICATE_TABLE, "relation"),
        NameClass::Schema => (SqlState::DUPLICATE_SCHEMA, "schema"),
        NameClass::Role | NameClass::Type => (SqlState::DUPLICATE_OBJECT, kind.noun()),
        NameClass::Statistics => (SqlState::DUPLICATE_OBJECT, "statistics object"),
    };
    SqlError::new(state, format!("{noun} \"{name}\" already exists"))
}
