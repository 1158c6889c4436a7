//! Computation of the final place of each row from a transaction's changes to places: [`Condensing`].
//!
//! The computation has three passes, each in steps that look at one event or place and allocate a few nodes of
//! a tree at most:
//! 1. the places that moves and replacements are about are noted,
//! 2. the rows are followed from place to place,
//! 3. the fates of the rows are taken over, and the places are given back one by one.
//!
//! # Bounded
//! A log that is condensed has at most [`ENTRIES_MAX`](super::ENTRIES_MAX) moves and as many replacements, so
//! there are at most three times as many places, however many rows the transaction has deleted besides: a
//! place of which only deletions are noted is not among them. Its row was not moved, no row came there, and
//! its tombstone says so.

use std::collections::{BTreeMap, btree_map::Entry};

use memory::Parts;

use super::{Entries, bytes_of, log::Event};
use crate::indirection::Slot;

/// Approximate bytes of an element of a tree for each byte of its size: nodes are half empty.
const PER_BYTE: usize = 2;

/// State of the computation; see the module's doc.
#[derive(Debug, Default)]
pub(super) struct Condensing {
    /// Number of events whose places are noted.
    noted: usize,
    /// Number of events that were followed.
    followed: usize,
    places: BTreeMap<usize, Place>,
    condensed: Condensed,
}

/// Final places of the rows that lay at each place before a transaction.
#[derive(Debug, Default)]
pub(crate) struct Condensed {
    pub(super) entries: Entries,
    pub(super) keys_bytes: usize,
    /// Whether there would be too many entries, so that the places are not known.
    pub(super) is_too_much: bool,
}

/// Row at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// Row that lay at this place before the transaction.
    Of(usize),
    /// Row that the transaction has put there.
    New,
    Nothing,
}

/// Fate of the row that lay at a place before the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The row is still there.
    Untouched,
    Deleted,
    /// The event with this number has moved the row, as the last one.
    Moved(usize),
}

/// State of a place in the course of events.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Row that is at the place.
    at: Row,
    /// Row that was deleted here last, and was not moved since.
    deleted: Option<Row>,
    fate: Fate,
}

impl Place {
    fn of(place: usize) -> Place {
        Place {
            at: Row::Of(place),
            deleted: None,
            fate: Fate::Untouched,
        }
    }
}

impl Condensed {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.is_too_much
    }
}

impl Condensing {
    /// Does at most `steps_max` steps; returns whether there is more to do.
    pub(super) fn step(&mut self, events: &Parts<Event>, steps_max: usize) -> bool {
        for _ in 0..steps_max {
            if let Some(event) = events.get(self.noted) {
                self.note(event);
                self.noted += 1;
            } else if let Some(event) = events.get(self.followed) {
                self.follow(self.followed, event);
                self.followed += 1;
            } else if let Some((at, place)) = self.places.pop_first() {
                self.tell(at, place, events);
            } else {
                return false;
            }
        }
        true
    }

    fn note(&mut self, event: &Event) {
        let mut note = |slot: &*const Slot| {
            let at = slot.addr();
            if let Entry::Vacant(vacant) = self.places.entry(at) {
                vacant.insert(Place::of(at));
            }
        };
        match event {
            Event::Deleted(_) => {}
            Event::Replaced(at) => note(at),
            Event::Moved(from, to, _) => [from, to].into_iter().for_each(note),
        }
    }

    fn follow(&mut self, number: usize, event: &Event) {
        match event {
            Event::Deleted(at) => {
                let Some(place) = self.places.get_mut(&at.addr()) else {
                    return;
                };
                let row = std::mem::replace(&mut place.at, Row::Nothing);
                place.deleted = Some(row);
                self.set_fate(row, Fate::Deleted);
            }
            Event::Replaced(at) => {
                let place = self.place(*at);
                let row = std::mem::replace(&mut place.at, Row::New);
                // If the deletion came first in the log, it is noted already.
                if let Row::Of(_) = row {
                    place.deleted = Some(row);
                    self.set_fate(row, Fate::Deleted);
                }
            }
            Event::Moved(from, to, _) => {
                let place = self.place(*from);
                let is_first = place.at == Row::Of(from.addr());
                let row = place.deleted.take().unwrap_or(Row::Of(from.addr()));
                if is_first {
                    place.at = Row::Nothing;
                }
                self.place(*to).at = row;
                self.set_fate(row, Fate::Moved(number));
            }
        }
    }

    fn place(&mut self, slot: *const Slot) -> &mut Place {
        let place = self.places.get_mut(&slot.addr());
        place.expect("the first pass has noted the place of each move and replacement")
    }

    fn set_fate(&mut self, row: Row, fate: Fate) {
        if let Row::Of(first) = row
            && let Some(place) = self.places.get_mut(&first)
        {
            place.fate = fate;
        }
    }

    fn tell(&mut self, at: usize, place: Place, events: &Parts<Event>) {
        let key = match place.fate {
            Fate::Moved(number) => match &events[number] {
                Event::Moved(_, _, key) => Some(key.clone()),
                Event::Deleted(_) | Event::Replaced(_) => None,
            },
            // A tombstone alone says that its row is gone.
            Fate::Deleted if place.at != Row::Nothing => None,
            Fate::Deleted | Fate::Untouched => return,
        };
        self.condensed.keys_bytes += bytes_of(&key);
        self.condensed.entries.insert(at, key);
    }

    pub(super) fn condensed(&mut self, is_too_much: bool) -> &mut Condensed {
        self.condensed.is_too_much = is_too_much;
        &mut self.condensed
    }

    /// Gives back at most `entries_max` places and entries; returns whether there are more.
    pub(super) fn forget_some(&mut self, entries_max: usize) -> bool {
        let (places, entries) = (&mut self.places, &mut self.condensed.entries);
        (0..entries_max).all(|_| places.pop_first().is_some() || entries.pop_first().is_some())
    }

    /// Returns the approximate bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let places = self.places.len() * size_of::<(usize, Place)>();
        let entries = self.condensed.entries.len() * size_of::<(usize, Option<Box<[u8]>>)>();
        (places + entries) * PER_BYTE + self.condensed.keys_bytes
    }
}
