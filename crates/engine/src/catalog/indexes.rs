//! Indexes in the catalog: recorded by their builders, dropped, renamed and listed as
//! parts of a transaction.
//!
//! Whatever changes an index writes the record of its table too. So of two transactions
//! that change the same table's indexes, or one of which drops or truncates the table,
//! one aborts. What becomes of the index itself follows at commit (`effects.rs`).

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

/// An index, as the catalog describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexDefinition {
    /// Its name.
    pub name: String,
    /// At most one record has each key.
    pub unique: bool,
    /// What it was described with when it was created.
    pub description: Vec<u8>,
    /// Whether it is there, as of the newest commit. It is missing, and its table cannot be
    /// written, from the opening of the database until it is created again.
    pub is_attached: bool,
}

impl Transaction {
    /// Enters an index into the catalog, unless it is there: its commit makes it ready.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::NameTooLong`], and the transaction can go on;
    /// [`Error::TableDropped`] if the table was truncated, too; aborts. After all other
    /// errors the transaction is over, without effect.
    ///
    /// # Suspension
    /// As for [`Transaction::create_table`].
    ///
    /// # Cancellation
    /// As for [`Transaction::create_table`].
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

    /// The indexes of a table, in the order of their creation.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; as for [`Transaction::scan`].
    ///
    /// # Suspension
    /// As for [`Transaction::scan`].
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

    /// Drops an index by its name, attached or not: once this transaction has committed,
    /// it is maintained no more, readers are refused, and the table can be written
    /// without it.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], and the transaction can go on; aborts. After all other
    /// errors the transaction is over, without effect.
    ///
    /// # Suspension
    /// As for [`Transaction::create_table`].
    ///
    /// # Cancellation
    /// As for [`Transaction::create_table`].
    pub async fn drop_index_named<P: Policy>(&self, name: &str) -> Result<(), Error> {
        let operation = Operation::begin(self).await;
        let _snapshot = self.statement(&self.session().database().catalog.names)?;
        let found = self.find_index::<P>(name).await?;
        self.remove_index::<P>(&operation, &found).await?;
        operation.end(Ok(()))
    }

    /// Drops an index that is ready, as [`Transaction::drop_index_named`]. Whether it had
    /// not been dropped before.
    ///
    /// # Errors
    /// As for [`Transaction::drop_index_named`]; [`Error::ForeignTable`].
    ///
    /// # Suspension
    /// As for [`Transaction::create_table`].
    ///
    /// # Cancellation
    /// As for [`Transaction::create_table`].
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

    /// Renames an index, attached or not. Handles stay what they are.
    ///
    /// # Errors
    /// As for [`Transaction::rename_table`].
    ///
    /// # Suspension
    /// As for [`Transaction::create_table`].
    ///
    /// # Cancellation
    /// As for [`Transaction::create_table`].
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

    /// The table of an index.
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
