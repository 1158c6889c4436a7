//! RocksDB: an LSM-tree whose writers form groups, so that one sync of the log
//! serves all threads that wait for it.

use std::ops::ControlFlow;

use bench::measure::Durability;
use commands::number::bytes_text;
use commands::{Error, Result};
use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DBPinnableSlice, DBRawIteratorWithThreadMode,
    DataBlockIndexType, ErrorKind, OptimisticTransactionDB, OptimisticTransactionOptions, Options,
    ReadOptions, SnapshotWithThreadMode, WaitForCompactOptions, WriteBatchWithTransaction,
    WriteBufferManager, WriteOptions,
};

use crate::body::{Body, Transaction};
use crate::engine::Setup;
use crate::peer::{Client, Demand, Outcome, Peer};

/// Bytes of each in-memory table before it is written out.
const WRITE_BUFFER_BYTES: usize = 64 << 20;
/// Largest number of in-memory tables, the one being written included.
const WRITE_BUFFERS: i32 = 4;
/// Divisor of limited memory that gives the size of tables in memory.
const WRITE_BUFFERS_PART: usize = 4;
/// Number of logs kept to be written over: syncing a file that does not grow is cheaper.
const RECYCLED_LOGS: usize = 4;
/// Bits of filter per key.
const FILTER_BITS: f64 = 10.0;

type Database = OptimisticTransactionDB;
type OptimisticTxn<'a> = rocksdb::Transaction<'a, Database>;

fn failed(error: rocksdb::Error) -> Error {
    Error::run(format!("RocksDB says: {error}"))
}

/// Describes the set-up of RocksDB: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    let durability = match setup.durability {
        Durability::Synchronous => "WriteOptions sync, grouped over threads, log files recycled",
        Durability::Relaxed => "log written at each commit, FlushWAL(sync) once per window",
        Durability::None | Durability::Memory => "no log (disable_wal)",
    };
    let limited = match setup.memory_bytes {
        Some(_) => {
            " (tables in memory, indexes and filters are part of it; reads, flushes and \
             compactions are direct)"
        }
        None => "",
    };
    format!(
        "{durability}; hyper-clock block cache {}{limited}, no compression, filters, a hash index in \
         blocks, one full compaction after loading; blind writes as batches, others as optimistic \
         transactions",
        bytes_text(setup.cache_bytes)
    )
}

/// The store.
pub(crate) struct RocksDb {
    database: Database,
    durability: Durability,
}

impl RocksDb {
    /// Creates a store.
    ///
    /// # Errors
    /// [`Error::Run`] when RocksDB refuses.
    pub(crate) fn open(setup: &Setup<'_>) -> Result<Self> {
        let cache_bytes = usize::try_from(setup.cache_bytes).unwrap_or(usize::MAX);
        let mut blocks = BlockBasedOptions::default();
        // Zero: the cache estimates the size of entries itself.
        let cache = Cache::new_hyper_clock_cache(cache_bytes, 0);
        blocks.set_block_cache(&cache);
        blocks.set_bloom_filter(FILTER_BITS, false);
        blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        let mut options = Options::default();
        if setup.memory_bytes.is_some() {
            hold_to_cache(&mut options, &mut blocks, cache, cache_bytes);
        } else {
            options.set_write_buffer_size(WRITE_BUFFER_BYTES);
        }
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::None);
        options.set_max_write_buffer_number(WRITE_BUFFERS);
        options.increase_parallelism(i32::try_from(bench::machine::cores()).unwrap_or(i32::MAX));
        if setup.durability != Durability::None {
            // RocksDB refuses recycling together with writes that are not logged.
            options.set_recycle_log_file_num(RECYCLED_LOGS);
        }
        let database = Database::open(&options, setup.directory).map_err(failed)?;
        Ok(Self {
            database,
            durability: setup.durability,
        })
    }
}

/// Makes all memory of RocksDB count towards its cache, and bypasses the system's.
fn hold_to_cache(
    options: &mut Options,
    blocks: &mut BlockBasedOptions,
    cache: Cache,
    cache_bytes: usize,
) {
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_cache_index_and_filter_blocks_with_high_priority(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let tables = cache_bytes / WRITE_BUFFERS_PART;
    // Writers that come too fast wait for a flush when tables run out, not when memory does:
    // optimistic transactions keep as many tables again after that, to find conflicts in.
    let manager = WriteBufferManager::new_write_buffer_manager_with_cache(tables, false, cache);
    options.set_write_buffer_manager(&manager);
    let table = tables / (2 * WRITE_BUFFERS as usize);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES.min(table));
    options.set_use_direct_reads(true);
    options.set_use_direct_io_for_flush_and_compaction(true);
}

impl Peer for RocksDb {
    type Client<'a> = Session<'a>;

    fn session<T>(&self, session: impl FnOnce(&mut Session<'_>) -> Result<T>) -> Result<T> {
        let mut write = WriteOptions::default();
        write.set_sync(self.durability == Durability::Synchronous);
        write.disable_wal(self.durability == Durability::None);
        let mut optimistic = OptimisticTransactionOptions::default();
        optimistic.set_snapshot(true);
        session(&mut Session {
            database: &self.database,
            read: ReadOptions::default(),
            write,
            optimistic,
        })
    }

    fn sync(&self) -> Result<()> {
        self.database.flush_wal(true).map_err(failed)
    }

    fn settle(&self) -> Result<()> {
        self.sync()?;
        let options = WaitForCompactOptions::default();
        self.database.wait_for_compact(&options).map_err(failed)
    }

    fn compact(&self) -> Result<()> {
        self.database.flush().map_err(failed)?;
        self.database.compact_range(None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }
}

/// A thread's session: options that it uses again and again.
pub(crate) struct Session<'a> {
    database: &'a Database,
    read: ReadOptions,
    write: WriteOptions,
    optimistic: OptimisticTransactionOptions,
}

impl Client for Session<'_> {
    fn transact(&mut self, demand: Demand, body: &mut impl Body) -> Result<Outcome> {
        let database = self.database;
        match demand {
            Demand::ReadOne | Demand::WriteOne => body.run(&mut Single {
                database,
                read: &self.read,
                write: &self.write,
            })?,
            Demand::Read => body.run(&mut OnSnapshot(database.snapshot()))?,
            Demand::Write => {
                let mut writer = Batch {
                    database,
                    batch: WriteBatchWithTransaction::default(),
                };
                body.run(&mut writer)?;
                database
                    .write_opt(writer.batch, &self.write)
                    .map_err(failed)?;
            }
            Demand::ReadWrite => {
                let txn = database.transaction_opt(&self.write, &self.optimistic);
                body.run(&mut Optimistic {
                    snapshot: txn.snapshot(),
                    txn: &txn,
                    read: &self.read,
                })?;
                match txn.commit() {
                    Ok(()) => {}
                    Err(error) if is_conflict(&error) => return Ok(Outcome::Aborted),
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        Ok(Outcome::Committed)
    }
}

/// Returns whether another transaction was faster, or RocksDB can no longer tell.
fn is_conflict(error: &rocksdb::Error) -> bool {
    matches!(error.kind(), ErrorKind::Busy | ErrorKind::TryAgain)
}

#[inline]
fn answer(
    value: std::result::Result<Option<DBPinnableSlice<'_>>, rocksdb::Error>,
    found: impl FnOnce(&[u8]),
) -> Result<bool> {
    Ok(value.map_err(failed)?.map(|value| found(&value)).is_some())
}

fn visit<D: rocksdb::DBAccess>(
    mut rows: DBRawIteratorWithThreadMode<'_, D>,
    from: &[u8],
    mut row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    rows.seek(from);
    while let Some((key, value)) = rows.item() {
        if row(key, value).is_break() {
            break;
        }
        rows.next();
    }
    rows.status().map_err(failed)
}

/// A transaction of one operation: it needs neither snapshot nor batch.
struct Single<'a> {
    database: &'a Database,
    read: &'a ReadOptions,
    write: &'a WriteOptions,
}

impl Transaction for Single<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.database.get_pinned_opt(key, self.read), found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let outcome = self.database.put_opt(key, value, self.write);
        outcome.map_err(failed)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.database.delete_opt(key, self.write).map_err(failed)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.database.raw_iterator(), from, row)
    }
}

/// A transaction of several reads.
struct OnSnapshot<'a>(SnapshotWithThreadMode<'a, Database>);

impl Transaction for OnSnapshot<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.0.get_pinned(key), found)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.0.raw_iterator(), from, row)
    }
}

/// A transaction of blind writes: an atomic batch. Reads see the latest commits.
struct Batch<'a> {
    database: &'a Database,
    batch: WriteBatchWithTransaction<true>,
}

impl Transaction for Batch<'_> {
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.database.get_pinned(key), found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.put(key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.batch.delete(key);
        Ok(())
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.database.raw_iterator(), from, row)
    }
}

/// A transaction of reads and writes.
struct Optimistic<'a> {
    snapshot: SnapshotWithThreadMode<'a, OptimisticTxn<'a>>,
    txn: &'a OptimisticTxn<'a>,
    read: &'a ReadOptions,
}

impl Transaction for Optimistic<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        answer(self.snapshot.get_pinned(key), found)
    }

    #[inline]
    fn read_for_update(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        let value = self.txn.get_pinned_for_update_opt(key, true, self.read);
        answer(value, found)
    }

    #[inline]
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.txn.put(key, value).map_err(failed)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.txn.delete(key).map_err(failed)
    }

    fn scan(
        &mut self,
        from: &[u8],
        row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        visit(self.snapshot.raw_iterator(), from, row)
    }
}
