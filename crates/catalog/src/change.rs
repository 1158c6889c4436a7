//! What a transaction has changed in the catalog: its own view, and the records it writes.
//!
//! A statement that fails, or is dropped, leaves some of its records written. So whoever runs one
//! makes a [`Mark`] before, and returns to it unless all went well.

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
    /// There is this object, new or in place of the one of its number.
    Put(Object),
    /// There is none of this number any more.
    Remove(ObjectId),
}

impl Change {
    /// The counter that a sequence has in this catalog and has no more after the change.
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
    /// The last view that was made, and how many changes were in it.
    seen: RefCell<Option<(Arc<Catalog>, usize)>>,
    /// The catalog that was committed when the definition began whose texts are being bound.
    bound_in: RefCell<Option<Arc<Catalog>>>,
}

impl Changes {
    /// None yet: for a transaction that begins.
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

    /// Begins a definition: what its texts name is looked up from now on, and has to be called the same once
    /// it is kept.
    pub fn begin_definition(&self) {
        self.bound_in(self.catalogs.current());
    }

    /// The same for one whose texts were bound in a committed catalog.
    pub(super) fn bound_in(&self, catalog: Arc<Catalog>) {
        *self.bound_in.borrow_mut() = Some(catalog);
    }

    /// What all sessions share.
    pub fn catalogs(&self) -> &Arc<Catalogs> {
        &self.catalogs
    }

    /// Whether the transaction has changed the catalog.
    pub fn is_empty(&self) -> bool {
        self.log.borrow().is_empty()
    }

    /// The catalog as the transaction sees it now. Cheap while nothing changes.
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

    /// Whether a catalog is what [`Changes::catalog`] would give.
    #[inline]
    pub fn is_current(&self, catalog: &Catalog) -> bool {
        match self.is_empty() {
            // That of a transaction that was rolled back has the version of what it began from.
            true => !catalog.is_private() && self.catalogs.is_current(catalog),
            false => std::ptr::eq(&*self.catalog(), catalog),
        }
    }

    /// Makes a savepoint.
    ///
    /// # Errors
    /// Those of [`Transaction::savepoint`].
    pub fn mark(&self, transaction: &Transaction) -> Result<Mark> {
        Ok(Mark {
            savepoint: transaction.savepoint().map_err(from_engine)?,
            changes: self.log.borrow().len(),
        })
    }

    /// Undoes everything since a mark, in the database and in the view of the catalog.
    ///
    /// # Errors
    /// Those of [`Transaction::rollback_to`].
    ///
    /// # Suspension
    /// Yields, if that is much.
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

    /// Forgets a mark; what came since stays.
    ///
    /// # Errors
    /// Those of [`Transaction::release_savepoint`].
    pub fn release(&self, transaction: &Transaction, mark: &Mark) -> Result<()> {
        transaction
            .release_savepoint(&mark.savepoint)
            .map_err(from_engine)
    }

    /// Locks a table and gives its descriptor as it is then. `None`: it is gone.
    ///
    /// # Errors
    /// 55P03, 40P01; those of [`Transaction::lock_table`].
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
            // It may have been changed, and even got another storage, while this waited.
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

    /// Keeps an object from being dropped or changed by others until the transaction ends.
    ///
    /// # Errors
    /// 42704 and its like, if it is gone; those of [`Changes::expect_as_bound`].
    pub(super) async fn keep(&self, transaction: &Transaction, id: ObjectId) -> Result<()> {
        self.lock_object(transaction, id, Strength::Share).await?;
        self.expect_as_bound(id)
    }

    /// Expects of an object that nobody else can change any more what texts say that were bound before.
    ///
    /// # Errors
    /// 40001, if it was renamed, or a part of it was, since the definition began.
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

    /// Locks an object's record and gives the object as it is then.
    ///
    /// # Errors
    /// As for [`Changes::keep`].
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
        // Whoever had the record has published what he did to it.
        let catalog = self.catalog();
        match (locked, catalog.object(id)) {
            (Some(()), Some(object)) => Ok(object.clone()),
            _ => Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("object with OID {id} does not exist: it was dropped meanwhile"),
            )),
        }
    }

    /// Writes an object, new or in place of the one of its number.
    ///
    /// # Errors
    /// 42P07, 42710, 42P06: its name, or one of its indexes', is another's.
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
    /// The engine's.
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
    };
    SqlError::new(state, format!("{noun} \"{name}\" already exists"))
}
