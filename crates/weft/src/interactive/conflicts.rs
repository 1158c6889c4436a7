//! Locks, waits and savepoints of interactive transactions.

use std::time::Duration;

use engine::{IfLocked, Savepoint, Strength};

use super::{InteractiveTransaction, encoded::EncodedKey};
use crate::{
    error::Result,
    key::{AsKey, Key},
    options::OnConflict,
    table::Table,
    transaction::Transaction,
    value::Value,
};

impl InteractiveTransaction {
    /// Changes what a write does that meets another open transaction's.
    ///
    /// # Errors
    /// As for the type.
    pub async fn set_on_conflict(&self, on_conflict: OnConflict) -> Result<()> {
        self.call(async move |txn: &Transaction| {
            txn.set_on_conflict(on_conflict);
            Ok(())
        })
        .await
    }

    /// Changes how long an operation waits for another transaction at most.
    ///
    /// # Errors
    /// As for the type.
    pub async fn set_lock_timeout(&self, lock_timeout: Option<Duration>) -> Result<()> {
        self.call(async move |txn: &Transaction| {
            txn.set_lock_timeout(lock_timeout);
            Ok(())
        })
        .await
    }

    /// Locks the record under `key`, if there is one, and reads it.
    ///
    /// # Errors
    /// As for [`Transaction::lock`], and for the type.
    pub async fn lock<K, V, Q>(
        &self,
        table: &Table<K, V>,
        key: &Q,
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.lock(&table, &key, strength, if_locked).await)
            .await
    }

    /// Locks the record under `key`, if there is one, exclusively, and reads it.
    ///
    /// # Errors
    /// As for [`Transaction::get_for_update`], and for the type.
    pub async fn get_for_update<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        self.lock(table, key, Strength::Update, IfLocked::Wait)
            .await
    }

    /// Makes a savepoint.
    ///
    /// # Errors
    /// As for [`Transaction::savepoint`], and for the type.
    pub async fn savepoint(&self) -> Result<Savepoint> {
        self.call(async |txn: &Transaction| txn.savepoint()).await
    }

    /// Returns to a savepoint.
    ///
    /// # Errors
    /// As for [`Transaction::rollback_to`], and for the type.
    pub async fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        let savepoint = *savepoint;
        self.call(async move |txn: &Transaction| txn.rollback_to(&savepoint))
            .await
    }

    /// Forgets a savepoint.
    ///
    /// # Errors
    /// As for [`Transaction::release_savepoint`], and for the type.
    pub async fn release_savepoint(&self, savepoint: &Savepoint) -> Result<()> {
        let savepoint = *savepoint;
        self.call(async move |txn: &Transaction| txn.release_savepoint(&savepoint))
            .await
    }
}
