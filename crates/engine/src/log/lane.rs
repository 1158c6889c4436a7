//! A session's lane of the log: its commits, on their way to the device.
//!
//! A lane has two buffers: commits go to the *active* one while the other is being written. At most
//! one block of a lane is under way: only the last of a lane's blocks can be torn. A block is sealed
//! when nothing is under way and
//! - the worker is about to sleep, or has nothing else to do while a commit waits, or
//! - the buffer is half full, or
//! - the oldest commit in it has waited for its *window*: that of group commit or of relaxed
//!   commits, by the most urgent commit in the buffer; other commits have no window.
//!
//! A transaction that is larger than a buffer is a block of its own (`large.rs`).
//!
//! [`LaneWriter::poll`] does all of this (`blocks.rs`), called by the worker between resumptions;
//! there is no flusher thread. Preparing the next segment takes longer and is a coroutine's work
//! (`segment.rs`): the session's upkeep does it ahead of time, or else the transaction that needs
//! the segment.

mod blocks;
mod large;
mod segment;

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

pub(crate) use self::large::LargeTransaction;
use interleave::{Clock, Rouser, Wait, noting};
use io::{Buffer, File, Port, Transfer};
use memory::Reservation;

use crate::{
    device_room::Purse,
    error::Error,
    log::{
        Durability, Log, LogConfig,
        bell::{Bell, Listening},
        format::{self, BLOCK_HEADER_BYTES},
        frontier::Lane,
        segments::Segment,
        waiters::Waiters,
    },
    timestamp::Timestamp,
};

/// Maximum number of transactions that wait for room in the log at once: they hold their writes. No
/// more are begun.
const WAITING_FOR_ROOM_MAX: u32 = 16;
/// Maximum number of commits that wait for the frontier at once. No more transactions are begun.
const WAITING_FOR_FRONTIER_MAX: usize = 4096;
/// Interval at which a transaction looks whether a checkpoint has made room.
const RELIEF_LOOK: Duration = Duration::from_millis(5);
/// Maximum number of such looks: a minute.
const RELIEF_LOOKS_MAX: u32 = 12_000;
/// Room for a block's vector and padding, when room for transactions is reckoned.
const SLACK_BYTES: u64 = 128 << 10;

/// Urgency with which the active buffer must be sent off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Once it is half full.
    #[default]
    None,
    /// Within the window of relaxed commits.
    Relaxed,
    /// Within the window of group commit.
    Synchronous,
}

impl From<Durability> for Urgency {
    fn from(durability: Durability) -> Urgency {
        match durability {
            Durability::Synchronous => Urgency::Synchronous,
            Durability::Relaxed => Urgency::Relaxed,
            Durability::None => Urgency::None,
        }
    }
}

/// Situation of the worker in a call of [`LaneWriter::poll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The worker has other things to do.
    Busy,
    /// The worker has nothing else to do.
    Idle,
    /// The worker is about to sleep or to end.
    Resting,
}

/// Room for a transaction to be appended.
enum Room {
    Enough,
    /// No room yet; the bell will ring.
    Soon,
    NoSegment,
}

/// One session's end of the log.
pub(crate) struct LaneWriter {
    log: Arc<Log>,
    number: usize,
    port: Rc<Port>,
    clock: Clock,
    writing: RefCell<Writing>,
    waiters: RefCell<Waiters>,
    /// Bell that rings when there is room for commits again, or never will be.
    room: Bell,
    waiting_for_room: Cell<u32>,
    /// Number of large transactions that wait for all others to be in blocks.
    large_waiting: Cell<u32>,
    /// Bell that rings when the upkeep has something to do.
    upkeep: Bell,
    winds_up: Cell<bool>,
    /// Whether [`LaneWriter::poll`] has anything to look at.
    busy: Cell<bool>,
    polls: Cell<u32>,
}

/// Part of a lane that outlives its session: the next session of the same number goes on with it.
#[derive(Debug, Default)]
pub(crate) struct Resting {
    segment: Option<Segment>,
    next: Option<Segment>,
    ordinal: u64,
    block: u64,
    committed: u64,
}

struct Writing {
    /// Buffer with room for a header, then transactions.
    active: Buffer,
    transactions: u32,
    newest: Timestamp,
    urgency: Urgency,
    /// Time at which the first transaction in `active` came.
    since: Duration,
    /// The other buffer, unless it is under way.
    spare: Option<Buffer>,
    /// Memory of both buffers, as part of the memory limit.
    memory: Reservation,
    under_way: Option<UnderWay>,
    resting: Resting,
    /// Minimum bytes of the next segment.
    segment_bytes_wanted: u64,
    preparing: bool,
}

/// A block that is being written.
struct UnderWay {
    /// Transfer of one piece, at `offset`.
    transfer: Transfer,
    file: Arc<dyn File>,
    offset: u64,
    /// Pieces behind that one.
    rest: VecDeque<Buffer>,
    /// Whether the pieces come from `large.rs`, and do not become the spare buffer.
    is_large: bool,
    /// Time at which the block was submitted, or the processor was last yielded for it.
    looked_at: Duration,
    attempts: u32,
    committed: u64,
    as_of: Timestamp,
    needed: Vec<u64>,
}

impl LaneWriter {
    /// Makes the lane of a session. `rouser` ends the worker's sleep; `memory` is for the buffers
    /// ([`LogConfig::session_bytes`]).
    pub(crate) fn new(
        log: &Arc<Log>,
        number: u16,
        port: &Rc<Port>,
        clock: Clock,
        rouser: Rouser,
        memory: Reservation,
    ) -> LaneWriter {
        let number = usize::from(number);
        log.frontier.lane(number).rouse_by(Some(rouser));
        let buffer_bytes = log.config.buffer_bytes;
        LaneWriter {
            number,
            port: port.clone(),
            clock,
            writing: RefCell::new(Writing {
                active: empty_block(buffer_bytes),
                transactions: 0,
                newest: Timestamp(0),
                urgency: Urgency::None,
                since: Duration::ZERO,
                spare: Some(empty_block(buffer_bytes)),
                memory,
                under_way: None,
                resting: log.take_resting(number),
                segment_bytes_wanted: 0,
                preparing: false,
            }),
            waiters: RefCell::default(),
            room: Bell::default(),
            waiting_for_room: Cell::new(0),
            large_waiting: Cell::new(0),
            upkeep: Bell::default(),
            winds_up: Cell::new(false),
            busy: Cell::new(false),
            polls: Cell::new(0),
            log: log.clone(),
        }
    }

    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    fn lane(&self) -> &Lane {
        self.log.frontier.lane(self.number)
    }

    /// Waits until a transaction of `bytes` that may use `purse` can be committed. If the device has
    /// no room, this waits until a requested checkpoint has ended.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; [`Error::StorageFull`], and the transaction can be committed later.
    ///
    /// # Suspension
    /// An event wait, if the buffers are full.
    pub(crate) async fn room_for(&self, bytes: usize, purse: Purse) -> Result<(), Error> {
        let look = || self.room(bytes, purse);
        self.room_after_relief(look, purse, false).await
    }

    /// Waits until `bytes` that a checkpoint logs can be committed. No other checkpoint makes room
    /// for it.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; [`Error::StorageFull`], and the bytes can be logged later.
    ///
    /// # Suspension
    /// An event wait, if the buffers are full.
    pub(crate) async fn room_for_checkpoint(&self, bytes: usize) -> Result<(), Error> {
        let look = || self.room(bytes, Purse::Reserve);
        self.room_after_relief(look, Purse::Reserve, true).await
    }

    async fn room_after_relief(
        &self,
        mut look: impl FnMut() -> Result<Room, Error>,
        purse: Purse,
        mut relieved: bool,
    ) -> Result<(), Error> {
        let mut waiting = None;
        loop {
            let ring = self.room.next();
            let room = look()?;
            if let Room::Enough = room {
                return Ok(());
            }
            waiting.get_or_insert_with(|| WaitingForRoom::begin(self));
            let Room::NoSegment = room else {
                noting(Wait::Log, ring).await;
                continue;
            };
            // Boxed, here and below: rare, and large.
            let attempts = self.log.room.attempts();
            let prepared = noting(Wait::Log, Box::pin(self.prepare_segment(purse))).await;
            match prepared {
                Err(Error::StorageFull) if !relieved && self.log.room.is_relief_coming() => {
                    relieved = true;
                    self.upkeep.ring();
                    noting(Wait::Log, Box::pin(self.relief_after(attempts))).await;
                }
                prepared => prepared?,
            }
        }
    }

    /// Waits until one more requested checkpoint has ended after `attempts`, or none comes, or the
    /// wait takes too long.
    async fn relief_after(&self, attempts: u64) {
        let room = &self.log.room;
        for _ in 0..RELIEF_LOOKS_MAX {
            if room.attempts() != attempts || !room.is_relief_coming() || self.log.is_poisoned() {
                break;
            }
            interleave::sleep(RELIEF_LOOK).await;
        }
    }

    /// Waits until so few transactions wait for the device that another one may begin: transactions
    /// that wait for room hold their writes, and would be in the way of all others.
    ///
    /// # Suspension
    /// An event wait, if the device does not keep up.
    pub(crate) async fn admission(&self) {
        while self.is_congested() {
            let ring = self.room.next();
            self.busy.set(true);
            noting(Wait::Log, ring).await;
        }
    }

    /// Whether transactions had better not begin.
    #[inline]
    pub(crate) fn is_congested(&self) -> bool {
        self.waiting_for_room.get() >= WAITING_FOR_ROOM_MAX
            || self.waiters.borrow().len() >= WAITING_FOR_FRONTIER_MAX
    }

    /// Whether a transaction of `bytes` that may use `purse` can be committed at once.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    #[inline]
    pub(crate) fn has_room(&self, bytes: usize, purse: Purse) -> Result<bool, Error> {
        Ok(matches!(self.room(bytes, purse)?, Room::Enough))
    }

    fn room(&self, bytes: usize, purse: Purse) -> Result<Room, Error> {
        self.log.check_sound()?;
        debug_assert!(!self.is_large(bytes), "it is a block of its own");
        let mut writing = self.writing.borrow_mut();
        let used = writing.active.len();
        let is_full = writing.transactions > 0 && used + bytes > self.log.config.buffer_bytes;
        if is_full || self.large_waiting.get() > 0 {
            return Ok(Room::Soon);
        }
        Ok(writing.segment_room((used + bytes) as u64, purse))
    }

    /// Commits a transaction: `take_timestamp` takes its timestamp, and `write` commits it and appends
    /// its writes. If `write` appends none, since the commit has failed, the log has an empty
    /// transaction: a session that sealed a block meanwhile has counted it. There must be room.
    #[inline]
    pub(crate) fn append<R>(
        &self,
        durability: Durability,
        take_timestamp: impl FnOnce() -> Timestamp,
        write: impl FnOnce(Timestamp, &mut format::Appending<'_>) -> R,
    ) -> (Timestamp, R) {
        let mut writing = self.writing.borrow_mut();
        let writing = &mut *writing;
        let lane = self.lane();
        lane.begin_commit();
        let timestamp = take_timestamp();
        let mut appending = format::Appending::begin(&mut writing.active, timestamp);
        let result = write(timestamp, &mut appending);
        appending.end();
        writing.resting.committed = lane.end_commit();
        self.appended(writing, timestamp, durability.into());
        (timestamp, result)
    }

    /// Notes one more transaction in the active buffer.
    #[inline(always)]
    fn appended(&self, writing: &mut Writing, timestamp: Timestamp, urgency: Urgency) {
        if writing.transactions == 0 {
            writing.since = self.clock.now();
            self.busy.set(true);
        }
        writing.transactions += 1;
        writing.newest = timestamp;
        writing.urgency = writing.urgency.max(urgency);
    }

    /// Polls whether everything up to `timestamp` is durable; if not, `context` is woken when it is.
    /// `number` is the number of the waiter, kept between calls.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    pub(super) fn poll_durable(
        &self,
        timestamp: Timestamp,
        number: &mut Option<u64>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        if self.is_durable(timestamp)? {
            return Poll::Ready(Ok(()));
        }
        let mut waiters = self.waiters.borrow_mut();
        let replaced = number.and_then(|number| waiters.renew(timestamp, number, context.waker()));
        if replaced.is_none() {
            *number = Some(waiters.enter(timestamp, context.waker().clone()));
            self.busy.set(true);
            // A version that a reader saw may lie in a buffer that no commit waits for.
            if self.writing.borrow().newest < timestamp {
                self.log.frontier.want_all_but(self.number);
            }
        }
        // The waker that was replaced is dropped after this.
        drop(waiters);
        Poll::Pending
    }

    /// Ends the wait under this number. This may end a congestion as [`LaneWriter::poll`] does, and
    /// then rings as well: the next poll finds no congestion to end.
    pub(super) fn stop_waiting(&self, timestamp: Timestamp, number: u64) {
        let was_congested = self.is_congested();
        // Dropped at the end, when nothing is borrowed.
        let _waker = self.waiters.borrow_mut().leave(timestamp, number);
        if was_congested && !self.is_congested() {
            self.room.ring();
        }
    }

    /// Whether everything up to `timestamp` is durable.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    #[inline]
    pub(crate) fn is_durable(&self, timestamp: Timestamp) -> Result<bool, Error> {
        self.log.check_sound()?;
        Ok(timestamp <= self.log.frontier.reached())
    }

    /// Prepares for the worker's sleep. Returns false if the worker should look again at once.
    pub(crate) fn may_sleep(&self) -> bool {
        self.poll(Moment::Resting);
        let first = self.waiters.borrow().first();
        let Some(first) = first else { return true };
        self.lane().announce_waiting();
        first > self.log.frontier.reached() && !self.log.is_poisoned()
    }

    /// Ends the worker's sleep.
    pub(crate) fn slept(&self) {
        self.lane().stop_waiting();
        self.poll(Moment::Busy);
    }

    /// Whether a block is being written.
    pub(crate) fn awaits_device(&self) -> bool {
        self.writing.borrow().under_way.is_some() || self.port.outstanding() > 0
    }

    /// Waits for the upkeep's next ring: see [`LaneWriter::upkeep`].
    pub(crate) fn upkeep_is_due(&self) -> Listening<'_> {
        self.upkeep.next()
    }

    /// Has the upkeep look for work.
    pub(crate) fn call_upkeep(&self) {
        self.upkeep.ring();
    }

    /// Notes that nothing is to be prepared at leisure any more.
    pub(crate) fn wind_up(&self) {
        self.winds_up.set(true);
        self.upkeep.ring();
    }
}

/// A transaction that waits for room, until this guard is dropped.
struct WaitingForRoom<'l>(&'l LaneWriter);

impl<'l> WaitingForRoom<'l> {
    fn begin(writer: &'l LaneWriter) -> WaitingForRoom<'l> {
        writer
            .waiting_for_room
            .set(writer.waiting_for_room.get() + 1);
        // A segment that is being prepared is urgent now.
        writer.upkeep.ring();
        WaitingForRoom(writer)
    }
}

impl Drop for WaitingForRoom<'_> {
    fn drop(&mut self) {
        self.0
            .waiting_for_room
            .set(self.0.waiting_for_room.get() - 1);
        // Other transactions may begin.
        self.0.room.ring();
    }
}

impl Writing {
    /// Returns whether a block of about `bytes` can go to the segments that there are, for a
    /// transaction that may use `purse`.
    fn segment_room(&mut self, bytes: u64, purse: Purse) -> Room {
        let needed = bytes + SLACK_BYTES;
        let room = |segment: &Option<Segment>| {
            segment
                .as_ref()
                .map_or(0, |segment| segment.room_for(purse))
        };
        if room(&self.resting.segment) >= needed || room(&self.resting.next) >= needed {
            return Room::Enough;
        }
        self.segment_bytes_wanted = self.segment_bytes_wanted.max(needed);
        if self.preparing {
            Room::Soon
        } else {
            Room::NoSegment
        }
    }

    /// Empties a buffer that was written, for the next block. A buffer that has grown far beyond the
    /// usual is replaced.
    fn keep_spare(&mut self, mut buffer: Buffer, usual_bytes: usize) {
        if buffer.capacity() > usual_bytes * 4 {
            (self.memory).shrink(buffer.capacity() - block_bytes(usual_bytes));
            buffer = empty_block(usual_bytes);
        }
        buffer.set_len(BLOCK_HEADER_BYTES);
        self.spare = Some(buffer);
    }
}

impl LogConfig {
    /// Returns the memory that a session's two buffers take. A transaction that is larger than a
    /// buffer takes more while it is written.
    pub fn session_bytes(&self) -> usize {
        2 * block_bytes(self.buffer_bytes)
    }
}

/// Returns the bytes of a buffer with room for `bytes` bytes of transactions.
fn block_bytes(bytes: usize) -> usize {
    io::round_up(BLOCK_HEADER_BYTES + bytes)
}

fn empty_block(bytes: usize) -> Buffer {
    let mut buffer = Buffer::with_capacity(block_bytes(bytes));
    buffer.set_len(BLOCK_HEADER_BYTES);
    buffer
}

impl Drop for LaneWriter {
    fn drop(&mut self) {
        self.flush();
        self.lane().rouse_by(None);
        let resting = std::mem::take(&mut self.writing.get_mut().resting);
        self.log.leave_resting(self.number, resting);
    }
}
