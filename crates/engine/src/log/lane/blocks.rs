//! Blocks: sealed when they are due, and written; the commits that wait for them are released.

use std::{collections::VecDeque, time::Duration};

use io::{Action, Buffer};

use super::{LaneWriter, Moment, UnderWay, Urgency, Writing};
use crate::{
    log::{
        format::{self, BLOCK_HEADER_BYTES, BlockHeader, Claim},
        frontier::Sealed,
        segments::{WRITE_ATTEMPTS, short_write},
    },
    timestamp::Timestamp,
};

/// Calls of [`LaneWriter::poll`] between two readings of the clock.
const POLLS_PER_READING: u32 = 8;
/// Duration of a write after which the processor is yielded for it.
const YIELD_AFTER: Duration = Duration::from_micros(200);

impl LaneWriter {
    /// Takes in completed transfers, seals and submits blocks that are due, and releases commits.
    #[inline(always)]
    pub(crate) fn poll(&self, moment: Moment) {
        // Segments and checkpoints have transfers under way that belong to no block.
        if self.busy.get() || self.port.outstanding() > 0 {
            self.work(moment);
        }
    }

    #[inline(never)]
    fn work(&self, moment: Moment) {
        self.port.poll();
        let mut writing = self.writing.borrow_mut();
        let writing = &mut *writing;
        if writing.under_way.is_some() {
            self.take_in(writing);
        }
        if writing.under_way.is_some() && self.polls_are_up() {
            self.yield_to_device(writing);
        }
        if writing.under_way.is_none() && writing.transactions > 0 && self.is_due(writing, moment) {
            self.seal(writing);
        }
        let rests = writing.under_way.is_none() && writing.transactions == 0;
        self.release();
        self.busy.set(!rests || !self.waiters.borrow().is_empty());
    }

    fn is_due(&self, writing: &mut Writing, moment: Moment) -> bool {
        let waited_for = writing.urgency == Urgency::Synchronous;
        let idle = moment == Moment::Resting || moment == Moment::Idle && waited_for;
        if idle || writing.active.len() > self.log.config.buffer_bytes / 2 {
            return true;
        }
        if !self.polls_are_up() {
            return false;
        }
        if self.lane().is_wanted() {
            writing.urgency = Urgency::Synchronous;
        }
        let window = match writing.urgency {
            Urgency::None => return false,
            Urgency::Relaxed => self.log.config.relaxed_window,
            Urgency::Synchronous => self.log.config.group_commit_window,
        };
        self.clock.now().saturating_sub(writing.since) >= window
    }

    /// Whether it is time to read the clock.
    fn polls_are_up(&self) -> bool {
        let polls = self.polls.get() + 1;
        let are_up = polls >= POLLS_PER_READING;
        self.polls.set(if are_up { 0 } else { polls });
        are_up
    }

    /// Lets the kernel's own threads have the processor if a write takes long: the write may wait
    /// for them (see crate `io`, `uring/slice.rs`).
    fn yield_to_device(&self, writing: &mut Writing) {
        let Some(under_way) = &mut writing.under_way else {
            return;
        };
        let now = self.clock.now();
        if now.saturating_sub(under_way.looked_at) >= YIELD_AFTER {
            std::thread::yield_now();
            under_way.looked_at = self.clock.now();
        }
    }

    /// Makes the active buffer a block and sends it off, if there is a segment.
    fn seal(&self, writing: &mut Writing) {
        let (as_of, claims) = self.claim();
        let vector_bytes = claims.len() * size_of::<Claim>();
        let block_bytes = io::round_up(writing.active.len() + vector_bytes);
        if !self.provide_segment(writing, block_bytes as u64, writing.transactions) {
            return;
        }
        let urgency = writing.urgency;
        let header = self.header(writing, writing.transactions, writing.newest, as_of);
        let before = writing.active.capacity();
        format::seal(&mut writing.active, header, &claims);
        // A full buffer had to grow for the claims of many lanes.
        writing.memory.charge(writing.active.capacity() - before);
        let spare = writing.spare.take().expect("nothing is under way");
        let block = std::mem::replace(&mut writing.active, spare);
        writing.transactions = 0;
        writing.urgency = Urgency::None;
        self.send(writing, &header, &claims, VecDeque::from([block]), false);
        if urgency == Urgency::Synchronous {
            self.log.frontier.want_all_but(self.number);
        }
        self.room.ring();
    }

    /// Returns the clock and the claims for a block that is sealed now.
    pub(super) fn claim(&self) -> (Timestamp, Vec<Claim>) {
        // Before the counts are read: a session that wants a later commit asks again.
        self.lane().answer();
        let as_of = self.log.now();
        let claims = self.log.frontier.needed().enumerate();
        let claims = claims.map(|(lane, (needed, durable))| Claim {
            lane: lane as u32,
            needed,
            durable,
        });
        (as_of, claims.collect())
    }

    /// Returns the header of the lane's next block, which has its last `transactions` transactions.
    pub(super) fn header(
        &self,
        writing: &Writing,
        transactions: u32,
        newest: Timestamp,
        as_of: Timestamp,
    ) -> BlockHeader {
        let resting = &writing.resting;
        BlockHeader {
            incarnation: self.log.incarnation,
            lane: self.number as u32,
            number: resting.block,
            first: resting.committed - u64::from(transactions),
            transactions,
            as_of,
            newest,
            ..BlockHeader::default()
        }
    }

    /// Sends a sealed block off, into the segment that was provided.
    pub(super) fn send(
        &self,
        writing: &mut Writing,
        header: &BlockHeader,
        claims: &[Claim],
        mut pieces: VecDeque<Buffer>,
        is_large: bool,
    ) {
        let resting = &mut writing.resting;
        let segment = resting.segment.as_mut().expect("just provided");
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        let offset = segment.offset;
        segment.offset += bytes as u64;
        resting.block += 1;
        segment.blocks_end = resting.block;
        segment.newest = header.newest;
        self.lane().seal_up_to(Sealed {
            blocks: resting.block,
            transactions: resting.committed,
            newest: header.newest,
            file: segment.number,
            offset: segment.offset,
        });
        self.log.counters.sealed(header.transactions, bytes);
        let file = segment.file.clone();
        if resting.next.is_none() {
            self.upkeep.ring();
        }
        let first = pieces.pop_front().expect("a block has a header");
        writing.under_way = Some(UnderWay {
            transfer: self.port.begin(Action::WriteDurable, &file, offset, first),
            file,
            offset,
            rest: pieces,
            is_large,
            looked_at: self.clock.now(),
            attempts: 1,
            committed: resting.committed,
            as_of: header.as_of,
            needed: claims.iter().map(|claim| claim.needed).collect(),
        });
    }

    fn take_in(&self, writing: &mut Writing) {
        let Some(under_way) = &mut writing.under_way else {
            return;
        };
        let Some((buffer, result)) = under_way.transfer.try_take() else {
            return;
        };
        let is_large = under_way.is_large;
        match result {
            Ok(written) if written == buffer.len() => match under_way.rest.pop_front() {
                Some(next) => {
                    under_way.offset += written as u64;
                    under_way.attempts = 1;
                    self.write(under_way, next);
                }
                None => {
                    if let Some(done) = writing.under_way.take() {
                        self.log.frontier.block_is_durable(
                            self.number,
                            done.committed,
                            done.as_of,
                            done.needed,
                        );
                    }
                }
            },
            // The whole piece is written again: that is idempotent.
            Ok(_) if under_way.attempts < WRITE_ATTEMPTS => {
                under_way.attempts += 1;
                return self.write(under_way, buffer);
            }
            Ok(_) => self.fail(writing, &short_write()),
            Err(error) => self.fail(writing, &error),
        }
        if is_large {
            writing.memory.shrink(buffer.capacity());
        } else {
            writing.keep_spare(buffer, self.log.config.buffer_bytes);
        }
        if writing.under_way.is_none() {
            self.room.ring();
        }
    }

    fn write(&self, under_way: &mut UnderWay, piece: Buffer) {
        let (file, offset) = (&under_way.file, under_way.offset);
        under_way.transfer = self.port.begin(Action::WriteDurable, file, offset, piece);
    }

    /// Poisons the log after an error of the device: whether the block was written is unknown. No
    /// commit is acknowledged from now on.
    fn fail(&self, writing: &mut Writing, error: &std::io::Error) {
        if let Some(failed) = writing.under_way.take() {
            let unwritten = failed.rest.iter().map(Buffer::capacity).sum();
            writing.memory.shrink(unwritten);
        }
        // Commits in the active buffer cannot become durable either.
        writing.transactions = 0;
        writing.active.set_len(BLOCK_HEADER_BYTES);
        self.log.poison(&format!("writing the log failed: {error}"));
    }

    /// Wakes the commits that need not wait any longer.
    fn release(&self) {
        let was_congested = self.is_congested();
        self.release_waiters();
        if was_congested && !self.is_congested() {
            self.room.ring();
        }
    }

    fn release_waiters(&self) {
        loop {
            let waker = {
                let mut waiters = self.waiters.borrow_mut();
                let reached = if self.log.is_poisoned() {
                    Timestamp(u64::MAX)
                } else {
                    self.log.frontier.reached()
                };
                waiters.release(reached)
            };
            match waker {
                Some(waker) => waker.wake(),
                None => return,
            }
        }
    }

    /// Writes the buffers, blocking the thread: at the session's end, and before its thread turns
    /// to something else.
    pub(crate) fn flush(&self) {
        loop {
            self.busy.set(true);
            self.work(Moment::Resting);
            let (under_way, transactions) = {
                let writing = self.writing.borrow();
                (writing.under_way.is_some(), writing.transactions)
            };
            if under_way {
                self.port.wait(None);
            } else if transactions == 0 || self.log.is_poisoned() {
                return;
            }
        }
    }
}
