//! Access to records that several applications have in common.

use weft::{AsKey, BorrowValue, Isolation, Key, Policy, Result, Table, Transaction, Value};

use super::{Reads, missing};

/// Returns the result of `read` on the record under `key`. A missing record is an error that calls
/// it `what`.
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

/// Changes the record under `key` by `change`, and returns the result of that. A missing record is
/// an error that calls it `what`.
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

/// Replaces the record under `key` by `row`. A missing record is an error that calls it `what`.
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
/// Under read committed the record is locked first: at other levels a transaction that writes a
/// record changed since its read is aborted, under read committed that change would be lost.
///
/// # Errors
/// Returns the errors of [`Transaction::get`] and [`Transaction::get_for_update`].
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

/// Reads the records under two keys. A missing record is an error that calls it `what`.
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

/// Reads the records under two keys as [`get_both`] does, records that the transaction is about to
/// write.
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
