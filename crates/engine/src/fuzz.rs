//! Files that somebody has tampered with, for fuzzers and for tests with random bytes.
//!
//! | what | where |
//! | --- | --- |
//! | a log file | [`log_reader`] |
//! | a part of a checkpoint | [`checkpoint_reader`] |
//! | a cold file | [`cold_reader`] |
//! | a manifest | [`manifest_reader`] |
//! | records of the catalog | [`catalog_reader`] |
//! | a directory, checked, opened and salvaged | [`recovery`] |
//!
//! Random bytes would not get past the first checksum. So each target begins with what
//! the encoders write, changes it as its bytes say (`tamper.rs`), and in one of two
//! cases makes the checksums right again: then the reader behind them has to cope.
//! Nothing may panic or allocate without bound, whatever the bytes.

mod directory;
mod readers;
mod tamper;

pub use self::{
    directory::recovery,
    readers::{catalog_reader, checkpoint_reader, cold_reader, log_reader, manifest_reader},
};

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
        let wide = usize::from(self.byte()) << 16
            | usize::from(self.byte()) << 8
            | usize::from(self.byte());
        wide % bound.max(1)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
