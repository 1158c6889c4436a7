//! Changes to a file, and checksums that are right again.

use index::fuzz::Choices;
use io::BLOCK_BYTES;

use crate::{
    checkpoint::format::CHUNK_HEADER_BYTES,
    cold::format::{self, RECORD_HEADER_BYTES},
    fuzz::readers::COLD_RECORDS,
    log::format::{BlockHeader, SEGMENT_HEADER_BYTES},
};

/// Start of the checksummed part of segment headers, blocks and chunks.
const CHECKED_FROM: usize = 12;
/// Start of the checksummed part of a manifest.
const MANIFEST_CHECKED_FROM: usize = 16;

/// Changes some bytes.
pub(super) fn change(bytes: &mut Vec<u8>, source: &mut Choices<'_>) {
    for _ in 0..1 + source.byte() % 4 {
        // Mostly near the beginning of a block, where its header is.
        let offset = match source.byte() % 4 {
            0 => source.below_many(bytes.len()),
            1 => source.below_many(bytes.len().min(128)),
            _ => {
                let blocks = bytes.len().div_ceil(BLOCK_BYTES);
                source.below_many(blocks) * BLOCK_BYTES + source.below_many(96)
            }
        };
        let Some(rest) = bytes.get_mut(offset..) else {
            continue;
        };
        match source.byte() % 8 {
            0 => bytes.truncate(offset),
            1 => {
                let from = source.below_many(bytes.len());
                let count = source
                    .below(3 * BLOCK_BYTES)
                    .min(bytes.len() - from.max(offset));
                bytes.copy_within(from..from + count, offset);
            }
            2 => bytes.extend_from_within(..offset.min(8 * BLOCK_BYTES)),
            3 => rest.iter_mut().take(8).for_each(|byte| *byte = 0xff),
            4 => rest.iter_mut().take(4).for_each(|byte| *byte = 0xff),
            5 => rest.iter_mut().take(8).for_each(|byte| *byte = 0),
            _ => {
                let value = source.byte();
                rest.iter_mut().take(1).for_each(|byte| *byte = value);
            }
        }
    }
}

fn mend(bytes: &mut [u8], checked: std::ops::Range<usize>) {
    if let Some(checked) = bytes.get(checked) {
        let checksum = crc32fast::hash(checked);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    }
}

pub(super) fn mend_log(bytes: &mut [u8]) {
    mend(bytes, CHECKED_FROM..SEGMENT_HEADER_BYTES);
    let mut offset = BLOCK_BYTES;
    while let Some(block) = bytes.get_mut(offset..) {
        let Ok((header, _)) = BlockHeader::decode(block) else {
            offset += BLOCK_BYTES;
            continue;
        };
        mend(block, CHECKED_FROM..header.bytes());
        offset += header.bytes().next_multiple_of(BLOCK_BYTES);
    }
}

/// Corrects the checksums of records that are as long as they say.
pub(super) fn mend_cold(bytes: &mut [u8]) {
    for (start, _) in COLD_RECORDS {
        let Some(head) = bytes.get(start..start + RECORD_HEADER_BYTES) else {
            return;
        };
        let key = u16::from_le_bytes([head[4], head[5]]) as usize;
        let stored = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let whole = RECORD_HEADER_BYTES + key + stored;
        if whole <= bytes.len() - start {
            format::place(bytes, start, whole, 0);
        }
    }
}

pub(super) fn mend_part(bytes: &mut [u8]) {
    let mut offset = 0;
    while let Some(chunk) = bytes.get_mut(offset..)
        && let Some(payload) = chunk.get(12..16)
    {
        let payload = u32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]);
        let length = CHUNK_HEADER_BYTES + payload as usize;
        mend(chunk, CHECKED_FROM..length);
        offset += length.next_multiple_of(BLOCK_BYTES);
    }
}

pub(super) fn mend_manifest(bytes: &mut [u8]) {
    let length = bytes.len();
    if let Some(body) = length.checked_sub(MANIFEST_CHECKED_FROM) {
        bytes[12..16].copy_from_slice(&(body as u32).to_le_bytes());
        mend(bytes, MANIFEST_CHECKED_FROM..length);
    }
}
