//! fjall: an LSM-tree in Rust, with a journal and optimistic transactions.

use std::ops::ControlFlow;

use bench::measure::Durability;
use commands::number::bytes_text;
use commands::{Error, Result};
use fjall::config::{CompressionPolicy, HashRatioPolicy};
use fjall::{
    CompressionType, Keyspace, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace,
    OptimisticWriteTx, OwnedWriteBatch, PersistMode, Readable, Snapshot,
};

use crate::body::{Body, Transaction};
use crate::engine::Setup;
use crate::peer::{Client, Demand, Outcome, Peer};

fn failed(error: impl std::fmt::Display) -> Error {
    Error::run(format!("fjall says: {error}"))
}

/// Describes the set-up of fjall: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    let durability = match setup.durability {
        Durability::Synchronous => "PersistMode::SyncData with each batch or transaction",
        Durability::Relaxed => {
            "PersistMode::Buffer with each batch or transaction, persist(SyncData) once per window"
        }
        Durability::None | Durability::Memory => {
            "journal persisted by nobody (manual_journal_persist)"
        }
    };
    format!(
        "{durability}; cache {}, no compression, filters and a hash index in blocks, one major \
         compaction after loading; blind writes as batches, others as optimistic transactions",
        bytes_text(setup.cache_bytes)
    )
}

/// The store.
pub(crate) struct Fjall {
    database: OptimisticTxDatabase,
    records: OptimisticTxKeyspace,
    persist: Option<PersistMode>,
}

impl Fjall {
    /// Creates a store with an empty keyspace.
    ///
    /// # Errors
    /// [`Error::Run`] when fjall refuses.
    pub(crate) fn open(setup: &Setup<'_>) -> Result<Self> {
        let persist = match setup.durability {
            Durability::Synchronous => Some(PersistMode::SyncData),
            Durability::Relaxed => Some(PersistMode::Buffer),
            Durability::None | Durability::Memory => None,
        };
        let database = OptimisticTxDatabase::builder(setup.directory)
            .cache_size(setup.cache_bytes)
            .manual_journal_persist(persist.is_none())
            .open()
            .map_err(failed)?;
        let records = database
            .keyspace("ycsb", || {
                KeyspaceCreateOptions::default()
                    .manual_journal_persist(persist.is_none())
                    .data_block_hash_ratio_policy(HashRatioPolicy::all(1.0))
                    .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            })
            .map_err(failed)?;
        Ok(Self {
            database,
            records,
            persist,
        })
    }
}

impl Peer for Fjall {
    type Client<'a> = &'a Fjall;

    fn session<T>(&self, session: impl FnOnce(&mut &Fjall) -> Result<T>) -> Result<T> {
        session(&mut &*self)
    }

    fn sync(&self) -> Result<()> {
        self.database.persist(PersistMode::SyncData).map_err(failed)
    }

    fn settle(&self) -> Result<()> {
        self.sync()?;
        let inner = self.database.inner();
        while inner.outstanding_flushes() > 0 || inner.active_compactions() > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }

    fn compact(&self) -> Result<()> {
        let records = self.records.inner();
        records.rotate_memtable_and_wait().map_err(failed)?;
        records.major_compact().map_err(failed)
    }
}

impl Client for &Fjall {
    fn transact(&mut self, demand: Demand, body: &mut impl Body) -> Result<Outcome> {
        let records = self.records.inner();
        match demand {
            Demand::ReadOne => body.run(&mut Single { records })?,
            // The write goes to the system's cache or the journal's buffer, as batches do.
            Demand::WriteOne if self.persist != Some(PersistMode::SyncData) => {
                body.run(&mut Single { records })?;
            }
            Demand::Read => body.run(&mut OnSnapshot {
                records,
                snapshot: self.database.read_tx(),
            })?,
            Demand::WriteOne | Demand::Write => {
                let batch = self.database.inner().batch().durability(self.persist);
                let mut writer = Batch { records, batch };
                body.run(&mut writer)?;
                writer.batch.commit().map_err(failed)?;
            }
            Demand::ReadWrite => {
                let txn = self.database.write_tx().map_err(failed)?;
                let txn = txn.durability(self.persist);
                let mut optimistic = Optimistic { records, txn };
                body.run(&mut optimistic)?;
                if optimistic.txn.commit().map_err(failed)?.is_err() {
                    return Ok(Outcome::Aborted);
                }
            }
        }
        Ok(Outcome::Committed)
    }
}

#[inline]
fn answer(
    value: fjall::Result<Option<fjall::UserValue>>,
    found: impl FnOnce(&[u8]),
) -> Result<bool> {
    Ok(value.map_err(failed)?.map(|value| found(&value)).is_some())
}

fn visit(rows: fjall::Iter, mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()> {
    for entry in rows {
        let (key, value) = entry.into_inner().map_err(failed)?;
        if row(&key, &value).is_break() {
            break;
        }
    }
    Ok(())
}

/// A transaction of one operation: it needs neither snapshot nor batch.
struct Single<'a> {
    records: &'a Keyspace,
}

impl Transaction for Single<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.records.get(key), found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.records.insert(key, value).map_err(failed)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.records.remove(key).map_err(failed)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.records.range(from..), row)
    }
}

/// A transaction of several reads.
struct OnSnapshot<'a> {
    records: &'a Keyspace,
    snapshot: Snapshot,
}

impl Transaction for OnSnapshot<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.snapshot.get(self.records, key), found)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.snapshot.range(self.records, from..), row)
    }
}

/// A transaction of blind writes: an atomic batch. Reads see the latest commits.
struct Batch<'a> {
    records: &'a Keyspace,
    batch: OwnedWriteBatch,
}

impl Transaction for Batch<'_> {
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.records.get(key), found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.insert(self.records, key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.batch.remove(self.records, key);
        Ok(())
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.records.range(from..), row)
    }
}

/// A transaction of reads and writes.
struct Optimistic<'a> {
    records: &'a Keyspace,
    txn: OptimisticWriteTx,
}

impl Transaction for Optimistic<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.txn.get(self.records, key), found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.txn.insert(self.records, key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.txn.remove(self.records, key);
        Ok(())
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.txn.range(self.records, from..), row)
    }
}
