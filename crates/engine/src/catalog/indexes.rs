//! Indexes in the catalog: recorded by their builders, dropped, renamed and listed as parts of a
//! transaction.
//!
//! An operation that changes an index writes the record of its table too. If two transactions
//! change the same table's indexes, or one of them drops or truncates the table, one therefore
//! aborts. The change of the index itself follows at commit (`effects.rs`).

use interleave::Policy;

use super::ddl::{Found, Operation};
use crate::{
    catalog::{
        Effect,
        definition::{Definition, Kind, ObjectKey},
    },
    error::Error,
    secondary::Index,
    transaction::Transaction,
};

/// Description of an index in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexDefinition {
    /// Name of the index.
    pub name: String,
    /// Whether at most one record has each key.
    pub unique: bool,
    /// Description given to the index when it was created.
    pub description: Vec<u8>,
    /// Whether the index is there, as of the newest commit. An index is missing, and its table
    /// cannot be written, from the opening of the database until the index is created again.
    pub is_attached: bool,
}

impl Transaction {
    /// Enters an index into the catalog, unless it is there: the commit makes the index ready.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::NameTooLong`], after which the transaction can go on;
    /// [`Error::TableDropped`] if the table was dropped or truncated; aborts. After all other
    /// errors the transaction is over, without effect.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub(crate) async fn record_index<P: Policy>(
        &self,
        index: &Index,
        description: &[u8],
    ) -> Result<(), Error> {
        let operation = Operation::begin(self).await;
        let database = self.session().database();
        let objects = &database.catalog.objects;
        let _snapshot = self.statement(objects)?;
        let key = index.key().ok_or(Error::TableDropped)?;
        let table = ObjectKey { index: 0, ..key };
        let table = self.find_object::<P>(table).await?;
        let table = table.ok_or(Error::TableDropped)?;
        if self.storage(&table.definition)?.number() != index.base.number() {
            return Err(Error::TableDropped);
        }
        let is_recorded = self.find_object::<P>(key).await?.is_some();
        if !is_recorded {
            let name = index.name();
            self.take_name::<P>(&operation, &name, key).await?;
            let definition = Definition {
                kind: Kind::Index {
                    unique: index.options().unique,
                },
                name: name.as_ref().to_owned(),
                description: description.to_vec(),
            };
            self.insert::<P>(objects, &key.encode(), &definition.encode())
                .await?;
        }
        operation.writes.set(true);
        self.change_object::<P>(table.key, &table.definition)
            .await?;
        self.note_effect(Effect::IndexMade {
            index: index.clone(),
            within: false,
        });
        operation.end(Ok(()))
    }

    /// Returns the indexes of `table`, in the order of their creation.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; any error of [`Transaction::scan`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::scan`] does.
    pub async fn list_indexes<P: Policy>(
        &self,
        table: &str,
    ) -> Result<Vec<IndexDefinition>, Error> {
        let found = self.find_table::<P>(table).await?;
        let table = self.storage(&found.definition)?;
        let indexes = self.find_indexes::<P>(found.key).await?.into_iter();
        let missing = table.indexes.missing();
        let indexes = indexes.map(|Found { key, definition }| IndexDefinition {
            unique: definition.kind == Kind::Index { unique: true },
            name: definition.name,
            description: definition.description,
            is_attached: missing.iter().all(|missing| missing.number != key.index),
        });
        Ok(indexes.collect())
    }

    /// Drops the index named `name`, attached or not: once this transaction has committed, the
    /// index is maintained no more, readers are refused, and the table can be written without the
    /// index.
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
    pub async fn drop_index_named<P: Policy>(&self, name: &str) -> Result<(), Error> {
        let operation = Operation::begin(self).await;
        let _snapshot = self.statement(&self.session().database().catalog.names)?;
        let found = self.find_index::<P>(name).await?;
        self.remove_index::<P>(&operation, &found).await?;
        operation.end(Ok(()))
    }

    /// Drops an index that is ready, as [`Transaction::drop_index_named`] does. Returns false if
    /// the index had been dropped before.
    ///
    /// # Errors
    /// [`Error::ForeignTable`]; any error of [`Transaction::drop_index_named`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn drop_index<P: Policy>(&self, index: &Index) -> Result<bool, Error> {
        let operation = Operation::begin(self).await;
        let database = self.session().database();
        let _snapshot = self.statement(&database.catalog.names)?;
        if !index.base.is_in(database.arena()) {
            return Err(Error::ForeignTable);
        }
        let found = match index.key() {
            Some(key) => self.find_object::<P>(key).await?,
            None => None,
        };
        if let Some(found) = &found {
            self.remove_index::<P>(&operation, found).await?;
        }
        operation.end(Ok(found.is_some()))
    }

    /// Renames the index `from` to `to`, attached or not. Handles of the index stay valid.
    ///
    /// # Errors
    /// Fails as [`Transaction::rename_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn rename_index<P: Policy>(&self, from: &str, to: &str) -> Result<(), Error> {
        let operation = Operation::begin(self).await;
        let _snapshot = self.statement(&self.session().database().catalog.names)?;
        let found = self.find_index::<P>(from).await?;
        let (key, table) = (found.key, self.table_of::<P>(&found).await?);
        self.rename_object::<P>(&operation, found, from, to).await?;
        self.change_object::<P>(table.key, &table.definition)
            .await?;
        self.note_effect(Effect::IndexNamed {
            table: self.storage(&table.definition)?,
            number: key.index,
            name: to.to_owned(),
        });
        operation.end(Ok(()))
    }

    async fn find_index<P: Policy>(&self, name: &str) -> Result<Found, Error> {
        let found = self.find::<P>(name).await?;
        let is_index = matches!(found.definition.kind, Kind::Index { .. });
        is_index.then_some(found).ok_or(Error::NoSuchTable)
    }

    /// Returns the table of an index.
    async fn table_of<P: Policy>(&self, index: &Found) -> Result<Found, Error> {
        let table = ObjectKey {
            index: 0,
            ..index.key
        };
        let found = self.find_object::<P>(table).await?;
        found.ok_or(Error::NoSuchTable)
    }

    async fn remove_index<P: Policy>(
        &self,
        operation: &Operation<'_>,
        found: &Found,
    ) -> Result<(), Error> {
        let table = self.table_of::<P>(found).await?;
        operation.writes.set(true);
        self.remove_object::<P>(found).await?;
        self.change_object::<P>(table.key, &table.definition)
            .await?;
        self.note_effect(Effect::IndexGone {
            table: self.storage(&table.definition)?,
            number: found.key.index,
        });
        Ok(())
    }
}
