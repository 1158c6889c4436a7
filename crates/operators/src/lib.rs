//! Joins whose lookups hide each other's cache misses.
//!
//! | purpose | type |
//! | --- | --- |
//! | rows against any structure that can be looked up | [`IndexJoin`] |
//! | rows against rows, through a hash table that is built first | [`HashJoin`] |
//!
//! Both are iterators: rows stream in, joined rows stream out in the same order, a batch at a time is looked up. The
//! way of looking up, one after the other or a number of rows beside each other, is found while they run
//! ([`interleave::Interleaver`]). The consumer of a join chooses the treatment of rows that find nothing: they come as
//! `(row, None)`, and [`Joined`] has the usual kinds.

mod batches;
#[doc(hidden)]
pub mod fuzz;
mod hash_join;
mod index_join;
mod joined;

pub use batches::BATCH_ROWS;
pub use hash_join::{BuildError, HashJoin, Probe};
pub use index_join::{Found, IndexJoin};
pub use joined::Joined;

#[cfg(test)]
mod tests;
