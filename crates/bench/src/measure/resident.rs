//! Resident memory of one of two databases in a process.
//!
//! The other database is opened before, and only one of them works at a time. Memory that the
//! process had before this database was opened is therefore not this one's, and neither is memory
//! that comes or goes while the other works.

use crate::machine::{forget_resident_peak, resident_bytes, resident_peak_bytes};

/// Resident memory that belongs to one database. The peak is the process's, so there may be only
/// one of these at a time.
#[derive(Debug)]
pub struct Resident {
    /// Bytes that are not this database's. `None` where the system does not tell.
    elsewhere: Option<i64>,
    /// All resident bytes when the other database began to work.
    began: Option<i64>,
}

fn signed(bytes: Option<u64>) -> Option<i64> {
    bytes?.try_into().ok()
}

impl Resident {
    /// Begins, before the database is opened.
    pub fn begin() -> Self {
        forget_resident_peak();
        Self {
            elsewhere: signed(resident_bytes()),
            began: None,
        }
    }

    /// Forgets the peak: the database is about to work.
    pub fn forget_peak(&self) {
        forget_resident_peak();
    }

    /// Returns the most bytes that the database has had since. `None` where the system does not
    /// tell.
    pub fn peak(&self) -> Option<u64> {
        let bytes = signed(resident_peak_bytes())? - self.elsewhere?;
        Some(bytes.max(0).cast_unsigned())
    }

    /// Notes that the other database begins to work; the peak is not read until it has ended.
    pub fn elsewhere_begins(&mut self) {
        self.began = signed(resident_bytes());
    }

    /// Notes that the other database has ended its work.
    pub fn elsewhere_ends(&mut self) {
        let taken = signed(resident_bytes()).zip(self.began.take());
        self.elsewhere = self
            .elsewhere
            .zip(taken)
            .map(|(before, (ended, began))| before + ended - began);
    }
}
