//! Count of the live bytes in each cold file.
//!
//! No account is kept when a record comes back, is overwritten, deleted, or dropped with its table.
//! Instead, the census now and then looks at all slots, which takes some nanoseconds for each: the
//! bytes of the records that cold slots name are live, and all others are not. The stored copy of a
//! version that was read from a file and is still in memory does not count: the version is written
//! anew if need be.
//!
//! A closed file that no slot names is *emptied*: tables created meanwhile have no record in it,
//! tables dropped before are out of reach of transactions that begin now, and no record becomes
//! cold there (`files.rs`).

use std::{collections::HashMap, rc::Rc};

use super::{ColdTier, address_in, file_of};
use crate::{indirection::Rid, session::Session, transaction::Isolation};

/// Slots that are looked at under one pin.
const SLOTS_PER_PIN: u64 = 4096;

/// Bytes of records that slots name, by the number of the file.
type Live = HashMap<u32, u64>;

impl Session {
    /// Counts the live bytes of each file, notes them, and notes which of the closed files are
    /// emptied. Returns whether all slots could be looked at.
    ///
    /// # Suspension
    /// Yields to other tasks now and then.
    pub(super) async fn count_live(self: &Rc<Self>, tier: &ColdTier) -> bool {
        // Files created from now on, and blocks written from now on, are not judged.
        let files = tier.files.all();
        let files: Vec<_> = files
            .into_iter()
            .map(|file| (file.extent(), file.may_be_empty(), file))
            .collect();
        let mut live = Live::new();
        for table in self.database.catalog.live_tables() {
            let (mut next, mut of_table) = (Some(0), Live::new());
            while let Some(first) = next {
                // While the snapshot is open, a table that is found stays.
                let Ok(snapshot) = self.begin(Isolation::Snapshot) else {
                    return false;
                };
                next = self.count_some(table.number(), first, &mut of_table);
                snapshot.release();
                interleave::yield_now().await;
            }
            for (number, bytes) in of_table {
                *live.entry(number).or_default() += bytes;
                if bytes > 0
                    && table.time_to_live().is_some()
                    && let Some(file) = tier.files.file(number)
                {
                    tier.files.note_expiring(&file, table.number());
                }
            }
        }
        let now = self.database.now();
        for (extent, may_be_empty, file) in files {
            let bytes = live.get(&file.number).copied().unwrap_or(0);
            file.note_live(bytes, extent);
            if may_be_empty && bytes == 0 {
                file.note_emptied(now);
            }
        }
        true
    }

    /// Counts the live bytes of some slots of the table with this `number`, from slot `first` on,
    /// into `live`. Returns the slot to go on at.
    fn count_some(&self, number: u32, first: u64, live: &mut Live) -> Option<u64> {
        let table = self.database.table_by_number(number)?;
        let all = table.records.taken();
        let end = all.min(first + SLOTS_PER_PIN);
        let mut last = (0, 0);
        for rid in first..end {
            let Some(address) = address_in(table.records.slot(Rid(rid))) else {
                continue;
            };
            let number = file_of(address);
            // Neighbouring slots often name the same file.
            if last.0 != number {
                *live.entry(last.0).or_default() += last.1;
                last = (number, 0);
            }
            last.1 += address.bytes_about();
        }
        *live.entry(last.0).or_default() += last.1;
        (end < all).then_some(end)
    }
}
