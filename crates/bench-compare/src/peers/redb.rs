//! redb: a copy-on-write B+-tree in one file, one writer at a time.

use std::ops::ControlFlow;

use bench::measure::Durability;
use commands::number::bytes_text;
use commands::{Error, Result};
use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition};

use crate::body::{Body, Transaction};
use crate::engine::Setup;
use crate::peer::{Client, Demand, Outcome, Peer};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("ycsb");

fn failed(error: impl Into<redb::Error>) -> Error {
    Error::run(format!("redb says: {}", error.into()))
}

/// Describes the set-up of redb: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    let durability = match setup.durability {
        Durability::Synchronous => "Durability::Immediate for each commit, one phase",
        Durability::Relaxed => {
            "Durability::None for each commit, an empty Durability::Immediate commit once per \
             window"
        }
        Durability::None | Durability::Memory => "Durability::None for each commit",
    };
    format!(
        "{durability}; cache {}; writers take turns",
        bytes_text(setup.cache_bytes)
    )
}

/// The store.
pub(crate) struct Redb {
    database: Database,
    durability: redb::Durability,
}

impl Redb {
    /// Creates a store with an empty table.
    ///
    /// # Errors
    /// [`Error::Run`] when redb refuses.
    pub(crate) fn open(setup: &Setup<'_>) -> Result<Self> {
        let database = Database::builder()
            .set_cache_size(usize::try_from(setup.cache_bytes).unwrap_or(usize::MAX))
            .create(setup.directory.join("redb"))
            .map_err(failed)?;
        let txn = database.begin_write().map_err(failed)?;
        txn.open_table(TABLE).map_err(failed)?;
        txn.commit().map_err(failed)?;
        let durability = match setup.durability {
            Durability::Synchronous => redb::Durability::Immediate,
            Durability::Relaxed | Durability::None | Durability::Memory => redb::Durability::None,
        };
        Ok(Self {
            database,
            durability,
        })
    }
}

impl Peer for Redb {
    type Client<'a> = &'a Redb;

    fn session<T>(&self, session: impl FnOnce(&mut &Redb) -> Result<T>) -> Result<T> {
        session(&mut &*self)
    }

    fn sync(&self) -> Result<()> {
        let mut txn = self.database.begin_write().map_err(failed)?;
        txn.set_durability(redb::Durability::Immediate)
            .map_err(failed)?;
        txn.commit().map_err(failed)
    }
}

impl Client for &Redb {
    fn transact(&mut self, demand: Demand, body: &mut impl Body) -> Result<Outcome> {
        match demand {
            Demand::ReadOne | Demand::Read => {
                let txn = self.database.begin_read().map_err(failed)?;
                body.run(&mut Reader(txn.open_table(TABLE).map_err(failed)?))?;
            }
            Demand::WriteOne | Demand::Write | Demand::ReadWrite => {
                let mut txn = self.database.begin_write().map_err(failed)?;
                txn.set_durability(self.durability).map_err(failed)?;
                body.run(&mut Writer(txn.open_table(TABLE).map_err(failed)?))?;
                txn.commit().map_err(failed)?;
            }
        }
        Ok(Outcome::Committed)
    }
}

fn read(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
    found: impl FnOnce(&[u8]),
) -> Result<bool> {
    let value = table.get(key).map_err(failed)?;
    Ok(value.map(|value| found(value.value())).is_some())
}

fn scan(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    from: &[u8],
    mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    for entry in table.range(from..).map_err(failed)? {
        let (key, value) = entry.map_err(failed)?;
        if row(key.value(), value.value()).is_break() {
            break;
        }
    }
    Ok(())
}

struct Reader(redb::ReadOnlyTable<&'static [u8], &'static [u8]>);

impl Transaction for Reader {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        read(&self.0, key, found)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        scan(&self.0, from, row)
    }
}

struct Writer<'txn>(Table<'txn, &'static [u8], &'static [u8]>);

impl Transaction for Writer<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        read(&self.0, key, found)
    }

    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.update(key, value)?;
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let old = self.0.insert(key, value).map_err(failed)?;
        Ok(old.is_some())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key).map_err(failed)?;
        Ok(())
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        scan(&self.0, from, row)
    }
}
