//! Snapshots that move.
//!
//! A write (or an explicit lock) that meets a version committed after the transaction's snapshot
//! cannot go on at that snapshot: first updater wins. But if the transaction has read nothing yet,
//! or only what has not changed since, then its snapshot cannot be told from the present. Therefore
//! the snapshot moves there, and the operation goes on. With many transactions in flight this is
//! decisive for hot records: a transaction that had to wait for such a record, or was merely
//! suspended between its begin and its first write, would otherwise be run again for nothing.
//!
//! # Correctness
//! Let `T` move from snapshot `s` to `m`, a value that it loads from the clock, in one stretch
//! without suspension. From then on `T` is a transaction that began at `m`: every answer that it
//! was given before is the one that it would have been given at `m`, and every version that it has
//! made stands where it would have made it. Answers depend on:
//!
//! - *Records read*, or locked and read, are noted: the version of each must be the one that is
//!   visible at `m`. A transaction that replaces that version and commits at `m` or earlier had
//!   made its own version before `T` loaded `m`, so `T` finds the new version in the chain, and, if
//!   need be, waits for its outcome as every reader does (`status.rs`).
//! - *Absence* is noted as nodes of indexes, which must not have changed (serializable), or settles
//!   the snapshot where it is, as scans do (snapshot isolation, which notes the first few point
//!   reads only: `session/dependencies.rs`).
//! - *Records written*: the version that `T` replaced was visible to it, and no transaction commits
//!   another one until `T` ends; a key that `T` has inserted stays absent for all others. The
//!   answer of the write (there was such a record, or none) therefore holds at `m` as well. When a
//!   write is undone, by a return to a savepoint or by an operation on several indexes that fails,
//!   this protection ends, and the snapshot is settled.
//! - *Tables*: using a table is reading its record in the catalog. If any table was dropped or
//!   truncated since `s`, the snapshot stays. (A dropper announces the drop before it takes its
//!   timestamp: `catalog/life.rs`.) Tables made since do not matter: `T` cannot have used them.
//!   Transactions that have changed the catalog, or write its records, decide by more than they
//!   note: their snapshots stay.
//! - *The snapshot itself*: a caller that asks for it ([`Transaction::snapshot`]), to follow the
//!   change stream from there, settles it.
//! - *Sibling operations under way* (under a `join`) are in the middle of reading at `s`: then the
//!   snapshot stays.
//! - *The wall clock*, by which records expire, is asked once and kept. A wall clock earlier than
//!   the snapshot is nothing new: clocks of two transactions are in no order.
//!
//! # Certification
//! The certifier sees a transaction that began at `m`. Until it commits, a serializable transaction
//! leaves no trace of its reads, so no other transaction has relied on `s`; the reads are looked at
//! again at the commit, under every certifier. Everything that committed up to `m` counts as a
//! predecessor of `T`: stricter than at `s`, and true. A declared read-only transaction has
//! announced its snapshot, but it neither writes nor locks, hence never moves.
//!
//! # The horizon
//! Floors only say that no open snapshot is *older*. The targets of the pointers of `T` (versions
//! that it read, slots of tables that may be dropped) were kept by `s`, though. Therefore `T` takes
//! its name first, whose *anchor* keeps what is visible at `s` in place until `T` ends, and by
//! which its commit looks for dropped tables.

use std::ops::ControlFlow;

use super::{Transaction, certify::Overwriter};
use crate::{catalog::view::CatalogView, table::Table, timestamp::Timestamp};

impl Transaction {
    /// Moves the snapshot to the present, for a write to `table`, if the difference cannot be told.
    /// Returns whether it has moved. Never moves under read committed, which has no need of it.
    #[cold]
    pub(super) fn move_snapshot(&self, table: &Table) -> bool {
        let (context, database) = (&*self.context, &*self.session.database);
        if !context.dependencies.may_move()
            || context.statements() > 1
            || CatalogView::is_about(table.number())
            || !context.effects.borrow().is_empty()
        {
            return false;
        }
        let before = context.snapshot();
        // The anchor comes with the name.
        self.id();
        let present = self.session.take_snapshot();
        if database.catalog.last_drop.is_after(before) || !self.has_read_what_is_at(present) {
            return false;
        }
        context.set_snapshot(present);
        let counters = &self.session.counters;
        counters.update(|stats| stats.snapshots_moved += 1);
        true
    }

    /// Whether everything that was read is the same at `present`, a value of the clock that was
    /// loaded before the call.
    fn has_read_what_is_at(&self, present: Timestamp) -> bool {
        let flow = self.each_overwriter(present, |overwriter| match overwriter {
            Overwriter::Committed { at, .. } if at <= present => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        flow.is_continue() && self.check_phantoms().is_ok()
    }
}
