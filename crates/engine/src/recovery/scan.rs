//! Reading the log: which blocks of each lane are there, whole and in sequence.
//!
//! A lane has at most one block under way, so of its blocks only the last can be
//! torn by a crash. What does not read as a block ends the lane, if nothing of the
//! lane comes after it; if something does, what lies between was destroyed later,
//! and recovery refuses ([`OpenError::Corrupt`]).
//!
//! So of a block that its successor follows, headers and claims are enough for whoever
//! reads the rest later ([`Look::Ahead`]): if its checksum is wrong then, the block was
//! destroyed, not torn.

use std::{collections::BTreeMap, sync::Arc};

use io::{BLOCK_BYTES, Directory, OpenMode};

use crate::{
    log::{
        format::{BLOCK_HEADER_BYTES, Block, BlockHeader, Claim, Flaw, SegmentHeader},
        segments::{file_name, file_number},
    },
    manifest::Manifest,
    recovery::{OpenError, pieces::Pieces},
    timestamp::Timestamp,
};

/// Bytes that are looked through at once for blocks where none are expected.
const STEP_BYTES: usize = 256 * BLOCK_BYTES;

/// Log files by what their headers say.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By incarnation and lane, in the order of their ordinals.
    pub(crate) lanes: BTreeMap<(u64, u32), Vec<LogFile>>,
    /// Left half made.
    pub(crate) blank: Vec<u64>,
    /// Beyond all numbers in use.
    pub(crate) next_number: u64,
}

/// A log file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogFile {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) header: SegmentHeader,
}

/// Looks at the headers of all log files.
pub(crate) fn find(
    directory: &Arc<dyn Directory>,
    manifest: &Manifest,
    salvage: bool,
) -> Result<Found, OpenError> {
    let mut found = Found::default();
    for name in directory.list()? {
        let Some(number) = file_number(&name) else {
            continue;
        };
        found.next_number = found.next_number.max(number.saturating_add(1));
        let file = directory.open(&name, OpenMode::Read, false)?;
        let bytes = file.length()?;
        let mut start = vec![0; 2 * BLOCK_BYTES];
        let read = file.read_at(&mut start, 0)?;
        start.truncate(read);
        match SegmentHeader::decode(&start) {
            Ok(header) if header.database == manifest.database => {
                let lane = (header.incarnation, header.lane);
                found.lanes.entry(lane).or_default().push(LogFile {
                    number,
                    bytes,
                    header,
                });
            }
            // Of another database: copied here by mistake.
            Ok(_) if !salvage => return Err(OpenError::corrupt(name, 0, Flaw::Nonsense)),
            // New and only half made: a header is written whole or not at all,
            // since it lies within one sector, and blocks come after it.
            Err(Flaw::Absent)
                if Block::decode(start.get(BLOCK_BYTES..).unwrap_or_default()).is_err() =>
            {
                found.blank.push(number);
            }
            Err(flaw) if !salvage => return Err(OpenError::corrupt(name, 0, flaw)),
            // Given up; else no later opening would get past it.
            Ok(_) | Err(_) => found.blank.push(number),
        }
    }
    for files in found.lanes.values_mut() {
        files.sort_by_key(|file| file.header.ordinal);
    }
    Ok(found)
}

/// Where a lane's log is to begin and to end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// Earlier blocks may be missing.
    pub(crate) first_block: u64,
    /// Transactions before that block.
    pub(crate) transactions: u64,
    /// So many blocks were found whole before, if that is known.
    pub(crate) blocks: Option<u64>,
}

/// A lane's log as it was found.
#[derive(Debug, Default)]
pub(crate) struct LaneLog {
    /// The files, and their blocks.
    pub(crate) files: Vec<(LogFile, FileBlocks)>,
    /// The number of the block that would come next.
    pub(crate) blocks: u64,
    /// Transactions in all blocks.
    pub(crate) transactions: u64,
    /// What the blocks claim, in their order.
    pub(crate) claims: Vec<BlockClaim>,
}

/// The blocks of one file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileBlocks {
    /// Bytes of the file up to the end of the last of them.
    pub(crate) end: u64,
    /// The number of the first of them, and the lane's transactions before it.
    pub(crate) first: u64,
    pub(crate) first_transaction: u64,
    /// The number after that of the last of them; 0 if there are none.
    pub(crate) blocks_end: u64,
    /// The newest of their transactions.
    pub(crate) newest: Timestamp,
    /// A checkpoint made all of them superfluous.
    pub(crate) is_superseded: bool,
}

/// See `log/frontier.rs`.
#[derive(Clone, Debug)]
pub(crate) struct BlockClaim {
    pub(crate) as_of: Timestamp,
    pub(crate) vector: Vec<Claim>,
}

/// How much of the log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Everything; every checksum is compared.
    Through,
    /// Of blocks that others follow, headers and claims. What comes of it is true if
    /// the checksums of all blocks are right: to be compared when they are loaded.
    Ahead,
}

/// Reads the log of one lane. With `salvage`, what is destroyed ends the lane.
pub(crate) fn scan_lane(
    directory: &Arc<dyn Directory>,
    files: &[LogFile],
    expected: Expected,
    look: Look,
    salvage: bool,
) -> Result<LaneLog, OpenError> {
    let mut lane = LaneLog {
        blocks: expected.first_block,
        transactions: expected.transactions,
        ..LaneLog::default()
    };
    let mut broken = None;
    // Where the next block should have been.
    let mut tail = (
        files.first().map_or(0, |file| file.number),
        BLOCK_BYTES as u64,
        Flaw::Absent,
    );
    let mut begun = false;
    let mut memory = Vec::new();
    for file in files {
        let mut pieces = Pieces::of(directory, file, memory)?;
        let mut in_file = FileLog::read(&mut pieces, file, look, salvage)?;
        let end = in_file.blocks.end;
        // What was a block of this lane, perhaps the first that is needed, and is none
        // any more.
        let is_debris = match in_file.first {
            None => {
                let start = pieces.at(BLOCK_BYTES, BLOCK_HEADER_BYTES)?;
                in_file.flaw != Flaw::Absent || is_ours(start, 0, file)
            }
            Some(_) => {
                let is_needed = in_file.blocks.blocks_end == expected.first_block;
                in_file.flaw != Flaw::Absent && is_needed
            }
        };
        // Freed by the checkpoint, perhaps used again, perhaps not yet.
        if in_file.blocks.blocks_end <= expected.first_block {
            in_file.forget();
        }
        if let Some(first) = in_file.first {
            let follows = if begun {
                first == lane.blocks
            } else {
                first <= expected.first_block
            };
            if !follows {
                broken = Some(tail);
                break;
            }
            begun = true;
            lane.blocks = in_file.blocks.blocks_end;
            lane.transactions = in_file.transactions;
            tail = (file.number, end, in_file.flaw);
        } else if tail.2 == Flaw::Absent && is_debris {
            tail = (file.number, end, in_file.flaw);
        }
        lane.claims.append(&mut in_file.claims);
        lane.files.push((*file, in_file.blocks));
        if goes_on(&mut pieces, end as usize, file, lane.blocks)? {
            broken = Some((file.number, end, in_file.flaw));
            break;
        }
        memory = pieces.into_memory();
    }
    if expected.blocks.is_some_and(|blocks| lane.blocks < blocks) {
        broken = broken.or(Some(tail));
    }
    match broken {
        Some((number, offset, flaw)) if !salvage => {
            Err(OpenError::corrupt(file_name(number), offset, flaw))
        }
        _ => Ok(lane),
    }
}

/// What one file holds.
struct FileLog {
    /// The number of its first block.
    first: Option<u64>,
    blocks: FileBlocks,
    /// Transactions of the lane up to the end of its last block.
    transactions: u64,
    claims: Vec<BlockClaim>,
    /// Why nothing more was read.
    flaw: Flaw,
}

impl FileLog {
    /// Reads blocks with consecutive numbers, as far as they go.
    fn read(
        pieces: &mut Pieces,
        file: &LogFile,
        look: Look,
        salvage: bool,
    ) -> Result<FileLog, OpenError> {
        let mut log = FileLog {
            first: None,
            blocks: FileBlocks::default(),
            transactions: 0,
            claims: Vec::new(),
            flaw: Flaw::Absent,
        };
        let mut offset = BLOCK_BYTES;
        loop {
            // After a crash the file may end within the last block's padding.
            log.blocks.end = offset.min(pieces.length()) as u64;
            let found = match look {
                Look::Ahead => followed_block(pieces, offset, file)?,
                Look::Through => None,
            };
            let found = match found {
                Some(found) => Ok(found),
                None => whole_block(pieces, offset, file)?,
            };
            let (header, claim) = match found {
                Ok(found) => found,
                Err(flaw) => {
                    let start = pieces.at(offset, BLOCK_HEADER_BYTES)?;
                    let is_readable = matches!(flaw, Flaw::Version(_) | Flaw::Nonsense);
                    if !salvage && is_readable && is_ours(start, 0, file) {
                        let name = file_name(file.number);
                        return Err(OpenError::corrupt(name, offset as u64, flaw));
                    }
                    log.flaw = flaw;
                    return Ok(log);
                }
            };
            if log.first.is_some() && header.number != log.blocks.blocks_end {
                // Left from an earlier use of the file.
                return Ok(log);
            }
            if log.first.is_none() {
                log.first = Some(header.number);
                (log.blocks.first, log.blocks.first_transaction) = (header.number, header.first);
            }
            log.transactions = header.first.saturating_add(header.transactions.into());
            log.claims.push(claim);
            log.blocks.blocks_end = header.number.saturating_add(1);
            log.blocks.newest = log.blocks.newest.max(header.newest);
            offset += header.file_bytes();
        }
    }

    /// Its blocks are none that recovery needs.
    fn forget(&mut self) {
        self.first = None;
        self.claims.clear();
        self.blocks.is_superseded = true;
    }
}

/// The header and claim of the block at `offset`, if its successor follows it; their
/// checksums are not compared.
fn followed_block(
    pieces: &mut Pieces,
    offset: usize,
    file: &LogFile,
) -> std::io::Result<Option<(BlockHeader, BlockClaim)>> {
    let start = pieces.at(offset, BLOCK_HEADER_BYTES)?;
    let Some(header) = BlockHeader::decode(start).ok().map(|(header, _)| header) else {
        return Ok(None);
    };
    let vector = header.vector();
    let bytes = header.file_bytes() - vector.start + BLOCK_HEADER_BYTES;
    let rest = pieces.at(offset + vector.start, bytes)?;
    let next = rest.get(header.file_bytes() - vector.start..);
    let Ok((next, _)) = BlockHeader::decode(next.unwrap_or_default()) else {
        return Ok(None);
    };
    let (number, first) = (
        header.number.checked_add(1),
        header.first.checked_add(header.transactions.into()),
    );
    let follows = is_of(&header, file)
        && is_of(&next, file)
        && (Some(next.number), Some(next.first)) == (number, first)
        && header.check().is_ok();
    Ok(follows.then(|| {
        let claim = BlockClaim {
            as_of: header.as_of,
            vector: Claim::decode_all(&rest[..vector.len()]).collect(),
        };
        (header, claim)
    }))
}

/// The header and claim of the block at `offset`, if it is whole.
fn whole_block(
    pieces: &mut Pieces,
    offset: usize,
    file: &LogFile,
) -> std::io::Result<Result<(BlockHeader, BlockClaim), Flaw>> {
    let bytes = match BlockHeader::decode(pieces.at(offset, BLOCK_HEADER_BYTES)?) {
        Ok((header, _)) => header.bytes(),
        Err(flaw) => return Ok(Err(flaw)),
    };
    let block = block_of(pieces.at(offset, bytes)?, 0, file);
    Ok(block.map(|block| {
        let claim = BlockClaim {
            as_of: block.header.as_of,
            vector: block.vector().collect(),
        };
        (block.header, claim)
    }))
}

/// As [`later_block`]; in steps, since mostly nothing was written there.
fn goes_on(
    pieces: &mut Pieces,
    offset: usize,
    file: &LogFile,
    number: u64,
) -> std::io::Result<bool> {
    for start in (offset..pieces.length()).step_by(STEP_BYTES) {
        let bytes = pieces.at(start, STEP_BYTES)?;
        let offsets = (0..bytes.len().min(STEP_BYTES)).step_by(BLOCK_BYTES);
        let is_later = |&at: &usize| {
            let header = BlockHeader::decode(&bytes[at..]);
            header.is_ok_and(|(header, _)| is_of(&header, file) && header.number >= number)
        };
        for at in offsets.filter(is_later).collect::<Vec<_>>() {
            if whole_block(pieces, start + at, file)?.is_ok() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_of(header: &BlockHeader, file: &LogFile) -> bool {
    (header.incarnation, header.lane) == (file.header.incarnation, file.header.lane)
}

/// The block at `offset`, if it is one of this file's lane and incarnation.
pub(crate) fn block_of<'b>(
    bytes: &'b [u8],
    offset: usize,
    file: &LogFile,
) -> Result<Block<'b>, Flaw> {
    let block = Block::decode(bytes.get(offset..).unwrap_or_default())?;
    if is_of(&block.header, file) {
        Ok(block)
    } else {
        Err(Flaw::Absent)
    }
}

/// Whether a block header of an unknown version is at least plausibly this lane's.
pub(crate) fn is_ours(bytes: &[u8], offset: usize, file: &LogFile) -> bool {
    let Some(header) = bytes.get(offset..offset + 28) else {
        return false;
    };
    header[16..24] == file.header.incarnation.to_le_bytes()
        && header[24..28] == file.header.lane.to_le_bytes()
}

/// Whether there is a whole block of the lane behind `offset` that is not older than
/// `number`: then what is at `offset` is no torn tail.
pub(crate) fn later_block(bytes: &[u8], offset: usize, file: &LogFile, number: u64) -> bool {
    (offset..bytes.len())
        .step_by(BLOCK_BYTES)
        .any(|at| block_of(bytes, at, file).is_ok_and(|block| block.header.number >= number))
}

#[cfg(all(test, not(loom)))]
mod tests;
