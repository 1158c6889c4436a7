//! Writing of rows: one buffer is filled while another is written.

use std::rc::Rc;

use engine::TemporaryWrite;
use interleave::Turn;
use io::Buffer;
use types::{Charge, Memory, Result, SqlError, SqlState, Value, tagged};

use crate::file::{Run, SpillFile, failed};

/// Number of a writer's buffers.
const BUFFERS: usize = 2;

/// Bytes for the last row that a writer has in any case.
const ROW_BYTES: usize = 4 << 10;

/// Bytes that a value takes beside those that it borrows, records apart.
const VALUE_BYTES: usize = 20;

/// Bytes in front of a row that say how many follow.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Bytes of a row that cost as much as a small row.
pub(crate) const BYTES_OF_UNIT: usize = 4 << 10;

/// A writer of runs, one after the other: see the crate's text.
#[derive(Debug)]
pub struct RunWriter {
    run: Run,
    /// Buffer that is filled.
    filling: Buffer,
    /// The other buffer, unless it is being written or was not needed yet.
    spare: Option<Buffer>,
    writing: Option<TemporaryWrite>,
    /// Bytes of the last row.
    row: Vec<u8>,
    memory: Rc<Memory>,
    charge: Charge,
}

impl RunWriter {
    /// Returns the bytes of memory of a writer whose file has pieces of `piece_bytes`.
    pub fn memory_bytes(piece_bytes: usize) -> usize {
        BUFFERS * piece_bytes + ROW_BYTES
    }

    /// Makes a writer into `file`, charged to `memory`; `charge` is a part that is charged to it already.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writer's memory.
    pub fn new(file: &Rc<SpillFile>, memory: &Rc<Memory>, mut charge: Charge) -> Result<Self> {
        charge.set(memory, Self::memory_bytes(file.piece_bytes()))?;
        Ok(Self {
            run: Run::new(file),
            filling: Buffer::with_capacity(file.piece_bytes()),
            spare: None,
            writing: None,
            row: Vec::new(),
            memory: memory.clone(),
            charge,
        })
    }

    /// Adds a row to the run that is being written, as work of `turn`.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the bytes of the row; 54000 for a row of 4 GB; 53100 and 58030 of the
    /// device.
    ///
    /// # Suspension
    /// A device wait if the buffer is full and the other one is still being written; turns of other tasks.
    ///
    /// # Cancellation
    /// Dropping the future leaves half a row behind: the writer can only be dropped.
    pub async fn push<'v>(
        &mut self,
        row: impl IntoIterator<Item = Value<'v>, IntoIter: Clone>,
        turn: &Turn,
    ) -> Result<()> {
        self.encode(row)?;
        self.run.rows += 1;
        self.run.bytes += self.row.len() as u64;
        let mut at = 0;
        loop {
            let room = self.run.file.piece_bytes() - self.filling.len();
            let end = self.row.len().min(at + room);
            self.filling.extend_from_slice(&self.row[at..end]);
            turn.pause(1 + (end - at) / BYTES_OF_UNIT).await;
            at = end;
            if at == self.row.len() {
                break;
            }
            self.flush().await?;
        }
        if self.row.capacity() > self.run.file.piece_bytes() {
            self.row = Vec::new();
            self.charge
                .lower(Self::memory_bytes(self.run.file.piece_bytes()));
        }
        Ok(())
    }

    /// Writes a row's length and values to `row`.
    fn encode<'v>(
        &mut self,
        values: impl IntoIterator<Item = Value<'v>, IntoIter: Clone>,
    ) -> Result<()> {
        let values = values.into_iter();
        self.row.clear();
        // A list that grows by doubling would take twice the memory of a large row.
        let borrowed: usize = values.clone().map(|value| value.borrowed_bytes()).sum();
        if borrowed > ROW_BYTES {
            let others = values.clone().count() * VALUE_BYTES;
            self.row.reserve_exact(borrowed + others + LENGTH_BYTES);
        }
        self.row.extend_from_slice(&[0; LENGTH_BYTES]);
        for value in values {
            tagged::write(value, &mut self.row)?;
        }
        let Ok(bytes) = u32::try_from(self.row.len() - LENGTH_BYTES) else {
            let message = "row is too large for a temporary file";
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        };
        self.row[..LENGTH_BYTES].copy_from_slice(&bytes.to_le_bytes());
        self.run.file.note_row(self.row.len());
        let beyond = self.row.capacity().saturating_sub(ROW_BYTES);
        let least = Self::memory_bytes(self.run.file.piece_bytes());
        self.charge.set(&self.memory, least + beyond)
    }

    /// Begins to write the buffer that was filled, once the one before is written.
    async fn flush(&mut self) -> Result<()> {
        self.wait().await?;
        let next = self.spare.take();
        let file = &self.run.file;
        let next = next.unwrap_or_else(|| Buffer::with_capacity(file.piece_bytes()));
        let mut filled = std::mem::replace(&mut self.filling, next);
        filled.pad();
        let piece = file.take_piece();
        self.run.pieces.push_back(piece);
        let (session, offset) = (&file.session, file.offset(piece));
        let writing = session.begin_write_temporary(&file.file, offset, filled);
        self.writing = Some(writing.map_err(failed)?);
        Ok(())
    }

    /// Waits for the write that is under way.
    async fn wait(&mut self) -> Result<()> {
        if let Some(writing) = self.writing.take() {
            let mut buffer = writing.end().await.map_err(failed)?;
            buffer.clear();
            self.spare = Some(buffer);
        }
        Ok(())
    }

    /// Ends the run; returns it. The next row begins another one.
    ///
    /// # Errors
    /// 53100 and 58030 of the device.
    ///
    /// # Suspension
    /// Device waits.
    ///
    /// # Cancellation
    /// Dropping the future loses the run: the writer can only be dropped.
    pub async fn finish(&mut self) -> Result<Run> {
        if !self.filling.is_empty() {
            self.flush().await?;
        }
        self.wait().await?;
        let next = Run::new(&self.run.file);
        Ok(std::mem::replace(&mut self.run, next))
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        // A write may be under way in one of these: see the invariant *One owner*.
        self.run.pieces.clear();
    }
}
