//! LMDB through heed: a copy-on-write B+-tree in a memory map, one writer at a
//! time, readers without locks.

use std::ops::{Bound, ControlFlow};

use bench::measure::Durability;
use commands::number::bytes_text;
use commands::{Error, Result};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn};

use crate::body::{Body, Transaction};
use crate::engine::Setup;
use crate::peer::{Client, Demand, Outcome, Peer};

/// Address space per byte of payload: pages are half full at worst, and each
/// commit copies some before it frees others.
const MAP_FACTOR: u64 = 8;
/// Least address space, in bytes.
const MAP_BYTES_MIN: u64 = 1 << 30;
/// Reader slots beyond the client threads.
const READERS_SPARE: usize = 16;

type Records = Database<'static, Bytes, Bytes>;

fn failed(error: heed::Error) -> Error {
    Error::run(format!("LMDB says: {error}"))
}

/// Describes the set-up of LMDB: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    let durability = match setup.durability {
        Durability::Synchronous => "the default: data and meta page synced at each commit",
        Durability::Relaxed => {
            "MDB_NOMETASYNC: data synced at each commit, the meta page with the next one or once \
             per window (MDB_NOSYNC could corrupt the file)"
        }
        Durability::None | Durability::Memory => "MDB_NOSYNC",
    };
    format!(
        "{durability}; map of {}, no read-ahead; writers take turns",
        bytes_text(map_bytes(setup))
    )
}

fn map_bytes(setup: &Setup<'_>) -> u64 {
    const MEBIBYTE: u64 = 1 << 20;
    let wanted = setup.payload_bytes().saturating_mul(MAP_FACTOR);
    wanted.max(MAP_BYTES_MIN).next_multiple_of(MEBIBYTE)
}

/// The store.
pub(crate) struct Lmdb {
    env: Env,
    records: Records,
}

impl Lmdb {
    /// Creates a store.
    ///
    /// # Errors
    /// [`Error::Run`] when LMDB refuses.
    pub(crate) fn open(setup: &Setup<'_>) -> Result<Self> {
        let flags = EnvFlags::NO_READ_AHEAD
            | match setup.durability {
                Durability::Synchronous => EnvFlags::empty(),
                Durability::Relaxed => EnvFlags::NO_META_SYNC,
                Durability::None | Durability::Memory => EnvFlags::NO_SYNC,
            };
        let readers = u32::try_from(setup.threads_max + READERS_SPARE).unwrap_or(u32::MAX);
        let mut options = EnvOpenOptions::new();
        options
            .map_size(usize::try_from(map_bytes(setup)).unwrap_or(usize::MAX))
            .max_readers(readers);
        // SAFETY: the flags only give up durability after a crash of the system; the locks that
        // memory safety rests on stay in use.
        unsafe { options.flags(flags) };
        // SAFETY: this process made the directory for this store alone, so no other process opens,
        // changes or truncates the file under the map.
        let env = unsafe { options.open(setup.directory) }.map_err(failed)?;
        let txn = env.write_txn().map_err(failed)?;
        let made = env.create_databases_and_commit(txn, |opener, txn| {
            let records = opener.create_database::<Bytes, Bytes>(txn, None)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(records))
        });
        let records = made.map_err(failed)?.commit();
        let records = records.ok_or_else(|| Error::run("LMDB made no table; report this"))?;
        Ok(Self { env, records })
    }
}

impl Peer for Lmdb {
    type Client<'a> = &'a Lmdb;

    fn session<T>(&self, session: impl FnOnce(&mut &Lmdb) -> Result<T>) -> Result<T> {
        session(&mut &*self)
    }

    fn sync(&self) -> Result<()> {
        self.env.force_sync().map_err(failed)
    }
}

impl Client for &Lmdb {
    fn transact(&mut self, demand: Demand, body: &mut impl Body) -> Result<Outcome> {
        let records = self.records;
        match demand {
            Demand::ReadOne | Demand::Read => {
                let txn = self.env.read_txn().map_err(failed)?;
                body.run(&mut Reader { records, txn: &txn })?;
            }
            Demand::WriteOne | Demand::Write | Demand::ReadWrite => {
                let mut txn = self.env.write_txn().map_err(failed)?;
                body.run(&mut Writer {
                    records,
                    txn: &mut txn,
                })?;
                txn.commit().map_err(failed)?;
            }
        }
        Ok(Outcome::Committed)
    }
}

#[inline]
fn read(records: &Records, txn: &RoTxn<'_>, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
    let value = records.get(txn, key).map_err(failed)?;
    Ok(value.map(found).is_some())
}

fn scan(
    records: &Records,
    txn: &RoTxn<'_>,
    from: &[u8],
    mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let range = (Bound::Included(from), Bound::Unbounded);
    for entry in records.range(txn, &range).map_err(failed)? {
        let (key, value) = entry.map_err(failed)?;
        if row(key, value).is_break() {
            break;
        }
    }
    Ok(())
}

struct Reader<'txn> {
    records: Records,
    txn: &'txn RoTxn<'txn>,
}

impl Transaction for Reader<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        read(&self.records, self.txn, key, found)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        scan(&self.records, self.txn, from, row)
    }
}

struct Writer<'txn, 'env> {
    records: Records,
    txn: &'txn mut RwTxn<'env>,
}

impl Transaction for Writer<'_, '_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        read(&self.records, self.txn, key, found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.records.put(self.txn, key, value).map_err(failed)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.records.delete(self.txn, key).map_err(failed)?;
        Ok(())
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        scan(&self.records, self.txn, from, row)
    }
}
