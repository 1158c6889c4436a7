//! One snapshot for several operations under read committed: what a statement of SQL sees.
//!
//! By itself each operation of such a transaction sees what was committed when it began. While a
//! [`StatementSnapshot`] is open, all of them see what was committed when that was taken, and the
//! transaction's own writes. Writes go on to take the newest version of their record.
//!
//! What a statement saw can be seen again later ([`StatementSnapshot::keep`]), for cursors that go
//! on after others. The transaction has a name from then on, whose anchor keeps everything in
//! place until it ends: the anchor was taken at this snapshot or at an earlier one.
//!
//! At the other levels all of this is so anyway, and costs nothing.

use super::{Isolation, Transaction};
use crate::{
    error::Error,
    timestamp::{Timestamp, TransactionId},
    ttl::WallTime,
};

/// While it is there, all operations of its transaction see the same commits.
#[must_use = "the snapshot goes with it"]
#[derive(Debug)]
pub struct StatementSnapshot<'t> {
    transaction: &'t Transaction,
    /// It is read committed, and has to give the snapshot back.
    holds: bool,
}

/// What a statement saw: see [`Transaction::statement_snapshot_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeing {
    transaction: TransactionId,
    at: Timestamp,
}

impl Transaction {
    /// Under read committed, has all operations see what is committed now, until the answer is
    /// dropped. Within another one, or an operation, it is theirs that goes on.
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

    /// The same for what an earlier statement of this transaction saw.
    ///
    /// # Errors
    /// [`Error::OperationUnderWay`] within another one or an operation; [`Error::Ended`] if it was
    /// another transaction's; as for [`Transaction::statement_snapshot`].
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

    /// The snapshot of operations under read committed that begin now.
    #[inline(always)]
    pub(super) fn take_present(&self) {
        self.context.set_snapshot(self.session.take_snapshot());
        self.context.present.set(WallTime::UNKNOWN);
    }
}

impl StatementSnapshot<'_> {
    /// What it sees, to be seen again until the transaction ends.
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
