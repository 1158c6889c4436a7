//! Open addressing: keys, values and what tells free slots in one array.

use std::{cell::Cell, collections::TryReserveError};

use interleave::{Execution, Lookup, Policy, look_up_all};
use memory::LINE_BYTES;

use super::{BUCKET, Key, bucket_of, hash_of};

/// Of so many slots, at most so many are in use: beyond that runs of used ones become long.
const FULL: (usize, usize) = (5, 8);
const BITS_MIN: u32 = 3;

#[derive(Clone, Copy)]
struct Slot<K, V> {
    /// 0: free. Else some bits of the hash, and [`USED`].
    tag: u32,
    value: V,
    key: K,
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
#[derive(Clone)]
pub struct OpenTable<K, V> {
    /// A power of two of them, or none.
    slots: Vec<Slot<K, V>>,
    bits: u32,
    used: usize,
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
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keys in it.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes of its slots.
    pub fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }

    /// Inserts or replaces; `replaced` is given the place of each pair whose key was there, and the value
    /// that it had. If a key comes several times, each replaces the one that came before, in
    /// their order in `pairs` if sequential, else in any.
    ///
    /// # Errors
    /// When there is no memory for the table to grow; nothing was inserted.
    pub fn insert_all(
        &mut self,
        pairs: &[(K, V)],
        execution: Execution,
        mut replaced: impl FnMut(usize, V),
    ) -> Result<(), TryReserveError> {
        if let Some(&pair) = pairs.first() {
            self.grow(self.used + pairs.len(), pair, execution)?;
        }
        self.used += pairs.len();
        let used = &mut self.used;
        let building = Building {
            slots: Cell::from_mut(self.slots.as_mut_slice()).as_slice_of_cells(),
            bits: self.bits,
        };
        look_up_all(&building, pairs, execution, |at, old| {
            if let Some(old) = old {
                *used -= 1;
                replaced(at, old);
            }
        });
        Ok(())
    }

    /// Makes room for `keys` in all. Free slots are filled with some pair.
    fn grow(
        &mut self,
        keys: usize,
        (key, value): (K, V),
        execution: Execution,
    ) -> Result<(), TryReserveError> {
        let (part, of) = FULL;
        let needed = keys.saturating_mul(of).div_ceil(part);
        if needed <= self.slots.len() {
            return Ok(());
        }
        let bits = needed.next_power_of_two().ilog2().max(BITS_MIN);
        let count = 1_usize << bits;
        let mut slots = memory::on_huge_pages(count)?;
        let free = Slot { tag: 0, value, key };
        slots.resize(count, free);
        let old = std::mem::replace(&mut self.slots, slots);
        self.bits = bits;
        let building = Building {
            slots: Cell::from_mut(self.slots.as_mut_slice()).as_slice_of_cells(),
            bits,
        };
        let mut moved = Vec::with_capacity(MOVED_TOGETHER);
        for some in old.chunks(MOVED_TOGETHER) {
            let used = some.iter().filter(|slot| slot.tag != 0);
            moved.extend(used.map(|slot| (slot.key, slot.value)));
            look_up_all(&building, &moved, execution, |_, _| {});
            moved.clear();
        }
        Ok(())
    }
}

/// Slots that are moved to a larger table as one batch.
const MOVED_TOGETHER: usize = 1024;

/// Where the search for a key goes on: the next slot, and whether it lies in another line.
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
        let slots = self.slots.as_slice();
        if slots.is_empty() {
            return None;
        }
        let hash = hash_of(key);
        let mut at = bucket_of(hash, self.bits);
        P::touch(
            BUCKET,
            slots.as_ptr().wrapping_add(at),
            size_of::<Slot<K, V>>(),
        )
        .await;
        loop {
            // SAFETY: a bucket is less than `1 << bits`, which is how many slots there are.
            let slot = unsafe { slots.get_unchecked(at) };
            if slot.tag == tag_of(hash) && slot.key == key {
                return Some(slot.value);
            }
            if slot.tag == 0 {
                return None;
            }
            let (after, is_elsewhere) = next(slots, at);
            at = after;
            if is_elsewhere {
                P::touch(
                    BUCKET,
                    slots.as_ptr().wrapping_add(at),
                    size_of::<Slot<K, V>>(),
                )
                .await;
            }
        }
    }
}

/// The slots of a table that is being filled: at least one of them is free at all times.
struct Building<'t, K, V> {
    slots: &'t [Cell<Slot<K, V>>],
    bits: u32,
}

/// Puts a pair in, and finds the value that was replaced.
impl<K: Key, V: Copy> Lookup<(K, V)> for Building<'_, K, V> {
    type Found = Option<V>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, (key, value): (K, V)) -> Option<V> {
        let hash = hash_of(key);
        let mut at = bucket_of(hash, self.bits);
        let touch = |at: usize| {
            let slot = self.slots.as_ptr().wrapping_add(at);
            P::touch(BUCKET, slot, size_of::<Slot<K, V>>())
        };
        touch(at).await;
        loop {
            let cell = &self.slots[at];
            let slot = cell.get();
            let is_it = slot.tag == tag_of(hash) && slot.key == key;
            if slot.tag == 0 || is_it {
                let tag = tag_of(hash);
                cell.set(Slot { tag, value, key });
                return is_it.then_some(slot.value);
            }
            // Slots that were passed stay used: nothing is ever taken out.
            let (after, is_elsewhere) = next(self.slots, at);
            at = after;
            if is_elsewhere {
                touch(at).await;
            }
        }
    }
}
