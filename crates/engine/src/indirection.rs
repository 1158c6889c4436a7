//! The indirection array: RID to newest version.
//!
//! Indexes name records by RID; an update changes one word of the array and no index (paper 000 section 4.1). The array
//! grows by segments that never move, so a slot's address is stable; small tables have small segments.
//!
//! # States of a slot
//! | word | meaning |
//! | --- | --- |
//! | 0 | the RID is not in use |
//! | 1 (`DEAD`) | the record is gone and its index entry is being removed |
//! | bit 2 (`COLD`) | the only version is on the device, at the address in the upper 60 bits |
//! | other | address of the newest version; bit 1 (`MARK`): the lock table has the record; bit 3 (`FROZEN`): the version is about to become cold, or to move, or recovery is about to name it in the index |
//!
//! Versions are 16-byte aligned, so their addresses have room for the mark. Readers mask it. Writers replace an
//! unmarked head by a compare-and-swap that fails on a marked one; `locks.rs` tells which transaction may replace a
//! marked head. A frozen head, which is unmarked, is replaced or marked only by the session that froze it, and in a
//! moment: another session that tries again only waits. (During recovery a head may stay frozen for long, but then no
//! other session tries: `recovery/install.rs`.) Cold slots are not marked either.
//!
//! Transitions: 0 → version (insert, before the RID is in any index; frozen in recovery); version →
//! version (write, and its undoing); version → `DEAD` (insert undone, or tombstone
//! older than the horizon); `DEAD` → 0 (RID reused, after a grace period); version →
//! frozen → cold → version, or frozen → version (the same one: `cold.rs`); cold → cold (the
//! same record elsewhere: `cold/compact.rs`).

use std::{
    ptr::NonNull,
    sync::{Mutex, OnceLock, atomic::AtomicPtr},
};

use memory::{Exhausted, Local, Purpose};

use crate::{
    cold::ColdAddress,
    sync::{AtomicU64, Ordering},
    version::Version,
};

/// Name of a record within its table for as long as the record lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rid(pub(crate) u64);

/// Decoded content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Unused,
    Dead,
    Version(Version),
    Cold(ColdAddress),
}

const DEAD: u64 = 1;
const MARK: u64 = 2;
const COLD: u64 = 4;
const FROZEN: u64 = 8;
const COLD_SHIFT: u32 = 4;
const _: () = assert!(ColdAddress::BITS + COLD_SHIFT <= u64::BITS);

/// Entry of one record.
#[repr(transparent)]
pub(crate) struct Slot(AtomicU64);

impl Slot {
    #[cfg(all(test, not(loom)))]
    pub(crate) fn unused() -> Slot {
        Slot(AtomicU64::new(0))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn holding(version: Version) -> Slot {
        Slot(AtomicU64::new(version.word()))
    }

    /// Returns a hash for tables by slot: the upper bits differ between neighbours (Fibonacci hashing).
    pub(crate) fn hash(&self) -> u64 {
        let address = std::ptr::from_ref(self).addr() as u64;
        (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[inline(always)]
    fn decode(word: u64) -> Head {
        if word & (DEAD | COLD) != 0 {
            return Self::decode_other(word);
        }
        Version::from_word(word & !(MARK | FROZEN)).map_or(Head::Unused, Head::Version)
    }

    #[cold]
    fn decode_other(word: u64) -> Head {
        match word & COLD {
            0 => Head::Dead,
            _ => Head::Cold(ColdAddress::from_bits(word >> COLD_SHIFT)),
        }
    }

    /// Returns the newest version. Acquire: pairs with the Release that published it.
    #[inline(always)]
    pub(crate) fn head(&self) -> Head {
        Self::decode(self.0.load(Ordering::Acquire))
    }

    /// Returns the newest version, if it is in memory: the usual case of [`Slot::head`], in a word.
    #[inline(always)]
    pub(crate) fn version(&self) -> Option<Version> {
        let word = self.0.load(Ordering::Acquire);
        if word & (DEAD | COLD) != 0 {
            return None;
        }
        Version::from_word(word & !(MARK | FROZEN))
    }

    /// Returns the newest version, if it is in memory, unmarked and not frozen: a session that replaces it retires it.
    /// (Recovery frees a version that it had frozen at once.)
    pub(crate) fn settled_version(&self) -> Option<Version> {
        let word = self.0.load(Ordering::Acquire);
        match word & (DEAD | COLD | MARK | FROZEN) {
            0 => Version::from_word(word),
            _ => None,
        }
    }

    /// Whether the lock table has the record.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        // Relaxed: the mark decides only which of two ways to go, and each of them checks.
        self.0.load(Ordering::Relaxed) & MARK != 0
    }

    /// Marks the slot, if `head` is still its head, unmarked. The caller holds the latch of the lock table, as for all
    /// changes of the mark.
    pub(crate) fn mark(&self, head: Version) -> bool {
        let word = head.word();
        // Release: pairs with the Acquire of the owner's undo, which then looks for
        // the record in the lock table.
        self.0
            .compare_exchange(word, word | MARK, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn unmark(&self) {
        self.0.fetch_and(!MARK, Ordering::AcqRel);
    }

    /// Publishes the first version of a RID that no index names yet.
    pub(crate) fn publish_first(&self, version: Version) {
        self.0.store(version.word(), Ordering::Release);
    }

    /// Publishes the first, committed version of a RID that no index names yet, frozen: no other session can replace,
    /// mark or move it until [`Slot::unfreeze`], once an index names the RID, or [`Slot::clear`].
    pub(crate) fn publish_first_frozen(&self, version: Version) {
        self.0.store(version.word() | FROZEN, Ordering::Release);
    }

    /// Replaces `from` by `to` if it is still the head, and not marked.
    #[inline]
    pub(crate) fn replace(&self, from: Version, to: Version) -> bool {
        // SeqCst: before the loads of `Chunks::supersede` (`columns.rs`).
        let exchanged =
            self.0
                .compare_exchange(from.word(), to.word(), Ordering::SeqCst, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// Replaces `from`, which is the head and only the caller may replace, by `to`, whether it is marked or not;
    /// returns whether it is.
    #[inline]
    pub(crate) fn replace_own(&self, from: Version, to: Version) -> bool {
        let mut word = from.word();
        loop {
            let mark = word & MARK;
            // SeqCst: as in `replace`.
            let exchanged = self.0.compare_exchange(
                word,
                to.word() | mark,
                Ordering::SeqCst,
                Ordering::Relaxed,
            );
            // The mark may have come or gone meanwhile; no other change is possible.
            match exchanged {
                Ok(_) => return mark != 0,
                Err(now) => word = now,
            }
            assert_eq!(word & !MARK, from.word(), "only its owner replaces a head");
        }
    }

    /// Freezes the head, if it still is `head`, and not marked: no other session can replace or mark it until
    /// [`Slot::chill`] or [`Slot::unfreeze`], which must follow at once.
    pub(crate) fn freeze(&self, head: Version) -> bool {
        let word = head.word();
        self.0
            .compare_exchange(word, word | FROZEN, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether the head is about to become cold.
    pub(crate) fn is_frozen(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        word & (COLD | FROZEN) == FROZEN
    }

    /// Puts the address on the device in the place of the head, which the caller has frozen.
    pub(crate) fn chill(&self, to: ColdAddress) {
        // Release: a reader that finds the address finds the file, and the bound.
        let cold = to.bits() << COLD_SHIFT | COLD;
        self.0.store(cold, Ordering::Release);
    }

    /// Lets go of the head, which the caller has frozen, or puts a copy in its place.
    pub(crate) fn unfreeze(&self, head: Version) {
        // Release: a reader that finds the copy finds its content.
        self.0.store(head.word(), Ordering::Release);
    }

    /// Replaces the address `from` by `to`, if the slot still has `from`.
    pub(crate) fn readdress(&self, from: ColdAddress, to: ColdAddress) -> bool {
        let [from, to] = [from, to].map(|address| address.bits() << COLD_SHIFT | COLD);
        // Release: a reader that finds the address finds the file.
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Makes `to`, read from `from`, the head, if the slot still has `from`.
    pub(crate) fn thaw(&self, from: ColdAddress, to: Version) -> bool {
        let cold = from.bits() << COLD_SHIFT | COLD;
        self.0
            .compare_exchange(cold, to.word(), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Declares the record gone if `from` is still the head, and not marked.
    pub(crate) fn kill(&self, from: Version) -> bool {
        self.0
            .compare_exchange(from.word(), DEAD, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Declares the record gone if `from` is still the head, and marked.
    pub(crate) fn kill_marked(&self, from: Version) -> bool {
        let marked = from.word() | MARK;
        self.0
            .compare_exchange(marked, DEAD, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Makes the RID reusable.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }
}

const FIRST_LOG2: u32 = 10;
const FULL_LOG2: u32 = 18;
/// Number of segments that double, before the full-sized ones.
const RAMP: usize = (FULL_LOG2 - FIRST_LOG2 + 1) as usize;
const SEGMENTS_MAX: usize = 1 << 14;
/// Number of full-sized segments.
const FULL_MAX: usize = SEGMENTS_MAX - RAMP;
/// End of all RIDs, or beyond: the small segments count as full ones.
pub(crate) const RIDS_END: u64 = (SEGMENTS_MAX as u64) << FULL_LOG2;
/// Number of RIDs that a session takes at once.
const RUN: u64 = 64;
const _: () = assert!((1u64 << FIRST_LOG2).is_multiple_of(RUN));

/// All slots of one table.
pub(crate) struct IndirectionArray {
    ramp: [AtomicPtr<Slot>; RAMP],
    /// Full-sized segments: most tables have none.
    full: OnceLock<Box<[AtomicPtr<Slot>]>>,
    /// First RID that no session has taken.
    next: Mutex<u64>,
}

impl IndirectionArray {
    pub(crate) fn new() -> IndirectionArray {
        IndirectionArray {
            ramp: Default::default(),
            full: OnceLock::new(),
            next: Mutex::new(0),
        }
    }

    /// Returns the place of a segment's address. The place of a full-sized segment exists once there is such a segment.
    #[inline(always)]
    fn segment(&self, segment: usize) -> Option<&AtomicPtr<Slot>> {
        match self.ramp.get(segment) {
            Some(address) => Some(address),
            None => self.full.get()?.get(segment - RAMP),
        }
    }

    /// Returns segment and offset of a RID: segments of 2^10, 2^10, 2^11, … 2^17, then 2^18 slots each.
    #[inline(always)]
    fn locate(rid: Rid) -> (usize, usize) {
        let full = rid.0 >> FULL_LOG2;
        if full > 0 {
            return (
                RAMP - 1 + full as usize,
                (rid.0 & ((1 << FULL_LOG2) - 1)) as usize,
            );
        }
        let chunk = rid.0 >> FIRST_LOG2;
        if chunk == 0 {
            return (0, rid.0 as usize);
        }
        let doubling = chunk.ilog2();
        (
            1 + doubling as usize,
            (rid.0 - (1 << (doubling + FIRST_LOG2))) as usize,
        )
    }

    fn segment_slots(segment: usize) -> usize {
        match segment {
            0 => 1 << FIRST_LOG2,
            s if s < RAMP => 1 << (FIRST_LOG2 as usize + s - 1),
            _ => 1 << FULL_LOG2,
        }
    }

    /// Returns the slot of a RID that [`IndirectionArray::take_run`] has handed out.
    #[inline(always)]
    pub(crate) fn slot(&self, rid: Rid) -> &Slot {
        let (segment, offset) = Self::locate(rid);
        let address = self.segment(segment).expect("the RID was handed out");
        // Acquire: pairs with `take_run`.
        let start = address.load(std::sync::atomic::Ordering::Acquire);
        debug_assert!(!start.is_null(), "RID {rid:?} was never handed out");
        // SAFETY: RIDs come from `take_run`, which made the segment (Release)
        // before it returned them, and segments live as long as the table.
        unsafe { &*start.add(offset) }
    }

    /// Returns the number of RIDs handed out so far: at least the number of records.
    pub(crate) fn taken(&self) -> u64 {
        *self.next.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Takes the next run of unused RIDs.
    pub(crate) fn take_run(&self, local: &Local) -> Result<std::ops::Range<u64>, Exhausted> {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let (segment, offset) = Self::locate(Rid(*next));
        if segment >= SEGMENTS_MAX {
            return Err(Exhausted);
        }
        if offset == 0 {
            let bytes = Self::segment_slots(segment) * size_of::<Slot>();
            let start = local.allocate(bytes, Purpose::Indirection)?;
            // SAFETY: a fresh block of that size; all-zero slots are `Unused`.
            unsafe { start.as_ptr().write_bytes(0, bytes) };
            let address = match self.ramp.get(segment) {
                Some(address) => address,
                None => &self.full.get_or_init(full_segments)[segment - RAMP],
            };
            // Release: pairs with the load in `slot`.
            address.store(start.as_ptr().cast(), std::sync::atomic::Ordering::Release);
        }
        let run = *next..*next + RUN;
        *next = run.end;
        Ok(run)
    }

    /// Frees a segment; returns false if there is none of this number.
    ///
    /// # Safety
    /// No thread may use the array any more.
    pub(crate) unsafe fn free_segment(&self, local: &Local, segment: usize) -> bool {
        let start = match self.segment(segment) {
            // Acquire: pairs with `take_run`.
            Some(address) => {
                address.swap(std::ptr::null_mut(), std::sync::atomic::Ordering::Acquire)
            }
            None => return false,
        };
        let Some(start) = NonNull::new(start.cast()) else {
            return false;
        };
        let bytes = Self::segment_slots(segment) * size_of::<Slot>();
        // SAFETY: `take_run` allocated it with this layout; no thread uses it, as the caller promises.
        unsafe { local.free(start, bytes, Purpose::Indirection) };
        true
    }
}

fn full_segments() -> Box<[AtomicPtr<Slot>]> {
    (0..FULL_MAX).map(|_| AtomicPtr::default()).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::timestamp::Timestamp;
    use memory::{Arena, Epochs};

    #[test]
    fn every_rid_has_its_own_slot() {
        let mut expected = (0, 0);
        for rid in 0..(1u64 << FULL_LOG2) * 3 {
            let (segment, offset) = IndirectionArray::locate(Rid(rid));
            assert_eq!((segment, offset), expected, "{rid}");
            expected = if offset + 1 == IndirectionArray::segment_slots(segment) {
                (segment + 1, 0)
            } else {
                (segment, offset + 1)
            };
        }
    }

    /// A session that emptied regions once looked at a version that recovery had frozen, and might have freed
    /// meanwhile.
    #[test]
    fn only_slots_that_no_thread_frees_at_once_are_settled() {
        let local = Local::new(&Arena::new(1 << 20).unwrap(), &Epochs::new());
        let version = Version::restore(&local, Timestamp(1), Some(b"value")).unwrap();
        let slot = Slot::unused();
        assert_eq!(slot.settled_version(), None);
        slot.publish_first_frozen(version);
        assert_eq!(slot.settled_version(), None);
        slot.unfreeze(version);
        assert_eq!(slot.settled_version(), Some(version));
        assert!(slot.mark(version));
        assert_eq!(slot.settled_version(), None);
    }

    #[test]
    fn runs_do_not_overlap_and_exhaustion_changes_nothing() {
        let arena = Arena::new(1 << 20).unwrap();
        let local = Local::new(&arena, &Epochs::new());
        let array = IndirectionArray::new();
        let mut end = 0;
        while let Ok(run) = array.take_run(&local) {
            assert_eq!(run.start, end);
            for rid in run.clone() {
                assert_eq!(array.slot(Rid(rid)).head(), Head::Unused);
            }
            end = run.end;
        }
        assert!(end > 10_000);
        assert_eq!(array.take_run(&local), Err(Exhausted));
    }
}
