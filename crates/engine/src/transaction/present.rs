//! The present, for a transaction that has a snapshot: what was committed by now, and what the
//! transaction itself has written.
//!
//! Whether a rule that concerns several records holds (no row refers to what this transaction has
//! deleted) is a question about what will be there when the transaction commits. Its snapshot
//! cannot answer it: a referring row may have been committed since. So a *reader* is opened beside
//! it, read committed and read-only, to which the transaction's own versions count as its own.
//!
//! # What the answers are good for
//! Nothing is noted: the reader's answers do not settle the snapshot, and are not certified. They
//! are for checks that locks keep true until the commit. What a serializable transaction decides
//! by them beyond such a check it has to read at its snapshot as well.
//!
//! # Why it may look through the other's eyes
//! - The reader lives within a borrow of the transaction, so the versions that it takes for its own
//!   are neither stamped nor taken back for good while it reads; what a sibling operation under a
//!   `join` replaces is retired as for any other reader.
//! - The reader has a snapshot of its own while it reads, so what it sees stays in place
//!   (`horizon.rs`); what it sees as its own is kept by the transaction.
//! - It has no name: it writes nothing, locks nothing, and its end ends nothing.

use std::{marker::PhantomData, ops::Deref, rc::Rc};

use super::{Isolation, Transaction, TransactionOptions};
use crate::{catalog::Effect, error::Error, timestamp::TransactionId};

/// A reader of the present: see [`Transaction::read_present`].
#[derive(Debug)]
pub struct Present<'t> {
    reader: Transaction,
    of: PhantomData<&'t Transaction>,
}

impl Transaction {
    /// Opens a reader that sees, at each operation, what was committed when it began and what this
    /// transaction has written, whatever this transaction's snapshot is. It refuses writes and
    /// locks ([`Error::ReadOnly`]).
    ///
    /// # Errors
    /// As for [`Session::begin`](crate::Session::begin); this transaction's, if it is over.
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

    /// Whether a version is of the transaction that this one reads beside.
    #[cold]
    pub(super) fn is_beside(&self, maker: TransactionId) -> bool {
        let beside = self.context.beside.borrow();
        beside
            .as_ref()
            .is_some_and(|other| other.id.get() == Some(maker))
    }

    /// What the transaction has done to the catalog, or the one that it reads beside.
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
