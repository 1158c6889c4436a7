//! A block on its way to a cold file.

use std::io;

use ::io::{Action, Buffer, round_up};

use super::{
    ColdTier,
    address::ColdAddress,
    format::{self, BLOCK_HEADER_BYTES, BlockHeader, ColdRecord},
};
use crate::{log::segments::write_whole, session::Session};

/// Size at which a block is written.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// Capacity of a block: its size, and room for the record that it ends in, unless that is a large
/// one.
pub(super) const BLOCK_CAPACITY: usize = BLOCK_BYTES + (32 << 10);

/// Records that are gathered to be written together.
pub(super) struct Block {
    buffer: Buffer,
    /// Beginning of each record, and its length in bytes.
    records: Vec<(usize, usize)>,
}

impl Block {
    pub(super) fn new() -> Block {
        let mut buffer = Buffer::with_capacity(BLOCK_CAPACITY);
        buffer.set_len(BLOCK_HEADER_BYTES);
        Block {
            buffer,
            records: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn push(&mut self, record: &ColdRecord<'_>) {
        let at = record.append(&mut self.buffer);
        self.records.push((at, record.bytes()));
    }
}

impl Session {
    /// Writes a block, and returns the addresses of its records, in their order. The address is
    /// `None` for a record beyond the range of addresses.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Suspension
    /// A device wait.
    pub(super) async fn write_block(
        &self,
        tier: &ColdTier,
        block: Block,
    ) -> io::Result<Vec<Option<ColdAddress>>> {
        let Block {
            mut buffer,
            records,
        } = block;
        let room = tier.files.take(round_up(buffer.len()))?;
        let places = records
            .iter()
            .map(|&(at, bytes)| format::place(&mut buffer, at, bytes, room.position));
        let addresses: Vec<_> = places.collect();
        let header = BlockHeader {
            database: tier.files.database,
            position: room.position,
            records: records.len() as u32,
        };
        format::seal(&mut buffer, header);
        let port = self
            .port()
            .expect("a database with a cold tier has a device");
        write_whole(port, Action::Write, &room.file.file, room.offset, buffer).await?;
        let bytes = addresses.iter().flatten().map(|to| to.bytes_about()).sum();
        room.file.note_written(bytes);
        Ok(addresses)
    }
}
