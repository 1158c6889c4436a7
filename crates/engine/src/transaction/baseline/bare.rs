//! The smallest possible point read: index, slot, newest version, value.

use interleave::{Sequential, run_inline};

use crate::{
    indirection::{Head, Rid},
    session::Session,
    table::Table,
};

impl Session {
    /// Reads the newest version of the record under `key` without a transaction: no snapshot, no
    /// visibility. Returns whether there is one. A yardstick for the cost of transactions; the
    /// answers are wrong while writers run.
    pub fn bare_get(&self, table: &Table, key: &[u8], read: impl FnOnce(&[u8])) -> bool {
        let pin = self.memory.pin();
        let Some(rid) = run_inline(table.index.get::<Sequential>(&pin, key)) else {
            return false;
        };
        let Head::Version(version) = table.records.slot(Rid(rid)).head() else {
            return false;
        };
        version.payload().map(read).is_some()
    }
}
