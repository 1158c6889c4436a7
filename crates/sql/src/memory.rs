//! The memory of all statements of a database, within the one limit that its records have too.
//!
//! The limit (`weft.memory`) is divided as follows:
//!
//! | part | use |
//! | --- | --- |
//! | [`OWN_PART`] | statements alone: records do not take it |
//! | [`KEPT_PART`], [`KEPT_WHERE_THEY_LEAVE_PART`] | records and transactions alone: statements do not take it |
//! | the rest | records and statements, first come, first served |
//!
//! A connection has [`FREE_BYTES`] in any case; short statements hold no more. Beyond these it is
//! given memory in pieces, as long as it does not hold more than it leaves to the others. A single
//! connection gets at most half of the statements' memory, two get a third each, and a connection
//! that comes late finds some left: a hungry statement is refused before a modest one.
//!
//! Where records can leave memory they leave for statements: for as much as a connection holds and may take more, up
//! to [`LEAVING_PART`] beside what is for records alone, and until all statements have [`SHARE_PART`] of the limit.
//! Statements wait for it between two batches, two seconds or so while none leave, and longer while some do
//! ([`executor::execute::Budget`]), and not at all for some seconds ([`REST`]) after one has waited in vain.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use types::{MemorySource, Size};

/// Bytes that each connection has for its statements in any case.
pub(crate) const FREE_BYTES: usize = 64 << 10;

/// Divisor of the limit for the part that is for statements alone.
const OWN_PART: usize = 16;

/// Divisor of the limit for the part that is never for statements.
const KEPT_PART: usize = 8;

/// Divisor of the limit for that part where records can leave memory, which they do when less than a tenth is free, and
/// statements have no more than [`SHARE_PART`]: otherwise each of many connections would take what records have left.
const KEPT_WHERE_THEY_LEAVE_PART: usize = 16;

/// Divisor of the limit for a statement's share, if no other was set.
const SHARE_PART: usize = 4;

/// Divisor of the limit for the part that records leave to statements that need it, where records can leave memory.
const LEAVING_PART: usize = 8;

/// Divisor of the limit for the least that a connection with more than its free bytes finds left before records leave.
const LEFT_PART: usize = 32;

/// Time for which no statement waits for records to leave after one has waited in vain: indexes, or versions that an
/// old snapshot needs, may have all memory.
const REST: Duration = Duration::from_secs(5);

/// The memory of a database's statements: see the module text.
pub(crate) struct StatementMemory {
    database: Arc<engine::Database>,
    /// Bytes that are set aside in any case.
    own_bytes: usize,
    /// End of the time in which nobody waits for records to leave: none did lately.
    rest: Mutex<Option<Instant>>,
    /// Bytes that connections have. Those that exceed the own bytes are set aside beside them.
    taken: Mutex<usize>,
}

impl StatementMemory {
    pub(crate) fn new(database: &Arc<engine::Database>) -> Arc<StatementMemory> {
        // Records that were there already may have left less.
        let own_bytes = database.memory_limit() / OWN_PART;
        let own_bytes = own_bytes.min(database.memory_room());
        let own_bytes = match database.set_memory_aside(own_bytes, 0) {
            Ok(()) => own_bytes,
            Err(_) => 0,
        };
        Arc::new(StatementMemory {
            database: database.clone(),
            own_bytes,
            rest: Mutex::default(),
            taken: Mutex::default(),
        })
    }

    /// Returns the bytes of blocks of columns: of those in memory, and of all.
    pub(crate) fn block_bytes(&self) -> (usize, usize) {
        self.database.block_bytes()
    }

    /// Returns the limit on records and statements together.
    pub(crate) fn limit_bytes(&self) -> usize {
        self.database.memory_limit()
    }

    /// Returns the bytes that a statement may hold if no other share was set.
    pub(crate) fn share_bytes(&self) -> usize {
        self.limit_bytes() / SHARE_PART
    }

    /// Returns the bytes that are kept from statements if connections have `taken`.
    fn kept_bytes(&self, taken: usize) -> usize {
        let limit = self.limit_bytes();
        let leave = self.database.can_records_leave() && taken <= limit / SHARE_PART;
        limit
            / if leave {
                KEPT_WHERE_THEY_LEAVE_PART
            } else {
                KEPT_PART
            }
    }

    /// Returns the bytes that are left to statements if connections have `taken`.
    fn left_beside(&self, taken: usize) -> usize {
        let shared = self.database.memory_room();
        let shared = shared.saturating_sub(self.kept_bytes(taken));
        self.own_bytes.saturating_sub(taken) + shared
    }

    /// Returns the bytes that have to be set aside beside the own bytes for `taken`.
    fn beyond(&self, taken: usize) -> usize {
        taken.saturating_sub(self.own_bytes)
    }

    /// Returns whether a wait for records to leave is thought to be in vain.
    fn rests(&self) -> bool {
        let rest = *self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        rest.is_some_and(|end| Instant::now() < end)
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemorySource for StatementMemory {
    fn admit(&self, bytes: usize) {
        let mut taken = self.taken();
        let more = self.beyond(*taken + bytes) - self.beyond(*taken);
        self.database.charge_memory(more);
        *taken += bytes;
    }

    fn take(&self, bytes: usize, held: usize) -> bool {
        let mut taken = self.taken();
        let left = self.left_beside(*taken);
        if held.saturating_add(bytes) > left.saturating_sub(bytes) {
            return false;
        }
        let more = self.beyond(*taken + bytes) - self.beyond(*taken);
        if more > 0
            && self
                .database
                .set_memory_aside(more, self.kept_bytes(*taken))
                .is_err()
        {
            return false;
        }
        *taken += bytes;
        true
    }

    fn give_back(&self, bytes: usize) {
        let mut taken = self.taken();
        let less = self.beyond(*taken) - self.beyond(*taken - bytes);
        self.database.give_memory_back(less);
        *taken -= bytes;
    }

    fn left(&self, held: usize) -> usize {
        let taken = *self.taken();
        self.left_beside(taken).saturating_sub(held) / 2
    }

    fn why_refused(&self, _: usize) -> String {
        let taken = *self.taken();
        format!(
            "All statements hold {}; {} of {} are left to them, and no connection may hold more \
             than it leaves to others.",
            Size(taken),
            Size(self.left_beside(taken)),
            Size(self.limit_bytes())
        )
    }

    fn is_making_room(&self, held: usize) -> bool {
        let taken = *self.taken();
        if held == 0 || self.rests() || taken > self.limit_bytes() / SHARE_PART {
            return false;
        }
        // Tables grow to twice their size at once, and as much stays for others.
        let wanted = held.saturating_mul(4).max(self.limit_bytes() / LEFT_PART);
        let wanted = wanted.min(self.limit_bytes() / LEAVING_PART);
        self.left_beside(taken) < wanted
            && self
                .database
                .want_memory_room(self.kept_bytes(taken) + wanted)
    }

    fn waited_in_vain(&self) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        self.database.give_memory_back(self.own_bytes);
    }
}
