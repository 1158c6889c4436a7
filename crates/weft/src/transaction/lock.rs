//! Conflicts: waiting for other transactions, and keeping them out.

use std::time::Duration;

use engine::{IfLocked, OnConflict, Strength};
use interleave::Policy;

use super::Transaction;
use crate::{
    error::Result,
    key::{AsKey, Key},
    table::Table,
    value::Value,
};

impl<P: Policy> Transaction<P> {
    /// Returns the reaction of a write that meets another open transaction's.
    pub fn on_conflict(&self) -> OnConflict {
        self.inner.on_conflict()
    }

    /// Changes the reaction of a write that meets another open transaction's; the initial one is
    /// [`crate::Options::on_conflict`].
    pub fn set_on_conflict(&self, on_conflict: OnConflict) {
        self.inner.set_on_conflict(on_conflict);
    }

    /// Returns the longest time that an operation waits for another transaction.
    pub fn lock_timeout(&self) -> Option<Duration> {
        self.inner.lock_timeout()
    }

    /// Changes the longest time that an operation waits for another transaction; the initial one is
    /// [`crate::Options::lock_timeout`].
    pub fn set_lock_timeout(&self, lock_timeout: Option<Duration>) {
        self.inner.set_lock_timeout(lock_timeout);
    }

    /// Locks the record under `key`, if there is one, until the transaction ends (or returns to a
    /// savepoint that was made before), and reads it. Returns `None` if there is none, or if it was
    /// skipped.
    ///
    /// At [`crate::Isolation::ReadCommitted`] the newest committed value is read, as it is once the
    /// lock is held. At other levels it is too, if nothing that the transaction has read has
    /// changed since: it is best to lock a record that many write before reading it. Otherwise the
    /// record must not have been changed since the transaction began.
    ///
    /// ```
    /// # use weft::*;
    /// # let db = Database::open(Options { workers: 1, ..Options::default() })?;
    /// # let jobs: Table<u64, String> = db.create_table("jobs")?;
    /// let first = db.begin_blocking()?;
    /// first.insert(&jobs, &1, "sweep")?;
    /// first.commit()?;
    /// let (mine, yours) = (db.begin_blocking()?, db.begin_blocking()?);
    /// let job = mine.lock(&jobs, &1, Strength::Update, IfLocked::Fail)?;
    /// assert_eq!(job.as_deref(), Some("sweep"));
    /// let refused = yours.lock(&jobs, &1, Strength::Share, IfLocked::Fail);
    /// assert!(matches!(refused, Err(Error::Locked)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Locked`] with [`IfLocked::Fail`], [`crate::Error::LockTimeout`], after which
    /// the transaction can go on; [`crate::Error::Abort`]; also fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Waits for memory; with [`IfLocked::Wait`] also for the transaction that holds the record.
    ///
    /// # Cancellation
    /// Dropping the future leaves the record locked or not.
    pub async fn lock<K: Key, V: Value, Q: AsKey<K> + ?Sized>(
        &self,
        table: &Table<K, V>,
        key: &Q,
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Option<V>> {
        let engine_table = self.checked(table)?;
        let key = key.encode_key();
        let lock =
            self.inner
                .lock::<P, _>(&engine_table, key.as_ref(), strength, if_locked, V::decode);
        // The future is boxed: few transactions lock, and all would carry its frame along.
        Ok(Box::pin(lock).await?.transpose()?)
    }

    /// Locks the record under `key`, if there is one, exclusively, waiting for the transaction that
    /// holds it, and reads it: a value to compute the next one from.
    ///
    /// # Errors
    /// Fails as [`Transaction::lock`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::lock`] does.
    ///
    /// # Cancellation
    /// Dropping the future has the effect described for [`Transaction::lock`].
    pub async fn get_for_update<K: Key, V: Value, Q: AsKey<K> + ?Sized>(
        &self,
        table: &Table<K, V>,
        key: &Q,
    ) -> Result<Option<V>> {
        self.lock(table, key, Strength::Update, IfLocked::Wait)
            .await
    }
}
