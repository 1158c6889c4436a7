//! Rotten bits: recovery refuses and names the file, or finds the same.
//!
//! One case cannot be told from a crash: the last whole block of a lane looks like a
//! torn write when it rots. The log then ends early, as a prefix of the commit order
//! nevertheless, and may lack acknowledged commits. (Unless another lane's block says
//! that the block was durable, or the manifest says how many blocks there are.)

use std::{collections::BTreeMap, ops::Range};

use engine::{Error, OpenError};
use io::{BLOCK_BYTES, OpenMode, SimulatedDisk};

use super::{Crashes, ledger::Past};
use crate::{dice::Dice, failure::Reason};

/// Length of the part of a file that holds most of its data.
const FILE_START_BYTES: u64 = 40 << 10;

/// The needed part of a log block's header; see the engine's `log/format.rs`.
pub(super) struct Block {
    /// Bytes up to the padding.
    bytes: usize,
    /// Incarnation and lane.
    lane: (u64, u32),
    number: u64,
}

impl Block {
    /// Returns the block at the start of `bytes`, if there is one; does not verify
    /// its checksum.
    pub(super) fn at(bytes: &[u8]) -> Option<Block> {
        if bytes.len() < 64 || !bytes.starts_with(b"WFTB") {
            return None;
        }
        let number = |at: usize, length: usize| {
            let mut number = [0; 8];
            number[..length].copy_from_slice(&bytes[at..at + length]);
            u64::from_le_bytes(number)
        };
        let length = 64 + number(12, 4) as usize + number(6, 2) as usize * 24;
        (length <= bytes.len()).then(|| Block {
            bytes: length,
            lane: (number(16, 8), number(24, 4) as u32),
            number: number(32, 8),
        })
    }

    /// Returns the checksum that the block at the start of `bytes` should have.
    pub(super) fn checksum(&self, bytes: &[u8]) -> u32 {
        crc32fast::hash(&bytes[12..self.bytes])
    }
}

/// Returns the place of each lane's last whole block: file, and offsets.
fn last_blocks(disk: &SimulatedDisk) -> std::io::Result<Vec<(String, Range<u64>)>> {
    let directory = disk.directory();
    let mut last: BTreeMap<(u64, u32), (u64, String, Range<u64>)> = BTreeMap::new();
    for name in directory.list()? {
        if !name.starts_with("log-") {
            continue;
        }
        let file = directory.open(&name, OpenMode::Read, false)?;
        let mut bytes = vec![0; file.length()? as usize];
        file.read_at(&mut bytes, 0)?;
        for start in (BLOCK_BYTES..bytes.len()).step_by(BLOCK_BYTES) {
            let Some(block) = Block::at(&bytes[start..]) else {
                continue;
            };
            let checksum = bytes[start + 8..start + 12].to_vec();
            if checksum != block.checksum(&bytes[start..]).to_le_bytes() {
                continue;
            }
            let known = last.get(&block.lane).map(|&(number, ..)| number);
            if known.is_none_or(|known| known < block.number) {
                let range = start as u64..(start + block.bytes) as u64;
                last.insert(block.lane, (block.number, name.clone(), range));
            }
        }
    }
    Ok(last
        .into_values()
        .map(|(_, name, range)| (name, range))
        .collect())
}

/// Flips some bits of an image, and checks what recovery makes of it.
pub(super) fn look_at(
    crashes: &mut Crashes,
    image: &SimulatedDisk,
    past: &Past,
) -> Result<(), Reason> {
    crashes.report.crash_points += 1;
    let last = last_blocks(image).map_err(|error| Reason::Setup(error.to_string()))?;
    let files = image.directory().list();
    let files = files.map_err(|error| Reason::Setup(error.to_string()))?;
    let mut rotten = Vec::new();
    for _ in 0..crashes.dice.between(1, 3) {
        rotten.extend(rot(&mut crashes.dice, image, &files, &last));
    }
    let opened = match crashes.open(image) {
        Ok(opened) => opened,
        Err(error) if names(&error, &rotten) => {
            crashes.report.rot_refused += 1;
            return Ok(());
        }
        Err(error) => {
            return Err(Reason::Refused(format!("{rotten:?} rotted: {error}")));
        }
    };
    let rotted = |reason| Reason::Recovered(format!("{rotten:?} rotted: {reason}"));
    let up_to = match crashes.ledger.compare(past, &opened) {
        // Opening does not read cold records.
        Err(Reason::Unreadable(error)) if is_about(&error, &rotten) => {
            crashes.report.rot_refused += 1;
            return Ok(());
        }
        compared => compared.map_err(rotted)?,
    };
    let looks_torn = rotten.iter().any(|(name, offset)| {
        last.iter()
            .any(|(file, range)| file == name && range.contains(offset))
    });
    match past.check_acknowledged(up_to) {
        Ok(()) => crashes.report.rot_harmless += 1,
        Err(_) if looks_torn => crashes.report.rot_torn += 1,
        Err(reason) => return Err(rotted(reason)),
    }
    Ok(())
}

/// Flips a bit and returns its place: anywhere, which mostly is unwritten space, at
/// the beginning of a file, or in the last block of a lane.
fn rot(
    dice: &mut Dice,
    image: &SimulatedDisk,
    names: &[String],
    last: &[(String, Range<u64>)],
) -> Option<(String, u64)> {
    let (name, range) = match dice.below(3) {
        0 => return image.rot_anywhere(),
        1 if !last.is_empty() => last[dice.below(last.len())].clone(),
        _ => (names[dice.below(names.len())].clone(), 0..FILE_START_BYTES),
    };
    let offset = range.start + dice.below((range.end - range.start) as usize) as u64;
    let is_there = image.rot(&name, offset..offset + 1, 1);
    is_there.then_some((name, offset))
}

/// Returns whether the file from which a record could not be read has rotted.
fn is_about(error: &Error, rotten: &[(String, u64)]) -> bool {
    let text = error.to_string();
    rotten.iter().any(|(name, _)| text.contains(name))
}

/// Returns whether an error is about a file that has rotted.
fn names(error: &OpenError, rotten: &[(String, u64)]) -> bool {
    match error {
        OpenError::Corrupt { file, .. } | OpenError::UnknownVersion { file, .. } => {
            rotten.iter().any(|(name, _)| name == file)
        }
        OpenError::Lost { .. } | OpenError::EndsEarly { .. } => {
            rotten.iter().any(|(name, _)| name.starts_with("log-"))
        }
        _ => false,
    }
}
