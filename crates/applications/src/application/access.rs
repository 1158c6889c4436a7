//! Access to records that several applications have in common.

use weft::{AsKey, BorrowValue, Isolation, Key, Policy, Result, Table, Transaction, Value};

use super::{Reads, missing};

/// What `read` makes of the record under `key`. `what` it is, is said if it is missing.
pub(crate) async fn read<P, K, V, R>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &K,
    what: &'static str,
    read: impl FnOnce(&V::Borrowed) -> R,
) -> Result<R>
where
    P: Policy,
    K: Key,
    V: BorrowValue,
{
    let found = txn.get_with(table, key, read).await?;
    found.ok_or_else(|| missing(what))
}

/// Has `change` change the record under `key`; what it returns.
pub(crate) async fn change<P, K, V, R>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &K,
    what: &'static str,
    change: impl FnMut(&mut V) -> R,
) -> Result<R>
where
    P: Policy,
    K: Key,
    V: Value,
{
    let changed = txn.modify(table, key, change).await?;
    changed.ok_or_else(|| missing(what))
}

/// Replaces the record under `key`.
pub(crate) async fn write<P, K, V, Q>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &Q,
    what: &'static str,
    row: &V,
) -> Result<()>
where
    P: Policy,
    K: Key,
    V: Value,
    Q: AsKey<K>,
{
    match txn.update(table, key, row).await? {
        true => Ok(()),
        false => Err(missing(what)),
    }
}

/// Reads a record that the transaction is about to write.
///
/// Under read committed it is locked first: at other levels whoever writes what has changed
/// since it was read is aborted, there the change would be lost.
///
/// # Errors
/// As for [`Transaction::get`] and [`Transaction::get_for_update`].
pub(crate) async fn get_to_write<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &K,
) -> Result<Option<V>> {
    match txn.isolation() {
        Isolation::ReadCommitted => txn.get_for_update(table, key).await,
        _ => txn.get(table, key).await,
    }
}

/// The records under two keys. `what` they are, is said if one is missing.
pub(crate) async fn get_both<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    keys: &[K; 2],
    what: &'static str,
    reads: Reads,
) -> Result<[V; 2]> {
    let both = match reads {
        Reads::Single => [
            txn.get(table, &keys[0]).await?,
            txn.get(table, &keys[1]).await?,
        ],
        Reads::Grouped => {
            let mut found = txn.multi_get(table, keys).await?.into_iter();
            [found.next().flatten(), found.next().flatten()]
        }
    };
    there(both, what)
}

/// As [`get_both`], of records that the transaction is about to write.
pub(crate) async fn get_both_to_write<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    keys: &[K; 2],
    what: &'static str,
    reads: Reads,
) -> Result<[V; 2]> {
    if txn.isolation() != Isolation::ReadCommitted {
        return get_both(txn, table, keys, what, reads).await;
    }
    let both = [
        txn.get_for_update(table, &keys[0]).await?,
        txn.get_for_update(table, &keys[1]).await?,
    ];
    there(both, what)
}

fn there<V>(both: [Option<V>; 2], what: &'static str) -> Result<[V; 2]> {
    match both {
        [Some(one), Some(other)] => Ok([one, other]),
        _ => Err(missing(what)),
    }
}
