//! The log as it was written, entry by entry.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use io::{BLOCK_BYTES, Directory};

use crate::{
    catalog::{EVENTS, TableEvent, view::CatalogView},
    inspect::{
        blocks::{Blocks, Ending},
        catalog::read_names,
        lock,
    },
    log::{
        format::{Block, Flaw, SegmentHeader},
        segments::{file_name, file_number},
    },
    manifest::{self, Manifest, ManifestError},
    recovery::{Item, OpenError, RecoveryConfig, logs::Logs, pieces::read_file, scan::LogFile},
    timestamp::Timestamp,
    ttl::{self, WallTime},
};

/// Part of the log to go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpSelection {
    /// Lane to go through; `None` for all.
    pub lane: Option<u32>,
    /// Incarnation whose files are gone through; `None` for all.
    pub incarnation: Option<u64>,
    /// Timestamps of the transactions to show, with the blocks that have such transactions.
    pub timestamps: RangeInclusive<u64>,
}

impl Default for DumpSelection {
    fn default() -> DumpSelection {
        DumpSelection {
            lane: None,
            incarnation: None,
            timestamps: 0..=u64::MAX,
        }
    }
}

/// Fate of a transaction when the database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// The transaction is replayed.
    Durable,
    /// The checkpoint has the transaction already.
    InCheckpoint,
    /// The transaction is newer than the timestamp up to which all lanes are complete, and does not
    /// count.
    CutOff,
    /// The database would not open, and the fate is unknown.
    Unknown,
}

impl Fate {
    /// Returns the name of the fate, one word.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Durable => "durable",
            Fate::InCheckpoint => "in-checkpoint",
            Fate::CutOff => "cut-off",
            Fate::Unknown => "unknown",
        }
    }
}

/// Entry of the log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum DumpEntry<'b> {
    /// A file begins.
    #[non_exhaustive]
    File {
        /// Name of the file.
        name: &'b str,
        /// Opening of the database that wrote the file.
        incarnation: u64,
        /// Lane of the file: the worker that wrote it.
        lane: u32,
        /// Number of the file among those of the lane, from 0.
        ordinal: u64,
    },
    /// A block begins.
    #[non_exhaustive]
    Block {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Size of the block in the file, in bytes.
        bytes: u64,
        /// Number of the block in its lane.
        number: u64,
        /// Number of transactions in the block.
        transactions: u32,
        /// Reading of the clock when the block was sealed.
        as_of: Timestamp,
    },
    /// A transaction begins.
    #[non_exhaustive]
    Transaction {
        /// Commit timestamp.
        timestamp: Timestamp,
        /// Number of records that the transaction wrote, including those of the catalog, and events
        /// of tables.
        writes: u32,
        /// Fate of the transaction.
        fate: Fate,
    },
    /// A record was written.
    #[non_exhaustive]
    Write {
        /// Number of the table.
        table: u32,
        /// Name of the table, or its last name, if checkpoint or log have it.
        table_name: Option<&'b str>,
        /// Encoded key.
        key: &'b [u8],
        /// Encoded value; `None` if the record was deleted.
        value: Option<&'b [u8]>,
        /// Expiry of the record, if it has one and the catalog has been read.
        expires: Option<WallTime>,
    },
    /// A table as a whole was changed; the change stream has this event.
    #[non_exhaustive]
    Table {
        /// Event, with its table.
        event: &'b TableEvent,
    },
    /// Bytes cannot be read; the rest of the file is left out.
    #[non_exhaustive]
    Damage {
        /// Name of the file.
        name: &'b str,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Kind of the damage.
        what: &'b str,
    },
}

/// Goes through the log in the order of incarnations, lanes, files and blocks, and passes the
/// selected entries to `visit`. The files of a lane that are free to be used again are included.
/// Only one file at a time is in memory; all files are read once more before that, for the names of
/// tables.
///
/// # Errors
/// [`OpenError::Locked`], [`OpenError::NoDatabase`], [`OpenError::Io`]; the errors of `visit`,
/// which end the dump. Damage is passed to `visit`.
pub fn dump<E: From<OpenError>>(
    directory: &Arc<dyn Directory>,
    selection: &DumpSelection,
    visit: &mut dyn FnMut(DumpEntry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let _lock = lock(directory)?;
    let manifest = load_manifest(directory, visit)?;
    let mut fates = Fates::Unknown;
    if let Some(manifest) = &manifest {
        fates = Fates::ask_recovery(directory, manifest);
    }
    let names = directory.list().map_err(OpenError::from)?;
    if manifest.is_none() && !names.iter().any(|name| file_number(name).is_some()) {
        return Err(OpenError::NoDatabase(directory.location()).into());
    }
    let mut files = Vec::new();
    for name in &names {
        let Some(number) = file_number(name) else {
            continue;
        };
        let start = read_file(directory, name, 2 * BLOCK_BYTES as u64).map_err(OpenError::from)?;
        let second = start.get(BLOCK_BYTES..).unwrap_or_default();
        match SegmentHeader::decode(&start) {
            Ok(header) => files.push((number, header)),
            Err(Flaw::Absent) if Block::decode(second).is_err() => {}
            Err(flaw) => visit(DumpEntry::Damage {
                name,
                offset: 0,
                what: &flaw.to_string(),
            })?,
        }
    }
    files.sort_by_key(|(_, header)| (header.incarnation, header.lane, header.ordinal));
    let names = read_names(directory, manifest.as_ref(), &files);
    for (number, header) in files {
        let is_selected = selection.lane.is_none_or(|lane| lane == header.lane)
            && selection
                .incarnation
                .is_none_or(|incarnation| incarnation == header.incarnation);
        if is_selected {
            let mut dumping = Dumping {
                name: file_name(number),
                names: &names,
                selection,
                fates: &fates,
                visit,
            };
            dumping.file(directory, number, header)?;
        }
    }
    Ok(())
}

fn load_manifest<E: From<OpenError>>(
    directory: &Arc<dyn Directory>,
    visit: &mut dyn FnMut(DumpEntry<'_>) -> Result<(), E>,
) -> Result<Option<Manifest>, E> {
    match Manifest::load(directory) {
        Ok(manifest) => Ok(manifest),
        Err(ManifestError::Io(error)) => Err(OpenError::from(error).into()),
        Err(ManifestError::Flaw(flaw)) => {
            visit(DumpEntry::Damage {
                name: manifest::NAME,
                offset: 0,
                what: &flaw.to_string(),
            })?;
            Ok(None)
        }
    }
}

/// Fates of transactions, by file.
enum Fates {
    Unknown,
    /// Fates by file number: the transactions that count are newer than the first timestamp, not
    /// newer than the second, and in blocks up to the offset.
    Known(BTreeMap<u64, (Timestamp, Timestamp, u64)>),
}

impl Fates {
    fn ask_recovery(directory: &Arc<dyn Directory>, manifest: &Manifest) -> Fates {
        match Logs::read(directory, manifest, RecoveryConfig::default()) {
            Err(_) => Fates::Unknown,
            Ok(logs) => Fates::Known(
                logs.items
                    .iter()
                    .filter_map(|item| match *item {
                        Item::Part(_) => None,
                        Item::Log {
                            file,
                            end,
                            newer_than,
                            up_to,
                        } => Some((file.number, (newer_than, up_to, end))),
                    })
                    .collect(),
            ),
        }
    }

    fn of(&self, file: u64, offset: u64, timestamp: Timestamp) -> Fate {
        let Fates::Known(files) = self else {
            return Fate::Unknown;
        };
        match files.get(&file) {
            Some(&(_, up_to, end)) if offset >= end || timestamp > up_to => Fate::CutOff,
            Some(&(newer_than, ..)) if timestamp > newer_than => Fate::Durable,
            // Only a checkpoint makes files superfluous.
            _ => Fate::InCheckpoint,
        }
    }
}

struct Dumping<'d, E> {
    name: String,
    names: &'d CatalogView,
    selection: &'d DumpSelection,
    fates: &'d Fates,
    visit: &'d mut dyn FnMut(DumpEntry<'_>) -> Result<(), E>,
}

impl<E: From<OpenError>> Dumping<'_, E> {
    fn file(
        &mut self,
        directory: &Arc<dyn Directory>,
        number: u64,
        header: SegmentHeader,
    ) -> Result<(), E> {
        (self.visit)(DumpEntry::File {
            name: &self.name,
            incarnation: header.incarnation,
            lane: header.lane,
            ordinal: header.ordinal,
        })?;
        let bytes = match read_file(directory, &self.name, u64::MAX) {
            Ok(bytes) => bytes,
            Err(error) => return self.damage(0, &format!("the device refused: {error}")),
        };
        let file = LogFile {
            number,
            bytes: bytes.len() as u64,
            header,
        };
        let mut blocks = Blocks::new(&bytes, &file);
        let mut next = 0;
        for (offset, block) in &mut blocks {
            next = block.header.number.saturating_add(1);
            self.block(number, offset, &block)?;
        }
        match blocks.ending(next) {
            Ending::Clean => Ok(()),
            Ending::Torn(flaw) => {
                let what = format!("the last block is torn or damaged: {flaw}");
                self.damage(blocks.offset(), &what)
            }
            Ending::Destroyed(flaw) => self.damage(blocks.offset(), &flaw.to_string()),
        }
    }

    fn damage(&mut self, offset: u64, what: &str) -> Result<(), E> {
        (self.visit)(DumpEntry::Damage {
            name: &self.name,
            offset,
            what,
        })
    }

    fn block(&mut self, file: u64, offset: u64, block: &Block<'_>) -> Result<(), E> {
        let selected = &self.selection.timestamps;
        let header = &block.header;
        let first = block.transactions().find_map(Result::ok);
        let oldest = first.map_or(Timestamp(0), |transaction| transaction.timestamp);
        if header.newest.0 < *selected.start() || oldest.0 > *selected.end() {
            return Ok(());
        }
        (self.visit)(DumpEntry::Block {
            offset,
            bytes: block.file_bytes() as u64,
            number: header.number,
            transactions: header.transactions,
            as_of: header.as_of,
        })?;
        for transaction in block.transactions() {
            let transaction = match transaction {
                Ok(transaction) => transaction,
                Err(flaw) => return self.damage(offset, &flaw.to_string()),
            };
            let timestamp = transaction.timestamp;
            if !selected.contains(&timestamp.0) {
                continue;
            }
            (self.visit)(DumpEntry::Transaction {
                timestamp,
                writes: transaction.count,
                fate: self.fates.of(file, offset, timestamp),
            })?;
            for write in transaction.writes() {
                let write = match write {
                    Ok(write) => write,
                    Err(flaw) => return self.damage(offset, &flaw.to_string()),
                };
                if write.table == EVENTS {
                    match TableEvent::decode(write.key, write.value) {
                        Ok(event) => (self.visit)(DumpEntry::Table { event: &event })?,
                        Err(flaw) => return self.damage(offset, &flaw.to_string()),
                    }
                    continue;
                }
                let expires = self.names.ttl_of(write.table).is_some();
                let split = write.value.filter(|_| expires).map(ttl::split);
                (self.visit)(DumpEntry::Write {
                    table: write.table,
                    table_name: self.names.name_of(write.table),
                    key: write.key,
                    value: split.map(|(_, value)| value).or(write.value),
                    expires: split.map(|(expiry, _)| expiry),
                })?;
            }
        }
        Ok(())
    }
}
