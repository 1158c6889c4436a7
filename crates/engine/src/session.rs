//! A session: one worker's side of the engine.
//!
//! A session holds everything that a transaction needs and that is not shared: memory caches, the
//! epoch pin, RIDs in stock, garbage that waits for the horizon, counters, and the contexts of open
//! transactions. Nothing here is synchronised; a session stays on its thread and is reached through
//! `Rc`.
//!
//! There are no background threads: [`Session::housekeep`] announces the floor and the epoch and
//! collects a bounded amount of garbage, and is called by the worker between transactions.

mod account;
mod by_record;
mod collect;
mod command;
mod contexts;
mod dependencies;
mod found;
mod held_locks;
mod kept_key;
mod rids;
mod savepoints;
mod spares;
mod upkeep;
mod waits;
mod write_places;

use std::{
    cell::{Cell, OnceCell, RefCell},
    fmt,
    rc::{Rc, Weak},
    sync::Arc,
    time::Duration,
};

use interleave::{Clock, Rouser, Scheduling, WorkerLocal};
use io::{Depth, Gate, GateRule, Port, WhenFull};
use memory::{Local, Reservation};

use crate::{
    catalog::Digging,
    certifier::{Announcements, Certifier},
    cold::{self, ReadBuffers, WaitingForRoom},
    database::Database,
    horizon::Floor,
    log::{Bell, LaneWriter, Moment},
    secondary::entry::Scratch,
    stats::{Published, TransactionStats},
    timestamp::Timestamp,
    ttl::Walk,
};

pub(crate) use account::Account;
pub(crate) use collect::{Estate, Garbage};
pub(crate) use command::{Before, CommandWrites};
pub(crate) use contexts::{Context, Contexts, Lost, State, Step, Write, WriteKind};
pub(crate) use dependencies::{Dependencies, Purpose, RecordRead, Seen, Tracker};
pub(crate) use found::Found;
pub(crate) use held_locks::HeldLocks;
pub(crate) use kept_key::{KeptKey, KeptKeys};
pub(crate) use rids::RidStock;
pub(crate) use savepoints::{Lengths, Saved, Savepoints};
pub(crate) use spares::{Lent, Spares};
pub(crate) use upkeep::next_look;
pub(crate) use waits::{Generation, Waits};
pub(crate) use write_places::WritePlaces;

/// Longest sleep of a session with garbage that cannot be freed yet, at first.
const GARBAGE_POLL: Duration = Duration::from_millis(20);
const GARBAGE_POLL_MAX: Duration = Duration::from_secs(1);

/// One worker's side of the engine. See the module text.
pub struct Session {
    /// The session itself, for transactions of its own.
    pub(crate) this: Weak<Session>,
    pub(crate) database: Arc<Database>,
    pub(crate) number: u16,
    pub(crate) memory: Local,
    pub(crate) contexts: Contexts,
    pub(crate) rids: RefCell<RidStock>,
    pub(crate) garbage: RefCell<Garbage>,
    /// Dropped storage that is being freed.
    digging: Digging,
    /// Walk through the tables whose records expire, if this session does it.
    pub(crate) walk: RefCell<Option<Walk>>,
    /// Number of storages that had gone when the stock was last searched for their RIDs.
    gone: Cell<u64>,
    pub(crate) batches: Spares<index::Batch>,
    /// Memory for what operations by index gather.
    pub(crate) scratch: Spares<Scratch>,
    /// Memory in which values are made.
    pub(crate) values: Spares<Vec<u8>>,
    pub(crate) counters: Counters,
    /// This thread's transfers to the device, if the database has a directory.
    port: Option<Rc<Port>>,
    /// Rouser that ends the worker's sleep where it listens to a descriptor beside the device.
    rouser: OnceCell<Rouser>,
    /// Gate in front of the port, for reads of cold files.
    gate: Rc<Gate>,
    /// Buffers of reads of cold files.
    pub(crate) read_buffers: ReadBuffers,
    clock: Clock,
    /// The session's end of the log; made when the database has a log.
    lane: OnceCell<LaneWriter>,
    pub(crate) account: Account,
    /// Memory for the lane, until the lane is made.
    lane_memory: Cell<Option<Reservation>>,
    winds_up: Cell<bool>,
    floor: Arc<Floor>,
    idle: Cell<bool>,
    pub(crate) waits: Waits,
    /// Rung when there may be room in memory again.
    pub(crate) room: Bell,
    /// Bytes that were free when `room` was rung last.
    pub(crate) room_before: Cell<u64>,
    /// Whether more memory than intended was in use at the last housekeeping.
    pub(crate) memory_is_full: Cell<bool>,
    /// Transactions that wait for room.
    pub(crate) waiting_for_room: Rc<WaitingForRoom>,
    published: Arc<Published>,
    garbage_poll: Cell<Duration>,
    /// Whether the last collection has left garbage that it could have freed.
    is_behind: Cell<bool>,
}

/// The session's counters.
#[derive(Default)]
pub(crate) struct Counters {
    stats: RefCell<TransactionStats>,
    /// Operations of committed transactions, and records recovered: the worker's useful work.
    pub(crate) useful: Cell<u64>,
}

impl Counters {
    #[inline(always)]
    pub(crate) fn update(&self, change: impl FnOnce(&mut TransactionStats)) {
        change(&mut self.stats.borrow_mut());
    }
}

/// Reason why there is no session.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// 4096 sessions exist.
    TooMany,
    /// The thread got no channel to the device.
    Device(std::io::Error),
    /// The session's buffers, for the log and for records that leave memory, do not fit into the
    /// memory limit.
    LogBuffers {
        /// Bytes of the buffers.
        bytes: usize,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::TooMany => f.write_str("4096 sessions exist; end one of them first"),
            SessionError::Device(error) => write!(f, "no channel to the device: {error}"),
            SessionError::LogBuffers { bytes } => write!(
                f,
                "{bytes} bytes for the buffers of another worker do not fit into the memory \
                 limit; raise it, or have fewer workers or smaller log buffers"
            ),
        }
    }
}

impl std::error::Error for SessionError {}

impl Session {
    /// Opens a session on `database`, for the calling thread.
    ///
    /// # Errors
    /// Fails as [`SessionError`] lists.
    pub fn new(database: &Arc<Database>) -> Result<Rc<Session>, SessionError> {
        Session::with_clock(database, Clock::real())
    }

    /// Opens a session on `database`, with the `clock` that measures windows.
    ///
    /// # Errors
    /// Fails as [`SessionError`] lists.
    pub fn with_clock(database: &Arc<Database>, clock: Clock) -> Result<Rc<Session>, SessionError> {
        let port = match database.directory() {
            None => None,
            Some(directory) => Some(Port::new(
                directory.channel().map_err(SessionError::Device)?,
            )),
        };
        let lane_memory = match database.storage() {
            None => None,
            Some(storage) => {
                let cold = storage.cold();
                let for_blocks = cold.map_or(0, |_| cold::session_bytes(&database.arena));
                let bytes = storage.log_session_bytes() + for_blocks;
                let reserved = database.arena.reserve(bytes);
                Some(reserved.map_err(|_| SessionError::LogBuffers { bytes })?)
            }
        };
        let number = database
            .take_session_number()
            .ok_or(SessionError::TooMany)?;
        database.board.enter(number);
        let gate = Gate::new({
            let clock = clock.clone();
            move || clock.now()
        });
        Ok(Rc::new_cyclic(|this| Session {
            this: this.clone(),
            walk: RefCell::default(),
            port,
            rouser: OnceCell::new(),
            gate,
            read_buffers: ReadBuffers::default(),
            clock,
            lane: OnceCell::new(),
            lane_memory: Cell::new(lane_memory),
            account: Account::new(&database.arena),
            winds_up: Cell::new(false),
            memory: Local::new(&database.arena, &database.epochs),
            contexts: Contexts::new(),
            rids: RefCell::default(),
            garbage: RefCell::default(),
            digging: Digging::default(),
            gone: Cell::default(),
            batches: Spares::default(),
            scratch: Spares::default(),
            values: Spares::default(),
            counters: Counters::default(),
            floor: database.horizon.register(),
            idle: Cell::new(true),
            waits: Waits::default(),
            room: Bell::default(),
            room_before: Cell::default(),
            memory_is_full: Cell::default(),
            waiting_for_room: Rc::default(),
            published: database.register_stats(),
            garbage_poll: Cell::new(GARBAGE_POLL),
            is_behind: Cell::new(false),
            number,
            database: database.clone(),
        }))
    }

    /// Makes the worker sleep on the device only while the device has something to do. Otherwise
    /// the worker sleeps where `rouser`, which makes `descriptor` readable, ends its sleep. The
    /// descriptor must stay open for as long as the session lives. Returns whether sleeps on the
    /// device end for the descriptor too: false without a device, or with one that can wait only
    /// for its own transfers.
    ///
    /// The caller must call this before the session has begun a transaction.
    pub fn sleep_beside(&self, descriptor: std::os::fd::RawFd, rouser: Rouser) -> bool {
        // A session listens to one descriptor.
        let _ = self.rouser.set(rouser);
        self.port
            .as_ref()
            .is_some_and(|port| port.watch(descriptor))
    }

    /// Returns the database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Returns this thread's transfers, if the database has a directory.
    pub(crate) fn port(&self) -> Option<&Rc<Port>> {
        self.port.as_ref()
    }

    /// Returns the gate that cold reads of this thread pass before they begin.
    pub(crate) fn gate(&self) -> &Rc<Gate> {
        &self.gate
    }

    /// Returns the session's end of the log, if the database has a log.
    #[inline]
    pub(crate) fn lane(&self) -> Option<&LaneWriter> {
        match self.lane.get() {
            Some(lane) => Some(lane),
            None if self.port.is_none() => None,
            None => self.open_lane(),
        }
    }

    #[cold]
    fn open_lane(&self) -> Option<&LaneWriter> {
        let (port, log) = (self.port.as_ref()?, self.database.log()?);
        if let Some(memory) = self.lane_memory.take() {
            let (clock, rouser) = (self.clock.clone(), self.rouser()?);
            let lane = LaneWriter::new(log, self.number, port, clock, rouser, memory);
            return Some(self.lane.get_or_init(|| lane));
        }
        self.lane.get()
    }

    /// Ends the session's [`Session::upkeep`], and its builds of indexes and streams of changes with
    /// [`crate::Error::Ended`]. Transactions go on.
    pub fn wind_up(&self) {
        self.winds_up.set(true);
        if let Some(lane) = self.lane.get() {
            lane.wind_up();
        }
    }

    pub(crate) fn winds_up(&self) -> bool {
        self.winds_up.get()
    }

    /// Whether work of the database's own is to end: the session winds up, or the database is closed.
    pub(crate) fn is_to_end(&self) -> bool {
        self.winds_up() || self.database.is_closed()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Waits until another transaction should begin: not at all without a log, or while the device
    /// keeps up and there is room in memory.
    ///
    /// # Suspension
    /// An event wait.
    #[inline]
    pub async fn admission(&self) {
        while let Some(lane) = self.lane.get()
            && !self.admits()
        {
            lane.admission().await;
            self.memory_admission().await;
        }
    }

    /// Has all commits of this session written soon, without a wait: for a thread that turns to
    /// other work.
    pub fn push(&self) {
        if let Some(lane) = self.lane.get() {
            lane.poll(Moment::Resting);
        }
    }

    /// Returns the number of transactions open in this session.
    pub fn open_transactions(&self) -> usize {
        self.contexts.open()
    }

    /// Returns the number of transactions of this session that have committed.
    pub(crate) fn commits(&self) -> u64 {
        self.counters.stats.borrow().commits
    }

    /// Takes the snapshot of a transaction that begins now.
    #[inline(always)]
    pub(crate) fn take_snapshot(&self) -> Timestamp {
        if self.idle.get() {
            self.leave_idle();
        }
        self.database.horizon.now()
    }

    /// Takes the snapshot of a transaction that begins now and is declared read-only.
    #[inline]
    pub(crate) fn take_read_only_snapshot(&self) -> Timestamp {
        let snapshot = self.take_snapshot();
        match self.database.certifier() {
            Certifier::Ssn => self
                .announcements()
                .read_only_snapshot(&self.database.horizon),
            Certifier::Validation => snapshot,
        }
    }

    pub(crate) fn announcements(&self) -> &Announcements {
        self.database.board.session(self.number)
    }

    #[cold]
    fn leave_idle(&self) {
        self.floor.leave_idle(&self.database.horizon);
        self.idle.set(false);
    }

    /// Announces the progress of this session and collects some garbage.
    pub fn tend(&self) {
        self.waits.age(self.clock.now());
        self.collect_expired();
        if !self.idle.get() {
            // The clock is read first: a transaction that begins after that has a snapshot at least
            // as new.
            let now = self.database.horizon.now();
            self.floor
                .announce(self.contexts.oldest_snapshot().unwrap_or(now));
        }
        self.collect();
        self.look_after_room();
        self.look_after_blocks();
        self.settle();
        self.count_device_reads();
        self.published.publish(&self.counters.stats.borrow());
    }

    fn count_device_reads(&self) {
        let gate = self.gate.stats();
        self.counters.update(|stats| {
            stats.device_reads = gate.begun;
            stats.device_reads_ended = gate.completed;
            stats.device_reads_held_back = gate.waits;
            stats.device_reads_held_back_ns = gate.waited_ns;
            stats.device_depth_sum = gate.depth_sum;
        });
    }

    /// Whether the session has anything to free, once no transaction sees it any more.
    pub fn has_garbage(&self) -> bool {
        !self.garbage.borrow().is_empty()
            || self.digging.borrow().is_some()
            || self.database.catalog.has_graves()
            || self.memory.limbo_len() > 0
            || self.rids.borrow().is_waiting()
    }

    /// Stops holding back the horizon and the epochs. Returns false while transactions are open.
    fn go_idle(&self) -> bool {
        if self.contexts.oldest_snapshot().is_some() || !self.memory.go_idle() {
            return false;
        }
        self.floor.go_idle();
        self.idle.set(true);
        true
    }
}

impl WorkerLocal for Session {
    #[inline]
    fn poll(&self, idle: bool) {
        if let Some(lane) = self.lane.get() {
            lane.poll(if idle { Moment::Idle } else { Moment::Busy });
        } else if let Some(port) = &self.port {
            port.poll();
        }
    }

    fn hand_over(&self) {
        if let Some(port) = &self.port {
            port.flush();
        }
    }

    fn schedule(&self, scheduling: Scheduling) {
        self.gate.set_rule(match scheduling {
            Scheduling::Reserved { device_slots } => GateRule {
                depth: Depth::Fixed(device_slots),
                when_full: WhenFull::Wait,
            },
            Scheduling::DualQueue { cold_slots, .. } => GateRule {
                depth: Depth::Fixed(cold_slots),
                when_full: WhenFull::Refuse,
            },
            Scheduling::Sequential | Scheduling::StrictBatch | Scheduling::Pipelined => {
                GateRule::default()
            }
        });
    }

    fn awaits_device(&self) -> bool {
        self.lane.get().is_some_and(LaneWriter::awaits_device)
            || self
                .port
                .as_ref()
                .is_some_and(|port| port.outstanding() > 0)
    }

    #[inline]
    fn admits(&self) -> bool {
        !self.lane.get().is_some_and(LaneWriter::is_congested) && !self.is_short_of_memory()
    }

    fn frames(&self, bytes: usize, places: usize) -> usize {
        self.charge_frames(bytes, places)
    }

    fn waiting(&self) -> usize {
        self.waits.recent()
    }

    fn rouser(&self) -> Option<Rouser> {
        if let Some(rouser) = self.rouser.get() {
            return Some(rouser.clone());
        }
        let rouser = self.port.as_ref()?.rouser();
        Some(Arc::new(move || rouser.rouse()))
    }

    fn sleep(&self, at_most: Option<Duration>) {
        if let Some(port) = &self.port {
            port.wait(at_most);
        }
    }

    fn housekeep(&self) {
        self.tend();
    }

    fn is_behind(&self) -> bool {
        self.is_behind.get()
    }

    fn before_sleep(&self) -> Option<Duration> {
        self.tend();
        self.go_idle();
        if self.is_behind() || self.lane.get().is_some_and(|lane| !lane.may_sleep()) {
            return Some(Duration::ZERO);
        }
        let garbage = match self.has_garbage() {
            true => {
                let wait = self.garbage_poll.get();
                self.garbage_poll.set((wait * 2).min(GARBAGE_POLL_MAX));
                Some(wait)
            }
            false => {
                self.garbage_poll.set(GARBAGE_POLL);
                None
            }
        };
        let others = (self.waits.recent() > 0).then_some(waits::GENERATION);
        [self.until_walk(), garbage, others]
            .into_iter()
            .flatten()
            .min()
    }

    fn after_sleep(&self) {
        if let Some(lane) = self.lane.get() {
            lane.slept();
        }
        self.tend();
    }

    /// Finishes before the worker leaves: the session's commits count in what the blocks of others
    /// claim, and its snapshots and epochs keep the garbage of others.
    fn leave(&self) {
        // First: the session may owe a commit.
        self.tend();
        if let Some(lane) = self.lane.get() {
            lane.flush();
        }
        self.go_idle();
    }

    fn progress(&self) -> Option<u64> {
        Some(self.counters.useful.get() + self.contexts.work())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        debug_assert_eq!(
            self.contexts.open(),
            0,
            "transactions keep their session alive"
        );
        self.tend();
        self.end_walk();
        // First: the commits are written before another session can take the number.
        self.lane.take();
        let orphans = std::mem::take(&mut *self.garbage.borrow_mut());
        self.database.adopt(orphans, self.rids.get_mut());
        self.database.catalog.inherit_grave(&self.digging);
        self.database.horizon.deregister(&self.floor);
        self.published.publish(&self.counters.stats.borrow());
        self.database.return_session_number(self.number);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
