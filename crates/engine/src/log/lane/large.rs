//! Transactions that are larger than a buffer.
//!
//! The redo records of such a transaction are put together before it commits, in turns, as a block of its
//! own. When the transaction commits, only its timestamp and the block's claims are missing, and the
//! block is sent off at once: all earlier commits of the lane must be in blocks by then, and written, so
//! newcomers wait as well ([`Ahead`]). The block is kept and written piece by piece.

use io::Buffer;

use super::{LaneWriter, Room, Urgency};
use crate::{
    device_room::Purse,
    error::Error,
    log::format::{self, Appending, LargeBlock},
    timestamp::Timestamp,
};

/// Redo records of a large transaction, before it commits.
pub(crate) struct LargeTransaction<'l> {
    block: LargeBlock,
    charged: Charged<'l>,
    ahead: Option<Ahead<'l>>,
}

impl LaneWriter {
    /// Whether a transaction of `bytes` is larger than a buffer: its block is put together first then.
    #[inline]
    pub(crate) fn is_large(&self, bytes: usize) -> bool {
        bytes > self.log.config.buffer_bytes
    }

    /// Begins to put together a large transaction, which will have `bytes` bytes: its memory is there from now on.
    ///
    /// # Errors
    /// [`Error::TransactionTooLarge`]; [`Error::MemoryExhausted`], without any effect.
    pub(crate) fn begin_large(&self, bytes: usize) -> Result<LargeTransaction<'_>, Error> {
        if bytes > self.log.config.transaction_bytes_max {
            return Err(Error::TransactionTooLarge { bytes });
        }
        let mut charged = Charged {
            lane: self,
            bytes: 0,
        };
        charged.reach(Self::large_bytes(bytes))?;
        Ok(LargeTransaction {
            block: LargeBlock::new(),
            charged,
            ahead: None,
        })
    }

    /// Returns the bytes of memory that a transaction of `bytes` bytes is put together in: some more than it has.
    pub(crate) fn large_bytes(bytes: usize) -> usize {
        LargeBlock::capacity_for(bytes.saturating_sub(format::transaction_bytes()))
    }

    /// Commits a transaction that was put together and has room, like [`LaneWriter::append`]. If `commit`
    /// returns an error, an empty transaction is left in the log.
    pub(crate) fn append_large<R, E>(
        &self,
        large: LargeTransaction<'_>,
        take_timestamp: impl FnOnce() -> Timestamp,
        commit: impl FnOnce(Timestamp) -> Result<R, E>,
    ) -> (Timestamp, Result<R, E>) {
        let mut writing = self.writing.borrow_mut();
        let writing = &mut *writing;
        debug_assert!(writing.under_way.is_none() && writing.transactions == 0);
        self.lane().begin_commit();
        let timestamp = take_timestamp();
        let result = commit(timestamp);
        writing.resting.committed = self.lane().end_commit();
        if result.is_err() {
            Appending::begin(&mut writing.active, timestamp).end();
            self.appended(writing, timestamp, Urgency::Relaxed);
            return (timestamp, result);
        }
        let (as_of, claims) = self.claim();
        let bytes = large.block.file_bytes(claims.len()) as u64;
        if !self.provide_segment(writing, bytes, 1) {
            self.log
                .poison("a large transaction found no room in the log");
            return (timestamp, result);
        }
        let header = self.header(writing, 1, timestamp, as_of);
        let LargeTransaction {
            block, mut charged, ..
        } = large;
        let pieces = block.seal(timestamp, header, &claims);
        // From now on the memory belongs to the block under way, including the part that the claims
        // needed.
        let needed = pieces.iter().map(Buffer::capacity).sum::<usize>();
        writing
            .memory
            .charge(needed - std::mem::take(&mut charged.bytes));
        self.send(writing, &header, &claims, pieces, true);
        self.busy.set(true);
        self.log.frontier.want_all_but(self.number);
        (timestamp, result)
    }
}

impl<'l> LargeTransaction<'l> {
    /// Puts a write in; without a value it is a deletion.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`].
    pub(crate) fn write(
        &mut self,
        table: u32,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let value_bytes = value.map_or(0, <[u8]>::len);
        let bytes = self.block.bytes() + format::write_bytes(key.len(), value_bytes);
        self.charged.reach(LargeBlock::capacity_for(bytes))?;
        self.block.write(table, key, value);
        Ok(())
    }

    /// Returns the number of bytes put in.
    pub(crate) fn bytes(&self) -> usize {
        self.block.bytes()
    }

    /// Waits until this transaction can be committed; see [`LaneWriter::room_for`].
    ///
    /// # Errors
    /// [`Error::Poisoned`]; [`Error::StorageFull`], and the transaction can be committed later.
    ///
    /// # Suspension
    /// An event wait, unless all earlier commits are written.
    pub(crate) async fn room(&mut self, purse: Purse) -> Result<(), Error> {
        let lane = self.charged.lane;
        let look = || self.look(purse);
        lane.room_after_relief(look, purse, false).await
    }

    fn look(&mut self, purse: Purse) -> Result<Room, Error> {
        let lane = self.charged.lane;
        lane.log.check_sound()?;
        let mut writing = lane.writing.borrow_mut();
        // The segment also needs room for the content of the buffer, which is written before.
        let bytes = self.block.file_bytes(0) + writing.active.len();
        let room = writing.segment_room(bytes as u64, purse);
        let is_busy = writing.under_way.is_some() || writing.transactions > 0;
        self.ahead = match room {
            Room::Enough if is_busy => {
                writing.urgency = Urgency::Synchronous;
                lane.busy.set(true);
                Some(self.ahead.take().unwrap_or_else(|| Ahead::begin(lane)))
            }
            // A transaction that makes room may have to log something before.
            _ => None,
        };
        Ok(match room {
            Room::Enough if is_busy => Room::Soon,
            room => room,
        })
    }
}

/// Bytes of a lane's memory, charged until this guard is dropped.
struct Charged<'l> {
    lane: &'l LaneWriter,
    bytes: usize,
}

impl Charged<'_> {
    fn reach(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes > self.bytes {
            let mut writing = self.lane.writing.borrow_mut();
            writing.memory.grow(bytes - self.bytes)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.lane.writing.borrow_mut().memory.shrink(self.bytes);
        }
    }
}

/// Guard that keeps newcomers out of the buffer until the buffer is written: there is a segment for the
/// buffer and for the large transaction.
struct Ahead<'l>(&'l LaneWriter);

impl<'l> Ahead<'l> {
    fn begin(lane: &'l LaneWriter) -> Ahead<'l> {
        lane.large_waiting.set(lane.large_waiting.get() + 1);
        Ahead(lane)
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        self.0.large_waiting.set(self.0.large_waiting.get() - 1);
        self.0.room.ring();
    }
}
