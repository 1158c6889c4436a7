//! The memory of all statements of a database, within the one limit that its records have too.
//!
//! The limit (`weft.memory`) is divided as follows:
//!
//! | part | for |
//! | --- | --- |
//! | [`OWN_PART`] | statements alone: records do not take it |
//! | [`KEPT_PART`] | records and transactions alone: statements do not take it |
//! | the rest | whoever comes first |
//!
//! A connection has [`FREE_BYTES`] in any case; short statements hold no more. What it needs beyond
//! them it is given in pieces, as long as it does not hold more than it leaves to the others. One
//! connection has half of what statements may have at most, two have a third each, and one that
//! comes late finds some left: a hungry statement is refused before a modest one.

use std::sync::{Arc, Mutex, PoisonError};

use types::{MemorySource, Size};

/// Bytes that each connection has for its statements in any case.
pub(crate) const FREE_BYTES: usize = 64 << 10;

/// One of so many parts of the limit is for statements alone.
const OWN_PART: usize = 16;

/// One of so many parts of the limit is never for statements.
const KEPT_PART: usize = 8;

/// One of so many parts of the limit is a statement's share, if nothing else was set.
const SHARE_PART: usize = 4;

/// See the module text.
pub(crate) struct StatementMemory {
    database: Arc<engine::Database>,
    /// Bytes that are set aside in any case.
    own_bytes: usize,
    /// Bytes that connections have. What exceeds the own bytes is set aside beside them.
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
            taken: Mutex::default(),
        })
    }

    /// The limit on records and statements together.
    pub(crate) fn limit_bytes(&self) -> usize {
        self.database.memory_limit()
    }

    /// What a statement may hold if nothing else was set.
    pub(crate) fn share_bytes(&self) -> usize {
        self.limit_bytes() / SHARE_PART
    }

    fn kept_bytes(&self) -> usize {
        self.limit_bytes() / KEPT_PART
    }

    /// What is left to statements of which connections have `taken`.
    fn left(&self, taken: usize) -> usize {
        let shared = self.database.memory_room();
        let shared = shared.saturating_sub(self.kept_bytes());
        self.own_bytes.saturating_sub(taken) + shared
    }

    /// What has to be set aside beside the own bytes for `taken`.
    fn beyond(&self, taken: usize) -> usize {
        taken.saturating_sub(self.own_bytes)
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
        let left = self.left(*taken);
        if held.saturating_add(bytes) > left.saturating_sub(bytes) {
            return false;
        }
        let more = self.beyond(*taken + bytes) - self.beyond(*taken);
        if more > 0
            && self
                .database
                .set_memory_aside(more, self.kept_bytes())
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

    fn why_refused(&self, _: usize) -> String {
        let taken = *self.taken();
        format!(
            "All statements hold {}; {} of {} are left to them, and no connection may hold more \
             than it leaves to others.",
            Size(taken),
            Size(self.left(taken)),
            Size(self.limit_bytes())
        )
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        self.database.give_memory_back(self.own_bytes);
    }
}
