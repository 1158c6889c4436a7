//! Keys for rows that have no primary key: numbers that are never used again.
//!
//! They are made of the time, so that nothing has to be remembered across restarts, and counted
//! up from there, so that rows lie in the order in which they came. Should the clock have been
//! turned back far enough to meet numbers that are taken, the insertion finds that out.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// Numbers for each microsecond: more rows are not inserted in one.
const PER_MICROSECOND_BITS: u32 = 12;

/// Gives each number once.
#[derive(Debug)]
pub struct RowNumbers(AtomicU64);

impl Default for RowNumbers {
    /// Numbers from the present time on.
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
    /// The next one.
    pub fn next(&self) -> u64 {
        // Relaxed: all that matters is that nobody else gets it.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
