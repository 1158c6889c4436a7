//! A snapshot that moves.
//!
//! A write (or an explicit lock) that meets a version committed after the transaction's
//! snapshot cannot go on at that snapshot: first updater wins. But if the transaction has
//! read nothing yet, or only what has not changed since, then nobody can tell its snapshot
//! from the present. So it moves there, and the operation goes on. With many transactions
//! in flight this decides over hot records: whoever had to wait for one, or was merely
//! suspended between its begin and its first write, would otherwise be run again for
//! nothing.
//!
//! # When it is right
//! Let `T` move from snapshot `s` to `m`, a value that it loads from the clock, in one
//! stretch without suspension. `T` is from then on a transaction that began at `m`: every
//! answer that it was given before is the one that it would have been given at `m`, and
//! every version that it has made stands where it would have made it. What answers depend
//! on:
//!
//! - *Records read*, or locked and read, are noted: each one's version must be the one that
//!   is visible at `m`. Whoever replaces it and commits at `m` or earlier had made his
//!   version before `T` loaded `m`, so `T` finds it in the chain, and, if need be, waits
//!   for its outcome as every reader does (`status.rs`).
//! - *Absence* is noted as nodes of indexes, which must not have changed (serializable), or
//!   settles the snapshot where it is, as scans do (snapshot isolation, which notes the
//!   first few point reads only: `session/dependencies.rs`).
//! - *Records written*: the version that `T` replaced was visible to it, and nobody commits
//!   another one until `T` ends; a key that it has inserted stays absent for all others. So what the write told (there was such a record, or
//!   none) holds at `m` as well. When a write is taken back, by a return to a savepoint or
//!   by an operation on several indexes that fails, this ends, and the snapshot is settled.
//! - *Tables*: to use one is to read its record in the catalog. If anything was dropped or
//!   truncated since `s`, the snapshot stays. (A dropper says so before he takes his
//!   timestamp: `catalog/life.rs`.) What was made since does not matter: `T` cannot have
//!   used it. Transactions that have changed the catalog, or write its records, decide by
//!   more than they note: their snapshots stay.
//! - *The snapshot itself*: whoever asks for it ([`Transaction::snapshot`]), to follow the
//!   change stream from there, settles it.
//! - *Operations under way beside* the one that moves it (under a `join`) are in the middle
//!   of reading at `s`: then it stays.
//! - *The wall clock*, by which records expire, is asked once and kept. That it is earlier
//!   than the snapshot is nothing new: clocks of two transactions are in no order.
//!
//! # Certification
//! sees a transaction that began at `m`. Until it commits a serializable transaction leaves
//! no trace of its reads, so nobody has relied on `s`; what it read is looked at again when
//! it commits, whichever certifier there is. Everything that committed up to `m` counts as
//! its predecessor: stricter than at `s`, and true. A declared read-only transaction has
//! announced its snapshot, but it neither writes nor locks, hence never moves.
//!
//! # The horizon
//! Floors only say that no open snapshot is *older*. What `T` has pointers to (versions that
//! it read, slots of tables that may be dropped) was kept by `s`, though: so it takes its
//! name first, whose *anchor* keeps what is visible at `s` in place until `T` ends, and by
//! which its commit looks for dropped tables.

use std::ops::ControlFlow;

use super::{Transaction, certify::Overwriter};
use crate::{catalog::view::CatalogView, table::Table, timestamp::Timestamp};

impl Transaction {
    /// Moves the snapshot to the present if nobody can tell the difference, for a write to
    /// `table`: whether it did. Never under read committed, which needs no such thing.
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
        // With its name comes the anchor.
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

    /// Whether everything that was read is the same at `present`, a value of the clock that
    /// was loaded before the call.
    fn has_read_what_is_at(&self, present: Timestamp) -> bool {
        let flow = self.each_overwriter(present, |overwriter| match overwriter {
            Overwriter::Committed { at, .. } if at <= present => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        flow.is_continue() && self.check_phantoms().is_ok()
    }
}
