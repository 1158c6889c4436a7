//! A client's operations on tables and indexes themselves (`workload/tables.rs`).

use std::sync::Arc;

use engine::{Error, Table};
use interleave::Policy;

use super::Client;
use crate::{
    history::{Action, Value},
    workload::{
        expiring,
        tables::{self, CATALOG, INDEXES, index_name, table_name},
    },
};

/// Returns the value of a table's name; empty if there is no table.
fn value_of(table: &Option<Arc<Table>>) -> Value {
    table.as_deref().map_or_else(Vec::new, tables::name_value)
}

impl Client<'_> {
    /// Creates the table of a name; returns the number of its storage, unless the
    /// table exists.
    pub(crate) async fn create_table<P: Policy>(&self, name: u8) -> Result<Option<u32>, Error> {
        let start = self.start();
        let (text, description) = (table_name(name), tables::description(self.unique()));
        let made = self.transaction().create_table::<P>(&text, &description);
        let result = match made.await {
            Ok(table) => Ok(Some(table)),
            Err(Error::TableExists) => Ok(None),
            Err(error) => Err(error),
        };
        let made = self.finish(start, None, result, |table| Action::Insert {
            key: vec![CATALOG, name],
            value: value_of(table),
            done: table.is_some(),
        })?;
        Ok(made.map(|table| self.world.add_storage(&table)))
    }

    /// Opens the table of a name; returns the number of its storage, if the table
    /// exists.
    pub(crate) async fn open_table<P: Policy>(&self, name: u8) -> Result<Option<u32>, Error> {
        let start = self.start();
        let result = match self.transaction().open_table::<P>(&table_name(name)).await {
            Ok(table) => Ok(Some(table)),
            Err(Error::NoSuchTable) => Ok(None),
            Err(error) => Err(error),
        };
        let found = self.finish(start, None, result, |table| Action::Get {
            key: vec![CATALOG, name],
            found: table.as_deref().map(tables::name_value),
        })?;
        Ok(found.map(|table| self.world.add_storage(&table)))
    }

    /// Drops the table of a name; returns whether there is one.
    pub(crate) async fn drop_table<P: Policy>(&self, name: u8) -> Result<bool, Error> {
        let start = self.start();
        let text = table_name(name);
        let result = match self.transaction().drop_table::<P>(&text).await {
            Ok(()) => Ok(true),
            Err(Error::NoSuchTable) => Ok(false),
            Err(error) => Err(error),
        };
        self.finish(start, None, result, |&done| Action::Delete {
            key: vec![CATALOG, name],
            done,
        })
    }

    /// Truncates the table of a name; returns the number of its new storage, if the
    /// table exists.
    pub(crate) async fn truncate_table<P: Policy>(&self, name: u8) -> Result<Option<u32>, Error> {
        let start = self.start();
        let text = table_name(name);
        let result = match self.transaction().truncate_table::<P>(&text).await {
            Ok(table) => Ok(Some(table)),
            Err(Error::NoSuchTable) => Ok(None),
            Err(error) => Err(error),
        };
        let made = self.finish(start, None, result, |table| Action::Update {
            key: vec![CATALOG, name],
            value: value_of(table),
            done: table.is_some(),
        })?;
        Ok(made.map(|table| self.world.add_storage(&table)))
    }

    /// Renames a table, if there is one and the other name is free.
    pub(crate) async fn rename_table<P: Policy>(&self, from: u8, to: u8) -> Result<(), Error> {
        let start = self.start();
        let (old, new) = (table_name(from), table_name(to));
        let renamed = self.transaction().rename_table::<P>(&old, &new).await;
        let key = |name| vec![CATALOG, name];
        match renamed {
            Ok(()) => {
                // The renamed table: the transaction's own write, which no other
                // transaction changes.
                let table = self.transaction().open_table::<P>(&new).await;
                self.finish(start, None, Ok(()), |()| Action::Delete {
                    key: key(from),
                    done: true,
                })?;
                let table = self.finish(start, None, table, |table| Action::Insert {
                    key: key(to),
                    value: tables::name_value(table),
                    done: true,
                })?;
                self.world.add_storage(&table);
            }
            Err(Error::NoSuchTable) => self.finish(start, None, Ok(()), |()| Action::Delete {
                key: key(from),
                done: false,
            })?,
            Err(Error::TableExists) => self.finish(start, None, Ok(()), |()| Action::Insert {
                key: key(to),
                value: Vec::new(),
                done: false,
            })?,
            Err(error) => self.finish(start, None, Err(error), |()| unreachable!("refused"))?,
        }
        Ok(())
    }

    /// Drops the index of a name, if there is one.
    pub(crate) async fn drop_index<P: Policy>(&self, name: u8) -> Result<(), Error> {
        let start = self.start();
        let text = index_name(name);
        match self.transaction().drop_index_named::<P>(&text).await {
            // The history does not know: the index's table may be gone.
            Err(Error::NoSuchTable) => Ok(()),
            dropped => self.finish(start, None, dropped, |()| Action::Delete {
                key: vec![INDEXES, name],
                done: true,
            }),
        }
    }

    /// Renames an index, if there is one and the other name is free.
    pub(crate) async fn rename_index<P: Policy>(&self, from: u8, to: u8) -> Result<(), Error> {
        let start = self.start();
        let (old, new) = (index_name(from), index_name(to));
        match self.transaction().rename_index::<P>(&old, &new).await {
            Err(Error::NoSuchTable | Error::TableExists) => Ok(()),
            renamed => {
                self.finish(start, None, renamed, |()| Action::Delete {
                    key: vec![INDEXES, from],
                    done: true,
                })?;
                let value = self.find_index::<P>(&new).await;
                let upsert = |value: &Value| Action::Upsert {
                    key: vec![INDEXES, to],
                    value: value.clone(),
                };
                self.finish(start, None, value, upsert).map(drop)
            }
        }
    }

    /// Returns the value of an index's name, written by this transaction itself, so
    /// that no other transaction changes it.
    async fn find_index<P: Policy>(&self, name: &str) -> Result<Value, Error> {
        let further = (0..tables::NAMES as u8).map(table_name);
        for table in further.chain([expiring::TABLE.to_owned()]) {
            let listed = match self.transaction().list_indexes::<P>(&table).await {
                Err(Error::NoSuchTable) => continue,
                listed => listed?,
            };
            if let Some(index) = listed.iter().find(|index| index.name == name) {
                let table = self.transaction().open_table::<P>(&table).await?;
                return Ok(tables::index_value(&table, &index.description));
            }
        }
        Err(Error::NoSuchTable)
    }
}
