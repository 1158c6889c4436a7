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
    /// Changes the reaction of a write that meets another open transaction's.
    ///
    /// # Errors
    /// Fails as the type describes.
    pub async fn set_on_conflict(&self, on_conflict: OnConflict) -> Result<()> {
        self.call(async move |txn: &Transaction| {
            txn.set_on_conflict(on_conflict);
            Ok(())
        })
        .await
    }

    /// Changes the longest time that an operation waits for another transaction.
    ///
    /// # Errors
    /// Fails as the type describes.
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
    /// Fails as [`Transaction::lock`] does, and as the type describes.
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
    /// Fails as [`Transaction::get_for_update`] does, and as the type describes.
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
    /// Fails as [`Transaction::savepoint`] does, and as the type describes.
    pub async fn savepoint(&self) -> Result<Savepoint> {
        self.call(async |txn: &Transaction| txn.savepoint()).await
    }

    /// Returns to a savepoint.
    ///
    /// # Errors
    /// Fails as [`Transaction::rollback_to`] does, and as the type describes.
    pub async fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        let savepoint = *savepoint;
        self.call(async move |txn: &Transaction| txn.rollback_to(&savepoint))
            .await
    }

    /// Forgets a savepoint.
    ///
    /// # Errors
    /// Fails as [`Transaction::release_savepoint`] does, and as the type describes.
    pub async fn release_savepoint(&self, savepoint: &Savepoint) -> Result<()> {
        let savepoint = *savepoint;
        self.call(async move |txn: &Transaction| txn.release_savepoint(&savepoint))
            .await
    }
}
