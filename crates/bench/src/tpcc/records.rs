//! Single records that must be there.

use weft::{
    AsKey, BorrowValue, IfLocked, Isolation, Key, Policy, Result, Strength, Table, Transaction,
};
use zerocopy::FromZeros;

use crate::application::missing;

/// What `read` makes of the record under `key`. `what` it is, is said if it is missing.
pub(super) async fn read<P, K, V, R>(
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

/// Has `change` change the record under `key`, and writes it back.
pub(super) async fn change<P, K, V, R>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &K,
    what: &'static str,
    change: impl FnOnce(&mut V) -> R,
) -> Result<R>
where
    P: Policy,
    K: Key,
    V: BorrowValue<Borrowed = V> + FromZeros + Copy,
{
    // Written over in place: large rows would be moved some times on their way out.
    let mut row = V::new_zeroed();
    read_to_change(txn, table, key, what, &mut row).await?;
    let changed = change(&mut row);
    write(txn, table, key, what, &row).await?;
    Ok(changed)
}

/// Reads a record that is to be changed. Apart from [`change`], so that there is one for
/// each table and not for each change.
///
/// Under read committed, where nobody would notice that another transaction has changed
/// the record meanwhile, it is locked first.
async fn read_to_change<P, K, V>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &K,
    what: &'static str,
    row: &mut V,
) -> Result<()>
where
    P: Policy,
    K: Key,
    V: BorrowValue<Borrowed = V> + Copy,
{
    if txn.isolation() == Isolation::ReadCommitted {
        // Boxed: the other levels should not have it in their frames.
        Box::pin(txn.lock(table, key, Strength::Exclusive, IfLocked::Wait)).await?;
    }
    read(txn, table, key, what, |found: &V| *row = *found).await
}

/// Replaces the record under `key`.
pub(super) async fn write<P, K, V, Q>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    key: &Q,
    what: &'static str,
    row: &V,
) -> Result<()>
where
    P: Policy,
    K: Key,
    V: BorrowValue,
    Q: AsKey<K>,
{
    match txn.update(table, key, row).await? {
        true => Ok(()),
        false => Err(missing(what)),
    }
}
