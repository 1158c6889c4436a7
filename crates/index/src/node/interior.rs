//! Interior nodes: three cache lines, all of which a search reads.
//!
//! ```text
//! line 0   version | key 0 .. key 6
//! line 1   key 7 .. key 14
//! line 2   child 0 .. child 15            (32-bit ids)
//! ```
//! Child `i` holds the slices from key `i - 1` (inclusive) up to key `i`
//! (exclusive). Keys beyond the count are `u64::MAX`, so counting the keys that
//! are not above a slice gives the child, but for the slice `u64::MAX` itself,
//! which the count in the version word caps.
//!
//! There is no parent pointer; `climb.rs` finds parents again.

use super::{
    INTERIOR_BYTES, INTERIOR_KEYS, Latch, NodeId, Version, VersionWord, search::count_at_most,
};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

const CHILDREN: usize = INTERIOR_KEYS + 1;

/// An interior node; see the module text. All data accesses are Relaxed; the version word orders
/// them.
#[repr(C, align(64))]
pub(crate) struct Interior {
    pub(crate) word: VersionWord,
    keys: [AtomicU64; INTERIOR_KEYS],
    children: [AtomicU32; CHILDREN],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Interior>() == INTERIOR_BYTES);
#[cfg(not(loom))]
const _: () = assert!(std::mem::offset_of!(Interior, children) == 128);
#[cfg(loom)]
const _: usize = INTERIOR_BYTES;

impl Interior {
    pub(crate) fn new(version: Version) -> Interior {
        Interior {
            word: VersionWord::new(version),
            keys: std::array::from_fn(|_| AtomicU64::new(u64::MAX)),
            children: std::array::from_fn(|_| AtomicU32::new(NodeId::NONE.0)),
        }
    }

    #[inline(always)]
    pub(crate) fn key(&self, index: usize) -> u64 {
        self.keys[index].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn child(&self, index: usize) -> NodeId {
        NodeId(self.children[index].load(Ordering::Relaxed))
    }

    fn set_key(&self, index: usize, key: u64) {
        self.keys[index].store(key, Ordering::Relaxed);
    }

    fn set_child(&self, index: usize, child: NodeId) {
        self.children[index].store(child.0, Ordering::Relaxed);
    }

    /// Returns the index of the child that holds `slice`, if `version` still stands.
    #[inline(always)]
    pub(crate) fn child_index(&self, slice: u64, version: Version) -> usize {
        count_at_most(self, slice).min(version.count())
    }

    /// Returns the child that holds `slice`, if `version` still stands.
    #[inline(always)]
    pub(crate) fn child_for(&self, slice: u64, version: Version) -> NodeId {
        self.child(self.child_index(slice, version))
    }

    /// Returns the index of `child`, for the holder of the latch.
    pub(crate) fn index_of(&self, child: NodeId, count: usize) -> Option<usize> {
        (0..=count).find(|&index| self.child(index) == child)
    }

    /// Fills a node that no other thread can see with two children.
    pub(crate) fn fill_pair(&self, left: NodeId, key: u64, right: NodeId) {
        self.set_key(0, key);
        self.set_child(0, left);
        self.set_child(1, right);
    }

    /// Adds `key` and the child right of it behind child `index`. There is room.
    pub(crate) fn insert(&self, latch: &mut Latch<'_>, index: usize, key: u64, child: NodeId) {
        let count = latch.version().count();
        debug_assert!(count < INTERIOR_KEYS);
        latch.inserting();
        for i in (index..count).rev() {
            self.set_key(i + 1, self.key(i));
            self.set_child(i + 2, self.child(i + 1));
        }
        self.set_key(index, key);
        self.set_child(index + 1, child);
        latch.set_count(count + 1);
    }

    /// Removes child `index` and the key that separates it from the sibling that
    /// takes its range over (the left one; the right one for child 0).
    pub(crate) fn remove(&self, latch: &mut Latch<'_>, index: usize) {
        let count = latch.version().count();
        debug_assert!(count > 0 && index <= count);
        latch.inserting();
        for i in index.saturating_sub(1)..count - 1 {
            self.set_key(i, self.key(i + 1));
        }
        for i in index..count {
            self.set_child(i, self.child(i + 1));
        }
        self.set_key(count - 1, u64::MAX);
        latch.set_count(count - 1);
    }

    /// Splits this full node while adding `key` and `child` behind child `index`: the lower part
    /// stays, the upper goes to `right`, which no other thread can see yet. Returns the key that
    /// separates them and the new node's count of keys (for its version).
    pub(crate) fn split(
        &self,
        latch: &mut Latch<'_>,
        right: &Interior,
        kept: usize,
        (index, key, child): (usize, u64, NodeId),
    ) -> u64 {
        debug_assert!(latch.version().count() == INTERIOR_KEYS && kept < INTERIOR_KEYS);
        latch.splitting();
        let mut keys = [0; INTERIOR_KEYS + 1];
        let mut children = [NodeId::NONE; CHILDREN + 1];
        for i in 0..INTERIOR_KEYS {
            keys[i + usize::from(i >= index)] = self.key(i);
        }
        for i in 0..CHILDREN {
            children[i + usize::from(i > index)] = self.child(i);
        }
        keys[index] = key;
        children[index + 1] = child;
        for (i, &key) in keys[kept + 1..].iter().enumerate() {
            right.set_key(i, key);
        }
        for (i, &child) in children[kept + 1..].iter().enumerate() {
            right.set_child(i, child);
        }
        for (i, &key) in keys[..INTERIOR_KEYS].iter().enumerate() {
            self.set_key(i, if i < kept { key } else { u64::MAX });
        }
        for (i, &child) in children[..=kept].iter().enumerate() {
            self.set_child(i, child);
        }
        latch.set_count(kept);
        keys[kept]
    }
}
