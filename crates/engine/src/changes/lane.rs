//! One lane of the log, read from front to back.

use std::{ops::Range, rc::Rc, sync::Arc};

use io::{Action, BLOCK_BYTES, Buffer, File, OpenMode, Port};
use memory::Arena;

use super::{
    ChangedTransaction, ChangesError, Tables,
    transaction::{Next, Piece},
};
use crate::{
    error::Error,
    log::{
        Log, Sealed,
        format::{BLOCK_HEADER_BYTES, BlockHeader, Flaw},
        segments::{Full, file_name},
    },
    recovery::{
        OpenError,
        scan::{LogFile, block_of},
    },
    timestamp::Timestamp,
};

/// Bytes read at once: few at the end of the log, more as long as the log goes on.
const PIECE_BYTES_MIN: usize = 4 * BLOCK_BYTES;
const PIECE_BYTES_MAX: usize = 64 * BLOCK_BYTES;
/// Maximum attempts at a read that the device cuts short.
const READ_ATTEMPTS: u32 = 8;

/// Environment of a read.
pub(super) struct Device<'r> {
    pub(super) port: &'r Rc<Port>,
    pub(super) log: &'r Log,
    pub(super) arena: &'r Arc<Arena>,
}

/// Reader of one lane; see the module's doc.
pub(super) struct LaneReader {
    incarnation: u64,
    lane: u32,
    /// Number of the next block, and of the lane's transactions before it.
    block: u64,
    transactions: u64,
    /// Number of the file with the block before the next one, and the end of that block there; once
    /// the next block's file is known, its number, and the start of the block.
    file: u64,
    offset: u64,
    open: Option<Arc<dyn File>>,
    piece: Option<Read>,
    /// Unread rest, in the piece, of the block before the next one.
    payload: Range<usize>,
    next: Option<ChangedTransaction>,
    /// Bytes of the next block without its padding, which a crash may have cut off; the bytes of
    /// its header until its size is known.
    needed_bytes: usize,
    piece_bytes: usize,
    /// Whether the lane of an earlier incarnation was read to its end.
    is_at_end: bool,
}

/// Piece that was read last.
struct Read {
    bytes: Arc<Piece>,
    file: LogFile,
    /// Start of the piece in the file.
    start: u64,
    /// Number beyond those of the file's blocks.
    blocks_end: u64,
    /// Number of the lane's transactions that were on the device before the piece was read.
    durable: u64,
}

impl LaneReader {
    /// Makes a reader from the start of a segment on.
    pub(super) fn from_start(first: &Full) -> LaneReader {
        let mark = Sealed {
            blocks: first.first_block,
            transactions: first.first_transaction,
            file: first.number,
            offset: BLOCK_BYTES as u64,
            ..Sealed::default()
        };
        LaneReader::at(first.header.incarnation, first.header.lane, &mark)
    }

    /// Makes a reader of the transactions after a mark in the lane.
    pub(super) fn at(incarnation: u64, lane: u32, mark: &Sealed) -> LaneReader {
        LaneReader {
            incarnation,
            lane,
            block: mark.blocks,
            transactions: mark.transactions,
            file: mark.file,
            offset: mark.offset,
            open: None,
            piece: None,
            payload: 0..0,
            next: None,
            needed_bytes: BLOCK_HEADER_BYTES,
            piece_bytes: PIECE_BYTES_MIN,
            is_at_end: false,
        }
    }

    pub(super) fn lane(&self) -> u32 {
        self.lane
    }

    /// Takes the next transaction, which is known, and has it enter `tables`, unless it is not
    /// newer than `position`. Returns `None` if it has changed nothing.
    ///
    /// # Errors
    /// [`ChangesError::Damaged`] if a record's table does not exist; the transaction stays then.
    pub(super) fn take(
        &mut self,
        position: Timestamp,
        tables: &mut Arc<Tables>,
    ) -> Result<Option<ChangedTransaction>, ChangesError> {
        let is_new = |next: &ChangedTransaction| next.timestamp() > position;
        if let Some(next) = self.next.as_mut().filter(|next| is_new(next)) {
            let entered = next.enter(tables);
            entered.map_err(|flaw| self.damaged(flaw))?;
        }
        let next = self.next.take().filter(is_new);
        // A transaction that was aborted after it had its timestamp has left nothing.
        Ok(next.filter(|next| !next.is_empty()))
    }

    fn damaged(&self, flaw: Flaw) -> ChangesError {
        let damage = OpenError::corrupt(file_name(self.file), self.offset, flaw);
        ChangesError::Damaged(damage)
    }

    /// Returns what is next, as far as it can be told without the device; `durable` of the lane's
    /// transactions are on it.
    pub(super) fn next_at_hand(&mut self, durable: Option<u64>) -> Result<Next, Flaw> {
        loop {
            if let Some(next) = &self.next {
                return Ok(Next::At(next.timestamp()));
            }
            if let Some(piece) = &self.piece
                && let Some(read) = ChangedTransaction::read(&piece.bytes, &mut self.payload)
            {
                self.next = Some(read?);
            } else if !self.enter_block()? {
                let nothing_left = durable.is_some_and(|durable| self.transactions >= durable);
                return Ok(if nothing_left || self.is_at_end {
                    Next::None
                } else {
                    Next::ToBeRead
                });
            }
        }
    }

    /// Goes on to the next block, if all of it is in the piece.
    fn enter_block(&mut self) -> Result<bool, Flaw> {
        let Some(piece) = &self.piece else {
            return Ok(false);
        };
        if self.transactions >= piece.durable || self.block >= piece.blocks_end {
            return Ok(false);
        }
        let start = (self.offset - piece.start) as usize;
        let bytes = piece.bytes.bytes.get(start..).unwrap_or_default();
        if bytes.len() < BLOCK_HEADER_BYTES {
            return Ok(false);
        }
        let (header, _) = BlockHeader::decode(bytes)?;
        if header.number != self.block {
            return Err(Flaw::Absent);
        }
        if header.bytes() > bytes.len() {
            self.needed_bytes = header.bytes();
            return Ok(false);
        }
        let header = block_of(bytes, 0, &piece.file)?.header;
        self.payload = start + BLOCK_HEADER_BYTES..start + header.vector().start;
        self.offset += header.file_bytes() as u64;
        self.block += 1;
        self.transactions = header.first.saturating_add(header.transactions.into());
        self.needed_bytes = BLOCK_HEADER_BYTES;
        Ok(true)
    }

    /// Reads until the next transaction is known, or there is none; returns its timestamp.
    ///
    /// # Suspension
    /// Device waits.
    ///
    /// # Cancellation
    /// The function can be called again.
    pub(super) async fn read(
        &mut self,
        device: &Device<'_>,
        durable: Option<u64>,
        position: Timestamp,
    ) -> Result<Option<Timestamp>, ChangesError> {
        loop {
            match self.next_at_hand(durable) {
                Ok(Next::At(timestamp)) => return Ok(Some(timestamp)),
                Ok(Next::None) => return Ok(None),
                Ok(Next::ToBeRead) => {}
                Err(flaw) => self.mend(device, position, flaw)?,
            }
            let of_lane = (self.incarnation, self.lane);
            match device.log.segments.with_block(of_lane, self.block) {
                Ok(segment) => match self.read_piece(device, &segment, durable).await? {
                    Ok(()) => {}
                    Err(flaw) => self.mend(device, position, flaw)?,
                },
                Err(not_kept) if not_kept.oldest > position => {
                    return Err(ChangesError::not_kept(position, not_kept));
                }
                Err(_) if durable.is_none() => self.is_at_end = true,
                Err(_) => self.mend(device, position, Flaw::Absent)?,
            }
        }
    }

    /// Reads the next piece, from the next block on, which is in `segment`.
    async fn read_piece(
        &mut self,
        device: &Device<'_>,
        segment: &Full,
        durable: Option<u64>,
    ) -> Result<Result<(), Flaw>, ChangesError> {
        if segment.number != self.file || self.block == segment.first_block {
            (self.file, self.offset) = (segment.number, BLOCK_BYTES as u64);
            self.open = None;
        }
        let left = segment.bytes.saturating_sub(self.offset) as usize;
        if self.needed_bytes > left {
            return Ok(Err(Flaw::Absent));
        }
        let was_used_up = self.piece.as_ref().is_some_and(|piece| {
            let end = piece.start + piece.bytes.bytes.len() as u64;
            self.transactions < piece.durable && self.offset + BLOCK_BYTES as u64 >= end
        });
        self.piece_bytes = if was_used_up {
            (self.piece_bytes * 2).min(PIECE_BYTES_MAX)
        } else {
            PIECE_BYTES_MIN
        };
        // Its memory may be what the next piece needs.
        self.piece = None;
        let length = io::round_up(self.needed_bytes).max(self.piece_bytes);
        let length = length.min(io::round_up(left));
        let memory = device.arena.reserve(length).map_err(Error::from)?;
        let file = match &self.open {
            Some(file) => file.clone(),
            None => {
                let name = file_name(segment.number);
                let file = device.log.directory.open(&name, OpenMode::Read, true);
                match file {
                    // The segment was used up, and removed.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        return Ok(Err(Flaw::Absent));
                    }
                    file => self.open.insert(file?).clone(),
                }
            }
        };
        let mut buffer = Buffer::zeroed(length);
        for _ in 0..READ_ATTEMPTS {
            let transfer = device.port.begin(Action::Read, &file, self.offset, buffer);
            let (returned, read) = transfer.await;
            buffer = returned;
            let read = read?;
            if read >= self.needed_bytes.min(left) {
                buffer.set_len(read);
                self.payload = 0..0;
                self.piece = Some(Read {
                    bytes: Arc::new(Piece::new(buffer, memory)),
                    file: LogFile {
                        number: segment.number,
                        bytes: segment.bytes,
                        header: segment.header,
                    },
                    start: self.offset,
                    blocks_end: segment.blocks_end,
                    durable: durable.unwrap_or(u64::MAX),
                });
                return Ok(Ok(()));
            }
        }
        Ok(Err(Flaw::Checksum))
    }

    /// Handles a piece that is not the expected one: either its file was used again, and the blocks
    /// that count are elsewhere, or the blocks are destroyed.
    fn mend(
        &mut self,
        device: &Device<'_>,
        position: Timestamp,
        flaw: Flaw,
    ) -> Result<(), ChangesError> {
        let segments = &device.log.segments;
        let first = segments.first_after((self.incarnation, self.lane), position);
        match first.map_err(|not_kept| ChangesError::not_kept(position, not_kept))? {
            Some(first) if first.first_block > self.block => {
                *self = LaneReader::from_start(&first);
                Ok(())
            }
            _ => Err(self.damaged(flaw)),
        }
    }
}
