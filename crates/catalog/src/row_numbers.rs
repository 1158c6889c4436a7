//! Keys for rows that have no primary key: numbers that are never used again.
//!
//! The first number is made of the time, so that nothing has to be remembered across restarts, and
//! the others count up from there, so that rows lie in the order in which they came. If the clock
//! was turned back far enough to meet numbers that are taken, the insertion finds that out.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// Bits of the numbers for each microsecond: fewer rows than that are inserted in one.
const PER_MICROSECOND_BITS: u32 = 12;

/// A counter that gives each number once.
#[derive(Debug)]
pub struct RowNumbers(AtomicU64);

impl Default for RowNumbers {
    /// Begins with a number made of the present time.
    fn default() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let microseconds =
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX >> PER_MICROSECOND_BITS);
        Self(AtomicU64::new(microseconds << PER_MICROSECOND_BITS))
    }
}

impl RowNumbers {
    /// Returns the next number.
    pub fn next(&self) -> u64 {
        // Relaxed: only the uniqueness of the number matters.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
