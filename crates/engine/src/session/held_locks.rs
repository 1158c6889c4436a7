//! The locks on records that a transaction has, in the order in which they were taken:
//! [`HeldLocks`].
//!
//! A savepoint is a place in the list. A record's newest lock is searched among the last locks
//! first; once there are more than a few locks, the newest lock of each record is noted by record.
//! (A transaction that locks rows, writes them, and is rolled back asks for each row's locks.)
//!
//! # Invariants
//! - *Noted*: beyond [`FEW`] locks `newest` has, for each record with locks, the place of its
//!   newest lock in the list; each lock names the place of the record's lock before it. Void locks
//!   are not in these chains, and stay in the list, so that no place changes.

use memory::Parts;

use super::by_record::ByRecord;
use crate::locks::{Place, Strength};

/// Number of locks that are searched one by one.
const FEW: usize = 64;

/// Lock that the transaction has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The record; none if the lock is void.
    pub(crate) place: Option<Place>,
    /// Strength that the transaction had on the record before.
    pub(crate) before: Option<Strength>,
    pub(crate) strength: Strength,
    /// Place in the list of the record's lock before this one.
    older: Option<usize>,
}

/// Locks of a transaction: see the module text.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    list: Parts<Held>,
    /// Place of each record's newest lock; not used while there are few locks.
    newest: ByRecord,
}

impl HeldLocks {
    /// Returns the number of locks, void ones included.
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

    /// Returns the approximate bytes of the list.
    pub(crate) fn list_bytes(&self) -> usize {
        self.list.capacity_bytes() + self.newest.bytes()
    }

    /// Returns the strength at which a record is locked.
    pub(crate) fn strength(&self, place: Place) -> Option<Strength> {
        let at = self.newest_of(place)?;
        Some(self.list[at].strength)
    }

    /// Adds a lock; `is_new` if the record is known to have none.
    pub(crate) fn push(&mut self, place: Place, strength: Strength, is_new: bool) {
        // Most locks are new, and a search costs a miss.
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

    /// Takes out the newest lock.
    pub(crate) fn pop(&mut self) -> Option<Held> {
        let held = self.list.pop()?;
        if let Some(place) = held.place {
            self.newest.set(record(place), held.older);
        }
        Some(held)
    }

    /// Voids the record's newest lock and returns it, if it is stronger than the lock before it.
    pub(crate) fn give_up(&mut self, place: Place) -> Option<Held> {
        let at = self.newest_of(place)?;
        let held = self.list[at];
        if held.before >= Some(held.strength) {
            return None;
        }
        self.void(place, at);
        Some(held)
    }

    /// Voids all locks of a record.
    pub(crate) fn forget(&mut self, place: Place) {
        while let Some(at) = self.newest_of(place) {
            self.void(place, at);
        }
    }

    /// Gives back a part of the memory that holds the places of records' locks, if there are no
    /// locks any more. Returns whether there is more.
    pub(crate) fn drop_part(&mut self) -> bool {
        self.list.is_empty() && self.newest.drop_part()
    }

    /// Returns all locks that are not void, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = (Place, &Held)> {
        let all = self.list.iter().rev();
        all.filter_map(|held| held.place.map(|place| (place, held)))
    }

    /// Forgets all locks.
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

    /// Voids the record's newest lock. The last lock of the list is taken out, so that the list is
    /// bounded however often a lock is taken and given up.
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
