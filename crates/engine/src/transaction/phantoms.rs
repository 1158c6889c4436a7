//! Phantoms: new records where a transaction has found none.
//!
//! A transaction has noted the nodes of indexes that told it of an absence, at their versions, and
//! the ranges of keys that it has examined. Most often no node has changed, and nothing else has to
//! be checked. But a node also changes when an event happens beside the range (a neighbour is
//! inserted, the border takes over the range of a node that became empty) and when a deleted record
//! is collected. If a node has changed, the ranges are therefore examined once more, for RIDs that
//! the transaction does not know. Known records are:
//!
//! - A record that the transaction *saw* there is certified as a record. Its RID serves no other
//!   record as long as the transaction's snapshot can see it.
//! - A record that the transaction *wrote* itself was there, or was not, at its snapshot.
//! - A record that the transaction noted as *deleted*, if the same tombstone is still the newest
//!   version: the tombstone carries the transaction's mark. (Otherwise the RID may serve another
//!   record by now.)
//! - A record that is *dead* is on its way out of the index, and another transaction that wants the
//!   key inserts it anew.
//!
//! Any other record is a phantom, also a record that has been inserted and deleted since: its
//! tombstone carries no mark.
//!
//! # Races
//! An inserter inserts before it takes its timestamp, and looks at range stamps after that; the
//! transaction raises its range stamps before it looks here. With the fences of `certify.rs` one of
//! the two sees the other. This holds for the second look as for the first: both come after the
//! fence.

use std::collections::{HashMap, HashSet};

use index::Direction;
use interleave::{Sequential, run_inline};

use super::Transaction;
use crate::{
    error::Abort,
    indirection::{Head, Rid, Slot},
    session::{RecordRead, Seen},
};

/// Maximum records that are looked at a second time: other transactions may be waiting for the
/// outcome meanwhile.
const RECORDS_MAX: usize = 4096;

impl Transaction {
    /// Fails if a record of another transaction has appeared in a range that the transaction has
    /// examined.
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

    /// Whether a record in a range is the one that the transaction has read there.
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
