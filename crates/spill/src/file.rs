//! A temporary file in pieces, and the runs that lie in them.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    io::{Error, ErrorKind},
    rc::Rc,
};

use engine::{Session, TemporaryFile};
use io::BLOCK_BYTES;
use types::{Result, SqlError, SqlState};

/// Smallest piece, so that a transfer is worth its cost.
pub(crate) const PIECE_BYTES_MIN: usize = 16 << 10;

/// Largest piece: larger transfers gain nothing.
const PIECE_BYTES_MAX: usize = 256 << 10;

/// Divisor of a piece for the bytes from which on a row is large.
const LARGE_PART: usize = 4;

/// Divisor of an operator's memory for the size of a piece: merges and partitions have some buffers each.
const PIECES_IN_MEMORY: usize = 64;

/// A temporary file in pieces of equal size: see the crate's text.
#[derive(Debug)]
pub struct SpillFile {
    pub(crate) session: Rc<Session>,
    pub(crate) file: TemporaryFile,
    piece_bytes: usize,
    /// Number of pieces that the file has had.
    pieces: Cell<u64>,
    /// Pieces that can be used again.
    free: RefCell<Vec<u64>>,
    /// Bytes of the largest row that was written, if that is more than a part of a piece.
    large_row_bytes: Cell<usize>,
}

impl SpillFile {
    /// Returns the size of pieces for an operator that may keep `memory_bytes` in memory.
    pub fn piece_bytes_for(memory_bytes: usize) -> usize {
        let piece = (memory_bytes / PIECES_IN_MEMORY).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
        piece.next_multiple_of(BLOCK_BYTES)
    }

    /// Makes an empty file in pieces of `piece_bytes`, a multiple of [`io::BLOCK_BYTES`]. Blocks the thread for a
    /// moment.
    ///
    /// # Errors
    /// 53100 or 58030 if the device fails, or if the database has none.
    pub fn new(session: &Rc<Session>, piece_bytes: usize) -> Result<Rc<Self>> {
        Ok(Rc::new(Self {
            file: session.temporary_file("rows").map_err(failed)?,
            session: session.clone(),
            piece_bytes,
            pieces: Cell::new(0),
            free: RefCell::default(),
            large_row_bytes: Cell::new(0),
        }))
    }

    /// Returns the bytes of a piece.
    pub fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }

    /// Returns the most bytes that the file has had on the device.
    pub fn bytes(&self) -> u64 {
        self.pieces.get() * self.piece_bytes as u64
    }

    /// Returns the bytes of the largest row that was written; 0 if all are small beside a piece.
    pub(crate) fn large_row_bytes(&self) -> usize {
        self.large_row_bytes.get()
    }

    /// Notes that a row of `bytes` was written.
    pub(crate) fn note_row(&self, bytes: usize) {
        if bytes > self.piece_bytes / LARGE_PART && bytes > self.large_row_bytes.get() {
            self.large_row_bytes.set(bytes);
        }
    }

    /// Returns the offset of a piece in the file.
    pub(crate) fn offset(&self, piece: u64) -> u64 {
        piece * self.piece_bytes as u64
    }

    /// Takes a piece for new content.
    pub(crate) fn take_piece(&self) -> u64 {
        let free = self.free.borrow_mut().pop();
        free.unwrap_or_else(|| self.pieces.replace(self.pieces.get() + 1))
    }

    /// Frees a piece for which no transfer is under way.
    pub(crate) fn free_piece(&self, piece: u64) {
        self.free.borrow_mut().push(piece);
    }
}

/// Rows in a file, to be read once.
#[derive(Debug)]
pub struct Run {
    pub(crate) file: Rc<SpillFile>,
    /// Pieces, in the order of their rows; all but the last are full.
    pub(crate) pieces: VecDeque<u64>,
    /// Bytes of the rows.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

impl Run {
    pub(crate) fn new(file: &Rc<SpillFile>) -> Self {
        Self {
            file: file.clone(),
            pieces: VecDeque::new(),
            bytes: 0,
            rows: 0,
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the bytes of the rows on the device.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for piece in self.pieces.drain(..) {
            self.file.free_piece(piece);
        }
    }
}

/// Converts an error of a temporary file.
#[cold]
pub(crate) fn failed(error: Error) -> SqlError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SqlError::new(
            SqlState::DISK_FULL,
            "could not write to temporary file: no space left on device",
        )
        .hint(
            "Have the statement keep fewer rows at a time, raise weft.statement_memory for it, or give the device that \
             has the data directory more room.",
        ),
        _ => SqlError::new(
            SqlState::IO_ERROR,
            format!("could not use temporary file: {error}"),
        ),
    }
}
