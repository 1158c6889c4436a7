//! Places of records in the list of a transaction's writes: [`WritePlaces`].
//!
//! A transaction that changes an own record has to find its write. Mostly that write is one of the
//! last, or the next one after the write that was found before (rows are changed in the order in
//! which they were written). Otherwise places are noted by record, a bounded number in a call, and
//! only from then on. A noted place may be outdated: it counts only if the wanted version is there;
//! otherwise the list is searched.

use memory::Parts;

use super::{Write, by_record::ByRecord};
use crate::version::Version;

/// Number of writes at the end of the list, and behind the one found last, that are searched first.
const NEAR: usize = 16;
/// Number of writes that are searched one by one: noting them takes longer.
const FEW: usize = 256;
/// Number of places that are noted in a call: some 100 microseconds.
const NOTED_AT_ONCE: usize = 2048;

/// Places of writes, by the addresses of their records' slots.
#[derive(Default)]
pub(crate) struct WritePlaces {
    places: ByRecord,
    /// Number of places noted: those before this one.
    noted: usize,
    /// Place that was found last.
    last: usize,
}

impl WritePlaces {
    /// Returns the place of the write that made `version`, which is in the list. `None` if it is
    /// not among the near ones and not all places are noted yet: some were noted now, and the
    /// caller is to ask again.
    pub(crate) fn find(
        &mut self,
        writes: &Parts<Write>,
        version: Version,
        slot: usize,
    ) -> Option<usize> {
        let near = self.near(writes, version);
        if near.is_none() && writes.len() > FEW && !self.note_some(writes) {
            return None;
        }
        let is_there = |at: &usize| {
            writes
                .get(*at)
                .is_some_and(|write| write.version == version)
        };
        let noted = || self.places.get(slot).filter(is_there);
        let found = near.or_else(noted);
        let found = found.or_else(|| writes.iter().rposition(|write| write.version == version));
        self.last = found.expect("the list of a transaction has each version that it has made");
        Some(self.last)
    }

    /// Notes further places. Returns whether all are noted.
    fn note_some(&mut self, writes: &Parts<Write>) -> bool {
        self.places.begin();
        let until = writes.len().min(self.noted + NOTED_AT_ONCE);
        for at in self.noted..until {
            self.places.set(writes[at].slot.addr(), Some(at));
        }
        self.noted = until;
        until == writes.len()
    }

    fn near(&self, writes: &Parts<Write>, version: Version) -> Option<usize> {
        let len = writes.len();
        let from = self.last.min(len);
        let next = from..len.min(from + NEAR);
        let newest = len.saturating_sub(NEAR)..len;
        let mut places = newest.rev().chain(next);
        places.find(|at| writes[*at].version == version)
    }

    /// Notes that the writes from the place `at` on are gone, or have moved.
    pub(crate) fn cut(&mut self, at: usize) {
        self.noted = self.noted.min(at);
    }

    /// Forgets a part of the places, and gives back its memory, before the writes are gone. Returns
    /// whether there are more.
    pub(crate) fn drop_part(&mut self) -> bool {
        self.noted = 0;
        self.places.drop_part()
    }

    /// Forgets all places, when the writes are gone.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the approximate bytes of the places.
    pub(crate) fn bytes(&self) -> usize {
        self.places.bytes()
    }
}
