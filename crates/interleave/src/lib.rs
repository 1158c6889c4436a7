//! A coroutine runtime that hides cache misses.
mod policy;
mod prefetch;
mod slot;

pub use policy::{Interleaved, Point, Policy, Prefetching, Sequential, run_inline};
pub use slot::Touch;
