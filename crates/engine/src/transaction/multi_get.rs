//! Many point reads at once.
//!
//! The reads are a *group* (`interleave::together`): they overlap each other's cache misses within
//! one turn of the transaction, at less than the cost of resuming the transaction for each. Between
//! groups, other tasks of the worker have their turn. If no read misses the cache, and under
//! policies that do not suspend, the reads run one after the other: the worker chooses, or, for a
//! caller that looks up many keys at once, a [`GroupChoice`].

use std::{cell::RefCell, time::Instant};

use interleave::{
    GroupChoice, Grouped, Nested, Policy, Prefetching, run_inline, together, yield_now,
};

use super::{Statement, Transaction, read::Name};
use crate::{
    cold::Fetched,
    error::Error,
    indirection::{Head, Slot},
    table::Table,
    ttl::Worth,
};

/// Keys of a group: about a dozen microseconds.
const GROUP_KEYS: usize = 64;

/// Number of keys whose records are not in memory from which on they are read: all at once, by as many transfers as the
/// gate lets in.
const LATER_KEYS: usize = 512;

/// Bytes of these records from which on they are read.
const LATER_BYTES: u64 = 4 << 20;

impl Transaction {
    /// Reads the records under `keys`, in no particular order: `read` is given the position of each
    /// record that is found, and its value while the value stays in place. Returns the number of
    /// records found.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does; values may have been shown before.
    ///
    /// # Suspension
    /// Memory waits, never while `read` runs.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub async fn multi_get<P: Policy, K: AsRef<[u8]>>(
        &self,
        table: &Table,
        keys: impl ExactSizeIterator<Item = K>,
        read: impl FnMut(usize, &[u8]),
    ) -> Result<usize, Error> {
        self.multi_get_in_groups::<P, K>(table, keys, None, read)
            .await
    }

    /// Reads the records under `keys` like [`Transaction::multi_get`], for a caller that looks up
    /// so many keys, perhaps in several calls, that `choice` can find out whether groups are worth
    /// their switches, independently of the other work of the worker.
    ///
    /// # Errors
    /// Fails as [`Transaction::multi_get`] does.
    pub async fn multi_get_by_choice<P: Policy, K: AsRef<[u8]>>(
        &self,
        table: &Table,
        keys: impl ExactSizeIterator<Item = K>,
        choice: &mut GroupChoice,
        read: impl FnMut(usize, &[u8]),
    ) -> Result<usize, Error> {
        self.multi_get_in_groups::<P, K>(table, keys, Some(choice), read)
            .await
    }

    async fn multi_get_in_groups<P: Policy, K: AsRef<[u8]>>(
        &self,
        table: &Table,
        keys: impl ExactSizeIterator<Item = K>,
        mut choice: Option<&mut GroupChoice>,
        mut read: impl FnMut(usize, &[u8]),
    ) -> Result<usize, Error> {
        let statement = self.statement(table)?;
        let reads = &self.context.reads;
        reads.set(reads.get() + keys.len() as u64);
        let (mut found, mut keys, mut later) = (0, keys.enumerate(), Vec::new());
        while keys.len() > 0 {
            let left = keys.len();
            let group = keys.by_ref().take(GROUP_KEYS);
            let suspends = P::MAY_SUSPEND && P::suspends();
            let is_grouped = match &choice {
                Some(choice) => choice.interleaves(),
                None => suspends,
            };
            let began = choice.as_ref().map(|_| Instant::now());
            found += if !P::MAY_SUSPEND {
                statement.read_group::<P, K>(table, group, &mut read, &mut later)?
            } else if is_grouped {
                statement.read_group::<Grouped, K>(table, group, &mut read, &mut later)?
            } else {
                statement.read_group::<Prefetching, K>(table, group, &mut read, &mut later)?
            };
            if let (Some(choice), Some(began)) = (&mut choice, began) {
                choice.note(began.elapsed(), left - keys.len());
            }
            let is_end = keys.len() == 0;
            let is_full = later.len() >= LATER_KEYS || bytes_about(&later) >= LATER_BYTES;
            if is_full || is_end && !later.is_empty() {
                let later = std::mem::take(&mut later);
                found += Nested::new(statement.read_later(table, later, &mut read)).await?;
            } else if suspends {
                yield_now().await;
            }
        }
        // A sibling under the same `join` may have aborted the transaction.
        self.check_open()?;
        Ok(found)
    }
}

impl Statement<'_> {
    /// Reads the keys of a group; no other task has a turn meanwhile.
    fn read_group<'t, P: Policy, K: AsRef<[u8]>>(
        &self,
        table: &'t Table,
        keys: impl Iterator<Item = (usize, K)>,
        read: impl FnMut(usize, &[u8]),
        later: &mut Vec<Later<'t, K>>,
    ) -> Result<usize, Error> {
        // All bodies share them. No body suspends while it borrows them, so one borrow is open at a
        // time.
        let (read, later) = (&RefCell::new(read), &RefCell::new(later));
        let bodies = keys.map(|(at, key)| async move {
            let bytes = key.as_ref();
            if bytes.len() > crate::KEY_BYTES_MAX {
                return Err(Error::KeyTooLong { bytes: bytes.len() });
            }
            let mut is_found = false;
            let show = |worth: Worth<'_>| {
                is_found = true;
                (read.borrow_mut())(at, worth.value);
            };
            let body = self.get_body::<P>(table, Name::Key(bytes), show);
            if let Some(slot) = body.await {
                later.borrow_mut().push(Later { at, key, slot });
            }
            Ok(is_found)
        });
        let mut found = Ok(0);
        run_inline(together::<P, _>(bodies, |ended| {
            match (&mut found, ended) {
                (Ok(found), Ok(is_found)) => *found += usize::from(is_found),
                (Ok(_), Err(error)) => found = Err(error),
                (Err(_), _) => {}
            }
        }));
        found
    }

    /// Reads, together, the records that were not in memory.
    async fn read_later<'t, K: AsRef<[u8]>>(
        &self,
        table: &'t Table,
        later: Vec<Later<'t, K>>,
        mut read: impl FnMut(usize, &[u8]),
    ) -> Result<usize, Error> {
        let transaction = self.transaction;
        let wanted = later.iter().filter_map(|one| match one.slot.head() {
            Head::Cold(address) => Some(address),
            _ => None,
        });
        let wanted: Vec<_> = wanted.collect();
        let thawed = transaction
            .session
            .fetch_all(&wanted, transaction.priority());
        let thawed = transaction.fetched(thawed.await)?;
        transaction.check_open()?;
        let mut found = 0;
        for Later { at, key, slot } in later {
            let mut show = |worth: Worth<'_>| {
                found += 1;
                read(at, worth.value);
            };
            let is_shown = match slot.head() {
                Head::Cold(address) => Fetched::find(&thawed, address).is_some_and(|thawed| {
                    transaction.session.promote_if_worth_it(slot, thawed);
                    self.show_fetched(table, slot, thawed, &mut show)
                }),
                _ => false,
            };
            if !is_shown {
                let name = Name::Key(key.as_ref());
                self.get_elsewhere(table, name, slot, &mut show).await?;
            }
        }
        Ok(found)
    }
}

/// Returns the approximate bytes of the records that are cold.
fn bytes_about<K>(later: &[Later<'_, K>]) -> u64 {
    let bytes = later.iter().map(|one| match one.slot.head() {
        Head::Cold(address) => address.bytes_about(),
        _ => 0,
    });
    bytes.sum()
}

/// Key whose record is not in memory, or was just being promoted or demoted.
struct Later<'t, K> {
    at: usize,
    key: K,
    slot: &'t Slot,
}
