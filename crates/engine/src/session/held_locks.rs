//! The locks on records that a transaction has, in the order in which they were taken: [`HeldLocks`].
//!
//! A savepoint is a place in the list. A record's newest lock is looked for among the last ones first; once
//! there are more than a few, the newest lock of each record is noted by record. (A transaction that locks
//! rows, writes them, and is rolled back asks for each row's locks.)
//!
//! # Invariants
//! - *Noted*: beyond [`FEW`] locks `newest` has, for each record with locks, the place of its newest in the
//!   list; each lock names the place of the record's lock before it. Locks that count no more are not in these
//!   chains, and stay in the list, so that no place changes.

use memory::Parts;

use super::by_record::ByRecord;
use crate::locks::{Place, Strength};

/// Locks that are looked through one by one.
const FEW: usize = 64;

/// A lock that the transaction has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The record. None if the lock counts no more.
    pub(crate) place: Option<Place>,
    /// What it had before.
    pub(crate) before: Option<Strength>,
    pub(crate) strength: Strength,
    /// Where in the list the record's lock before this one is.
    older: Option<usize>,
}

/// See the module text.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    list: Parts<Held>,
    /// Not used while there are few.
    newest: ByRecord,
}

impl HeldLocks {
    /// How many there are, with those that count no more.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the next lock makes the list grow.
    pub(crate) fn will_grow(&self) -> bool {
        self.list.will_grow()
    }

    /// Bytes that it takes, about.
    pub(crate) fn list_bytes(&self) -> usize {
        self.list.capacity_bytes() + self.newest.bytes()
    }

    /// How strongly a record is locked.
    pub(crate) fn strength(&self, place: Place) -> Option<Strength> {
        let at = self.newest_of(place)?;
        Some(self.list[at].strength)
    }

    /// Adds a lock; `is_new` if the record is known to have none.
    pub(crate) fn push(&mut self, place: Place, strength: Strength, is_new: bool) {
        // Most locks are new, and a look costs a miss.
        let older = if is_new { None } else { self.newest_of(place) };
        let before = older.map(|at| self.list[at].strength);
        self.list.push(Held {
            place: Some(place),
            before,
            strength: before.map_or(strength, |before| before.max(strength)),
            older,
        });
        let len = self.list.len();
        if self.newest.is_used() {
            self.newest.set(record(place), Some(len - 1));
        } else if len > FEW {
            self.newest.begin();
            for at in 0..len {
                if let Some(place) = self.list[at].place {
                    self.newest.set(record(place), Some(at));
                }
            }
        }
    }

    /// Takes the newest out.
    pub(crate) fn pop(&mut self) -> Option<Held> {
        let held = self.list.pop()?;
        if let Some(place) = held.place {
            self.newest.set(record(place), held.older);
        }
        Some(held)
    }

    /// The record's newest lock, if it is stronger than what was there before it: that lock counts
    /// no more.
    pub(crate) fn give_up(&mut self, place: Place) -> Option<Held> {
        let at = self.newest_of(place)?;
        let held = self.list[at];
        if held.before >= Some(held.strength) {
            return None;
        }
        self.void(place, at);
        Some(held)
    }

    /// None of a record's locks counts any more.
    pub(crate) fn forget(&mut self, place: Place) {
        while let Some(at) = self.newest_of(place) {
            self.void(place, at);
        }
    }

    /// Gives back a part of the memory that tells where records' locks are, if there are none any more.
    /// Whether there is more.
    pub(crate) fn drop_part(&mut self) -> bool {
        self.list.is_empty() && self.newest.drop_part()
    }

    /// All that count, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = (Place, &Held)> {
        let all = self.list.iter().rev();
        all.filter_map(|held| held.place.map(|place| (place, held)))
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        if !self.is_empty() || self.newest.is_used() {
            *self = HeldLocks::default();
        }
    }

    fn newest_of(&self, place: Place) -> Option<usize> {
        match self.newest.is_used() {
            true => self.newest.get(record(place)),
            false => self.list.iter().rposition(|held| held.place == Some(place)),
        }
    }

    /// The record's newest lock counts no more. The last of the list goes, so that the list is bounded however
    /// often a lock is taken and given up.
    fn void(&mut self, place: Place, at: usize) {
        self.newest.set(record(place), self.list[at].older);
        match at + 1 == self.list.len() {
            true => drop(self.list.pop()),
            false => self.list[at].place = None,
        }
    }
}

fn record(place: Place) -> usize {
    match place {
        Place::Record(slot) => slot.addr(),
        Place::Table(_) => unreachable!("locks on tables are in a list of their own"),
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
