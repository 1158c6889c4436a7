//! Buckets of chained entries: any number of values for a key.

use std::{
    cell::{Cell, RefCell},
    collections::TryReserveError,
};

use interleave::{
    Execution, Gradual, Interleaver, Lookup, Policy, RELEASED_AT_ONCE, Release, look_up_all,
};

use super::{BUCKET, ENTRY, Key, bucket_of, hash_of};

/// Number that marks the end of a chain.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
pub(crate) struct Entry<K, V> {
    key: K,
    value: V,
    next: u32,
}

/// A table with any number of values for a key. A table holds fewer than `u32::MAX` values.
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
    /// Newest entry of each bucket; the number of buckets is a power of two, or 0.
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

/// Reason why a table cannot grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Memory is lacking.
    Memory(TryReserveError),
    /// There would be more entries than have numbers.
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
    /// Returns an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty table with room for `entries`.
    ///
    /// # Errors
    /// [`Refused`] if memory is lacking or `entries` are too many.
    pub fn with_capacity(entries: usize) -> Result<Self, Refused> {
        if entries >= NONE as usize {
            return Err(Refused::TooMany);
        }
        let mut table = Self::new();
        table.reserve(entries)?;
        Ok(table)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the bytes that the buckets and entries take, with the room for further ones.
    pub fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>()
            + self.entries.capacity() * size_of::<Entry<K, V>>()
    }

    /// Adds an entry for each of `pairs`, as `execution` says.
    ///
    /// # Errors
    /// [`Refused`] if memory is lacking or there would be too many entries; nothing was added.
    pub fn insert_all(&mut self, pairs: &[(K, V)], execution: Execution) -> Result<(), Refused> {
        chain(&self.append(pairs)?, execution);
        Ok(())
    }

    /// Appends entries for `pairs`, which are to be chained.
    pub(crate) fn append(&mut self, pairs: &[(K, V)]) -> Result<Building<'_, K, V>, Refused> {
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
        Ok(self.building(before))
    }

    /// Makes room for `all` entries in all. If there are more buckets then, entries are chained anew.
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
            chain(&self.building(0), Execution::in_flight(CHAINED_TOGETHER));
        }
        Ok(())
    }

    /// Returns the entries from number `first` on, to be chained.
    fn building(&mut self, first: usize) -> Building<'_, K, V> {
        Building {
            heads: Cell::from_mut(self.heads.as_mut_slice()).as_slice_of_cells(),
            bits: self.bits,
            first: first as u32,
            entries: Cell::from_mut(&mut self.entries[first..]).as_slice_of_cells(),
        }
    }

    /// Passes the values of each key to `found`, with the key's place in `keys`, in any order.
    pub fn find_all(
        &self,
        interleaver: &mut Interleaver,
        keys: &[K],
        mut found: impl FnMut(usize, V),
    ) {
        self.find_while(interleaver, keys, |place, value| {
            found(place, value);
            true
        });
    }

    /// Passes values to `found` as [`ChainedTable::find_all`] does, until `found` returns false.
    pub fn find_while(
        &self,
        interleaver: &mut Interleaver,
        keys: &[K],
        found: impl FnMut(usize, V) -> bool,
    ) {
        let all = All {
            table: self,
            keys,
            found: RefCell::new(found),
            is_over: Cell::new(false),
        };
        let places: Vec<usize> = (0..keys.len()).collect();
        let execution = interleaver.choose(self, keys);
        look_up_all(&all, &places, execution, |_, ()| {});
    }

    /// Begins to make room for `all` entries, if there is not enough: returns a larger table, which takes over the
    /// entries of this one step by step ([`Growth::step`]). A caller that grows a large table this way before it
    /// inserts holds its thread for no more than a step.
    ///
    /// # Errors
    /// [`Refused`] if memory is lacking or `all` are too many.
    pub fn growth(&self, all: usize) -> Result<Option<Growth<K, V>>, Refused>
    where
        K: 'static,
        V: 'static,
    {
        if all <= self.entries.capacity() && all <= self.heads.len() {
            return Ok(None);
        }
        let room = all.max(2 * self.entries.len());
        if room >= NONE as usize {
            return Err(Refused::TooMany);
        }
        let bits = room.next_power_of_two().ilog2();
        Ok(Some(Growth {
            larger: Gradual::from(Self {
                heads: memory::on_huge_pages(1 << bits)?,
                bits,
                entries: memory::on_huge_pages(room)?,
            }),
        }))
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`Refused`] if memory is lacking or there would be too many entries; the entry was not added.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Result<(), Refused> {
        let building = self.append(&[(key, value)])?;
        building.link(0, building.bucket(key));
        Ok(())
    }

    /// Returns the values of `key`, the newest first; `None` for each entry of another key that is passed on the way,
    /// so that a caller can count its steps.
    pub fn walk(&self, key: K) -> impl Iterator<Item = Option<V>> {
        let mut next = match self.heads.is_empty() {
            true => NONE,
            false => *self.head(hash_of(key)),
        };
        std::iter::from_fn(move || {
            let entry = self.entries.get(next as usize)?;
            next = entry.next;
            Some((entry.key == key).then_some(entry.value))
        })
    }

    /// Passes values of `key` to `found`, looking at `most` entries of its bucket, the newest first. Returns the entry
    /// to go on with, if there are more. `from` is an entry that an earlier call for the key returned; no entry was
    /// inserted since.
    pub fn find_some(
        &self,
        key: K,
        from: Option<u32>,
        most: usize,
        mut found: impl FnMut(V),
    ) -> Option<u32> {
        let mut next = match from {
            Some(number) => number,
            None if self.heads.is_empty() => return None,
            None => *self.head(hash_of(key)),
        };
        for _ in 0..most {
            // The end of a chain is the number of no entry.
            let entry = self.entries.get(next as usize)?;
            if entry.key == key {
                found(entry.value);
            }
            next = entry.next;
        }
        (next != NONE).then_some(next)
    }

    /// Returns the place where a bucket's first entry is named. There must be buckets.
    #[inline(always)]
    pub(crate) fn head(&self, hash: u64) -> &u32 {
        // SAFETY: a bucket is less than `1 << bits`, which is the number of buckets.
        unsafe { self.heads.get_unchecked(bucket_of(hash, self.bits)) }
    }

    /// Returns the address of an entry. Any number is allowed.
    #[inline(always)]
    pub(crate) fn address(&self, number: u32) -> *const Entry<K, V> {
        self.entries.as_ptr().wrapping_add(number as usize)
    }

    /// Compares an entry's key with `key`.
    #[inline(always)]
    pub(crate) fn look(&self, number: u32, key: K) -> Onward<V> {
        let entry = self.entry(number);
        match entry.key == key {
            true => Onward::Found(entry.value),
            false => Onward::Next(entry.next),
        }
    }

    #[inline(always)]
    fn entry(&self, number: u32) -> &Entry<K, V> {
        debug_assert!((number as usize) < self.entries.len());
        // SAFETY: numbers in buckets and entries are those of appended entries, which are never taken out.
        unsafe { self.entries.get_unchecked(number as usize) }
    }
}

/// A table on its way to more room; see [`ChainedTable::growth`].
pub struct Growth<K: Key + 'static, V: Copy + 'static> {
    /// The larger table: its buckets are made first, then filled. It is not searched before it has all entries. After
    /// the last step, the smaller table.
    larger: Gradual<ChainedTable<K, V>>,
}

/// Buckets that are made in the time of one entry's move, which costs a cache miss.
const BUCKETS_PER_ENTRY: usize = 16;

impl<K: Key + 'static, V: Copy + 'static> Growth<K, V> {
    /// Returns the bytes of the larger table.
    pub fn bytes(&self) -> usize {
        self.larger.bytes()
    }

    /// Moves `entries` entries of `from`, which is the table that grows, or does as much other work. Returns whether
    /// all is done; then `from` is the larger table, and the smaller one is given back when the `Growth` is dropped.
    pub fn step(&mut self, from: &mut ChainedTable<K, V>, entries: usize) -> bool {
        let larger: &mut ChainedTable<K, V> = &mut self.larger;
        let buckets = 1_usize << larger.bits;
        if larger.heads.len() < buckets {
            let made = larger.heads.len() + entries * BUCKETS_PER_ENTRY;
            larger.heads.resize(made.min(buckets), NONE);
            return false;
        }
        let first = larger.entries.len();
        let until = from.entries.len().min(first + entries);
        larger
            .entries
            .extend_from_slice(&from.entries[first..until]);
        chain(
            &larger.building(first),
            Execution::in_flight(CHAINED_TOGETHER),
        );
        let is_done = until == from.entries.len();
        if is_done {
            std::mem::swap(from, larger);
        }
        is_done
    }
}

/// Gives back buckets and entries in turn.
impl<K: Key, V: Copy> Release for ChainedTable<K, V> {
    fn bytes(&self) -> usize {
        ChainedTable::bytes(self)
    }

    fn release(&mut self) -> bool {
        // No key is found any more: buckets may name entries that are gone.
        self.heads.clear();
        self.bits = 0;
        let _ = self.heads.release() && self.entries.release();
        ChainedTable::bytes(self) <= RELEASED_AT_ONCE
    }
}

/// Result of a look at an entry.
pub(crate) enum Onward<V> {
    /// The entry is the key's.
    Found(V),
    /// The entry is another key's; the next entry of the bucket, or [`NONE`].
    Next(u32),
}

/// Lookups in flight while entries are chained anew.
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
            P::touch(ENTRY, self.address(next), size_of::<Entry<K, V>>()).await;
            match self.look(next, key) {
                Onward::Found(value) => return Some(value),
                Onward::Next(after) => next = after,
            }
        }
        None
    }
}

/// Lookup of all values of keys, by the keys' places.
struct All<'t, K, V, F> {
    table: &'t ChainedTable<K, V>,
    keys: &'t [K],
    found: RefCell<F>,
    /// Whether no more values are taken.
    is_over: Cell<bool>,
}

impl<K: Key, V: Copy, F: FnMut(usize, V) -> bool> Lookup<usize> for All<'_, K, V, F> {
    type Found = ();

    #[inline(always)]
    async fn look_up<P: Policy>(&self, place: usize) {
        let (table, key) = (self.table, self.keys[place]);
        let mut next = walk!(P, table, key);
        while next != NONE && !self.is_over.get() {
            let entry = table.entry(next);
            P::touch(ENTRY, entry, size_of::<Entry<K, V>>()).await;
            if entry.key == key && !(self.found.borrow_mut())(place, entry.value) {
                self.is_over.set(true);
            }
            next = entry.next;
        }
    }
}

/// Walks along the entries of a key's bucket.
macro_rules! walk {
    ($policy:ty, $table:expr, $key:expr) => {{
        let table = $table;
        match table.heads.is_empty() {
            true => NONE,
            false => {
                let head = table.head(hash_of($key));
                <$policy>::touch(BUCKET, head, size_of::<u32>()).await;
                *head
            }
        }
    }};
}
use walk;

/// A table to whose buckets entries are being added.
pub(crate) struct Building<'t, K, V> {
    heads: &'t [Cell<u32>],
    bits: u32,
    /// Number of the first of these entries.
    first: u32,
    entries: &'t [Cell<Entry<K, V>>],
}

impl<K: Key, V: Copy> Building<'_, K, V> {
    /// Returns the bucket of `key`.
    #[inline(always)]
    pub(crate) fn bucket(&self, key: K) -> usize {
        bucket_of(hash_of(key), self.bits)
    }

    /// Returns the address of `bucket`.
    #[inline(always)]
    pub(crate) fn address(&self, bucket: usize) -> *const Cell<u32> {
        self.heads.as_ptr().wrapping_add(bucket)
    }

    /// Puts an entry, counted from the first of these, before all others of its bucket.
    #[inline(always)]
    pub(crate) fn link(&self, at: usize, bucket: usize) {
        let cell = &self.entries[at];
        let next = self.heads[bucket].replace(self.first + at as u32);
        cell.set(Entry { next, ..cell.get() });
    }
}

/// Chains all of the entries.
fn chain<K: Key, V: Copy>(building: &Building<'_, K, V>, execution: Execution) {
    let count = building.entries.len();
    let numbers: Vec<u32> = (0..count.min(NUMBERED_TOGETHER) as u32).collect();
    for from in (0..count).step_by(NUMBERED_TOGETHER) {
        let numbers = &numbers[..numbers.len().min(count - from)];
        look_up_all(&Numbered(building, from), numbers, execution, |_, ()| {});
    }
}

/// Entries from a given one on.
struct Numbered<'b, 't, K, V>(&'b Building<'t, K, V>, usize);

/// Chains an entry. The entries themselves come in their order, which the hardware prefetches.
impl<K: Key, V: Copy> Lookup<u32> for Numbered<'_, '_, K, V> {
    type Found = ();

    #[inline(always)]
    async fn look_up<P: Policy>(&self, number: u32) {
        let Numbered(building, from) = *self;
        let at = from + number as usize;
        let bucket = building.bucket(building.entries[at].get().key);
        P::touch(BUCKET, building.address(bucket), size_of::<u32>()).await;
        building.link(at, bucket);
    }
}
