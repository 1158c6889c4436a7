//! Reading of rows: those of one buffer are looked at while the next is read.

use std::rc::Rc;

use batch::{BATCH_ROWS, Rows};
use engine::{Priority, TemporaryRead};
use interleave::Turn;
use io::{Buffer, round_up};
use types::{Charge, Memory, Result, Scratch, SqlError, SqlState, row::Taking, tagged};

use crate::{
    file::{Run, failed},
    writer::{BYTES_OF_UNIT, LENGTH_BYTES},
};

/// Number of a reader's buffers.
const BUFFERS: usize = 2;

/// Divisor of a piece for the bytes of rows that are handed over at once: these take more in memory.
const PORTIONS: usize = 4;

/// The run that a reader reads.
#[derive(Debug)]
enum Source {
    /// A run that is read once, with the pieces whose reading has not begun.
    Once(Run),
    /// A run that may be read again, and the number of pieces whose reading has begun.
    Again(Rc<Run>, usize),
}

impl Source {
    fn run(&self) -> &Run {
        match self {
            Source::Once(run) => run,
            Source::Again(run, _) => run,
        }
    }

    /// Returns the piece that is to be read next.
    fn next(&mut self) -> Option<u64> {
        match self {
            Source::Once(run) => run.pieces.pop_front(),
            Source::Again(run, begun) => {
                let next = run.pieces.get(*begun).copied();
                *begun += 1;
                next
            }
        }
    }

    /// Frees a piece that was read, unless the run may be read again.
    fn end(&self, piece: u64) {
        if let Source::Once(run) = self {
            run.file.free_piece(piece);
        }
    }
}

/// A reader of a run: see the crate's text.
#[derive(Debug)]
pub struct RunReader {
    source: Source,
    /// Bytes of rows in these pieces.
    unread: u64,
    /// Bytes of rows that were not handed over.
    left: u64,
    /// Buffer that was read, and the position in it.
    piece: Buffer,
    at: usize,
    /// The next piece.
    reading: Option<(u64, TemporaryRead)>,
    /// A row that lies in several pieces.
    row: Vec<u8>,
    memory: Rc<Memory>,
    charge: Charge,
}

impl RunReader {
    /// Returns the bytes of memory of a reader whose file has pieces of `piece_bytes`.
    pub fn memory_bytes(piece_bytes: usize) -> usize {
        BUFFERS * piece_bytes
    }

    /// Begins to read a run, charged to `memory`.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the reader's memory; 58030 of the device.
    ///
    /// # Suspension
    /// A device wait, in line at the gate.
    pub async fn new(run: Run, memory: &Rc<Memory>) -> Result<Self> {
        Self::of(Source::Once(run), memory).await
    }

    /// Begins to read a run that can be read again, charged to `memory`.
    ///
    /// # Errors
    /// Errors of [`RunReader::new`].
    ///
    /// # Suspension
    /// A device wait, in line at the gate.
    pub async fn again(run: &Rc<Run>, memory: &Rc<Memory>) -> Result<Self> {
        Self::of(Source::Again(run.clone(), 0), memory).await
    }

    async fn of(source: Source, memory: &Rc<Memory>) -> Result<Self> {
        let (piece_bytes, bytes) = (source.run().file.piece_bytes(), source.run().bytes);
        let mut charge = Charge::default();
        charge.set(memory, Self::memory_bytes(piece_bytes))?;
        let mut reader = Self {
            unread: bytes,
            left: bytes,
            source,
            piece: Buffer::with_capacity(piece_bytes),
            at: 0,
            reading: None,
            row: Vec::new(),
            memory: memory.clone(),
            charge,
        };
        reader
            .read_ahead(Buffer::with_capacity(piece_bytes))
            .await?;
        Ok(reader)
    }

    /// Adds the next rows to `out`, around [`BATCH_ROWS`] or a part of a piece, as work of `turn`; returns false if
    /// there were none.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a row; 58030 of the device; XX001 if the content is damaged.
    ///
    /// # Panics
    /// If the rows of `out` have another width than those of the run.
    ///
    /// # Suspension
    /// Device waits; turns of other tasks.
    ///
    /// # Cancellation
    /// Dropping the future loses rows: the reader can only be dropped.
    pub async fn read(&mut self, out: &mut Rows, turn: &Turn) -> Result<bool> {
        let (left_before, width) = (self.left, out.width());
        let portion = (self.piece_bytes() / PORTIONS) as u64;
        let mut added = 0;
        while self.left > 0 && added < BATCH_ROWS && left_before - self.left < portion {
            self.bring_row().await?;
            let mut bytes = self.take_row();
            let units = 1 + bytes.len() / BYTES_OF_UNIT;
            let scratch = Scratch::new();
            out.push_with(|row| {
                for _ in 0..width {
                    row.take(tagged::read(&mut bytes, &scratch)?);
                }
                Ok(())
            })?;
            added += 1;
            self.forget_large_row();
            turn.pause(units).await;
        }
        Ok(added > 0)
    }

    /// Returns the bytes of a piece of the run's file.
    fn piece_bytes(&self) -> usize {
        self.source.run().file.piece_bytes()
    }

    /// Makes sure that the next row lies in the buffer as a whole, or else in `row`.
    async fn bring_row(&mut self) -> Result<()> {
        self.row.clear();
        let rest = &self.piece[self.at..];
        if length_of(rest).is_some_and(|bytes| LENGTH_BYTES + bytes <= rest.len()) {
            return Ok(());
        }
        self.collect(LENGTH_BYTES).await?;
        let bytes = length_of(&self.row).map(|bytes| LENGTH_BYTES + bytes);
        let bytes = bytes.filter(|bytes| *bytes as u64 <= self.left);
        self.collect(bytes.ok_or_else(damaged)?).await
    }

    /// Moves bytes into `row` until it has as many.
    async fn collect(&mut self, bytes: usize) -> Result<()> {
        self.row.reserve_exact(bytes.saturating_sub(self.row.len()));
        let buffers = Self::memory_bytes(self.piece_bytes());
        self.charge
            .set(&self.memory, buffers + self.row.capacity())?;
        while self.row.len() < bytes {
            if self.at == self.piece.len() {
                self.next_piece().await?;
            }
            let missing = bytes - self.row.len();
            let end = self.piece.len().min(self.at + missing);
            self.row.extend_from_slice(&self.piece[self.at..end]);
            self.at = end;
        }
        Ok(())
    }

    /// Takes the row that was brought; returns its values.
    fn take_row(&mut self) -> &[u8] {
        let taken = match self.row.is_empty() {
            true => {
                let rest = &self.piece[self.at..];
                let end = LENGTH_BYTES + length_of(rest).unwrap_or(0);
                self.at += end;
                &rest[..end]
            }
            false => &self.row[..],
        };
        self.left = self.left.saturating_sub(taken.len() as u64);
        &taken[LENGTH_BYTES..]
    }

    /// Gives back the memory of a row that was larger than a piece.
    fn forget_large_row(&mut self) {
        let piece_bytes = self.piece_bytes();
        if self.row.capacity() > piece_bytes {
            self.row = Vec::new();
            self.charge.lower(Self::memory_bytes(piece_bytes));
        }
    }

    /// Waits for the next piece, and begins to read the one behind it.
    async fn next_piece(&mut self) -> Result<()> {
        let (piece, reading) = self.reading.take().ok_or_else(damaged)?;
        let read = reading.end(&self.source.run().file.session).await;
        let before = std::mem::replace(&mut self.piece, read.map_err(failed)?);
        self.source.end(piece);
        self.at = 0;
        self.read_ahead(before).await
    }

    /// Begins to read the next piece, if there is one, into `buffer`.
    async fn read_ahead(&mut self, mut buffer: Buffer) -> Result<()> {
        let Some(piece) = self.source.next() else {
            return Ok(());
        };
        let file = &self.source.run().file;
        let bytes = self.unread.min(file.piece_bytes() as u64);
        self.unread -= bytes;
        buffer.set_len(round_up(bytes as usize));
        let (session, offset) = (&file.session, file.offset(piece));
        let reading = session.begin_read_temporary(&file.file, offset, buffer, Priority::Batch);
        self.reading = Some((piece, reading.await.map_err(failed)?));
        Ok(())
    }
}

/// Returns the bytes of the values of the row that `bytes` begin with, if they say so.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<LENGTH_BYTES>()?;
    Some(u32::from_le_bytes(*length) as usize)
}

#[cold]
fn damaged() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "temporary file is damaged")
}
