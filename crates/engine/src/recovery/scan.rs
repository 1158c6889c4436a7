//! Reading the log: which blocks of each lane are there, whole and in sequence.
//!
//! A lane has at most one block under way, so of its blocks only the last can be torn by a crash.
//! Bytes that are no block end the lane, if nothing of the lane comes after them; if a block of the
//! lane does, the bytes between were destroyed later, and recovery refuses
//! ([`OpenError::Corrupt`]).
//!
//! Header and claim of a block that its successor follows are therefore enough, if the rest is read
//! later ([`Look::Ahead`]): if its checksum is wrong then, the block was destroyed, not torn.

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

/// Log files, as their headers describe them.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files by incarnation and lane, in the order of their ordinals.
    pub(crate) lanes: BTreeMap<(u64, u32), Vec<LogFile>>,
    /// Numbers of files that were left half made.
    pub(crate) blank: Vec<u64>,
    /// First number beyond all numbers in use.
    pub(crate) next_number: u64,
}

/// A log file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogFile {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) header: SegmentHeader,
}

/// Reads the headers of all log files.
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
            // The file is of another database: copied here by mistake.
            Ok(_) if !salvage => return Err(OpenError::corrupt(name, 0, Flaw::Nonsense)),
            // The file is new and only half made: a header is written whole or not at all, since it
            // lies within one sector, and blocks come after it.
            Err(Flaw::Absent)
                if Block::decode(start.get(BLOCK_BYTES..).unwrap_or_default()).is_err() =>
            {
                found.blank.push(number);
            }
            Err(flaw) if !salvage => return Err(OpenError::corrupt(name, 0, flaw)),
            // The file is given up; otherwise no later opening would get past it.
            Ok(_) | Err(_) => found.blank.push(number),
        }
    }
    for files in found.lanes.values_mut() {
        files.sort_by_key(|file| file.header.ordinal);
    }
    Ok(found)
}

/// Expected beginning and end of a lane's log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// First block that is needed; earlier blocks may be missing.
    pub(crate) first_block: u64,
    /// Number of transactions before that block.
    pub(crate) transactions: u64,
    /// Number of blocks that were found whole before, if known.
    pub(crate) blocks: Option<u64>,
}

/// A lane's log, as it was found.
#[derive(Debug, Default)]
pub(crate) struct LaneLog {
    /// Files of the lane, and their blocks.
    pub(crate) files: Vec<(LogFile, FileBlocks)>,
    /// Number of the block that would come next.
    pub(crate) blocks: u64,
    /// Number of transactions in all blocks.
    pub(crate) transactions: u64,
    /// Claims of the blocks, in their order.
    pub(crate) claims: Vec<BlockClaim>,
}

/// The blocks of one file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileBlocks {
    /// End of the last block in the file, in bytes.
    pub(crate) end: u64,
    /// Number of the first block, and the count of the lane's transactions before it.
    pub(crate) first: u64,
    pub(crate) first_transaction: u64,
    /// Number after that of the last block; 0 if there are no blocks.
    pub(crate) blocks_end: u64,
    /// Newest transaction of the blocks.
    pub(crate) newest: Timestamp,
    /// Whether a checkpoint made all of the blocks superfluous.
    pub(crate) is_superseded: bool,
}

/// Claim of a block; see `log/frontier.rs`.
#[derive(Clone, Debug)]
pub(crate) struct BlockClaim {
    pub(crate) as_of: Timestamp,
    pub(crate) vector: Vec<Claim>,
}

/// Extent to which the log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// All blocks are read; every checksum is compared.
    Through,
    /// Only headers and claims are read of blocks that others follow. The result is true if the
    /// checksums of all blocks are right: these are to be compared when the blocks are loaded.
    Ahead,
}

/// Reads the log of one lane. With `salvage`, destroyed data ends the lane.
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
    // The place where the next block should have been.
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
        // Debris is a former block of this lane, perhaps the first that is needed, that is no whole
        // block any more.
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
        // The file was freed by the checkpoint, and may have been used again.
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

/// Content of one file.
struct FileLog {
    /// Number of the first block of the file.
    first: Option<u64>,
    blocks: FileBlocks,
    /// Transactions of the lane up to the end of the file's last block.
    transactions: u64,
    claims: Vec<BlockClaim>,
    /// Reason why nothing more was read.
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
                // The block is left from an earlier use of the file.
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

    /// Forgets the blocks of the file, none of which recovery needs.
    fn forget(&mut self) {
        self.first = None;
        self.claims.clear();
        self.blocks.is_superseded = true;
    }
}

/// Returns header and claim of the block at `offset`, if its successor follows it; their checksums
/// are not compared.
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

/// Returns header and claim of the block at `offset`, if it is whole.
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

/// Whether a later block follows, as [`later_block`] says; reads in steps, since mostly nothing was
/// written there.
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

/// Returns the block at `offset`, if it is of this file's lane and incarnation.
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

/// Whether a block header of an unknown version plausibly is of this lane.
pub(crate) fn is_ours(bytes: &[u8], offset: usize, file: &LogFile) -> bool {
    let Some(header) = bytes.get(offset..offset + 28) else {
        return false;
    };
    header[16..24] == file.header.incarnation.to_le_bytes()
        && header[24..28] == file.header.lane.to_le_bytes()
}

/// Whether there is a whole block of the lane behind `offset` that is not older than `number`: if
/// so, the bytes at `offset` are no torn tail.
pub(crate) fn later_block(bytes: &[u8], offset: usize, file: &LogFile, number: u64) -> bool {
    (offset..bytes.len())
        .step_by(BLOCK_BYTES)
        .any(|at| block_of(bytes, at, file).is_ok_and(|block| block.header.number >= number))
}

#[cfg(all(test, not(loom)))]
mod tests;
