//! An ordered index from byte strings to 64-bit values, for transactions that
//! switch at every probable cache miss.
//!
//! [`Tree`] is a trie of B+-trees over eight-byte slices of the keys, after
//! Masstree (Mao, Kohler, Morris: "Cache craftiness for fast multicore key-value
//! storage", EuroSys 2012). Readers take no latch and write nothing; writers
//! latch single nodes for the time of a change. Every operation has one body,
//! an `async fn` generic over [`interleave::Policy`]: sequential, prefetching
//! and interleaved execution are instances of it.
//!
//! This crate knows no transactions, versions or records. It offers transactions node versions
//! ([`Observer`]) to detect that a range has changed.
//!
//! # Rules that all operations follow
//! 1. A suspension voids optimistic reads: versions are compared after it.
//! 2. No latch is held across a suspension. The memory that a change needs is touched first;
//!    between latch and release nothing suspends.
//! 3. Every operation runs under an epoch pin, which keeps nodes it may still
//!    read in place after they were unlinked.
//! 4. An operation that runs out of memory has changed nothing.
//! 5. A future dropped before it is ready has changed nothing: changes happen in
//!    the poll that completes it.
//!
//! # Files
//! Nodes and all raw pointers: `node.rs` and below. The way down: `descend.rs`; the way up:
//! `climb.rs`, which also states the order of latches. Operations: `get.rs`, `insert.rs`
//! (`split.rs`, `layer.rs`), `remove.rs` (`unlink.rs`), `scan.rs`. The end of a whole tree:
//! `demolish.rs`.
//!
//! # Deviations from Masstree
//! - Nodes are named by 32-bit line numbers, and an interior node is 3 lines with
//!   fan-out 16, without a parent pointer.
//! - A border's first line has fingerprints and length codes of all slots, so a
//!   lookup reads two of its five lines, and of an absent key one.
//! - A layer's root is changed in place of a lazily corrected link: the operation that replaces the
//!   root holds the latch of the border that names it, so a validated link is never stale.
//! - Latches of a split are all taken and its memory allocated before anything
//!   is changed, so that running out of memory needs no undoing.
//! - An emptied border's range goes to whichever neighbour shares its surviving
//!   ancestor, so that no separator above needs correction.

#[cfg(feature = "baselines")]
pub mod baseline;
mod check;
mod climb;
pub mod csb;
mod demolish;
mod descend;
#[doc(hidden)]
pub mod fuzz;
mod get;
pub mod hash;
mod insert;
mod key;
mod layer;
mod lookup;
mod node;
mod observe;
#[cfg(all(test, not(loom)))]
mod random;
mod remove;
mod scan;
pub mod sorted;
mod split;
mod sync;
mod tree;
mod unlink;

pub use check::Stats;
pub use demolish::Demolition;
pub use insert::{InsertError, Inserted};
pub use key::KEY_BYTES_MAX;
pub use lookup::{Lookup, Step};
pub use node::NodeId;
pub use observe::{NodeVersion, Observer};
pub use scan::{Batch, Direction, Scan};
pub use tree::Tree;
