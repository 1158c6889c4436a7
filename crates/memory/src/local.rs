//! One thread's handle on an arena and its epochs.

use std::{cell::RefCell, ptr::NonNull, sync::Arc};

use crate::{
    arena::{Arena, Exhausted, Purpose},
    cache::Cache,
    epoch::{Epochs, Participant, Pin, Retired, Stamp},
};

/// A thread's handle: allocate, free, retire, pin. Not `Sync`; every worker
/// has its own, and every operation of an index or the engine is given one.
pub struct Local {
    cache: RefCell<Cache>,
    participant: Participant,
}

impl Local {
    /// Returns a handle on `arena`, taking part in `epochs`. All handles that share blocks of one arena must share its
    /// epochs too.
    pub fn new(arena: &Arc<Arena>, epochs: &Arc<Epochs>) -> Local {
        Local {
            cache: RefCell::new(Cache::new(arena.clone())),
            participant: Participant::new(epochs),
        }
    }

    /// Allocates a block of at least `bytes` (at most [`crate::BLOCK_BYTES_MAX`]), 16-byte aligned, line-aligned from
    /// 33 bytes on. Its content is arbitrary, but see [`Purpose::Border`].
    ///
    /// # Errors
    /// [`Exhausted`] at the arena's limit.
    #[inline]
    pub fn allocate(&self, bytes: usize, purpose: Purpose) -> Result<NonNull<u8>, Exhausted> {
        self.cache.borrow_mut().allocate(bytes, purpose, false)
    }

    /// Allocates as [`Local::allocate`] does, and may use the arena's reserve: for blocks that must be allocated before
    /// anything can be freed.
    ///
    /// # Errors
    /// [`Exhausted`] if the reserve is used up too.
    pub fn allocate_urgent(
        &self,
        bytes: usize,
        purpose: Purpose,
    ) -> Result<NonNull<u8>, Exhausted> {
        self.cache.borrow_mut().allocate(bytes, purpose, true)
    }

    /// Takes back a block that was never published, or is provably unreachable.
    ///
    /// # Safety
    /// `block` came from `allocate(bytes, purpose)` of a handle on the same arena
    /// and no thread can read or write it any more.
    #[inline]
    pub unsafe fn free(&self, block: NonNull<u8>, bytes: usize, purpose: Purpose) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.cache.borrow_mut().free(block, bytes, purpose) };
    }

    /// Takes back a block once every pin open now is gone.
    ///
    /// # Safety
    /// `block` came from `allocate(bytes, purpose)` of a handle on the same arena. It was made unreachable before this
    /// call, except for threads pinned now, which may still read it; it is retired once.
    pub unsafe fn retire(&self, block: NonNull<u8>, bytes: usize, purpose: Purpose) {
        let word = (bytes as u64) << 8 | purpose as u64;
        self.participant.retire(Retired {
            address: block,
            word,
        });
    }

    /// Keeps memory that is reachable from now on in place, until the pin is dropped.
    #[inline]
    pub fn pin(&self) -> Pin<'_> {
        self.participant.pin()
    }

    /// Tells the other threads how far this thread has come and reclaims blocks that have become safe. Call it between
    /// operations, often enough to bound garbage, rarely enough not to matter.
    pub fn quiesce(&self) {
        self.quiesce_while(|_| true);
    }

    /// Quiesces as [`Local::quiesce`] does, but reclaims only as long as `may_go_on`, given the number of blocks
    /// reclaimed, returns true: the rest is left to the next call.
    pub fn quiesce_while(&self, may_go_on: impl Fn(usize) -> bool) {
        self.participant.quiesce();
        let mut cache = self.cache.borrow_mut();
        let reclaim = |Retired { address, word }: Retired| {
            let purpose = match (word & 0xff) as usize {
                0 => Purpose::Index,
                1 => Purpose::Indirection,
                2 => Purpose::Version,
                _ => Purpose::Border,
            };
            // SAFETY: `retire` was promised that the block is unreachable but
            // for pins open then, and the epochs say that those are gone.
            unsafe { cache.free(address, (word >> 8) as usize, purpose) };
        };
        self.participant.collect(reclaim, may_go_on);
        cache.leave_closing();
    }

    /// Stops holding reclamation back, until the next pin. Returns false while pins are open.
    pub fn go_idle(&self) -> bool {
        self.participant.go_idle()
    }

    /// Returns the stamp for an object that was just made unreachable and is managed by the caller instead of
    /// [`Local::retire`].
    pub fn stamp(&self) -> Stamp {
        self.participant.stamp()
    }

    /// Returns whether every pin that was open at `stamp` is gone.
    pub fn is_past(&self, stamp: Stamp) -> bool {
        self.participant.is_past(stamp)
    }

    /// Returns the number of blocks retired by this handle and not yet reclaimed.
    pub fn limbo_len(&self) -> usize {
        self.participant.limbo_len()
    }

    /// Returns the bytes that this handle's own lists take, outside the arena.
    pub fn list_bytes(&self) -> usize {
        self.cache.borrow().list_bytes() + self.participant.list_bytes()
    }

    /// Returns the arena.
    pub fn arena(&self) -> Arc<Arena> {
        self.cache.borrow().arena().clone()
    }
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local")
            .field("limbo", &self.limbo_len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn local(limit: usize) -> Local {
        Local::new(&Arena::new(limit).unwrap(), &Epochs::new())
    }

    #[test]
    fn blocks_are_distinct_aligned_and_writable() {
        let local = local(64 << 20);
        let mut seen = std::collections::BTreeMap::new();
        for bytes in [1, 16, 17, 32, 33, 64, 65, 200, 320, 1048, 5000, 100_000] {
            for _ in 0..20 {
                let block = local.allocate(bytes, Purpose::Version).unwrap();
                let address = block.as_ptr().addr();
                assert!(address.is_multiple_of(if bytes > 32 { 64 } else { 16 }));
                // SAFETY: a block of at least `bytes` that this test owns.
                unsafe { block.as_ptr().write_bytes(0xab, bytes) };
                let before = seen.range(..address + bytes).next_back();
                assert!(before.is_none_or(|(start, len)| start + len <= address));
                seen.insert(address, bytes);
            }
        }
    }

    #[test]
    fn the_limit_is_hard_and_freeing_makes_room() {
        let local = local(1 << 20);
        let mut blocks = Vec::new();
        while let Ok(block) = local.allocate(4096, Purpose::Version) {
            blocks.push(block);
        }
        assert!(local.arena().usage().claimed_bytes <= 1 << 20);
        assert!(blocks.len() > 200);
        assert_eq!(local.allocate(4096, Purpose::Version), Err(Exhausted));
        // SAFETY: allocated above with this size and purpose, never shared.
        unsafe { local.free(blocks.pop().unwrap(), 4096, Purpose::Version) };
        assert!(local.allocate(4096, Purpose::Version).is_ok());
    }

    /// Comparing the version of a border with one noted long ago relies on this.
    #[test]
    fn lasting_blocks_serve_no_other_purpose_and_keep_their_content() {
        let local = local(4 << 20);
        let block = local.allocate(320, Purpose::Border).unwrap();
        // SAFETY: a block of that size that this test owns; fresh memory is zero.
        unsafe {
            assert_eq!(block.cast::<u64>().read(), 0);
            block.cast::<u64>().write(7);
            local.free(block, 320, Purpose::Border);
        }
        let other = local.allocate(320, Purpose::Index).unwrap();
        assert_ne!(other, block);
        let again = local.allocate(320, Purpose::Border).unwrap();
        assert_eq!(again, block);
        // SAFETY: a block of that size that this test owns.
        assert_eq!(unsafe { again.cast::<u64>().read() }, 7);
    }

    #[test]
    fn urgent_blocks_are_to_be_had_when_others_are_not() {
        let local = local(4 << 20);
        while local.allocate(4096, Purpose::Version).is_ok() {}
        while local.allocate(16, Purpose::Version).is_ok() {}
        assert!(local.allocate(32, Purpose::Version).is_err());
        for _ in 0..1000 {
            assert!(local.allocate_urgent(32, Purpose::Version).is_ok());
        }
        assert!(local.arena().usage().claimed_bytes <= 4 << 20);
    }

    #[test]
    fn reservations_count_towards_the_limit_while_they_last() {
        let local = local(4 << 20);
        let arena = local.arena();
        assert_eq!(arena.reserve(4 << 20).unwrap_err(), Exhausted);
        let mut reservation = arena.reserve(2 << 20).unwrap();
        reservation.grow(1 << 20).unwrap();
        assert_eq!(reservation.grow(1 << 20), Err(Exhausted));
        assert_eq!(arena.usage().reserved_bytes, 3 << 20);
        while local.allocate(4096, Purpose::Version).is_ok() {}
        assert!(arena.usage().claimed_bytes <= 1 << 20);
        // Bytes in use already count too, but take nothing from bytes of others.
        reservation.charge(1 << 20);
        assert_eq!(arena.usage().reserved_bytes, 4 << 20);
        assert!(local.allocate_urgent(4096, Purpose::Version).is_err());
        reservation.shrink(2 << 20);
        assert_eq!(arena.usage().reserved_bytes, 2 << 20);
        drop(reservation);
        assert_eq!(arena.usage().reserved_bytes, 0);
        while local.allocate(4096, Purpose::Version).is_ok() {}
        assert!(arena.usage().claimed_bytes > 3 << 20);
    }

    #[test]
    fn usage_counts_live_blocks_by_purpose_across_handles() {
        let arena = Arena::new(16 << 20).unwrap();
        let epochs = Epochs::new();
        let (a, b) = (Local::new(&arena, &epochs), Local::new(&arena, &epochs));
        let block = a.allocate(64, Purpose::Version).unwrap();
        a.allocate(320, Purpose::Index).unwrap();
        assert_eq!(
            (arena.usage().version_bytes, arena.usage().index_bytes),
            (64, 320)
        );
        // SAFETY: allocated above with this size and purpose, never shared.
        unsafe { b.retire(block, 64, Purpose::Version) };
        for _ in 0..4 {
            b.quiesce();
        }
        drop(a);
        assert_eq!(
            (arena.usage().version_bytes, arena.usage().index_bytes),
            (0, 320)
        );
    }

    #[test]
    fn blocks_freed_by_one_handle_serve_another() {
        let arena = Arena::new(4 << 20).unwrap();
        let epochs = Epochs::new();
        let a = Local::new(&arena, &epochs);
        let mut blocks = Vec::new();
        while let Ok(block) = a.allocate(1024, Purpose::Version) {
            blocks.push(block);
        }
        let b = Local::new(&arena, &epochs);
        for block in blocks {
            // SAFETY: allocated above with this size and purpose, never shared.
            unsafe { b.free(block, 1024, Purpose::Version) };
        }
        assert!(a.allocate(1024, Purpose::Version).is_ok());
    }
}
