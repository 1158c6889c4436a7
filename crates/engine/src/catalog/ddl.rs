//! Creating, dropping, truncating and renaming, as parts of a transaction.
//!
//! Each operation reads the catalog, then writes its records one after the other. Two operations of
//! one transaction never overlap (the second waits for its turn), and an operation that ends in the
//! middle, by an error or because its future was dropped, ends the transaction: half an operation
//! must not be committed.

use std::{cell::Cell, ops::Bound, sync::Arc};

use index::Direction;
use interleave::Policy;

use crate::{
    catalog::{
        Effect, Stage, TableEvent, TableEventKind,
        definition::{Definition, Kind, NAME_BYTES_MAX, ObjectKey},
    },
    error::Error,
    session::State,
    table::Table,
    transaction::Transaction,
    ttl::{TableOptions, Ttl},
};

/// Operation under way. If the operation ends after it has begun to write and before it is
/// complete, the transaction ends as well.
pub(super) struct Operation<'t> {
    transaction: &'t Transaction,
    pub(super) writes: Cell<bool>,
}

impl<'t> Operation<'t> {
    /// Begins an operation when its turn among those of the transaction has come.
    ///
    /// # Suspension
    /// Until the operation of a sibling under the same `join` has ended.
    pub(super) async fn begin(transaction: &'t Transaction) -> Operation<'t> {
        transaction.context().turn.take().await;
        Operation {
            transaction,
            writes: Cell::new(false),
        }
    }

    /// Ends an operation that is complete, or has written nothing, and returns its `result`.
    pub(super) fn end<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        self.writes.set(false);
        result
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        if self.writes.get() && self.transaction.check_open().is_ok() {
            self.transaction.undo(State::Ended);
        }
        self.transaction.note_writes_at_effects();
        self.transaction.context().turn.give_back();
    }
}

/// Object that was looked up.
pub(super) struct Found {
    pub(super) key: ObjectKey,
    pub(super) definition: Definition,
}

impl Transaction {
    /// Creates a table named `name`, which only this transaction can use before it commits.
    /// `description` is kept with the table, for the embedding.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::NameTooLong`], after which the transaction can go on;
    /// aborts. After all other errors the transaction is over, without effect.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does, never for a device.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn create_table<P: Policy>(
        &self,
        name: &str,
        description: &[u8],
    ) -> Result<Arc<Table>, Error> {
        self.create_table_with::<P>(name, description, TableOptions::default())
            .await
    }

    /// Creates a table with `options`, as [`Transaction::create_table`] does without.
    ///
    /// # Errors
    /// Fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn create_table_with<P: Policy>(
        &self,
        name: &str,
        description: &[u8],
        options: TableOptions,
    ) -> Result<Arc<Table>, Error> {
        let operation = Operation::begin(self).await;
        let database = self.session().database();
        let catalog = &database.catalog;
        let _snapshot = self.statement(&catalog.names)?;
        let number = catalog.take_number()?;
        let key = ObjectKey {
            table: number,
            index: 0,
        };
        self.take_name::<P>(&operation, name, key).await?;
        let kind = Kind::Table {
            storage: number,
            ttl: options.ttl.map(Ttl::of),
        };
        let definition = Definition {
            kind,
            name: name.to_owned(),
            description: description.to_vec(),
        };
        let table = self.make_storage(number, key, None, &definition)?;
        self.insert::<P>(&catalog.objects, &key.encode(), &definition.encode())
            .await?;
        self.note_event(&table, name, TableEventKind::Created);
        self.note_effect(Effect::Named(name.to_owned(), Some(table.clone())));
        operation.end(Ok(table))
    }

    /// Returns the table named `name`, as this transaction sees it.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; any error of [`Transaction::get`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn open_table<P: Policy>(&self, name: &str) -> Result<Arc<Table>, Error> {
        let found = self.find_table::<P>(name).await?;
        self.storage(&found.definition)
    }

    /// Drops the table named `name` and its indexes. Transactions with older snapshots go on
    /// reading the table; those that have written to it and commit later abort
    /// ([`crate::Abort::TableDropped`]).
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], after which the transaction can go on; aborts. After all other
    /// errors the transaction is over, without effect.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn drop_table<P: Policy>(&self, name: &str) -> Result<(), Error> {
        let operation = Operation::begin(self).await;
        let _snapshot = self.statement(&self.session().database().catalog.names)?;
        let found = self.find_table::<P>(name).await?;
        let table = self.storage(&found.definition)?;
        let indexes = self.find_indexes::<P>(found.key).await?;
        operation.writes.set(true);
        self.remove_object::<P>(&found).await?;
        for index in &indexes {
            self.remove_object::<P>(index).await?;
        }
        self.note_event(&table, name, TableEventKind::Dropped);
        self.note_gone(table, None);
        self.note_effect(Effect::Named(name.to_owned(), None));
        operation.end(Ok(()))
    }

    /// Empties the table named `name`, at once however large it is: the table gets a new, empty
    /// storage, which is returned. The old storage is dropped as by [`Transaction::drop_table`].
    ///
    /// # Errors
    /// Fails as [`Transaction::drop_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn truncate_table<P: Policy>(&self, name: &str) -> Result<Arc<Table>, Error> {
        let operation = Operation::begin(self).await;
        let database = self.session().database();
        let _snapshot = self.statement(&database.catalog.names)?;
        let found = self.find_table::<P>(name).await?;
        let old = self.storage(&found.definition)?;
        operation.writes.set(true);
        let storage = database.catalog.take_number()?;
        let new = self.make_storage(storage, found.key, Some(&old), &found.definition)?;
        new.copy_indexes(&old, database, &self.session().memory)?;
        self.copy_own_indexes(&new, &old)?;
        let ttl = old.time_to_live();
        let definition = Definition {
            kind: Kind::Table { storage, ttl },
            ..found.definition
        };
        self.change_object::<P>(found.key, &definition).await?;
        let storage = old.number();
        self.note_event(&new, name, TableEventKind::Truncated { storage });
        self.note_gone(old, Some(new.clone()));
        self.note_effect(Effect::Named(name.to_owned(), Some(new.clone())));
        operation.end(Ok(new))
    }

    /// Renames the table `from` to `to`. Handles of the table stay valid.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::TableExists`], [`Error::NameTooLong`], after which the
    /// transaction can go on; aborts. After all other errors the transaction is over, without
    /// effect.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn rename_table<P: Policy>(&self, from: &str, to: &str) -> Result<(), Error> {
        let operation = Operation::begin(self).await;
        let _snapshot = self.statement(&self.session().database().catalog.names)?;
        let found = self.find_table::<P>(from).await?;
        let table = self.storage(&found.definition)?;
        self.rename_object::<P>(&operation, found, from, to).await?;
        let event = TableEventKind::Renamed { from: from.into() };
        self.note_event(&table, to, event);
        self.note_effect(Effect::Named(from.to_owned(), None));
        self.note_effect(Effect::Named(to.to_owned(), Some(table)));
        operation.end(Ok(()))
    }

    /// Returns the names and descriptions of all tables, by name, as this transaction sees them.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::scan`] does.
    pub async fn list_tables<P: Policy>(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let objects = self.scan_objects::<P>(all).await?;
        let tables = objects.into_iter().filter_map(|found| {
            let Definition {
                kind,
                name,
                description,
            } = found.definition;
            matches!(kind, Kind::Table { .. }).then_some((name, description))
        });
        let mut tables: Vec<_> = tables.collect();
        tables.sort();
        Ok(tables)
    }

    pub(super) async fn find_table<P: Policy>(&self, name: &str) -> Result<Found, Error> {
        let found = self.find::<P>(name).await?;
        let is_table = matches!(found.definition.kind, Kind::Table { .. });
        is_table.then_some(found).ok_or(Error::NoSuchTable)
    }

    pub(super) async fn find<P: Policy>(&self, name: &str) -> Result<Found, Error> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Error::NoSuchTable);
        }
        let database = self.session().database();
        let catalog = &database.catalog;
        // Both reads see the same commits, under read committed too.
        let _snapshot = self.statement(&catalog.names)?;
        let key = self
            .get::<P, _>(&catalog.names, name.as_bytes(), ObjectKey::decode)
            .await?;
        let key = key.and_then(Result::ok).ok_or(Error::NoSuchTable)?;
        self.find_object::<P>(key).await?.ok_or(Error::NoSuchTable)
    }

    pub(super) async fn find_object<P: Policy>(
        &self,
        key: ObjectKey,
    ) -> Result<Option<Found>, Error> {
        let database = self.session().database();
        let objects = &database.catalog.objects;
        let definition = self
            .get::<P, _>(objects, &key.encode(), Definition::decode)
            .await?;
        // Definitions that recovery has let pass can be decoded, unless it was told to salvage.
        let definition = definition.and_then(Result::ok);
        Ok(definition.map(|definition| Found { key, definition }))
    }

    pub(super) async fn find_indexes<P: Policy>(
        &self,
        table: ObjectKey,
    ) -> Result<Vec<Found>, Error> {
        let last = ObjectKey {
            index: u32::MAX,
            ..table
        };
        let (first, last) = (table.encode(), last.encode());
        let range = (Bound::Excluded(&first[..]), Bound::Included(&last[..]));
        self.scan_objects::<P>(range).await
    }

    async fn scan_objects<P: Policy>(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<Vec<Found>, Error> {
        let database = self.session().database();
        let mut all = Vec::new();
        let objects = &database.catalog.objects;
        self.scan::<P>(objects, range, Direction::Forward, |key, value| {
            if let (Ok(key), Ok(definition)) = (ObjectKey::decode(key), Definition::decode(value)) {
                all.push(Found { key, definition });
            }
            std::ops::ControlFlow::Continue(())
        })
        .await?;
        Ok(all)
    }

    /// Returns the storage of a table.
    pub(super) fn storage(&self, definition: &Definition) -> Result<Arc<Table>, Error> {
        let Kind::Table { storage, .. } = definition.kind else {
            return Err(Error::NoSuchTable);
        };
        let catalog = &self.session().database().catalog;
        catalog.by_number(storage).ok_or(Error::TableDropped)
    }

    /// Makes a new storage, to be used by this transaction only.
    fn make_storage(
        &self,
        number: u32,
        object: ObjectKey,
        in_place_of: Option<&Table>,
        definition: &Definition,
    ) -> Result<Arc<Table>, Error> {
        let session = self.session();
        let catalog = &session.database().catalog;
        let table = catalog.new_storage(number, in_place_of, &session.memory)?;
        table.describe(object, definition.description.clone());
        table.set_name(&definition.name);
        if let Kind::Table { ttl, .. } = definition.kind {
            table.set_ttl(ttl);
        }
        self.note_effect(Effect::Made(table.clone()));
        Ok(table)
    }

    /// Writes a name that must be free: the first write of an operation.
    pub(super) async fn take_name<P: Policy>(
        &self,
        operation: &Operation<'_>,
        name: &str,
        key: ObjectKey,
    ) -> Result<(), Error> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Error::NameTooLong { bytes: name.len() });
        }
        let database = self.session().database();
        operation.writes.set(true);
        let taken = self
            .insert::<P>(&database.catalog.names, name.as_bytes(), &key.encode())
            .await;
        taken.map_err(|error| match error {
            Error::DuplicateKey => {
                operation.writes.set(false);
                Error::TableExists
            }
            error => error,
        })
    }

    pub(super) async fn rename_object<P: Policy>(
        &self,
        operation: &Operation<'_>,
        found: Found,
        from: &str,
        to: &str,
    ) -> Result<(), Error> {
        self.take_name::<P>(operation, to, found.key).await?;
        let definition = Definition {
            name: to.to_owned(),
            ..found.definition
        };
        self.change_object::<P>(found.key, &definition).await?;
        let database = self.session().database();
        self.delete::<P>(&database.catalog.names, from.as_bytes())
            .await?;
        Ok(())
    }

    pub(super) async fn change_object<P: Policy>(
        &self,
        key: ObjectKey,
        definition: &Definition,
    ) -> Result<(), Error> {
        let database = self.session().database();
        self.update::<P>(
            &database.catalog.objects,
            &key.encode(),
            &definition.encode(),
        )
        .await?;
        Ok(())
    }

    pub(super) async fn remove_object<P: Policy>(&self, found: &Found) -> Result<(), Error> {
        let database = self.session().database();
        let catalog = &database.catalog;
        self.delete::<P>(&catalog.objects, &found.key.encode())
            .await?;
        let name = found.definition.name.as_bytes();
        self.delete::<P>(&catalog.names, name).await?;
        Ok(())
    }

    pub(super) fn note_effect(&self, effect: Effect) {
        self.context().effects.borrow_mut().push(effect);
        self.note_writes_at_effects();
    }

    /// Notes that writes up to here may belong to effects.
    fn note_writes_at_effects(&self) {
        let writes = self.write_count();
        self.context().writes_at_effects.set(writes);
    }

    /// Notes the event of a table for the change stream, with the `name` of the table, if there is
    /// a log.
    fn note_event(&self, table: &Table, name: &str, kind: TableEventKind) {
        if self.session().lane().is_none() {
            return;
        }
        if let Some(described) = table.as_changed(name) {
            let table = Arc::new(described);
            let event = TableEvent { table, kind };
            let (key, value) = event.encode();
            self.note_effect(Effect::Event { event, key, value });
        }
    }

    /// Notes that the transaction drops a storage, after it has written the drop to the catalog.
    fn note_gone(&self, table: Arc<Table>, successor: Option<Arc<Table>>) {
        if table.life.stage() == Stage::Live {
            table.life.set(Stage::Dropping);
        }
        self.note_effect(Effect::Gone { table, successor });
    }
}
