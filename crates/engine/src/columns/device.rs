//! Blocks on the device: extents of a temporary file.
//!
//! Blocks are copies of records that log and checkpoints have, so nothing makes them durable, and a block that cannot
//! be read is given up. An extent is free again once the last reader has dropped its block, and serves a block of about
//! its size. The extent of a write whose future was dropped, or of a block that could not be read, is lost: the device
//! may still write there, or has a bad place.
//!
//! Bounds: the file grows by [`GROWTH_BYTES`], while the log keeps its room, and no more blocks are written once
//! [`LOST_BYTES_MAX`] are lost. There are at most as many extents of a size as there were blocks of about that size at
//! a time. If the log needs the room, all blocks of the file are given up, and the file with them (`columns/room.rs`).

use std::{
    io,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use ::io::{Action, Buffer, File, round_up};
use interleave::{Wait, noting};

use super::BlockRoom;
use crate::{
    database::Database, log::segments::write_whole, session::Session, temporary::TemporaryFile,
};

/// Unit of extents.
const UNIT_BYTES: u64 = 16 << 10;

/// Bytes by which the file grows.
const GROWTH_BYTES: u64 = 16 << 20;

/// Bytes of lost extents with which no more blocks are written.
const LOST_BYTES_MAX: u64 = 256 << 20;

/// Part of a block's size by which the extent that it gets may be larger than need be.
const SPARE_PART: u64 = 4;

/// The file that blocks are written to.
#[derive(Debug)]
pub(crate) struct BlockFile {
    file: TemporaryFile,
    extents: Mutex<Extents>,
}

#[derive(Debug, Default)]
struct Extents {
    /// Offsets of free extents, by their number of units.
    free: Vec<Vec<u64>>,
    /// End of all extents.
    end: u64,
    /// Bytes that are reserved for the file.
    reserved: u64,
    /// Bytes of extents that no block can have any more.
    lost: u64,
}

/// The place of a block on the device.
#[derive(Debug)]
pub(crate) struct BlockPlace {
    file: Arc<BlockFile>,
    offset: u64,
    units: u64,
    /// Whether no other block is to have the extent.
    is_lost: AtomicBool,
}

impl BlockPlace {
    /// Notes that the extent cannot be read.
    pub(crate) fn note_damage(&self) {
        // Relaxed: read when the last owner drops the place.
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Returns the file, and the block's offset in it.
    pub(crate) fn at(&self) -> (&Arc<dyn File>, u64) {
        (self.file.file.file(), self.offset)
    }
}

impl Drop for BlockPlace {
    fn drop(&mut self) {
        let mut extents = self.file.extents();
        match self.is_lost.load(Ordering::Relaxed) {
            true => extents.lost += self.units * UNIT_BYTES,
            false => extents.give_back(self.offset, self.units),
        }
    }
}

impl BlockFile {
    fn extents(&self) -> MutexGuard<'_, Extents> {
        self.extents.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Takes an extent for `bytes` bytes; returns its offset and its number of units.
    fn take(&self, bytes: u64, database: &Database) -> io::Result<(u64, u64)> {
        let mut extents = self.extents();
        if extents.lost >= LOST_BYTES_MAX {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let units = bytes.div_ceil(UNIT_BYTES);
        if let Some(found) = extents.take(units) {
            return Ok(found);
        }
        let (offset, end) = (extents.end, extents.end + units * UNIT_BYTES);
        if end > extents.reserved {
            let reserved = end.next_multiple_of(GROWTH_BYTES);
            database.check_room_beside_log(reserved - extents.reserved)?;
            self.file.file().reserve(reserved)?;
            extents.reserved = reserved;
        }
        extents.end = end;
        Ok((offset, units))
    }
}

impl Extents {
    /// Takes a free extent of these units, or of a few more.
    fn take(&mut self, units: u64) -> Option<(u64, u64)> {
        let most = units + units / SPARE_PART;
        let mut lists = (units..=most).map_while(|units| {
            let list = self.free.get_mut(units as usize)?;
            Some((list.pop(), units))
        });
        lists.find_map(|(offset, units)| Some((offset?, units)))
    }

    fn give_back(&mut self, offset: u64, units: u64) {
        let at = units as usize;
        if self.free.len() <= at {
            self.free.resize_with(at + 1, Vec::new);
        }
        self.free[at].push(offset);
    }
}

impl BlockRoom {
    /// Returns the file of the blocks, made if need be.
    fn file_of(&self, session: &Session) -> io::Result<Arc<BlockFile>> {
        let mut file = self.file.lock().unwrap_or_else(|e| e.into_inner());
        match &*file {
            Some(file) => Ok(file.clone()),
            None => {
                let made = Arc::new(BlockFile {
                    file: session.temporary_file("blocks")?,
                    extents: Mutex::default(),
                });
                *file = Some(made.clone());
                Ok(made)
            }
        }
    }
}

impl Session {
    /// Writes the bytes of a block to the device.
    ///
    /// # Errors
    /// As those of [`Session::temporary_file`]; `StorageFull` if the log needs the room, or too much was lost.
    ///
    /// # Suspension
    /// A device wait.
    ///
    /// # Cancellation
    /// The block's extent is lost.
    pub(crate) async fn write_columns(&self, bytes: &[u8]) -> io::Result<BlockPlace> {
        let file = self.database.block_room.file_of(self)?;
        let mut buffer = Buffer::with_capacity(round_up(bytes.len()));
        buffer.extend_from_slice(bytes);
        buffer.pad();
        let (offset, units) = file.take(buffer.len() as u64, &self.database)?;
        let place = BlockPlace {
            file,
            offset,
            units,
            // Until the transfer has ended.
            is_lost: AtomicBool::new(true),
        };
        let port = self.port().ok_or(io::ErrorKind::Unsupported)?;
        let written = write_whole(port, Action::Write, place.at().0, offset, buffer);
        let written = noting(Wait::Device, pin!(written)).await;
        place.is_lost.store(written.is_err(), Ordering::Relaxed);
        written.map(|_| place)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn free_extents_serve_blocks_of_about_their_size() {
        let mut extents = Extents::default();
        assert_eq!(extents.take(4), None);
        extents.give_back(160, 10);
        extents.give_back(320, 8);
        // A quarter more than eight is ten.
        assert_eq!(extents.take(7), Some((320, 8)));
        assert_eq!(extents.take(7), None);
        assert_eq!(extents.take(8), Some((160, 10)));
        assert_eq!(extents.take(8), None);
        assert_eq!(extents.take(1000), None);
    }
}
