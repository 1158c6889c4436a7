//! Reads that several applications have in common.

use weft::{Isolation, Key, Policy, Table, Transaction, Value};

use super::Reads;

/// Reads a record that the transaction is about to write.
///
/// At read committed it is locked first: at other levels whoever writes what has changed
/// since it was read is aborted, there the change would be lost.
///
/// # Errors
/// As for [`Transaction::get`] and [`Transaction::get_for_update`].
pub(crate) async fn get_to_write<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &K,
) -> weft::Result<Option<V>> {
    match txn.isolation() {
        Isolation::ReadCommitted => txn.get_for_update(table, key).await,
        _ => txn.get(table, key).await,
    }
}

/// The records under two keys.
///
/// # Errors
/// As for [`Transaction::get`].
pub(crate) async fn get_both<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    keys: &[K; 2],
    reads: Reads,
) -> weft::Result<[Option<V>; 2]> {
    Ok(match reads {
        Reads::Single => [
            txn.get(table, &keys[0]).await?,
            txn.get(table, &keys[1]).await?,
        ],
        Reads::Grouped => {
            let mut found = txn.multi_get(table, keys).await?.into_iter();
            [found.next().flatten(), found.next().flatten()]
        }
    })
}

/// As [`get_both`], of records that the transaction is about to write.
///
/// # Errors
/// As for [`get_to_write`].
pub(crate) async fn get_both_to_write<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    keys: &[K; 2],
    reads: Reads,
) -> weft::Result<[Option<V>; 2]> {
    match txn.isolation() {
        Isolation::ReadCommitted => Ok([
            txn.get_for_update(table, &keys[0]).await?,
            txn.get_for_update(table, &keys[1]).await?,
        ]),
        _ => get_both(txn, table, keys, reads).await,
    }
}
