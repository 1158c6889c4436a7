//! Savepoints.

use engine::Savepoint;
use interleave::Policy;

use super::Transaction;
use crate::error::Result;

impl<P: Policy> Transaction<P> {
    /// Makes a savepoint, to which the transaction can return. Savepoints nest.
    ///
    /// # Errors
    /// [`crate::Error::OperationUnderWay`] under a `join`; [`crate::Error::Abort`] and
    /// [`crate::Error::Ended`] if the transaction is over.
    pub fn savepoint(&self) -> Result<Savepoint> {
        Ok(self.inner.savepoint()?)
    }

    /// Undoes the writes since the savepoint was made and gives up the locks that were taken since.
    /// The savepoint stays; those made after it are gone.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchSavepoint`]; also fails as [`Transaction::savepoint`] does.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        Ok(self.inner.rollback_to(savepoint)?)
    }

    /// Forgets the savepoint and those made after it, and keeps the writes: saves memory in long
    /// transactions.
    ///
    /// # Errors
    /// Fails as [`Transaction::rollback_to`] does.
    pub fn release_savepoint(&self, savepoint: &Savepoint) -> Result<()> {
        Ok(self.inner.release_savepoint(savepoint)?)
    }
}
