//! Blocks: sealed when they are due, written, and what waits for them released.

use std::time::Duration;

use io::Action;

use super::{LaneWriter, Moment, UnderWay, Urgency, Writing, reset_block};
use crate::{
    log::{
        format::{self, BlockHeader, Claim},
        frontier::Sealed,
        segments::{WRITE_ATTEMPTS, short_write},
    },
    timestamp::Timestamp,
};

/// Calls of [`LaneWriter::poll`] between two readings of the clock.
const POLLS_PER_READING: u32 = 8;
/// How long a write may take before the processor is yielded for it.
const YIELD_AFTER: Duration = Duration::from_micros(200);

impl LaneWriter {
    /// Takes in what the device has completed, seals and submits what is due,
    /// releases commits.
    #[inline(always)]
    pub(crate) fn poll(&self, moment: Moment) {
        // Segments and checkpoints have transfers under way that are no block's.
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

    /// Lets the kernel's own threads have the processor if a write takes long: they
    /// may be what it waits for (see crate `io`, `uring/slice.rs`).
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
        // Before the counts are read: whoever wants something later asks again.
        self.lane().answer();
        let urgency = writing.urgency;
        let as_of = self.log.now();
        let needed: Vec<(u64, u64)> = self.log.frontier.needed().collect();
        let block_bytes = writing.active.len() + needed.len() * size_of::<Claim>();
        let block_bytes = io::round_up(block_bytes) as u64;
        if !self.provide_segment(writing, block_bytes) {
            return;
        }
        let resting = &mut writing.resting;
        let segment = resting.segment.as_mut().expect("just provided");
        let header = BlockHeader {
            incarnation: self.log.incarnation,
            lane: self.number as u32,
            number: resting.block,
            first: resting.committed - u64::from(writing.transactions),
            transactions: writing.transactions,
            as_of,
            newest: writing.newest,
            ..BlockHeader::default()
        };
        let claims = needed
            .iter()
            .enumerate()
            .map(|(lane, &(needed, durable))| Claim {
                lane: lane as u32,
                needed,
                durable,
            });
        let before = writing.active.capacity();
        format::seal(&mut writing.active, header, claims);
        // For the claims of many lanes a full buffer had to grow.
        writing.memory.charge(writing.active.capacity() - before);
        let spare = writing.spare.take().expect("nothing is under way");
        let block = std::mem::replace(&mut writing.active, spare);
        let offset = segment.offset;
        segment.offset += block.len() as u64;
        resting.block += 1;
        segment.blocks_end = resting.block;
        segment.newest = writing.newest;
        self.lane().seal_up_to(Sealed {
            blocks: resting.block,
            transactions: resting.committed,
            newest: writing.newest,
            file: segment.number,
            offset: segment.offset,
        });
        self.log.counters.sealed(writing.transactions, block.len());
        let file = segment.file.clone();
        if resting.next.is_none() {
            self.upkeep.ring();
        }
        writing.under_way = Some(UnderWay {
            transfer: self.port.begin(Action::WriteDurable, &file, offset, block),
            file,
            offset,
            looked_at: self.clock.now(),
            attempts: 1,
            committed: resting.committed,
            as_of,
            needed: needed.into_iter().map(|(needed, _)| needed).collect(),
        });
        writing.transactions = 0;
        writing.urgency = Urgency::None;
        if urgency == Urgency::Synchronous {
            self.log.frontier.want_all_but(self.number);
        }
        self.room.ring();
    }

    fn take_in(&self, writing: &mut Writing) {
        let Some(under_way) = &mut writing.under_way else {
            return;
        };
        let Some((mut buffer, result)) = under_way.transfer.try_take() else {
            return;
        };
        match result {
            Ok(written) if written == buffer.len() => {
                if let Some(done) = writing.under_way.take() {
                    self.log.frontier.block_is_durable(
                        self.number,
                        done.committed,
                        done.as_of,
                        done.needed,
                    );
                }
            }
            // All of it again: that is idempotent.
            Ok(_) if under_way.attempts < WRITE_ATTEMPTS => {
                under_way.attempts += 1;
                under_way.transfer = self.port.begin(
                    Action::WriteDurable,
                    &under_way.file,
                    under_way.offset,
                    buffer,
                );
                return;
            }
            Ok(_) => self.fail(writing, &short_write()),
            Err(error) => self.fail(writing, &error),
        }
        reset_block(
            &mut buffer,
            self.log.config.buffer_bytes,
            &mut writing.memory,
        );
        writing.spare = Some(buffer);
        self.room.ring();
    }

    /// The device has failed: whether the block is on it, nobody knows. Nothing
    /// is acknowledged from now on.
    fn fail(&self, writing: &mut Writing, error: &std::io::Error) {
        writing.under_way = None;
        // What is in the active buffer cannot become durable either.
        writing.transactions = 0;
        reset_block(
            &mut writing.active,
            self.log.config.buffer_bytes,
            &mut writing.memory,
        );
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

    /// Writes what is in the buffers, blocking the thread: at the session's end, and before its
    /// thread turns to something else.
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
