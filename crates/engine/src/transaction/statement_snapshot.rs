//! One snapshot for several operations under read committed: the view of a statement of SQL.
//!
//! By itself each operation of such a transaction sees the commits before it began. While a
//! [`StatementSnapshot`] is open, all operations see the commits before the snapshot was taken, and
//! the transaction's own writes. Writes still take the newest version of their record.
//!
//! The view of a statement can be opened again later ([`StatementSnapshot::keep`]), for cursors
//! that go on after other statements. The transaction has a name from then on, whose anchor keeps
//! everything in place until the transaction ends: the anchor was taken at this snapshot or at an
//! earlier one.
//!
//! At the other isolation levels all operations share one snapshot anyway, and this costs nothing.

use super::{Isolation, Transaction};
use crate::{
    error::Error,
    timestamp::{Timestamp, TransactionId},
    ttl::WallTime,
};

/// Open snapshot of a statement: while it lives, all operations of its transaction see the same
/// commits.
#[must_use = "the snapshot goes with it"]
#[derive(Debug)]
pub struct StatementSnapshot<'t> {
    transaction: &'t Transaction,
    /// Whether the transaction is read committed, and the snapshot has to be given back.
    holds: bool,
}

/// View of a statement: see [`Transaction::statement_snapshot_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeing {
    transaction: TransactionId,
    at: Timestamp,
}

impl Transaction {
    /// Opens a snapshot of the present: under read committed, all operations see the commits before
    /// now until the result is dropped. Within another statement snapshot or an operation, the
    /// snapshot of that one stays in force.
    ///
    /// # Errors
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over.
    #[inline]
    pub fn statement_snapshot(&self) -> Result<StatementSnapshot<'_>, Error> {
        self.check_open()?;
        let holds = self.isolation() == Isolation::ReadCommitted;
        if holds && self.context.open_statement() {
            self.take_present();
        }
        Ok(StatementSnapshot {
            transaction: self,
            holds,
        })
    }

    /// Opens the snapshot `seeing` of an earlier statement of this transaction.
    ///
    /// # Errors
    /// [`Error::OperationUnderWay`] within another statement snapshot or an operation;
    /// [`Error::Ended`] if `seeing` is another transaction's; any error of
    /// [`Transaction::statement_snapshot`].
    pub fn statement_snapshot_at(&self, seeing: Seeing) -> Result<StatementSnapshot<'_>, Error> {
        self.check_between_operations()?;
        if self.context.id.get() != Some(seeing.transaction) {
            return Err(Error::Ended);
        }
        let snapshot = self.statement_snapshot()?;
        if snapshot.holds {
            self.context.set_snapshot(seeing.at);
        }
        Ok(snapshot)
    }

    /// Takes the snapshot of operations under read committed that begin now.
    #[inline(always)]
    pub(super) fn take_present(&self) {
        self.context.set_snapshot(self.session.take_snapshot());
        self.context.present.set(WallTime::UNKNOWN);
    }
}

impl StatementSnapshot<'_> {
    pub(super) fn transaction(&self) -> &Transaction {
        self.transaction
    }

    /// Returns the view of the statement, which can be opened again until the transaction ends.
    pub fn keep(&self) -> Seeing {
        Seeing {
            transaction: self.transaction.id(),
            at: self.transaction.context.snapshot(),
        }
    }
}

impl Drop for StatementSnapshot<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.holds && self.transaction.context.close_statement() {
            self.transaction.context.drop_snapshot();
        }
    }
}
