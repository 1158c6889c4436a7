//! Phantoms: whether there is something now where a transaction has found nothing.
//!
//! It has noted the nodes of indexes that told it so, at their versions, and the ranges of
//! keys that it looked at. Most often no node has changed, and that is all. But a node also
//! changes when something happens beside the range (a neighbour is inserted, the border takes
//! over the range of one that became empty) and when a deleted record is collected. So if one
//! has changed, the ranges are gone through once more, for RIDs that the transaction does not
//! know:
//!
//! - A record that it *saw* there is certified as a record. Its RID serves no other record as
//!   long as the transaction's snapshot can see it.
//! - A record that it *wrote* itself: it was there, or was not, at its snapshot.
//! - A record that it noted as *deleted*, if the same tombstone is still the newest version:
//!   it carries the transaction's mark. (Else the RID may serve another record by now.)
//! - One that is *dead* is on its way out of the index, and whoever wants the key inserts it
//!   anew.
//!
//! Everything else is a phantom, also what has been inserted and deleted since: the tombstone
//! carries no mark.
//!
//! # Races
//! Whoever inserts does so before he takes his timestamp, and looks at range stamps after
//! that; the transaction raises its range stamps before it looks here. With the fences of
//! `certify.rs` one of them sees the other. That holds for the second look as for the first:
//! both come after the fence.

use std::collections::{HashMap, HashSet};

use index::Direction;
use interleave::{Sequential, run_inline};

use super::Transaction;
use crate::{
    error::Abort,
    indirection::{Head, Rid, Slot},
    session::{RecordRead, Seen},
};

/// Records that are looked at a second time, at most: it is done while others may be waiting
/// for the outcome.
const RECORDS_MAX: usize = 4096;

impl Transaction {
    /// Whether nothing has appeared where the transaction has looked, but by itself.
    pub(super) fn check_phantoms(&self) -> Result<(), Abort> {
        let dependencies = &self.context.dependencies;
        let are_current = dependencies.nodes_are_current(&self.session.database.arena);
        match are_current || self.ranges_hold_nothing_new() {
            true => Ok(()),
            false => Err(Abort::Phantom),
        }
    }

    #[cold]
    fn ranges_hold_nothing_new(&self) -> bool {
        let dependencies = &self.context.dependencies;
        if !dependencies.are_ranges_complete() {
            return false;
        }
        let records = dependencies.records.borrow();
        let read: HashMap<_, _> = records.iter().map(|read| (read.slot, *read)).collect();
        let writes = self.context.writes.borrow();
        let written: HashSet<_> = writes.iter().map(|write| write.slot).collect();
        let session = &*self.session;
        let mut batch = session.batches.lend();
        let mut left = RECORDS_MAX;
        for range in dependencies.ranges.borrow().iter() {
            let Some(table) = session.database.table_by_number(range.table) else {
                return false;
            };
            let mut scan = table.index.scan(range.bounds(), Direction::Forward);
            loop {
                let pin = session.memory.pin();
                if !run_inline(scan.next::<Sequential>(&pin, &mut batch)) {
                    break;
                }
                for (_, rid) in batch.iter() {
                    let slot = table.records.slot(Rid(rid));
                    let is_own = written.contains(&std::ptr::from_ref(slot));
                    let read = read.get(&std::ptr::from_ref(slot));
                    if left == 0 || !(is_own || self.is_known(slot, read.copied())) {
                        return false;
                    }
                    left -= 1;
                }
            }
        }
        true
    }

    /// Whether a record in a range is what the transaction has read there.
    fn is_known(&self, slot: &Slot, read: Option<RecordRead>) -> bool {
        match (slot.head(), read) {
            (Head::Dead, _) => true,
            (_, Some(read)) if read.was_present() => true,
            (Head::Version(head), Some(read)) => {
                let is_it = |seen: Seen| self.committed_at(head) == Some(seen.at);
                head.is_tombstone() && read.seen().is_some_and(is_it)
            }
            _ => false,
        }
    }
}
