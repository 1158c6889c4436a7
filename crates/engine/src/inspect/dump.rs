//! The log as it was written, one thing after the other.

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

/// Which part of the log to go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpSelection {
    /// Only this lane.
    pub lane: Option<u32>,
    /// Only what was written in this incarnation.
    pub incarnation: Option<u64>,
    /// Only transactions of these timestamps, and blocks that have some.
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

/// What becomes of a transaction when the database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It is replayed.
    Durable,
    /// The checkpoint has it already.
    InCheckpoint,
    /// It is newer than what all lanes have completely, and does not count.
    CutOff,
    /// The database would not open, so nobody knows.
    Unknown,
}

impl Fate {
    /// Its name, one word.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Durable => "durable",
            Fate::InCheckpoint => "in-checkpoint",
            Fate::CutOff => "cut-off",
            Fate::Unknown => "unknown",
        }
    }
}

/// Something in the log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum DumpEntry<'b> {
    /// A file begins.
    #[non_exhaustive]
    File {
        /// Its name.
        name: &'b str,
        /// Which opening of the database wrote it.
        incarnation: u64,
        /// Which of its workers.
        lane: u32,
        /// Which of that worker's files, from 0.
        ordinal: u64,
    },
    /// A block begins.
    #[non_exhaustive]
    Block {
        /// Where in the file, in bytes.
        offset: u64,
        /// Bytes in the file.
        bytes: u64,
        /// Counts the lane's blocks.
        number: u64,
        /// Transactions in it.
        transactions: u32,
        /// The clock when it was sealed.
        as_of: Timestamp,
    },
    /// A transaction begins.
    #[non_exhaustive]
    Transaction {
        /// When it committed.
        timestamp: Timestamp,
        /// Records that it wrote, those of the catalog included, and events of tables.
        writes: u32,
        /// What becomes of it.
        fate: Fate,
    },
    /// A record was written.
    #[non_exhaustive]
    Write {
        /// The table's number.
        table: u32,
        /// Its name, or the last it had, if checkpoint or log have it.
        table_name: Option<&'b str>,
        /// The encoded key.
        key: &'b [u8],
        /// The encoded value. `None`: deleted.
        value: Option<&'b [u8]>,
        /// When the record expires, if it does, and the catalog has been read.
        expires: Option<WallTime>,
    },
    /// Something was done to a table; those who follow the change stream are told.
    #[non_exhaustive]
    Table {
        /// What, and to which.
        event: &'b TableEvent,
    },
    /// Something cannot be read; what comes after it in the file is left out.
    #[non_exhaustive]
    Damage {
        /// The file's name.
        name: &'b str,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong.
        what: &'b str,
    },
}

/// Goes through the log in the order of incarnations, lanes, files and blocks, and
/// shows `visit` what was selected. The files of a lane that are free to be used
/// again are among them. One file at a time is in memory; all are read once more before
/// that, for the names of tables.
///
/// # Errors
/// [`OpenError::Locked`], [`OpenError::NoDatabase`], [`OpenError::Io`]; those of
/// `visit`, which end the matter. Damage is shown to `visit`.
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

/// What counts of each file.
enum Fates {
    Unknown,
    /// By file number: transactions newer than the first and not newer than the
    /// second, in blocks up to an offset.
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
            // Files are superfluous because of a checkpoint only.
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
