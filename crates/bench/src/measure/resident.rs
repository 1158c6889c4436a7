//! What one of two databases in a process has of its memory.
//!
//! The other one is opened before, and only one of them works at a time. So what the process
//! had before this one was opened is not this one's, and neither is what comes or goes while
//! the other one works.

use crate::machine::{forget_resident_peak, resident_bytes, resident_peak_bytes};

/// What is resident, and whose it is. The peak is the process's: one of these at a time.
#[derive(Debug)]
pub struct Resident {
    /// Not this one's. `None` where the system does not say.
    elsewhere: Option<i64>,
    /// Everything when the other one began to work.
    began: Option<i64>,
}

fn signed(bytes: Option<u64>) -> Option<i64> {
    bytes?.try_into().ok()
}

impl Resident {
    /// Before the database is opened.
    pub fn begin() -> Self {
        forget_resident_peak();
        Self {
            elsewhere: signed(resident_bytes()),
            began: None,
        }
    }

    /// The database will work: the most that it had before does not count.
    pub fn forget_peak(&self) {
        forget_resident_peak();
    }

    /// The most that it has had since. `None` where the system does not say.
    pub fn peak(&self) -> Option<u64> {
        let bytes = signed(resident_peak_bytes())? - self.elsewhere?;
        Some(bytes.max(0).cast_unsigned())
    }

    /// The other one begins to work: nobody looks for the most until it has ended.
    pub fn elsewhere_begins(&mut self) {
        self.began = signed(resident_bytes());
    }

    /// The other one has ended.
    pub fn elsewhere_ends(&mut self) {
        let taken = signed(resident_bytes()).zip(self.began.take());
        self.elsewhere = self
            .elsewhere
            .zip(taken)
            .map(|(before, (ended, began))| before + ended - began);
    }
}
