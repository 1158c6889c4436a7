//! The present, for a transaction that has a snapshot: what was committed by now, and what the
//! transaction itself has written.
//!
//! The validity of a rule that concerns several records (no row refers to what this transaction has
//! deleted) depends on what will be there when the transaction commits. Its snapshot cannot tell: a
//! referring row may have been committed since. Therefore a *reader* is opened beside the
//! transaction, read committed and read-only, to which the transaction's own versions count as its
//! own.
//!
//! # Use of the answers
//! Nothing is noted: the reader's answers do not settle the snapshot, and are not certified. The
//! answers are for checks that locks keep true until the commit. A serializable transaction that
//! decides more by them than such a check has to read at its snapshot as well.
//!
//! # Why the reader may see the transaction's versions
//! - The reader lives within a borrow of the transaction, so the versions that it takes for its own
//!   are neither stamped nor taken back for good while it reads; a version that a sibling operation
//!   under a `join` replaces is retired as for any other reader.
//! - The reader has a snapshot of its own while it reads, so the versions that it sees stay in
//!   place (`horizon.rs`); the transaction keeps those that the reader sees as its own.
//! - The reader has no name: it writes nothing, locks nothing, and its end ends nothing.

use std::{marker::PhantomData, ops::Deref, rc::Rc};

use super::{Isolation, Transaction, TransactionOptions};
use crate::{catalog::Effect, error::Error, timestamp::TransactionId};

/// Reader of the present: see [`Transaction::read_present`].
#[derive(Debug)]
pub struct Present<'t> {
    reader: Transaction,
    of: PhantomData<&'t Transaction>,
}

impl Transaction {
    /// Opens a reader that sees, at each operation, what was committed when the operation began and
    /// what this transaction has written, regardless of this transaction's snapshot. The reader
    /// refuses writes and locks ([`Error::ReadOnly`]).
    ///
    /// # Errors
    /// Any error of [`Session::begin`](crate::Session::begin); this transaction's error, if it is
    /// over.
    pub fn read_present(&self) -> Result<Present<'_>, Error> {
        self.check_open()?;
        let reader = self.session.open(TransactionOptions {
            isolation: Isolation::ReadCommitted,
            read_only: true,
        })?;
        reader.set_priority(self.priority());
        reader
            .context
            .beside
            .replace(Some(Rc::clone(&self.context)));
        Ok(Present {
            reader,
            of: PhantomData,
        })
    }

    /// Whether `maker` is the transaction that this one reads beside.
    #[cold]
    pub(super) fn is_beside(&self, maker: TransactionId) -> bool {
        let beside = self.context.beside.borrow();
        beside
            .as_ref()
            .is_some_and(|other| other.id.get() == Some(maker))
    }

    /// Shows `look` the effects on the catalog of the transaction, or of the one that it reads
    /// beside.
    pub(crate) fn with_effects<R>(&self, look: impl FnOnce(&[Effect]) -> R) -> R {
        match &*self.context.beside.borrow() {
            Some(other) => look(&other.effects.borrow()),
            None => look(&self.context.effects.borrow()),
        }
    }
}

impl Deref for Present<'_> {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        &self.reader
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.reader.context.beside.take();
    }
}
