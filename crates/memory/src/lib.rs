//! Memory for structures that many threads read without latches.
//!
//! Two parts belong together: the source of blocks ([`Arena`], huge pages, size classes,
//! accounting, a hard limit) and the time when they may go back ([`Epochs`], epoch-based
//! reclamation). [`Local`] is one thread's handle on both, which the index and the engine pass
//! around. Large arrays that one thread fills are ordinary vectors on huge pages:
//! [`on_huge_pages`]; long lists that come and go are [`Parts`].
//!
//! This crate knows no index and no database.

mod ahead;
mod arena;
mod cache;
mod class;
mod epoch;
mod heap;
mod huge;
mod local;
mod mapping;
mod parts;
mod region;
mod sync;

pub use arena::{Arena, Charge, Exhausted, Purpose, Reservation, Usage};
pub use class::{BLOCK_BYTES_MAX, BlockSize};
pub use epoch::{Epochs, Pin, Stamp};
pub use heap::bound_heap_steps;
pub use huge::on_huge_pages;
pub use local::Local;
pub use parts::{PART_BYTES, Parts, PartsQueue};

/// Bytes of a cache line on every supported machine.
pub const LINE_BYTES: usize = 64;
