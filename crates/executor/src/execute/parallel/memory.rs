//! Memory of a statement that several workers carry out: all parts together stay within the statement's share.
//!
//! A helper's memory is an allowance of its own, whose source counts what all helpers have, and passes each request on
//! to the source of the owner's connection, the database's limit. The owner's memory is counted by the owner, which
//! tells how much it is after each batch, and learns how much the helpers have ([`Memory::lend`]). Within a batch the
//! parts may exceed the share by what they take in it; the database's limit always holds.
//!
//! Counts are relaxed: nothing but their sums depends on them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use types::{Allowance, Memory, MemorySource, Result, Size, SqlError, SqlState};

use crate::execute::Budget;

/// Part of a statement's memory that a helper keeps, at most, when it need not.
const HELPER_PART: usize = 32;

/// Memory of the helpers of a statement, and what is known of the owner's.
pub(in crate::execute) struct PartsMemory {
    source: Option<Arc<dyn MemorySource>>,
    /// Bytes that all parts may hold together.
    share: usize,
    /// Bytes that the helpers have.
    taken: AtomicUsize,
    /// Bytes that the owner held when it last told.
    own: AtomicUsize,
}

impl PartsMemory {
    /// Makes the memory of the helpers of a statement that holds `memory`.
    pub(super) fn new(memory: &Memory) -> Arc<PartsMemory> {
        Arc::new(PartsMemory {
            source: memory.allowance().source().cloned(),
            share: memory.share(),
            taken: AtomicUsize::new(0),
            own: AtomicUsize::new(memory.used()),
        })
    }

    /// Tells what the owner holds, and takes what the helpers have out of the owner's share.
    pub(super) fn tell(&self, memory: &Memory) {
        self.own.store(memory.used(), Relaxed);
        memory.lend(self.taken.load(Relaxed));
    }

    /// Returns the bytes from which on a helper hands its groups over, which the owner may have as well.
    pub(super) fn of_helper(&self) -> usize {
        self.share / HELPER_PART
    }

    /// Returns the bytes that all parts hold.
    fn held(&self) -> usize {
        self.taken.load(Relaxed) + self.own.load(Relaxed)
    }

    /// Returns the budget of a helper.
    pub(super) fn budget(self: &Arc<Self>) -> Budget {
        Budget::new(&Allowance::new(self.clone(), 0), self.share)
    }
}

impl MemorySource for PartsMemory {
    fn admit(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Relaxed);
        if let Some(source) = &self.source {
            source.admit(bytes);
        }
    }

    fn take(&self, bytes: usize, _: usize) -> bool {
        let before = self.taken.fetch_add(bytes, Relaxed) + self.own.load(Relaxed);
        let is_within = before.saturating_add(bytes) <= self.share;
        let source = self.source.as_ref();
        let is_taken = is_within && source.is_none_or(|source| source.take(bytes, before));
        if !is_taken {
            self.taken.fetch_sub(bytes, Relaxed);
        }
        is_taken
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
        if let Some(source) = &self.source {
            source.give_back(bytes);
        }
    }

    fn left(&self, _: usize) -> usize {
        let held = self.held();
        let source = self.source.as_ref();
        let left = source.map_or(usize::MAX, |source| source.left(held));
        left.min(self.share.saturating_sub(held))
    }

    fn is_making_room(&self, _: usize) -> bool {
        let held = self.held();
        let source = self.source.as_ref();
        source.is_some_and(|source| source.is_making_room(held))
    }

    fn waited_in_vain(&self) {
        if let Some(source) = &self.source {
            source.waited_in_vain();
        }
    }

    fn why_refused(&self, bytes: usize) -> String {
        let held = self.held();
        match &self.source {
            Some(source) if held.saturating_add(bytes) <= self.share => source.why_refused(bytes),
            _ => format!(
                "Its workers hold {} together; a statement may hold {}.",
                Size(held),
                Size(self.share)
            ),
        }
    }
}

/// Bytes that are between two workers: counted with those of the helpers until this is dropped.
pub(in crate::execute) struct PartCharge {
    memory: Arc<PartsMemory>,
    bytes: usize,
}

impl PartCharge {
    /// Counts `bytes`.
    ///
    /// # Errors
    /// 53200 if the statement may not hold them.
    pub(in crate::execute) fn new(memory: &Arc<PartsMemory>, bytes: usize) -> Result<PartCharge> {
        if !memory.take(bytes, 0) {
            let error = SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory");
            return Err(error.detail(memory.why_refused(bytes)));
        }
        Ok(PartCharge {
            memory: memory.clone(),
            bytes,
        })
    }
}

impl Drop for PartCharge {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}
