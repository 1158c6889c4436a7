//! Bytes as operations, for fuzzers and for tests with random bytes.
//!
//! | what | where |
//! | --- | --- |
//! | open transactions of one session | [`engine_operations`] |
//! | keys of all types: order and round trip | [`key_encoding`] |
//!
//! The targets themselves, and how to run them: `fuzz/README.md` at the root of
//! the repository.

mod keys;
mod operations;

pub use keys::key_encoding;
pub use operations::{engine_operations, try_engine_operations};

/// A source of choices. Reads zeros at its end.
struct Source<'d>(&'d [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
