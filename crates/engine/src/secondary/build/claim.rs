//! Claiming the entries of many records, for the builder of an index.

use interleave::{Policy, Prefetching, together};

use super::BuildError;
use crate::{
    secondary::{
        Index,
        entry::{self, Gathered},
    },
    transaction::{Claimed, Transaction},
};

/// Claims `entries` in the name of `transaction`.
///
/// # Errors
/// [`BuildError::Duplicate`]; [`BuildError::Engine`]. Entries that were claimed stay.
pub(in crate::secondary) async fn claim_all<P: Policy>(
    transaction: &Transaction,
    Index { base, core }: &Index,
    entries: &Gathered,
) -> Result<(), BuildError> {
    let mut others = Vec::new();
    let mut failed = Ok(());
    let claims = entries.iter().map(async |entry| {
        let (rid, entry_key, payload) = entry;
        let claimed = transaction.claim_entry::<P>(core, rid, entry_key, payload);
        (entry, claimed.await)
    });
    together::<P, _>(claims, |(entry, claimed)| match claimed {
        Ok(Claimed::Done) => {}
        Ok(_) => others.push(entry),
        Err(error) => failed = failed.and(Err(error)),
    })
    .await;
    failed?;
    for (rid, entry_key, payload) in others {
        loop {
            let claimed = transaction.claim_entry::<Prefetching>(core, rid, entry_key, payload);
            match claimed.await? {
                Claimed::Done => break,
                Claimed::Lapsed(key) => {
                    transaction.expire::<Prefetching>(base, &key).await?;
                }
                Claimed::Duplicate => {
                    let mut undelimited = Vec::new();
                    let key = entry::decode_key(core.options, entry_key, &mut undelimited);
                    return Err(BuildError::Duplicate { key: key.into() });
                }
            }
        }
    }
    Ok(())
}
