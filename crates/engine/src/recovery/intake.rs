//! Intake of a worker: files, and the records in them, a few for every task.
//!
//! An intake belongs to one worker; all intakes take their files from the queue of the
//! [`Recovery`]. A file's memory is shared with the tasks that install its records, and used again
//! for the file after the next.

use std::{
    ops::Range,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};

use io::BLOCK_BYTES;

use crate::{
    catalog::{self, definition, event::TableEvent},
    checkpoint::{
        self,
        format::{Chunk, Content},
    },
    cold::ColdAddress,
    log::{
        format::{Block, Flaw, LoggedWrite},
        segments::file_name,
    },
    manifest::PartEntry,
    recovery::{Item, OpenError, Recovery, pieces::read_file_into},
    timestamp::Timestamp,
};

/// Records per task.
const BATCH: usize = 64;

/// Flaw of a checkpoint part whose numbers are not those of the manifest.
const MISMATCH: Flaw = Flaw::Nonsense;

/// A record to install: ranges of the bytes that it was read from.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) table: u32,
    pub(super) timestamp: Timestamp,
    pub(super) key: Range<usize>,
    pub(super) found: Found,
}

/// Content that was found for a record.
#[derive(Clone)]
pub(super) enum Found {
    Value(Range<usize>),
    Deletion,
    Cold(ColdAddress),
}

/// Records that one task installs.
pub(super) struct Batch {
    pub(super) bytes: Rc<Vec<u8>>,
    pub(super) entries: Vec<Entry>,
}

/// See the module's doc.
pub(super) struct Intake {
    recovery: Arc<Recovery>,
    item: Option<Item>,
    bytes: Rc<Vec<u8>>,
    /// Bytes of the file before: memory for the next file.
    spare: Rc<Vec<u8>>,
    /// Offset of the next block or chunk.
    offset: usize,
    /// Records and chunks of the part so far.
    records: u64,
    chunks: u32,
    /// Records of the last block or chunk, and how many of them are taken.
    entries: Vec<Entry>,
    taken: usize,
}

impl Intake {
    pub(super) fn new(recovery: &Arc<Recovery>) -> Intake {
        Intake {
            recovery: recovery.clone(),
            item: None,
            bytes: Rc::default(),
            spare: Rc::default(),
            offset: 0,
            records: 0,
            chunks: 0,
            entries: Vec::new(),
            taken: 0,
        }
    }

    /// Returns records for the next task, or `None` if there are no more.
    pub(super) fn next(&mut self) -> Result<Option<Batch>, OpenError> {
        loop {
            let rest = &self.entries[self.taken..];
            if !rest.is_empty() {
                let entries = rest[..BATCH.min(rest.len())].to_vec();
                self.taken += entries.len();
                let bytes = self.bytes.clone();
                return Ok(Some(Batch { bytes, entries }));
            }
            self.entries.clear();
            self.taken = 0;
            let read = match self.item {
                Some(Item::Log {
                    file,
                    end,
                    newer_than,
                    up_to,
                }) if (self.offset as u64) < end => self
                    .read_block(newer_than, up_to)
                    .map_err(|flaw| self.corrupt(file_name(file.number), flaw)),
                Some(Item::Part(part)) if self.offset < self.bytes.len() => self
                    .read_chunk(part)
                    .map_err(|flaw| self.corrupt(checkpoint::file_name(part.file), flaw)),
                _ => match self.recovery.next_item() {
                    Some(item) => self.open(item),
                    None => return Ok(None),
                },
            };
            // With salvage, the rest of a file in which something is destroyed is left out.
            if let Err(error) = read {
                if !self.recovery.salvage {
                    return Err(error);
                }
                self.item = None;
                self.entries.clear();
            }
        }
    }

    /// Returns the error for a flaw in the block or chunk at the current offset.
    fn corrupt(&self, name: String, flaw: Flaw) -> OpenError {
        OpenError::corrupt(name, self.offset as u64, flaw)
    }

    fn open(&mut self, item: Item) -> Result<(), OpenError> {
        let (name, length, start) = match item {
            Item::Part(part) => (checkpoint::file_name(part.file), part.bytes, 0),
            Item::Log { file, end, .. } => (file_name(file.number), end, BLOCK_BYTES),
        };
        self.item = None;
        // The memory is that of the file before the last; records of the last file are still being
        // installed.
        let mut bytes = Rc::try_unwrap(std::mem::take(&mut self.spare)).unwrap_or_default();
        let storage = self.recovery.database.directory();
        read_file_into(storage.expect("opened in one"), &name, length, &mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(OpenError::corrupt(name, bytes.len() as u64, Flaw::Absent));
        }
        self.spare = std::mem::replace(&mut self.bytes, Rc::new(bytes));
        self.item = Some(item);
        self.offset = start;
        (self.records, self.chunks) = (0, 0);
        Ok(())
    }

    fn read_block(&mut self, newer_than: Timestamp, up_to: Timestamp) -> Result<(), Flaw> {
        let bytes = &self.bytes[..];
        let block = Block::decode(&bytes[self.offset..])?;
        for transaction in block.transactions() {
            let transaction = transaction?;
            let timestamp = transaction.timestamp;
            if timestamp <= newer_than {
                continue;
            }
            if timestamp > up_to {
                // The records of the transaction do not count; the table numbers that it has used
                // do.
                for write in transaction.writes().flatten() {
                    self.note_numbers(&write);
                }
                continue;
            }
            let before = self.entries.len();
            let mut events = Vec::new();
            for write in transaction.writes() {
                let write = write?;
                if write.table == catalog::EVENTS {
                    events.push(TableEvent::decode(write.key, write.value)?);
                    continue;
                }
                check_table(write.table)?;
                self.note_numbers(&write);
                self.entries.push(Entry {
                    table: write.table,
                    timestamp,
                    key: range_of(bytes, write.key),
                    found: match write.value {
                        Some(value) => Found::Value(range_of(bytes, value)),
                        None => Found::Deletion,
                    },
                });
            }
            if self.entries.len() - before + events.len() != transaction.count as usize {
                return Err(Flaw::Nonsense);
            }
            self.recovery
                .database
                .catalog
                .events
                .note(timestamp, events);
        }
        let counter = &self.recovery.log_records;
        counter.fetch_add(self.entries.len() as u64, Ordering::Relaxed);
        self.advance(block.file_bytes());
        Ok(())
    }

    fn read_chunk(&mut self, part: PartEntry) -> Result<(), Flaw> {
        let bytes = &self.bytes[..];
        let chunk = Chunk::decode(&bytes[self.offset..])?;
        let header = chunk.header;
        let file_bytes = chunk.file_bytes();
        let ours = self.recovery.manifest.database;
        if (header.database, header.part) != (ours, part.file)
            || (header.table, header.chunk) != (part.table, self.chunks)
        {
            return Err(MISMATCH);
        }
        check_table(header.table)?;
        for record in chunk.records() {
            let (key, content) = record?;
            self.entries.push(Entry {
                table: header.table,
                timestamp: header.snapshot,
                key: range_of(bytes, key),
                found: match content {
                    Content::Value(value) => Found::Value(range_of(bytes, value)),
                    Content::Cold(address) => Found::Cold(address),
                },
            });
        }
        self.chunks += 1;
        self.records += self.entries.len() as u64;
        let is_last = self.offset + file_bytes >= bytes.len();
        let is_complete = self.records == part.records && header.is_last;
        if self.entries.len() != header.records as usize || is_last && !is_complete {
            return Err(MISMATCH);
        }
        let counter = &self.recovery.checkpoint_records;
        counter.fetch_add(self.entries.len() as u64, Ordering::Relaxed);
        self.advance(file_bytes);
        Ok(())
    }

    fn advance(&mut self, bytes: usize) {
        self.offset += bytes;
        let counter = &self.recovery.bytes_done;
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes table numbers: no table gets a number that was used before, even if only the log
    /// remembers it. A table may have come and gone without a record.
    #[inline]
    fn note_numbers(&self, write: &LoggedWrite<'_>) {
        if write.table == catalog::OBJECTS {
            let catalog = &self.recovery.database.catalog;
            for number in definition::numbers(write.key, write.value) {
                catalog.skip_numbers(number + 1);
            }
        }
    }
}

fn check_table(table: u32) -> Result<(), Flaw> {
    if table < catalog::NUMBERS_END {
        Ok(())
    } else {
        Err(Flaw::Nonsense)
    }
}

/// Returns the range of `part`, a part of `whole`, in `whole`.
fn range_of(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}
