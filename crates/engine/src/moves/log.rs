//! Changes of one transaction to places: [`MoveLog`].
//!
//! The log can be cut to an earlier length, by a return to a savepoint or after an operation that failed. It
//! condenses itself when the transaction commits, and holds all the memory for that: the memory is charged
//! with the transaction's other lists, and given back a bounded number of entries at a time.
//!
//! # Too much
//! A log of more moves, more rows put into the places of deleted ones, or more bytes of keys than could be
//! kept is not condensed; the commit is forgotten. Events are counted, not rows: a row that is moved twice
//! counts twice, and a log may be too large although its condensed form would have had room.

use memory::Parts;

use super::{Condensed, Condensing, ENTRIES_MAX, KEYS_BYTES_MAX};
use crate::indirection::Slot;

/// Maximum number of events until the log is charged again.
const EVENTS_PER_CHARGE: usize = 64;

/// Event at a place, in the order of events.
#[derive(Debug)]
pub(super) enum Event {
    /// The row at the place was deleted.
    Deleted(*const Slot),
    /// The transaction has put a row where it had deleted another one.
    Replaced(*const Slot),
    /// The row that was last deleted at the first place is now at the second, under this key.
    Moved(*const Slot, *const Slot, Box<[u8]>),
}

/// Changes of one transaction to places.
#[derive(Debug, Default)]
pub(crate) struct MoveLog {
    events: Parts<Event>,
    counts: Counts,
    /// State of the condensing so far, at the commit.
    condensing: Condensing,
}

/// Counts of the events of a log.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    moved: usize,
    replaced: usize,
    keys_bytes: usize,
}

impl MoveLog {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Forgets the events from the length `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.cut(len, usize::MAX) {}
    }

    /// Forgets at most `events_max` of the newest events, down to the length `len`. Returns whether there are
    /// more.
    pub(crate) fn cut(&mut self, len: usize, events_max: usize) -> bool {
        for _ in 0..events_max {
            if self.len() <= len {
                return false;
            }
            let counts = &mut self.counts;
            match self.events.pop() {
                Some(Event::Moved(_, _, key)) => {
                    counts.moved -= 1;
                    counts.keys_bytes -= key.len();
                }
                Some(Event::Replaced(_)) => counts.replaced -= 1,
                Some(Event::Deleted(_)) | None => {}
            }
        }
        self.len() > len
    }

    /// Forgets at most `entries_max` events and condensed entries, once they are not needed any more. Returns
    /// whether there are more.
    pub(crate) fn forget_some(&mut self, entries_max: usize) -> bool {
        self.condensing.forget_some(entries_max) || self.cut(0, entries_max)
    }

    /// Empties the log for the next transaction.
    pub(crate) fn forget(&mut self) {
        self.events.clear();
        self.counts = Counts::default();
        self.condensing = Condensing::default();
    }

    /// Returns the bytes of memory in use; those of condensed entries approximately.
    pub(crate) fn list_bytes(&self) -> usize {
        self.events.capacity_bytes() + self.counts.keys_bytes + self.condensing.bytes()
    }

    /// Whether so much memory was added since the log was last charged that it is to be charged again.
    pub(crate) fn is_charge_due(&self) -> bool {
        let has_many = self.len().is_multiple_of(EVENTS_PER_CHARGE);
        !self.is_empty() && (has_many || self.events.will_grow())
    }

    /// Notes that a row was deleted. This matters only if rows were moved or replaced before.
    #[inline(always)]
    pub(crate) fn deleted(&mut self, at: *const Slot) {
        if !self.is_empty() {
            self.events.push(Event::Deleted(at));
        }
    }

    #[cold]
    pub(crate) fn replaced(&mut self, at: *const Slot) {
        self.counts.replaced += 1;
        self.events.push(Event::Replaced(at));
    }

    #[cold]
    pub(crate) fn moved(&mut self, from: *const Slot, to: *const Slot, key: &[u8]) {
        self.counts.moved += 1;
        self.counts.keys_bytes += key.len();
        self.events.push(Event::Moved(from, to, key.into()));
    }

    /// Computes the final place of each row that lay at a place before the transaction began, in at most
    /// `steps_max` steps, each of which looks at one event or place. Returns whether there is more to do.
    /// Nothing may happen to places any more.
    pub(crate) fn condense_some(&mut self, steps_max: usize) -> bool {
        !self.is_too_much() && self.condensing.step(&self.events, steps_max)
    }

    /// Returns the computed entries, for publication; after that, the rest of them.
    pub(crate) fn condensed(&mut self) -> &mut Condensed {
        let is_too_much = self.is_too_much();
        self.condensing.condensed(is_too_much)
    }

    /// Whether the log is too large; see the module's doc.
    fn is_too_much(&self) -> bool {
        let Counts {
            moved,
            replaced,
            keys_bytes,
        } = self.counts;
        moved.max(replaced) > ENTRIES_MAX || keys_bytes > KEYS_BYTES_MAX
    }
}
