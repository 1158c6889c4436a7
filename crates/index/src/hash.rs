//! Hash tables whose builds and probes overlap their cache misses.
//!
//! | keys and values | type | misses of a probe |
//! | --- | --- | --- |
//! | one value for a key | [`OpenTable`]: open addressing, linear probing | one, seldom two |
//! | many values for a key | [`ChainedTable`]: buckets of chained entries | one, and one an entry |
//!
//! Probe ([`Lookup`](interleave::Lookup)) and build have one body each, run sequentially or interleaved. One thread
//! builds. Between a body's touch and the access that follows, other bodies of its group may have changed the bucket; a
//! body therefore looks at memory again after each touch, and does not suspend from that look to its change.
//!
//! # Hashing
//! The workspace's hasher (`rustc-hash`: one multiplication for an integer) is folded and multiplied once more: the
//! bucket is the product's uppermost bits, to which each bit of the key contributes. Keys that are multiples of a power
//! of two, or differ in their uppermost bits only, therefore spread as well as others. The hash does not withstand keys
//! chosen to collide.

pub(crate) mod chained;
pub(crate) mod open;

#[cfg(all(test, not(loom)))]
mod tests;

use std::hash::{BuildHasher as _, Hash};

use interleave::Point;
use rustc_hash::FxBuildHasher;

pub use chained::{ChainedTable, Growth, Refused};
pub use open::OpenTable;

const BUCKET: Point = Point::new("hash bucket");
const ENTRY: Point = Point::new("hash entry");

/// Types of keys: integers, tuples and arrays of them, short strings of one size.
pub trait Key: Copy + Eq + Hash {}

impl<K: Copy + Eq + Hash> Key for K {}

/// Returns the hash of `key`. The uppermost bits choose the bucket; the lowermost tell keys apart otherwise.
#[inline(always)]
pub(crate) fn hash_of<K: Hash>(key: K) -> u64 {
    let hash = FxBuildHasher.hash_one(key);
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the bucket of `hash` among `1 << bits`.
#[inline(always)]
fn bucket_of(hash: u64, bits: u32) -> usize {
    // With no bits the shift would be by 64.
    (hash >> 1 >> (63 - bits)) as usize
}
