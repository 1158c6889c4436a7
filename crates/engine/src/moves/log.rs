//! What one transaction has done to places: [`MoveLog`].
//!
//! It can be cut to an earlier length, by a return to a savepoint or after an operation that failed; and it
//! is condensed when the transaction commits, by itself, so that all the memory of it is in one place:
//! charged with the transaction's other lists, and given back a bounded number of entries at a time.
//!
//! # Too much
//! A log of more moves, more rows put into the places of deleted ones, or more bytes of keys than could be
//! kept is not condensed; the commit is forgotten. Events are counted, not rows: a row that is moved twice
//! counts twice, so a log may be too much although its condensed form would have had room.

use memory::Parts;

use super::{Condensed, Condensing, ENTRIES_MAX, KEYS_BYTES_MAX};
use crate::indirection::Slot;

/// Events after which the log is charged again, at most.
const EVENTS_PER_CHARGE: usize = 64;

/// What happened to a place, in the order in which it did.
#[derive(Debug)]
pub(super) enum Event {
    /// Its row was deleted.
    Deleted(*const Slot),
    /// Where the transaction had deleted a row, it has put another one.
    Replaced(*const Slot),
    /// The row that was deleted at the first place last is the one at the second, under this key.
    Moved(*const Slot, *const Slot, Box<[u8]>),
}

/// What one transaction has done to places.
#[derive(Debug, Default)]
pub(crate) struct MoveLog {
    events: Parts<Event>,
    counts: Counts,
    /// What the commit has made of it so far.
    condensing: Condensing,
}

/// Of the events of a log.
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

    /// Forgets the events from a length on.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.cut(len, usize::MAX) {}
    }

    /// Forgets so many of the newest events at most, down to a length. Whether there are more.
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

    /// Forgets so many events and condensed entries at most, once they are not needed any more. Whether there
    /// are more.
    pub(crate) fn forget_some(&mut self, entries_max: usize) -> bool {
        self.condensing.forget_some(entries_max) || self.cut(0, entries_max)
    }

    /// For the next transaction.
    pub(crate) fn forget(&mut self) {
        self.events.clear();
        self.counts = Counts::default();
        self.condensing = Condensing::default();
    }

    /// Bytes that it takes, those of condensed entries about.
    pub(crate) fn list_bytes(&self) -> usize {
        self.events.capacity_bytes() + self.counts.keys_bytes + self.condensing.bytes()
    }

    /// Whether it takes so much more since the last event that it is to be charged.
    pub(crate) fn is_charge_due(&self) -> bool {
        let has_many = self.len().is_multiple_of(EVENTS_PER_CHARGE);
        !self.is_empty() && (has_many || self.events.will_grow())
    }

    /// A row was deleted. That matters only if rows were moved or replaced before.
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

    /// Finds out where the row has gone that lay at each place before the transaction began, in so many steps
    /// at most, each of which looks at one event or place. Whether there is more to do. Nothing may happen to
    /// places any more.
    pub(crate) fn condense_some(&mut self, steps_max: usize) -> bool {
        !self.is_too_much() && self.condensing.step(&self.events, steps_max)
    }

    /// What was found out, for publication; the rest of it if that has been done.
    pub(crate) fn condensed(&mut self) -> &mut Condensed {
        let is_too_much = self.is_too_much();
        self.condensing.condensed(is_too_much)
    }

    /// See the module text.
    fn is_too_much(&self) -> bool {
        let Counts {
            moved,
            replaced,
            keys_bytes,
        } = self.counts;
        moved.max(replaced) > ENTRIES_MAX || keys_bytes > KEYS_BYTES_MAX
    }
}
