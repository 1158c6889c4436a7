//! A session: one worker's side of the engine.
//!
//! Everything a transaction needs that is not shared: memory caches, the epoch
//! pin, RIDs in stock, garbage that waits for the horizon, counters, and the
//! contexts of open transactions. Nothing here is synchronised; a session stays
//! on its thread and is reached through `Rc`.
//!
//! There are no background threads: [`Session::housekeep`] announces the floor
//! and the epoch and collects a bounded amount of garbage, and is called by the
//! worker between transactions.

mod collect;
mod contexts;
mod rids;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use interleave::WorkerLocal;
use memory::Local;

use crate::{
    database::Database,
    horizon::Floor,
    stats::{Published, TransactionStats},
    timestamp::Timestamp,
};

pub(crate) use collect::{Estate, Garbage};
pub(crate) use contexts::{Context, Contexts, Write, WriteKind};
pub(crate) use rids::RidStock;

/// How long a session with garbage that cannot be freed yet sleeps at most.
const GARBAGE_POLL: Duration = Duration::from_millis(20);
const GARBAGE_POLL_MAX: Duration = Duration::from_secs(1);

/// One worker's side of the engine. See the module text.
pub struct Session {
    pub(crate) database: Arc<Database>,
    pub(crate) number: u16,
    pub(crate) memory: Local,
    pub(crate) contexts: Contexts,
    pub(crate) rids: RefCell<RidStock>,
    pub(crate) garbage: RefCell<Garbage>,
    pub(crate) batches: RefCell<Vec<index::Batch>>,
    pub(crate) counters: Counters,
    floor: Arc<Floor>,
    idle: Cell<bool>,
    published: Arc<Published>,
    garbage_poll: Cell<Duration>,
}

/// The session's counters.
#[derive(Default)]
pub(crate) struct Counters {
    stats: RefCell<TransactionStats>,
    /// Operations of committed transactions: the worker's useful work.
    pub(crate) useful: Cell<u64>,
}

impl Counters {
    #[inline(always)]
    pub(crate) fn update(&self, change: impl FnOnce(&mut TransactionStats)) {
        change(&mut self.stats.borrow_mut());
    }
}

impl Session {
    /// A session on `database`, for the calling thread. `None` when 4096 exist.
    pub fn new(database: &Arc<Database>) -> Option<Rc<Session>> {
        let number = database.take_session_number()?;
        Some(Rc::new(Session {
            memory: Local::new(&database.arena, &database.epochs),
            contexts: Contexts::new(),
            rids: RefCell::default(),
            garbage: RefCell::default(),
            batches: RefCell::default(),
            counters: Counters::default(),
            floor: database.horizon.register(),
            idle: Cell::new(true),
            published: database.register_stats(),
            garbage_poll: Cell::new(GARBAGE_POLL),
            number,
            database: database.clone(),
        }))
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Transactions open in this session.
    pub fn open_transactions(&self) -> usize {
        self.contexts.open()
    }

    /// The snapshot of a transaction that begins now.
    #[inline(always)]
    pub(crate) fn take_snapshot(&self) -> Timestamp {
        if self.idle.get() {
            self.leave_idle();
        }
        self.database.horizon.now()
    }

    #[cold]
    fn leave_idle(&self) {
        self.floor.leave_idle(&self.database.horizon);
        self.idle.set(false);
    }

    /// Announces how far this session has come and collects some garbage.
    pub fn tend(&self) {
        if !self.idle.get() {
            // The clock is read first: a transaction that begins after that has
            // a snapshot at least as new.
            let now = self.database.horizon.now();
            self.floor
                .announce(self.contexts.oldest_snapshot().unwrap_or(now));
        }
        self.memory.quiesce();
        self.collect();
        self.published.publish(&self.counters.stats.borrow());
    }

    /// Stops holding the horizon and the epochs back. False while transactions
    /// are open.
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
    fn housekeep(&self) {
        self.tend();
    }

    fn before_sleep(&self) -> Option<Duration> {
        self.tend();
        self.go_idle();
        if self.garbage.borrow().is_empty()
            && self.memory.limbo_len() == 0
            && !self.rids.borrow().is_waiting()
        {
            self.garbage_poll.set(GARBAGE_POLL);
            return None;
        }
        let wait = self.garbage_poll.get();
        self.garbage_poll.set((wait * 2).min(GARBAGE_POLL_MAX));
        Some(wait)
    }

    fn after_sleep(&self) {
        self.tend();
    }

    fn progress(&self) -> Option<u64> {
        Some(self.counters.useful.get())
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
        let orphans = std::mem::take(&mut *self.garbage.borrow_mut());
        self.database.adopt(orphans, self.rids.get_mut());
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
