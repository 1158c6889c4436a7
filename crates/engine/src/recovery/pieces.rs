//! Reading files: whole, and piece by piece.

use std::{io, sync::Arc};

use ::io::{BLOCK_BYTES, Directory, File, OpenMode};

use crate::{log::segments::file_name, recovery::scan::LogFile};

/// Minimum bytes that are read at once, if the file has as many.
const PIECE_BYTES: usize = 4 * BLOCK_BYTES;

/// A log file of which one piece is in memory.
pub(super) struct Pieces {
    file: Arc<dyn File>,
    length: usize,
    /// Start of the piece in the file; a multiple of [`BLOCK_BYTES`].
    start: usize,
    piece: Vec<u8>,
}

impl Pieces {
    /// Opens `file`, with `memory` that is of no use any more for its pieces.
    pub(super) fn of(
        directory: &Arc<dyn Directory>,
        file: &LogFile,
        mut memory: Vec<u8>,
    ) -> io::Result<Pieces> {
        memory.clear();
        let bytes = file.bytes;
        let file = directory.open(&file_name(file.number), OpenMode::Read, false)?;
        Ok(Pieces {
            length: bytes.min(file.length()?) as usize,
            file,
            start: 0,
            piece: memory,
        })
    }

    /// Returns the length of the file in bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Returns the bytes of the file from `offset` on: at least `count` bytes, unless the file
    /// ends.
    pub(super) fn at(&mut self, offset: usize, count: usize) -> io::Result<&[u8]> {
        let offset = offset.min(self.length);
        let end = offset.saturating_add(count).min(self.length);
        if offset < self.start || end > self.start + self.piece.len() {
            self.start = offset - offset % BLOCK_BYTES;
            let end = end.max(self.start + PIECE_BYTES).min(self.length);
            self.piece.resize(end - self.start, 0);
            fill(&*self.file, &mut self.piece, self.start)?;
        }
        let piece = &self.piece[..];
        Ok(piece.get(offset - self.start..).unwrap_or_default())
    }

    pub(super) fn into_memory(self) -> Vec<u8> {
        self.piece
    }
}

/// Reads from `offset` on into `bytes`, which become shorter if the file ends.
fn fill(file: &dyn File, bytes: &mut Vec<u8>, offset: usize) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], (offset + read) as u64)? {
            0 => break,
            count => read += count,
        }
    }
    bytes.truncate(read);
    Ok(())
}

/// Reads the first `length` bytes of a file, or all of it if it is shorter.
pub(crate) fn read_file(
    directory: &Arc<dyn Directory>,
    name: &str,
    length: u64,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_file_into(directory, name, length, &mut bytes)?;
    Ok(bytes)
}

/// Reads the first `length` bytes of a file into `bytes`, in place of their content; see
/// [`read_file`].
pub(crate) fn read_file_into(
    directory: &Arc<dyn Directory>,
    name: &str,
    length: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let file = directory.open(name, OpenMode::Read, false)?;
    // The length that the caller gives may be wrong.
    bytes.resize(length.min(file.length()?) as usize, 0);
    fill(&*file, bytes, 0)
}
