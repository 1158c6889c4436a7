//! The segment that follows the one in use.

use std::time::Duration;

use super::{LaneWriter, Writing};
use crate::{
    device_room::Purse,
    error::Error,
    log::{
        format::SegmentHeader,
        segments::{Pace, Segment},
    },
};

/// Pause after every piece of a lane's first segment.
const FIRST_FILL_PAUSE: Duration = Duration::from_millis(1);

impl LaneWriter {
    /// Makes sure that the current segment has room for a block of `bytes`, with the last
    /// `transactions` transactions that were committed.
    pub(super) fn provide_segment(
        &self,
        writing: &mut Writing,
        bytes: u64,
        transactions: u32,
    ) -> bool {
        let resting = &mut writing.resting;
        if resting.segment.as_ref().is_some_and(|s| s.room() >= bytes) {
            return true;
        }
        if resting.next.as_ref().is_some_and(|s| s.room() >= bytes) {
            let full = std::mem::replace(&mut resting.segment, resting.next.take());
            if let Some(next) = &mut resting.segment {
                next.first_block = resting.block;
                next.first_transaction = resting.committed - u64::from(transactions);
                self.log.segments.turn(full.as_ref(), next);
            }
            self.upkeep.ring();
            return true;
        }
        debug_assert!(false, "commits wait until there is room");
        false
    }

    /// Prepares the next segment for transactions that may use `purse`, if there is none.
    ///
    /// # Errors
    /// [`Error::StorageFull`].
    ///
    /// # Suspension
    /// Device waits; an event wait while no transaction needs the segment soon.
    pub(crate) async fn prepare_segment(&self, purse: Purse) -> Result<(), Error> {
        let (header, bytes) = {
            let writing = self.writing.borrow();
            let wanted = writing.segment_bytes_wanted;
            let next = writing.resting.next.as_ref();
            let has = next.is_some_and(|next| next.room_for(purse) >= wanted.max(1));
            if writing.preparing || has || self.log.is_poisoned() {
                return Ok(());
            }
            // Buffered transactions may count on the segment that is replaced.
            let replaced = next.map_or(0, Segment::room);
            let wanted = wanted.max(replaced) + io::BLOCK_BYTES as u64;
            let usual = self.log.config.segment_bytes.max(wanted);
            let header = SegmentHeader {
                database: self.log.database,
                incarnation: self.log.incarnation,
                lane: self.number as u32,
                ordinal: writing.resting.ordinal,
            };
            (header, (wanted, usual))
        };
        let preparing = Preparing::begin(self);
        let pace = async |filled, bytes| self.pace(filled, bytes).await;
        let (segments, room) = (&self.log.segments, (&self.log.room, purse));
        let prepared = segments
            .prepare(&self.port, header, bytes, room, pace)
            .await;
        drop(preparing);
        let mut writing = self.writing.borrow_mut();
        writing.segment_bytes_wanted = 0;
        match prepared {
            Ok(Some(segment)) => {
                writing.resting.ordinal += 1;
                // A segment that was too small for a transaction goes unused: it is empty.
                if let Some(unused) = writing.resting.next.replace(segment) {
                    // The empty segment is freed by the next checkpoint.
                    self.log.segments.keep_unused(&unused);
                }
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                Err(Error::StorageFull)
            }
            Err(error) => {
                self.log
                    .poison(&format!("making a log segment failed: {error}"));
                Err(Error::Poisoned)
            }
        }
    }

    /// Waits until `filled` of `bytes` of the next segment are too few: the next segment is filled
    /// twice as fast as the one in use, which spreads the load on the device, and without delay
    /// once a transaction waits for it. Returns [`Pace::GiveUp`] when no transaction will need it.
    async fn pace(&self, filled: u64, bytes: u64) -> Pace {
        loop {
            let ring = self.upkeep.next();
            if self.waiting_for_room.get() > 0 {
                return Pace::GoOn;
            }
            if self.winds_up.get() || self.log.is_poisoned() {
                return Pace::GiveUp;
            }
            let used = {
                let writing = self.writing.borrow();
                let segment = writing.resting.segment.as_ref();
                segment.map(|segment| (segment.offset, segment.bytes))
            };
            match used {
                None => {
                    interleave::sleep(FIRST_FILL_PAUSE).await;
                    return Pace::GoOn;
                }
                Some((used, of)) if filled * of <= 2 * used * bytes => return Pace::GoOn,
                Some(_) => ring.await,
            }
        }
    }
}

/// Preparation of a segment, under way until this guard is dropped.
struct Preparing<'l>(&'l LaneWriter);

impl<'l> Preparing<'l> {
    fn begin(writer: &'l LaneWriter) -> Preparing<'l> {
        writer.writing.borrow_mut().preparing = true;
        Preparing(writer)
    }
}

impl Drop for Preparing<'_> {
    fn drop(&mut self) {
        self.0.writing.borrow_mut().preparing = false;
        // Waiting transactions look again, now or when the segment is in place.
        self.0.busy.set(true);
        self.0.room.ring();
    }
}
