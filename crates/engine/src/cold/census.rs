//! What is live in each cold file: found by counting.
//!
//! Nobody keeps accounts when a record comes back, is overwritten, deleted, or dropped with its
//! table. Now and then all slots are looked at, some nanoseconds each: the bytes of the records
//! that cold ones name are live, and all others are not. A version that was read from a file and
//! is still in memory does not count: it is written anew if it has to be.
//!
//! A closed file that nobody names is *emptied*: tables that are made meanwhile have nothing in it,
//! tables that were dropped before are nobody's who begins now, and nothing becomes cold there
//! (`files.rs`).

use std::{collections::HashMap, rc::Rc};

use super::{ColdTier, address_in, file_of};
use crate::{indirection::Rid, session::Session, transaction::Isolation};

/// Slots that are looked at under one pin.
const SLOTS_PER_PIN: u64 = 4096;

/// Bytes of records that slots name, by the number of the file.
type Live = HashMap<u32, u64>;

impl Session {
    /// Counts what is live, notes it for each file, and which of the closed ones are emptied;
    /// whether all slots could be looked at.
    ///
    /// # Suspension
    /// Others have their turn now and then.
    pub(super) async fn count_live(self: &Rc<Self>, tier: &ColdTier) -> bool {
        // Files that come, and blocks that are written from now on, are not judged.
        let files = tier.files.all();
        let files: Vec<_> = files
            .into_iter()
            .map(|file| (file.extent(), file.may_be_empty(), file))
            .collect();
        let mut live = Live::new();
        for table in self.database.catalog.live_tables() {
            let (mut next, mut of_table) = (Some(0), Live::new());
            while let Some(first) = next {
                // While it is open, a table that is found stays.
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

    /// The same for some slots of a table from `first` on: where the next are.
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
            // Neighbours are often together.
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
