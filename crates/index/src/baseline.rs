//! Lookups in other ways, for comparison. The engine does not run them.
//!
//! Lookups in sorted arrays are in [`binary_search`], lookups in hash tables in [`hash`](mod@hash). Multi-get of the
//! tree has three ways, which share the node search with the tree; only the control flow is their own:
//! - [`multi_get_sequential`]: one after the other, no prefetch;
//! - [`multi_get_amac`]: a hand-written state machine per lookup ([`AmacGet`]),
//!   a group of them in a ring (asynchronous memory access chaining);
//! - [`multi_get_coroutines`]: the tree's own `get` as a coroutine, a group of
//!   them in a ring.

mod amac;
pub mod binary_search;
mod coroutines;
pub mod hash;

use interleave::{Sequential, run_inline};
use memory::Pin;

use crate::tree::Tree;

pub use amac::{AmacGet, Step, multi_get_amac};
pub use coroutines::multi_get_coroutines;

/// Looks `keys` up under `pin`, one after the other. `answers[i]` is the value of `keys[i]`.
///
/// # Panics
/// Panics if there are fewer answers than keys.
pub fn multi_get_sequential<K: AsRef<[u8]>>(
    tree: &Tree,
    pin: &Pin<'_>,
    keys: &[K],
    answers: &mut [Option<u64>],
) {
    assert!(answers.len() >= keys.len());
    for (key, answer) in keys.iter().zip(answers) {
        *answer = run_inline(tree.get::<Sequential>(pin, key.as_ref()));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
