//! Open addressing: keys, values and the tags of slots in one array.

use std::{cell::Cell, collections::TryReserveError, mem::MaybeUninit};

use interleave::{Execution, Lookup, Policy, look_up_all};
use memory::LINE_BYTES;

use super::{BUCKET, Key, bucket_of, hash_of};

/// Maximum load, as used slots of slots: beyond it, runs of used slots become long.
const FULL: (usize, usize) = (5, 8);
const BITS_MIN: u32 = 3;

pub(crate) struct Slot<K, V> {
    /// Tag of the slot. 0: free, without a pair. Else some bits of the hash, and [`USED`].
    tag: u32,
    value: MaybeUninit<V>,
    key: MaybeUninit<K>,
}

impl<K: Copy, V: Copy> Clone for Slot<K, V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Copy, V: Copy> Copy for Slot<K, V> {}

impl<K: Key, V: Copy> Slot<K, V> {
    const FREE: Self = Self {
        tag: 0,
        value: MaybeUninit::uninit(),
        key: MaybeUninit::uninit(),
    };

    #[inline(always)]
    fn used(hash: u64, key: K, value: V) -> Self {
        Self {
            tag: tag_of(hash),
            value: MaybeUninit::new(value),
            key: MaybeUninit::new(key),
        }
    }

    /// Returns the pair, unless the slot is free.
    #[inline(always)]
    fn pair(self) -> Option<(K, V)> {
        // SAFETY: slots are made by `FREE` and `used` alone; the latter's tag is not 0 and its pair is
        // there.
        (self.tag != 0).then(|| unsafe { (self.key.assume_init(), self.value.assume_init()) })
    }

    /// Returns the value, if the slot is the key's.
    #[inline(always)]
    fn value_of(self, hash: u64, key: K) -> Option<V> {
        if self.tag != tag_of(hash) {
            return None;
        }
        self.pair()
            .and_then(|(own, value)| (own == key).then_some(value))
    }
}

/// Result of a look at slots.
pub(crate) enum Seen<T> {
    /// The search has ended.
    Done(T),
    /// The search goes on; its next slot lies in another line.
    Onward(usize),
}

const USED: u32 = 1 << 31;

#[inline(always)]
fn tag_of(hash: u64) -> u32 {
    hash as u32 | USED
}

/// A table with one value for a key.
///
/// ```
/// use index::hash::OpenTable;
/// use interleave::{Execution, Interleaver};
///
/// let mut table = OpenTable::new();
/// let pairs = [(7, 'a'), (8, 'b'), (7, 'c')];
/// let mut replaced = Vec::new();
/// table.insert_all(&pairs, Execution::in_flight(16), |at, old| replaced.push((at, old))).unwrap();
/// assert_eq!((table.len(), replaced), (2, vec![(2, 'a')]));
/// let mut found = [None; 2];
/// Interleaver::auto().look_up_all(&table, &[7, 9], |at, one| found[at] = one);
/// assert_eq!(found, [Some('c'), None]);
/// ```
pub struct OpenTable<K, V> {
    /// Slots; their number is a power of two, or 0.
    slots: Vec<Slot<K, V>>,
    bits: u32,
    used: usize,
}

impl<K: Copy, V: Copy> Clone for OpenTable<K, V> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            ..*self
        }
    }
}

impl<K, V> Default for OpenTable<K, V> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            bits: 0,
            used: 0,
        }
    }
}

impl<K: Key, V: Copy> OpenTable<K, V> {
    /// Returns an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty table with room for `keys`.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    pub fn with_capacity(keys: usize) -> Result<Self, TryReserveError> {
        let mut table = Self::new();
        table.grow(keys, Execution::Sequential)?;
        Ok(table)
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns the bytes of the slots.
    pub fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Inserts or replaces `pairs`, as `execution` says; `replaced` is given the place of each pair whose key was
    /// there, and the value that it had. If a key comes several times, each pair replaces the one that came before, in
    /// their order in `pairs` if sequential, else in any order.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for the table to grow; nothing was inserted.
    pub fn insert_all(
        &mut self,
        pairs: &[(K, V)],
        execution: Execution,
        mut replaced: impl FnMut(usize, V),
    ) -> Result<(), TryReserveError> {
        self.grow(self.used + pairs.len(), execution)?;
        let mut added = 0;
        look_up_all(&self.building(), pairs, execution, |at, old| match old {
            Some(old) => replaced(at, old),
            None => added += 1,
        });
        self.used += added;
        Ok(())
    }

    /// Makes room for `keys` in all.
    pub(crate) fn grow(
        &mut self,
        keys: usize,
        execution: Execution,
    ) -> Result<(), TryReserveError> {
        let (part, of) = FULL;
        let needed = keys.saturating_mul(of).div_ceil(part);
        if needed <= self.slots.len() {
            return Ok(());
        }
        // The allocation refuses more slots than half of the numbers there are.
        let bits = needed
            .checked_next_power_of_two()
            .map_or(usize::BITS - 1, usize::ilog2)
            .max(BITS_MIN);
        let count = 1_usize << bits;
        let mut slots = memory::on_huge_pages(count)?;
        slots.resize(count, Slot::FREE);
        let old = std::mem::replace(&mut self.slots, slots);
        self.bits = bits;
        let building = self.building();
        let mut moved = Vec::with_capacity(MOVED_TOGETHER);
        for some in old.chunks(MOVED_TOGETHER) {
            moved.extend(some.iter().filter_map(|slot| slot.pair()));
            look_up_all(&building, &moved, execution, |_, _| {});
            moved.clear();
        }
        Ok(())
    }

    /// Returns the slots, to be filled; there must be room for the pairs to come.
    pub(crate) fn building(&mut self) -> Building<'_, K, V> {
        Building {
            slots: Cell::from_mut(self.slots.as_mut_slice()).as_slice_of_cells(),
            bits: self.bits,
        }
    }

    /// Counts keys that were put in by way of [`OpenTable::building`].
    #[cfg(feature = "baselines")]
    pub(crate) fn count(&mut self, added: usize) {
        self.used += added;
    }

    /// Returns the first slot of a key, unread. There must be slots.
    #[inline(always)]
    pub(crate) fn first(&self, hash: u64) -> usize {
        bucket_of(hash, self.bits)
    }

    /// Returns the address of a slot.
    #[inline(always)]
    pub(crate) fn address(&self, at: usize) -> *const Slot<K, V> {
        self.slots.as_ptr().wrapping_add(at)
    }

    /// Looks for a key from slot `at` on, to the end of the line.
    #[inline(always)]
    pub(crate) fn look(&self, mut at: usize, hash: u64, key: K) -> Seen<Option<V>> {
        debug_assert!(at < self.slots.len());
        loop {
            // SAFETY: `first` and `next` give places of slots, of which there are `1 << bits`.
            let slot = unsafe { *self.slots.get_unchecked(at) };
            let value = slot.value_of(hash, key);
            if value.is_some() || slot.tag == 0 {
                return Seen::Done(value);
            }
            let (after, is_elsewhere) = next(&self.slots, at);
            at = after;
            if is_elsewhere {
                return Seen::Onward(at);
            }
        }
    }
}

/// Slots that are moved to a larger table as one batch.
const MOVED_TOGETHER: usize = 1024;

/// Returns the slot at which the search for a key goes on, and whether it lies in another line.
#[inline(always)]
fn next<T>(slots: &[T], at: usize) -> (usize, bool) {
    let next = (at + 1) & (slots.len() - 1);
    let line = |at: usize| slots.as_ptr().wrapping_add(at).addr() / LINE_BYTES;
    // The last byte of a slot may lie in the next line.
    let end = |at: usize| (slots.as_ptr().wrapping_add(at + 1).addr() - 1) / LINE_BYTES;
    (next, line(next) != line(at) || end(next) != line(at))
}

impl<K: Key, V: Copy> Lookup<K> for OpenTable<K, V> {
    type Found = Option<V>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: K) -> Option<V> {
        if self.slots.is_empty() {
            return None;
        }
        let hash = hash_of(key);
        let mut at = self.first(hash);
        loop {
            P::touch(BUCKET, self.address(at), size_of::<Slot<K, V>>()).await;
            match self.look(at, hash, key) {
                Seen::Done(value) => return value,
                Seen::Onward(after) => at = after,
            }
        }
    }
}

/// The slots of a table that is being filled: at least one of them is free at all times.
pub(crate) struct Building<'t, K, V> {
    slots: &'t [Cell<Slot<K, V>>],
    bits: u32,
}

impl<K: Key, V: Copy> Building<'_, K, V> {
    /// Returns the first slot of a key, unread.
    #[inline(always)]
    pub(crate) fn first(&self, hash: u64) -> usize {
        bucket_of(hash, self.bits)
    }

    /// Returns the address of a slot.
    #[inline(always)]
    pub(crate) fn address(&self, at: usize) -> *const Cell<Slot<K, V>> {
        self.slots.as_ptr().wrapping_add(at)
    }

    /// Puts a pair in the first slot from `at` on that is free or its key's, if there is one before the end of the
    /// line. Returns the value that the pair replaces.
    #[inline(always)]
    pub(crate) fn put(&self, mut at: usize, hash: u64, (key, value): (K, V)) -> Seen<Option<V>> {
        debug_assert!(at < self.slots.len());
        loop {
            // SAFETY: `first` and `next` give places of slots, of which there are `1 << bits`.
            let cell = unsafe { self.slots.get_unchecked(at) };
            let slot = cell.get();
            let old = slot.value_of(hash, key);
            if old.is_some() || slot.tag == 0 {
                cell.set(Slot::used(hash, key, value));
                return Seen::Done(old);
            }
            let (after, is_elsewhere) = next(self.slots, at);
            at = after;
            if is_elsewhere {
                return Seen::Onward(at);
            }
        }
    }
}

/// Puts a pair in, and finds the value that was replaced.
impl<K: Key, V: Copy> Lookup<(K, V)> for Building<'_, K, V> {
    type Found = Option<V>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, pair: (K, V)) -> Option<V> {
        let hash = hash_of(pair.0);
        let mut at = self.first(hash);
        loop {
            P::touch(BUCKET, self.address(at), size_of::<Slot<K, V>>()).await;
            // Slots that were passed stay used: pairs are never taken out.
            match self.put(at, hash, pair) {
                Seen::Done(old) => return old,
                Seen::Onward(after) => at = after,
            }
        }
    }
}
