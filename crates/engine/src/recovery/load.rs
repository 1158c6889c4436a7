//! Loading: every worker takes files and installs their records, interleaved.
//!
//! Installing a record suspends at cache misses like any insert, so a worker's tasks
//! overlap theirs. They are short: a worker looks only between tasks and at misses
//! whether something else is to be done, and by what is done it finds out how many
//! tasks to keep in flight. A task without end could not be taken out of flight, and
//! one that does not suspend (the worker tries that) would never let go.

use std::{
    ops::Range,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};

use index::Inserted;
use interleave::{Interleaved, Point, Policy, leaf};
use io::BLOCK_BYTES;

use crate::{
    checkpoint::{self, format::Chunk},
    error::Error,
    indirection::{Head, Rid},
    log::{
        format::{Block, Flaw},
        segments::file_name,
    },
    manifest::PartEntry,
    recovery::{Item, MISMATCH, OpenError, Recovery, pieces::read_file},
    session::Session,
    table::Table,
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

/// Records per task.
const BATCH: usize = 64;

impl Recovery {
    /// The tasks of one worker, to be drawn until `None`. When those of all workers
    /// have ended, [`Recovery::finish`]. Any number of workers may take part.
    pub fn tasks(
        self: &Arc<Self>,
        session: &Rc<Session>,
    ) -> impl FnMut() -> Option<Loading> + use<> {
        let intake = Rc::new(Intake {
            tables: session.database.tables(),
            recovery: self.clone(),
            session: session.clone(),
        });
        let mut state = State::default();
        move || match intake.next(&mut state) {
            Ok(batch) => Some(Box::pin(load(intake.clone(), batch?))),
            Err(error) => {
                intake.recovery.fail(error);
                None
            }
        }
    }
}

/// One of [`Recovery::tasks`].
pub type Loading = std::pin::Pin<Box<dyn Future<Output = ()>>>;

async fn load(intake: Rc<Intake>, batch: Batch) {
    let session = &*intake.session;
    for entry in &batch.entries {
        // Tables of the log and the checkpoint are in the manifest: checked when
        // the entry was read.
        let table = &intake.tables[entry.table as usize];
        let key = &batch.bytes[entry.key.clone()];
        let value = entry.value.clone().map(|value| &batch.bytes[value]);
        let installed = session
            .install::<Interleaved>(table, key, value, entry.timestamp)
            .await;
        if installed.is_err() {
            return intake.recovery.fail(OpenError::MemoryExhausted);
        }
    }
    let useful = &session.counters.useful;
    useful.set(useful.get() + batch.entries.len() as u64);
}

/// A record to install: ranges of the bytes it was read from.
#[derive(Clone)]
struct Entry {
    table: u32,
    timestamp: Timestamp,
    key: Range<usize>,
    value: Option<Range<usize>>,
}

/// What one task installs.
struct Batch {
    bytes: Rc<Vec<u8>>,
    entries: Vec<Entry>,
}

/// Where the tasks of one worker belong.
struct Intake {
    recovery: Arc<Recovery>,
    session: Rc<Session>,
    /// By number.
    tables: Vec<Arc<Table>>,
}

/// What the tasks of one worker are made from.
#[derive(Default)]
struct State {
    item: Option<Item>,
    bytes: Rc<Vec<u8>>,
    /// Where the next block or chunk begins.
    offset: usize,
    /// Records and chunks of the part so far.
    records: u64,
    chunks: u32,
    /// Those of the last block or chunk, and how many of them are taken.
    entries: Vec<Entry>,
    taken: usize,
}

impl Intake {
    fn next(&self, state: &mut State) -> Result<Option<Batch>, OpenError> {
        loop {
            let rest = &state.entries[state.taken..];
            if !rest.is_empty() {
                let entries = rest[..BATCH.min(rest.len())].to_vec();
                state.taken += entries.len();
                let bytes = state.bytes.clone();
                return Ok(Some(Batch { bytes, entries }));
            }
            state.entries.clear();
            state.taken = 0;
            match state.item {
                Some(Item::Log {
                    file,
                    end,
                    newer_than,
                    up_to,
                }) if (state.offset as u64) < end => {
                    if let Err(flaw) = self.read_block(state, newer_than, up_to) {
                        let name = file_name(file.number);
                        self.refuse(state, OpenError::corrupt(name, state.offset as u64, flaw))?;
                    }
                }
                Some(Item::Part(part)) if state.offset < state.bytes.len() => {
                    if let Err(flaw) = self.read_chunk(state, part) {
                        let name = checkpoint::file_name(part.file);
                        self.refuse(state, OpenError::corrupt(name, state.offset as u64, flaw))?;
                    }
                }
                _ => {
                    let Some(item) = self.recovery.next_item() else {
                        return Ok(None);
                    };
                    if let Err(error) = self.open(state, item) {
                        self.refuse(state, error)?;
                    }
                }
            }
        }
    }

    /// Something is destroyed: with salvage, the rest of the file is left out.
    fn refuse(&self, state: &mut State, error: OpenError) -> Result<(), OpenError> {
        if !self.recovery.salvage {
            return Err(error);
        }
        *state = State::default();
        Ok(())
    }

    fn open(&self, state: &mut State, item: Item) -> Result<(), OpenError> {
        let (name, length, start) = match item {
            Item::Part(part) => (checkpoint::file_name(part.file), part.bytes, 0),
            Item::Log { file, end, .. } => (file_name(file.number), end, BLOCK_BYTES),
        };
        let directory = self.session.database.directory().expect("opened in one");
        let bytes = read_file(directory, &name, length)?;
        if (bytes.len() as u64) < length {
            return Err(OpenError::corrupt(name, bytes.len() as u64, Flaw::Absent));
        }
        *state = State {
            item: Some(item),
            bytes: Rc::new(bytes),
            offset: start,
            ..State::default()
        };
        Ok(())
    }

    fn read_block(
        &self,
        state: &mut State,
        newer_than: Timestamp,
        up_to: Timestamp,
    ) -> Result<(), Flaw> {
        let bytes = &state.bytes[..];
        let block = Block::decode(&bytes[state.offset..])?;
        for transaction in block.transactions() {
            let transaction = transaction?;
            let timestamp = transaction.timestamp;
            if timestamp <= newer_than || timestamp > up_to {
                continue;
            }
            let before = state.entries.len();
            for write in transaction.writes() {
                let write = write?;
                self.check_table(write.table)?;
                state.entries.push(Entry {
                    table: write.table,
                    timestamp,
                    key: range_of(bytes, write.key),
                    value: write.value.map(|value| range_of(bytes, value)),
                });
            }
            if state.entries.len() - before != transaction.count as usize {
                return Err(Flaw::Nonsense);
            }
        }
        let counter = &self.recovery.log_records;
        counter.fetch_add(state.entries.len() as u64, Ordering::Relaxed);
        self.advance(state, block.file_bytes());
        Ok(())
    }

    fn read_chunk(&self, state: &mut State, part: PartEntry) -> Result<(), Flaw> {
        let bytes = &state.bytes[..];
        let chunk = Chunk::decode(&bytes[state.offset..])?;
        let header = chunk.header;
        let file_bytes = chunk.file_bytes();
        let ours = self.recovery.manifest.database;
        if (header.database, header.part) != (ours, part.file)
            || (header.table, header.chunk) != (part.table, state.chunks)
        {
            return Err(MISMATCH);
        }
        self.check_table(header.table)?;
        for record in chunk.records() {
            let (key, value) = record?;
            state.entries.push(Entry {
                table: header.table,
                timestamp: header.snapshot,
                key: range_of(bytes, key),
                value: Some(range_of(bytes, value)),
            });
        }
        state.chunks += 1;
        state.records += state.entries.len() as u64;
        let is_last = state.offset + file_bytes >= bytes.len();
        let is_complete = state.records == part.records && header.is_last;
        if state.entries.len() != header.records as usize || is_last && !is_complete {
            return Err(MISMATCH);
        }
        let counter = &self.recovery.checkpoint_records;
        counter.fetch_add(state.entries.len() as u64, Ordering::Relaxed);
        self.advance(state, file_bytes);
        Ok(())
    }

    fn advance(&self, state: &mut State, bytes: usize) {
        state.offset += bytes;
        let counter = &self.recovery.bytes_done;
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn check_table(&self, table: u32) -> Result<(), Flaw> {
        if (table as usize) < self.tables.len() {
            Ok(())
        } else {
            Err(Flaw::Nonsense)
        }
    }
}

/// Where `part`, a part of `whole`, is in it.
fn range_of(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}

impl Session {
    /// Installs what a record was at `timestamp`, unless something newer is known.
    ///
    /// # Suspension
    /// Memory waits.
    async fn install<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        timestamp: Timestamp,
    ) -> Result<(), Error> {
        leaf!(P, self.install_body(table, key, value, timestamp))
    }

    async fn install_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        timestamp: Timestamp,
    ) -> Result<(), Error> {
        let pin = self.memory.pin();
        let version = Version::restore(&self.memory, timestamp, value)?;
        let rid = match self.rids.borrow_mut().take(table, &self.memory) {
            Ok(rid) => rid,
            Err(exhausted) => {
                // SAFETY: never published.
                unsafe { version.free(&self.memory, version.block_bytes()) };
                return Err(exhausted.into());
            }
        };
        let slot = table.records.slot(rid);
        slot.publish_first(version);
        let inserted = table
            .index
            .insert::<P>(&self.memory, &pin, key, rid.0)
            .await;
        let rid = match inserted {
            Ok(Inserted::New) => rid,
            Ok(Inserted::Present(present)) => {
                slot.clear();
                self.rids.borrow_mut().put_back(table.number(), rid);
                let rid = Rid(present);
                let slot = table.records.slot(rid);
                P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
                loop {
                    // Nothing is removed while records are being installed.
                    let Head::Version(head) = slot.head() else {
                        unreachable!("a record is removed during recovery");
                    };
                    P::touch(Point::new("engine: version"), head.address(), HEADER_BYTES).await;
                    if slot.head() != Head::Version(head) {
                        continue;
                    }
                    if matches!(head.begin(), Begin::Committed(known) if known >= timestamp) {
                        // SAFETY: not published any more, and by nobody found.
                        unsafe { version.free(&self.memory, version.block_bytes()) };
                        return Ok(());
                    }
                    if slot.replace(head, version) {
                        // SAFETY: unlinked just now.
                        unsafe { head.retire(&self.memory) };
                        break;
                    }
                }
                rid
            }
            Err(_) => {
                slot.clear();
                self.rids.borrow_mut().put_back(table.number(), rid);
                // SAFETY: no index names the RID, so nobody has seen the version.
                unsafe { version.free(&self.memory, version.block_bytes()) };
                return Err(Error::MemoryExhausted);
            }
        };
        table
            .version_bytes_hint
            .store(version.block_bytes(), Ordering::Relaxed);
        if value.is_none() {
            // Collected once the horizon gets there, like any deletion.
            self.garbage
                .borrow_mut()
                .deleted(timestamp, table.number(), rid, version, key);
        }
        Ok(())
    }
}
