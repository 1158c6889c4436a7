//! The manifest: the list of a database directory's files and logs, in one small file.
//!
//! The manifest is never changed in place: a new one is written beside it, synced, renamed over the
//! old one, and the directory synced. An interruption leaves the old manifest or the new one.
//!
//! ```text
//! magic "WFTM" | version u16 | - u16 | checksum u32 | length u32 | body
//! body   database u64 | incarnation u64
//!        cuts        count u32 × (incarnation u64 | up to u64 | ends)
//!                    ends: count u32 × (lane u32 | blocks u64)
//!        next table  u32
//!        checkpoint  present u32 (0 or 1), then
//!                    number u64 | incarnation u64 | begin u64 | end u64
//!                    starts  count u32 × (lane u32 | block u64 | transactions u64
//!                                         | newest u64)
//!                    parts   count u32 × (file u64 | table u32 | records u64 | bytes u64)
//!                    cold    count u32 × (number u32 | bytes u64)
//!        history     see `manifest/history.rs`
//! ```
//! The catalog has the tables (`catalog.rs`). Versions 1 and 2 listed them in the manifest; version
//! 2 had the history already, version 3 no events in it, version 4 no cold files.

mod history;

use std::{fmt, sync::Arc};

use io::{Directory, File, OpenMode};

pub(crate) use self::history::{History, HistoryFile};
use crate::{
    bytes::{Reader, TooShort},
    catalog,
    log::format::Flaw,
    timestamp::Timestamp,
};

/// Name of the manifest's file.
pub(crate) const NAME: &str = "MANIFEST";
/// Names of the file that replaces it, and of the one that a checkpoint prepares, which takes its
/// time.
pub(crate) const NEXT_NAME: &str = "MANIFEST.new";
pub(crate) const CHECKPOINT_NAME: &str = "MANIFEST.checkpoint";

const MAGIC: [u8; 4] = *b"WFTM";
const VERSION: u16 = 5;
const HEADER_BYTES: usize = 16;
/// Maximum bytes of a manifest; a file with a greater length in it is refused.
const BYTES_MAX: u64 = 1 << 30;

/// Content of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Number of the database, chosen at random when the directory was made.
    pub(crate) database: u64,
    /// Incarnation that is writing, or was the last to write.
    pub(crate) incarnation: u64,
    /// Ends of the logs of earlier incarnations.
    pub(crate) cuts: Vec<Cut>,
    /// Number such that no table has had it, nor one above it, when the manifest was written.
    pub(crate) next_table: u32,
    pub(crate) checkpoint: Option<CheckpointEntry>,
    /// Other parts of the log that are kept.
    pub(crate) history: History,
}

/// End of the log of `incarnation`: transactions newer than `up_to` were never acknowledged and do
/// not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) incarnation: u64,
    pub(crate) up_to: Timestamp,
    /// Number of blocks of each lane that were found whole; none of them may be missing.
    pub(crate) ends: Vec<(u32, u64)>,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest {
            database: 0,
            incarnation: 0,
            cuts: Vec::new(),
            next_table: catalog::FIRST_NUMBER,
            checkpoint: None,
            history: History::default(),
        }
    }
}

/// Complete checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckpointEntry {
    pub(crate) number: u64,
    /// Incarnation that took the checkpoint.
    pub(crate) incarnation: u64,
    /// Timestamp up to which the checkpoint has everything, and from which on the log is needed.
    pub(crate) begin: Timestamp,
    /// Timestamp beyond which the checkpoint has nothing.
    pub(crate) end: Timestamp,
    /// Beginning of the part of the log that is needed, in the incarnation that took the
    /// checkpoint; the logs of earlier ones are not needed.
    pub(crate) starts: Vec<Start>,
    pub(crate) parts: Vec<PartEntry>,
    /// Cold files that the checkpoint refers to.
    pub(crate) cold: Vec<ColdFileEntry>,
}

/// Beginning of the part of a lane that is needed: the blocks before this one, with so many
/// transactions, are superfluous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) lane: u32,
    pub(crate) block: u64,
    pub(crate) transactions: u64,
    /// Newest of the superfluous transactions.
    pub(crate) newest: Timestamp,
}

/// File of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartEntry {
    pub(crate) file: u64,
    pub(crate) table: u32,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// Cold file that a checkpoint refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColdFileEntry {
    pub(crate) number: u32,
    /// End of the part that the checkpoint refers to.
    pub(crate) bytes: u64,
}

/// Reason why a manifest cannot be used.
#[derive(Debug)]
pub(crate) enum ManifestError {
    Io(std::io::Error),
    Flaw(Flaw),
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestError::Io(error) => error.fmt(f),
            ManifestError::Flaw(flaw) => flaw.fmt(f),
        }
    }
}

impl From<std::io::Error> for ManifestError {
    fn from(error: std::io::Error) -> ManifestError {
        ManifestError::Io(error)
    }
}

impl From<Flaw> for ManifestError {
    fn from(flaw: Flaw) -> ManifestError {
        ManifestError::Flaw(flaw)
    }
}

impl Manifest {
    /// Loads the manifest of a directory; `None` if there is none.
    pub(crate) fn load(directory: &Arc<dyn Directory>) -> Result<Option<Manifest>, ManifestError> {
        let file = match directory.open(NAME, OpenMode::Read, false) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let length = file.length()?;
        if length > BYTES_MAX {
            return Err(Flaw::Nonsense.into());
        }
        let mut bytes = vec![0; length as usize];
        let read = file.read_at(&mut bytes, 0)?;
        Ok(Some(Manifest::decode(&bytes[..read])?))
    }

    /// Makes this the manifest of a directory.
    pub(crate) fn store(&self, directory: &Arc<dyn Directory>) -> std::io::Result<()> {
        self.write(directory, NEXT_NAME)?.sync()?;
        directory.rename(NEXT_NAME, NAME)?;
        directory.sync()
    }

    /// Writes the manifest to a new file of this name; the file is not durable yet.
    pub(crate) fn write(
        &self,
        directory: &Arc<dyn Directory>,
        name: &str,
    ) -> std::io::Result<Arc<dyn File>> {
        match directory.remove(name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = directory.open(name, OpenMode::Create, false)?;
        file.write_at(&self.encode(), 0)?;
        Ok(file)
    }

    /// Removes the history for change streams, for a copy that has no such files.
    pub(crate) fn forget_history(&mut self) {
        let begin = self.checkpoint.as_ref().map(|checkpoint| checkpoint.begin);
        let oldest = self.history.oldest.max(begin.unwrap_or_default());
        self.history = History::since(oldest);
    }

    /// Returns the end of the log of an earlier incarnation. `None`: the log does not count.
    pub(crate) fn cut(&self, incarnation: u64) -> Option<&Cut> {
        self.cuts.iter().find(|cut| cut.incarnation == incarnation)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.database.to_le_bytes());
        body.extend_from_slice(&self.incarnation.to_le_bytes());
        put_count(&mut body, self.cuts.len());
        for cut in &self.cuts {
            body.extend_from_slice(&cut.incarnation.to_le_bytes());
            body.extend_from_slice(&cut.up_to.0.to_le_bytes());
            put_count(&mut body, cut.ends.len());
            for (lane, blocks) in &cut.ends {
                body.extend_from_slice(&lane.to_le_bytes());
                body.extend_from_slice(&blocks.to_le_bytes());
            }
        }
        body.extend_from_slice(&self.next_table.to_le_bytes());
        put_count(&mut body, usize::from(self.checkpoint.is_some()));
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.encode_into(&mut body);
        }
        self.history.encode_into(&mut body);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, Flaw> {
        let mut reader = Reader(bytes);
        let mut read_header = || {
            let magic = reader.take(4)?;
            let version = reader.u16()?;
            reader.u16()?;
            let checksum = reader.u32()?;
            Ok::<_, TooShort>((magic, version, checksum, reader.counted()))
        };
        let (magic, version, checksum, body) = read_header().map_err(|TooShort| Flaw::Absent)?;
        if magic != MAGIC {
            return Err(Flaw::Absent);
        }
        if version != VERSION {
            return Err(Flaw::Version(version));
        }
        let body = body.map_err(|TooShort| Flaw::Checksum)?;
        if checksum != crc32fast::hash(body) {
            return Err(Flaw::Checksum);
        }
        Manifest::decode_body(Reader(body))
    }

    fn decode_body(mut reader: Reader<'_>) -> Result<Manifest, Flaw> {
        let reader = &mut reader;
        let manifest = Manifest {
            database: reader.u64()?,
            incarnation: reader.u64()?,
            cuts: get_all(reader, |reader| {
                Ok(Cut {
                    incarnation: reader.u64()?,
                    up_to: Timestamp(reader.u64()?),
                    ends: get_all(reader, |reader| Ok((reader.u32()?, reader.u64()?)))?,
                })
            })?,
            next_table: reader.u32()?,
            checkpoint: match reader.u32()? {
                0 => None,
                1 => Some(CheckpointEntry::decode(reader)?),
                _ => return Err(Flaw::Nonsense),
            },
            history: History::decode(reader)?,
        };
        if reader.is_empty() {
            Ok(manifest)
        } else {
            Err(Flaw::Nonsense)
        }
    }
}

impl CheckpointEntry {
    fn encode_into(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.number.to_le_bytes());
        body.extend_from_slice(&self.incarnation.to_le_bytes());
        body.extend_from_slice(&self.begin.0.to_le_bytes());
        body.extend_from_slice(&self.end.0.to_le_bytes());
        put_count(body, self.starts.len());
        for start in &self.starts {
            body.extend_from_slice(&start.lane.to_le_bytes());
            body.extend_from_slice(&start.block.to_le_bytes());
            body.extend_from_slice(&start.transactions.to_le_bytes());
            body.extend_from_slice(&start.newest.0.to_le_bytes());
        }
        put_count(body, self.parts.len());
        for part in &self.parts {
            body.extend_from_slice(&part.file.to_le_bytes());
            body.extend_from_slice(&part.table.to_le_bytes());
            body.extend_from_slice(&part.records.to_le_bytes());
            body.extend_from_slice(&part.bytes.to_le_bytes());
        }
        put_count(body, self.cold.len());
        for file in &self.cold {
            body.extend_from_slice(&file.number.to_le_bytes());
            body.extend_from_slice(&file.bytes.to_le_bytes());
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<CheckpointEntry, Flaw> {
        Ok(CheckpointEntry {
            number: reader.u64()?,
            incarnation: reader.u64()?,
            begin: Timestamp(reader.u64()?),
            end: Timestamp(reader.u64()?),
            starts: get_all(reader, |reader| {
                Ok(Start {
                    lane: reader.u32()?,
                    block: reader.u64()?,
                    transactions: reader.u64()?,
                    newest: Timestamp(reader.u64()?),
                })
            })?,
            parts: get_all(reader, |reader| {
                Ok(PartEntry {
                    file: reader.u64()?,
                    table: reader.u32()?,
                    records: reader.u64()?,
                    bytes: reader.u64()?,
                })
            })?,
            cold: get_all(reader, |reader| {
                Ok(ColdFileEntry {
                    number: reader.u32()?,
                    bytes: reader.u64()?,
                })
            })?,
        })
    }
}

fn put_count(body: &mut Vec<u8>, count: usize) {
    body.extend_from_slice(&(count as u32).to_le_bytes());
}

/// Reads as many entries as a count says. Allocates as they come: the count may be wrong.
fn get_all<T>(
    reader: &mut Reader<'_>,
    get: impl Fn(&mut Reader<'_>) -> Result<T, Flaw>,
) -> Result<Vec<T>, Flaw> {
    let count = reader.u32()?;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(get(reader)?);
    }
    Ok(all)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::catalog::{ChangedTable, TableEvent, TableEventKind};

    fn manifest() -> Manifest {
        let table = ChangedTable {
            number: 5,
            storage: 7,
            name: "t".into(),
            description: Arc::from(*b"u64"),
            ttl: None,
        };
        let events = [TableEventKind::Dropped, TableEventKind::Created].map(|kind| TableEvent {
            table: Arc::new(table.clone()),
            kind,
        });
        let events = events.to_vec();
        Manifest {
            database: 77,
            incarnation: 3,
            cuts: vec![Cut {
                incarnation: 2,
                up_to: Timestamp(99),
                ends: vec![(0, 7), (3, 1)],
            }],
            next_table: 9,
            checkpoint: Some(CheckpointEntry {
                number: 5,
                incarnation: 3,
                begin: Timestamp(10),
                end: Timestamp(20),
                starts: vec![Start {
                    lane: 1,
                    block: 8,
                    transactions: 80,
                    newest: Timestamp(7),
                }],
                parts: vec![PartEntry {
                    file: 12,
                    table: 0,
                    records: 1000,
                    bytes: 4096,
                }],
                cold: vec![ColdFileEntry {
                    number: 3,
                    bytes: 8192,
                }],
            }),
            history: History {
                oldest: Timestamp(4),
                cuts: vec![(1, Timestamp(9))],
                files: vec![HistoryFile {
                    number: 3,
                    incarnation: 1,
                    lane: 2,
                    first_block: 10,
                    blocks_end: 20,
                    newest: Timestamp(8),
                }],
                events: vec![(Timestamp(5), events.clone()), (Timestamp(9), events)],
            },
        }
    }

    #[test]
    fn a_manifest_reads_as_it_was_written() {
        for manifest in [manifest(), Manifest::default()] {
            assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }
    }

    #[test]
    fn every_changed_bit_and_every_missing_byte_is_noticed() {
        let mut bytes = manifest().encode();
        for bit in (0..bytes.len() * 8).filter(|bit| !(6..8).contains(&(bit / 8))) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert!(
                Manifest::decode(&bytes[..length]).is_err(),
                "{length} bytes"
            );
        }
    }

    #[test]
    fn other_versions_are_refused_by_name() {
        let mut bytes = manifest().encode();
        for version in [1, 2, 3, 4, 6] {
            bytes[4] = version;
            let refused = Err(Flaw::Version(version.into()));
            assert_eq!(Manifest::decode(&bytes), refused);
        }
    }
}
