//! Buckets of chained entries: any number of values for a key.

use std::{
    cell::{Cell, RefCell},
    collections::TryReserveError,
};

use interleave::{Execution, Interleaver, Lookup, Policy, look_up_all};

use super::{BUCKET, ENTRY, Key, bucket_of, hash_of};

/// The end of a chain.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry<K, V> {
    key: K,
    value: V,
    next: u32,
}

/// A table with any number of values for a key. Up to `u32::MAX` of them in all.
///
/// ```
/// use index::hash::ChainedTable;
/// use interleave::{Execution, Interleaver};
///
/// let mut table = ChainedTable::new();
/// table.insert_all(&[(7, 'a'), (8, 'b'), (7, 'c')], Execution::Sequential).unwrap();
/// let mut found = Vec::new();
/// table.find_all(&mut Interleaver::auto(), &[7, 9], |at, value| found.push((at, value)));
/// found.sort();
/// assert_eq!(found, [(0, 'a'), (0, 'c')]);
/// ```
#[derive(Clone)]
pub struct ChainedTable<K, V> {
    /// The newest entry of each bucket; a power of two of them, or none.
    heads: Vec<u32>,
    bits: u32,
    entries: Vec<Entry<K, V>>,
}

impl<K, V> Default for ChainedTable<K, V> {
    fn default() -> Self {
        Self {
            heads: Vec::new(),
            bits: 0,
            entries: Vec::new(),
        }
    }
}

/// Memory is lacking, or more entries than have numbers were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The first.
    Memory(TryReserveError),
    /// The second.
    TooMany,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "there is no memory for the hash table: {error}"),
            Self::TooMany => {
                f.write_str("a hash table has at most 4294967294 entries; use several")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl From<TryReserveError> for Refused {
    fn from(error: TryReserveError) -> Self {
        Self::Memory(error)
    }
}

impl<K: Key, V: Copy> ChainedTable<K, V> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Entries in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of its buckets and entries.
    pub fn bytes(&self) -> usize {
        size_of_val(self.heads.as_slice()) + size_of_val(self.entries.as_slice())
    }

    /// Adds an entry for each pair.
    ///
    /// # Errors
    /// [`Refused`]; nothing was added.
    pub fn insert_all(&mut self, pairs: &[(K, V)], execution: Execution) -> Result<(), Refused> {
        let before = self.entries.len();
        let all = before + pairs.len();
        if all >= NONE as usize {
            return Err(Refused::TooMany);
        }
        self.reserve(all)?;
        self.entries.extend(pairs.iter().map(|&(key, value)| Entry {
            key,
            value,
            next: NONE,
        }));
        self.chain(before, execution);
        Ok(())
    }

    /// Room for so many entries in all. If there are more buckets then, entries are chained anew.
    fn reserve(&mut self, all: usize) -> Result<(), TryReserveError> {
        if all > self.entries.capacity() {
            let mut larger = memory::on_huge_pages(all.max(2 * self.entries.len()))?;
            larger.extend_from_slice(&self.entries);
            self.entries = larger;
        }
        if all > self.heads.len() {
            let bits = all.next_power_of_two().ilog2();
            let mut heads = memory::on_huge_pages(1 << bits)?;
            heads.resize(1 << bits, NONE);
            (self.heads, self.bits) = (heads, bits);
            self.chain(0, Execution::in_flight(CHAINED_TOGETHER));
        }
        Ok(())
    }

    /// Chains entries from this one on.
    fn chain(&mut self, first: usize, execution: Execution) {
        let new = Cell::from_mut(&mut self.entries[first..]).as_slice_of_cells();
        let building = Building {
            heads: Cell::from_mut(self.heads.as_mut_slice()).as_slice_of_cells(),
            bits: self.bits,
            first: first as u32,
            entries: new,
        };
        let numbers: Vec<u32> = (0..new.len().min(NUMBERED_TOGETHER) as u32).collect();
        for from in (0..new.len()).step_by(NUMBERED_TOGETHER) {
            let count = numbers.len().min(new.len() - from);
            let some = Numbered(&building, from as u32);
            look_up_all(&some, &numbers[..count], execution, |_, ()| {});
        }
    }

    /// Hands the values of each key out, with the key's place in `keys`, in any order.
    pub fn find_all(&self, interleaver: &mut Interleaver, keys: &[K], found: impl FnMut(usize, V)) {
        let all = All {
            table: self,
            keys,
            found: RefCell::new(found),
        };
        let places: Vec<usize> = (0..keys.len()).collect();
        let execution = interleaver.choose(self, keys);
        look_up_all(&all, &places, execution, |_, ()| {});
    }

    #[inline(always)]
    fn entry(&self, number: u32) -> &Entry<K, V> {
        &self.entries[number as usize]
    }
}

/// In flight while entries are chained anew.
const CHAINED_TOGETHER: usize = 16;
/// Numbers of entries that are at hand at a time.
const NUMBERED_TOGETHER: usize = 4096;

/// Finds the newest value of a key.
impl<K: Key, V: Copy> Lookup<K> for ChainedTable<K, V> {
    type Found = Option<V>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: K) -> Option<V> {
        let mut next = walk!(P, self, key);
        while next != NONE {
            let entry = self.entry(next);
            P::touch(ENTRY, entry, size_of::<Entry<K, V>>()).await;
            if entry.key == key {
                return Some(entry.value);
            }
            next = entry.next;
        }
        None
    }
}

/// All values of keys, by their places.
struct All<'t, K, V, F> {
    table: &'t ChainedTable<K, V>,
    keys: &'t [K],
    found: RefCell<F>,
}

impl<K: Key, V: Copy, F: FnMut(usize, V)> Lookup<usize> for All<'_, K, V, F> {
    type Found = ();

    #[inline(always)]
    async fn look_up<P: Policy>(&self, place: usize) {
        let (table, key) = (self.table, self.keys[place]);
        let mut next = walk!(P, table, key);
        while next != NONE {
            let entry = table.entry(next);
            P::touch(ENTRY, entry, size_of::<Entry<K, V>>()).await;
            if entry.key == key {
                (self.found.borrow_mut())(place, entry.value);
            }
            next = entry.next;
        }
    }
}

/// The first entry of a key's bucket.
macro_rules! walk {
    ($policy:ty, $table:expr, $key:expr) => {{
        let table = $table;
        match table.heads.is_empty() {
            true => NONE,
            false => {
                let head = &table.heads[bucket_of(hash_of($key), table.bits)];
                <$policy>::touch(BUCKET, head, size_of::<u32>()).await;
                *head
            }
        }
    }};
}
use walk;

/// A table whose entries are being chained.
struct Building<'t, K, V> {
    heads: &'t [Cell<u32>],
    bits: u32,
    /// The number of the first of these entries.
    first: u32,
    entries: &'t [Cell<Entry<K, V>>],
}

/// Entries from one on.
struct Numbered<'b, 't, K, V>(&'b Building<'t, K, V>, u32);

/// Puts an entry before all others of its bucket. Entries themselves come in their order, which the
/// hardware prefetches.
impl<K: Key, V: Copy> Lookup<u32> for Numbered<'_, '_, K, V> {
    type Found = ();

    #[inline(always)]
    async fn look_up<P: Policy>(&self, number: u32) {
        let Numbered(building, from) = *self;
        let at = from + number;
        let cell = &building.entries[at as usize];
        let entry = cell.get();
        let head = &building.heads[bucket_of(hash_of(entry.key), building.bits)];
        P::touch(BUCKET, head, size_of::<u32>()).await;
        cell.set(Entry {
            next: head.replace(building.first + at),
            ..entry
        });
    }
}
