//! Hash tables built and probed in the ways that coroutines are compared with: group prefetching (Chen et al. 2007) and
//! asynchronous memory access chaining (Kocberber et al. 2015), as in paper 003 section 2.3. The work on a bucket is
//! the tables' own; the control flow is that of those techniques.
//!
//! Probes store at `found[i]` what [`Lookup`](interleave::Lookup) finds for `keys[i]`. The argument `group` is the
//! number of lookups in flight at a time, at least one; at most [`GROUP_MAX`] are used.
//!
//! # Panics
//! Probes panic if there is less room for results than there are keys.

mod amac;
mod group_prefetching;

pub use amac::{build_chained_amac, build_open_amac, probe_chained_amac, probe_open_amac};
pub use group_prefetching::{
    build_chained_group_prefetching, build_open_group_prefetching, probe_chained_group_prefetching,
    probe_open_group_prefetching,
};

/// Maximum lookups in flight.
pub const GROUP_MAX: usize = 64;

#[cfg(all(test, not(loom)))]
mod tests;
