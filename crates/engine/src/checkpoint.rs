//! Checkpoints: the tables' contents in files, so that the log need not be kept.
//!
//! A checkpoint goes through the tables in the order of their keys, chunk by chunk. Each chunk is read
//! by a system transaction of its own, with its own snapshot: no snapshot is held for longer than it
//! takes to read a chunk, and no old versions pile up. Together with the log from before the first
//! chunk up to the last snapshot, the chunks are a consistent state: recovery loads both, and the
//! newest timestamp of a record wins (`recovery/load.rs`).
//!
//! # When a checkpoint counts
//! 1. `starts` = positions of all lanes, then `begin` = clock. Later commits are in the log from
//!    `starts` on.
//! 2. Parts are written, durably; `end` is the last snapshot.
//! 3. The frontier has reached `end`: no chunk has anything that could be cut off.
//! 4. The names of the parts are durable; a manifest with the new checkpoint takes the old one's
//!    place. From now on the new checkpoint counts.
//! 5. The old parts' files are the next checkpoint's, under new names; log files before `starts` are
//!    free, except the ones that are kept for change streams.
//!
//! After an interruption before step 4, nothing has changed, and the next opening removes the parts;
//! after an interruption later, the next opening finds the superfluous files as well.
//!
//! The tables are those of the beginning, the catalog's own last. A table that is dropped meanwhile
//! ends early, or is left out: the log from the beginning on has the drop, and since the checkpoint
//! has to wait for the frontier after it, nothing cuts it off.
//!
//! # Cold records
//! Cold records stay where they are: a chunk has their addresses, and the cold files are durable
//! before the checkpoint counts. A record that was cold at the snapshot of its chunk may be hot, or
//! elsewhere, when the checkpoint counts. Its copy in the file stays, since files are never changed,
//! and removed only once a checkpoint counts that does not refer to them. Recovery takes the address
//! unless the log has a record of that key, in any order: the log has all commits newer than `begin`,
//! and recovery does not replay older ones; the log's record is therefore not older than the one that
//! the address names.
//!
//! Writers are never held up: a checkpoint is one more reader. Its rate is bounded
//! ([`CheckpointConfig::bytes_per_second_max`], `pace.rs`).

pub(crate) mod format;
pub(crate) mod pace;

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use index::Direction;
use interleave::Interleaved;
use io::{Action, Buffer, File, Port, Transfer};

use crate::{
    checkpoint::{
        format::{CHUNK_HEADER_BYTES, ChunkHeader, Content},
        pace::{Haste, Pace},
    },
    cold::{ColdAddress, file_of},
    error::Error,
    indirection::Rid,
    log::{
        Log,
        segments::{sync_names, write_whole},
    },
    manifest::{CheckpointEntry, Manifest, PartEntry, Start},
    session::Session,
    storage::Storage,
    table::Table,
    timestamp::Timestamp,
    transaction::{Isolation, Visit},
};

/// Size in bytes of records at which a chunk ends.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum number of chunks on their way to the device.
const CHUNKS_UNDER_WAY: usize = 2;
/// Size in bytes at which a part ends: parts are loaded in parallel.
pub(crate) const PART_BYTES: u64 = 32 << 20;

/// Bytes reserved at once for a part. Its file may be longer than its content.
const RESERVE_BYTES: u64 = 2 << 20;

/// Returns the name of the checkpoint file with this number.
pub(crate) fn file_name(number: u64) -> String {
    format!("checkpoint-{number:08}")
}

/// Returns the number in the name of a checkpoint file.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("checkpoint-")?;
    let all_digits = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Settings of the times and the speed of checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// Bytes written to the log after which a checkpoint is taken. Default 1 GiB; 0: never.
    pub log_bytes_max: u64,
    /// Time after which a checkpoint is taken, if anything was logged. Default 10 minutes; zero:
    /// never.
    pub interval: Duration,
    /// Maximum bytes written per second, at least 1 MiB. Default 256 MiB. A checkpoint that no task
    /// waits for is written slower, as long as it will be finished before the next is due.
    pub bytes_per_second_max: u64,
}

impl Default for CheckpointConfig {
    fn default() -> CheckpointConfig {
        CheckpointConfig {
            log_bytes_max: 1 << 30,
            interval: Duration::from_secs(600),
            bytes_per_second_max: 256 << 20,
        }
    }
}

/// Content of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// Number of records in the checkpoint.
    pub records: u64,
    /// Bytes of the checkpoint's files.
    pub bytes: u64,
    /// Number of files.
    pub parts: u64,
    /// Number of log files that the checkpoint made superfluous.
    pub log_files_freed: u64,
}

/// Reason why there is no new checkpoint. The previous one still counts.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The database has no directory.
    NoDirectory,
    /// A checkpoint is being taken.
    UnderWay,
    /// The device's error.
    Device(std::io::Error),
    /// The database is closed or poisoned.
    Engine(Error),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::NoDirectory => {
                f.write_str("the database is in memory only; open it in a directory")
            }
            CheckpointError::UnderWay => {
                f.write_str("a checkpoint is being taken; wait until it is finished")
            }
            CheckpointError::Device(error) => write!(f, "the device refused: {error}"),
            CheckpointError::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<std::io::Error> for CheckpointError {
    fn from(error: std::io::Error) -> CheckpointError {
        CheckpointError::Device(error)
    }
}

impl From<Error> for CheckpointError {
    fn from(error: Error) -> CheckpointError {
        CheckpointError::Engine(error)
    }
}

impl Session {
    /// Takes a checkpoint.
    ///
    /// # Errors
    /// See [`CheckpointError`].
    ///
    /// # Suspension
    /// Memory, device and event waits.
    ///
    /// # Cancellation
    /// Leaves the previous checkpoint in place.
    pub async fn checkpoint(self: &Rc<Self>) -> Result<CheckpointReport, CheckpointError> {
        self.take_checkpoint(Haste::AwaitedBySomebody).await
    }

    pub(crate) async fn take_checkpoint(
        self: &Rc<Self>,
        haste: Haste,
    ) -> Result<CheckpointReport, CheckpointError> {
        let storage = self
            .database
            .storage()
            .ok_or(CheckpointError::NoDirectory)?;
        let lane = self.lane().ok_or(CheckpointError::NoDirectory)?;
        let log = lane.log().clone();
        log.check_sound()?;
        let _guard = storage
            .begin_checkpoint()
            .ok_or(CheckpointError::UnderWay)?;
        storage.note_begin(log.counters.bytes());
        let taken = self.write_checkpoint(storage, &log, haste).await;
        log.room.end_attempt();
        taken
    }

    async fn write_checkpoint(
        self: &Rc<Self>,
        storage: &Storage,
        log: &Arc<Log>,
        haste: Haste,
    ) -> Result<CheckpointReport, CheckpointError> {
        storage.make_room_for_checkpoint(log)?;
        let positions = log.frontier.positions();
        let starts = positions.into_iter().enumerate();
        let starts = starts.map(|(lane, sealed)| Start {
            lane: lane as u32,
            block: sealed.blocks,
            transactions: sealed.transactions,
            newest: sealed.newest,
        });
        let mut entry = CheckpointEntry {
            starts: starts.collect(),
            incarnation: log.incarnation,
            begin: log.now(),
            ..CheckpointEntry::default()
        };
        entry.end = entry.begin;
        let mut writer = Writer {
            port: self.port().ok_or(CheckpointError::NoDirectory)?.clone(),
            session: self,
            storage,
            log,
            entry,
            files: Vec::new(),
            under_way: VecDeque::new(),
            cold: BTreeSet::new(),
            started: self.clock().now(),
            log_bytes: log.counters.bytes(),
            pace: Pace::new(haste, *self.database.checkpoint_config()),
        };
        let written = writer.write_all().await;
        let entry = match written {
            Ok(()) => std::mem::take(&mut writer.entry),
            Err(error) => {
                writer.give_up().await;
                return Err(error);
            }
        };
        let port = writer.port.clone();
        self.publish(storage, &port, log, entry).await
    }

    async fn publish(
        &self,
        storage: &Storage,
        port: &Rc<Port>,
        log: &Log,
        entry: CheckpointEntry,
    ) -> Result<CheckpointReport, CheckpointError> {
        let mut report = CheckpointReport {
            records: entry.parts.iter().map(|part| part.records).sum(),
            bytes: entry.parts.iter().map(|part| part.bytes).sum(),
            parts: entry.parts.len() as u64,
            log_files_freed: 0,
        };
        sync_names(port, &log.directory).await?;
        let old = storage.manifest_now().checkpoint.unwrap_or_default();
        // If the log is short of room, its need goes before transactions that change streams have not
        // read.
        let keep_bytes = match log.room.is_relief_wanted() {
            true => 0,
            false => log.config.change_retention_bytes,
        };
        let segments = &log.segments;
        let mut retention = segments.retention(log.incarnation, &entry.starts, keep_bytes);
        let (events, oldest) = (&self.database.catalog.events, retention.history.oldest);
        retention.history.events = events.between(oldest, entry.begin);
        let entry = CheckpointEntry {
            number: old.number + 1,
            ..entry
        };
        let change = |manifest: &mut Manifest| {
            manifest.checkpoint = Some(entry.clone());
            manifest.next_table = self.database.catalog.next_number();
            // The checkpoint has all transactions of the earlier incarnations.
            manifest.cuts.clear();
            manifest.history = retention.history.clone();
        };
        storage.change_manifest_beside(port, change).await?;
        log.room.note_checkpoint(report.bytes);
        let superseded = old.parts.iter().map(|part| part.file);
        storage.retire_checkpoint_files(superseded, report.parts as usize)?;
        report.log_files_freed = segments.free(&retention)? as u64;
        if let Some(tier) = storage.cold() {
            let removed = tier.remove_emptied(&entry.cold, self.database.horizon())?;
            self.counters
                .update(|stats| stats.cold_files_removed += removed);
        }
        events.begin_at(oldest);
        self.counters.update(|stats| stats.checkpoints += 1);
        Ok(report)
    }
}

/// State of a checkpoint that is being written.
struct Writer<'s> {
    session: &'s Rc<Session>,
    storage: &'s Storage,
    log: &'s Arc<Log>,
    port: Rc<Port>,
    entry: CheckpointEntry,
    /// Numbers of all files that were begun.
    files: Vec<u64>,
    under_way: VecDeque<(Transfer, Arc<dyn File>, u64)>,
    /// Numbers of the cold files that the checkpoint refers to.
    cold: BTreeSet<u32>,
    started: Duration,
    /// Bytes of the log at the start.
    log_bytes: u64,
    pace: Pace,
}

/// Part that is being written.
struct Part {
    file: Arc<dyn File>,
    entry: PartEntry,
    chunks: u32,
    /// Bytes of the file that are reserved.
    reserved: u64,
}

impl Writer<'_> {
    async fn write_all(&mut self) -> Result<(), CheckpointError> {
        let tables = self.session.database.catalog.live_tables();
        // A table that is left out was dropped by now, or was made after the beginning: then the log
        // has all of it.
        self.entry.end = self.log.now();
        for table in tables {
            self.write_table(&table).await?;
        }
        while !self.under_way.is_empty() {
            self.finish_chunk().await?;
        }
        self.sync_cold().await?;
        self.log_up_to_end().await?;
        // No other session may be waiting for the commits that the snapshots saw.
        self.log.frontier.want_all();
        self.session.durable(self.entry.end).await?;
        Ok(())
    }

    /// Logs a transaction as new as the snapshots: the clock may have been moved without a commit, as
    /// when a dropped table is given back, and the frontier reaches only logged timestamps.
    ///
    /// # Errors
    /// [`Error::StorageFull`]: not even the reserve has room, and a wait would have no end.
    async fn log_up_to_end(&self) -> Result<(), CheckpointError> {
        let lane = self.session.lane().ok_or(CheckpointError::NoDirectory)?;
        if lane.is_durable(self.entry.end)? {
            return Ok(());
        }
        loop {
            self.session.database.check_writable()?;
            let bytes = crate::log::format::transaction_bytes();
            lane.room_for_checkpoint(bytes).await?;
            if self.session.commit_nothing().is_some() {
                return Ok(());
            }
        }
    }

    /// Makes the cold records that the checkpoint refers to durable.
    async fn sync_cold(&mut self) -> Result<(), CheckpointError> {
        let Some(tier) = self.storage.cold() else {
            return Ok(());
        };
        for &number in &self.cold {
            let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
            let (file, entry) = tier.file(number).ok_or_else(gone)?;
            let nothing = Buffer::with_capacity(0);
            let (_, synced) = self.port.begin(Action::Sync, &file, 0, nothing).await;
            synced?;
            self.entry.cold.push(entry);
        }
        Ok(())
    }

    async fn write_table(&mut self, table: &Table) -> Result<(), CheckpointError> {
        let mut last_key: Option<Vec<u8>> = None;
        let mut part: Option<Part> = None;
        loop {
            let mut buffer = Buffer::with_capacity(CHUNK_HEADER_BYTES + CHUNK_BYTES);
            buffer.set_len(CHUNK_HEADER_BYTES);
            let (snapshot, records, is_end) =
                self.read_chunk(table, &mut last_key, &mut buffer).await?;
            // Includes a table without records: the transaction that emptied it must be durable.
            self.entry.end = self.entry.end.max(snapshot);
            if records == 0 && part.is_none() {
                return Ok(());
            }
            let current = match &mut part {
                Some(part) => part,
                none => none.insert(self.begin_part(table, is_end)?),
            };
            let is_last = is_end || current.entry.bytes >= PART_BYTES;
            let header = ChunkHeader {
                database: self.log.database,
                part: current.entry.file,
                chunk: current.chunks,
                table: table.number(),
                records,
                is_last,
                snapshot,
            };
            format::seal(&mut buffer, header);
            let offset = current.entry.bytes;
            current.entry.bytes += buffer.len() as u64;
            current.entry.records += u64::from(records);
            current.chunks += 1;
            if current.entry.bytes > current.reserved {
                current.reserved = match is_last {
                    true => current.entry.bytes,
                    false => current.entry.bytes.next_multiple_of(RESERVE_BYTES),
                };
                current.file.reserve(current.reserved)?;
            }
            let file = current.file.clone();
            if is_last && let Some(part) = part.take() {
                self.entry.parts.push(part.entry);
            }
            self.write_chunk(&file, offset, buffer).await?;
            if is_end {
                return Ok(());
            }
        }
    }

    /// Reads the next chunk of records, at one snapshot. Returns the snapshot, the number of records,
    /// and whether they are the table's last.
    async fn read_chunk(
        &mut self,
        table: &Table,
        last_key: &mut Option<Vec<u8>>,
        buffer: &mut Buffer,
    ) -> Result<(Timestamp, u32, bool), CheckpointError> {
        let transaction = self.session.begin(Isolation::Snapshot)?;
        transaction.read_stored();
        let snapshot = transaction.snapshot();
        let mut filling = Filling {
            buffer,
            records: 0,
            next_key: None,
            cold: &mut self.cold,
        };
        let from = last_key.as_deref();
        let from = from.map_or(Bound::Unbounded, Bound::Excluded);
        let range = (from, Bound::Unbounded);
        let scanned = transaction
            .scan_records::<Interleaved>(table, range, Direction::Forward, &mut filling)
            .await;
        let Filling {
            records, next_key, ..
        } = filling;
        transaction.release();
        match scanned {
            // The checkpoint counts only once the drop is durable: `snapshot` has it.
            Err(Error::TableDropped) => return Ok((snapshot, 0, true)),
            scanned => drop(scanned?),
        }
        let is_end = next_key.is_none();
        *last_key = next_key;
        Ok((snapshot, records, is_end))
    }

    /// Begins a part; if it `is_small`, it ends with its first chunk.
    fn begin_part(&mut self, table: &Table, is_small: bool) -> Result<Part, CheckpointError> {
        let bytes_max = match is_small {
            true => RESERVE_BYTES,
            false => u64::MAX,
        };
        let (number, file) = self.storage.begin_checkpoint_file(bytes_max)?;
        self.files.push(number);
        Ok(Part {
            entry: PartEntry {
                file: number,
                table: table.number(),
                records: 0,
                bytes: 0,
            },
            chunks: 0,
            reserved: file.length()?,
            file,
        })
    }

    async fn write_chunk(
        &mut self,
        file: &Arc<dyn File>,
        offset: u64,
        buffer: Buffer,
    ) -> Result<(), CheckpointError> {
        let bytes = buffer.len() as u64;
        let transfer = self.port.begin(Action::WriteDurable, file, offset, buffer);
        self.under_way.push_back((transfer, file.clone(), offset));
        while self.under_way.len() >= CHUNKS_UNDER_WAY {
            self.finish_chunk().await?;
        }
        let logged = self.log.counters.bytes() - self.log_bytes;
        let due = self.pace.after(bytes, logged);
        let spent = self.session.clock().now().saturating_sub(self.started);
        if let Some(early) = due.checked_sub(spent)
            && early > Duration::from_millis(1)
        {
            interleave::sleep(early).await;
        }
        self.log.check_sound()?;
        if self.session.database.closed.load(Ordering::Acquire) {
            return Err(Error::Ended.into());
        }
        Ok(())
    }

    async fn finish_chunk(&mut self) -> Result<(), CheckpointError> {
        let Some((transfer, file, offset)) = self.under_way.pop_front() else {
            return Ok(());
        };
        let (buffer, result) = transfer.await;
        if result? < buffer.len() {
            write_whole(&self.port, Action::WriteDurable, &file, offset, buffer).await?;
        }
        Ok(())
    }

    /// Removes the files that were written. If a removal fails, the next opening removes the file.
    async fn give_up(&mut self) {
        while let Some((transfer, ..)) = self.under_way.pop_front() {
            // The transfer must not write to a file that is gone.
            let _ = transfer.await;
        }
        let files = self.files.drain(..);
        let keep = files.len();
        let _ = self.storage.retire_checkpoint_files(files, keep);
    }
}

/// Chunk that is being filled.
struct Filling<'c> {
    buffer: &'c mut Buffer,
    records: u32,
    /// Last key of the chunk, if there is no room for more.
    next_key: Option<Vec<u8>>,
    cold: &'c mut BTreeSet<u32>,
}

impl Filling<'_> {
    fn add(&mut self, key: &[u8], content: Content<'_>) -> ControlFlow<()> {
        format::append(self.buffer, key, content);
        self.records += 1;
        if self.buffer.len() >= CHUNK_BYTES {
            self.next_key = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Visit for &mut Filling<'_> {
    fn visit(&mut self, key: &[u8], _: Rid, value: &[u8]) -> ControlFlow<()> {
        self.add(key, Content::Value(value))
    }

    /// Appends the address of a cold record, which stays where it is.
    fn visit_cold(&mut self, key: &[u8], address: ColdAddress) -> Option<ControlFlow<()>> {
        self.cold.insert(file_of(address));
        Some(self.add(key, Content::Cold(address)))
    }
}
