//! Many point reads at once.
//!
//! They are a *group* (`interleave::together`): they overlap each other's cache misses within
//! one turn of the transaction, at less than what it costs to resume it for each. Between
//! groups the others of the worker have their turn. Where nothing misses, and under policies
//! that do not suspend, they run one after the other.

use std::cell::RefCell;

use interleave::{Grouped, Policy, Prefetching, run_inline, together, yield_now};

use super::{Statement, Transaction, read::Name};
use crate::{error::Error, table::Table, ttl::Worth};

/// Keys of one group: a dozen microseconds, or so.
const GROUP_KEYS: usize = 64;

impl Transaction {
    /// Reads the records under `keys`: `read` is given the position of each that is found,
    /// and its value while it stays in place; in no particular order. Returns how many
    /// were found.
    ///
    /// # Errors
    /// As for [`Transaction::get`]; values may have been shown before.
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
        mut read: impl FnMut(usize, &[u8]),
    ) -> Result<usize, Error> {
        let statement = self.statement(table)?;
        let reads = &self.context.reads;
        reads.set(reads.get() + keys.len() as u64);
        let (mut found, mut keys) = (0, keys.enumerate());
        while keys.len() > 0 {
            let group = keys.by_ref().take(GROUP_KEYS);
            if !P::MAY_SUSPEND {
                found += statement.read_group::<P, K>(table, group, &mut read)?;
            } else if P::suspends() {
                found += statement.read_group::<Grouped, K>(table, group, &mut read)?;
                yield_now().await;
            } else {
                found += statement.read_group::<Prefetching, K>(table, group, &mut read)?;
            }
        }
        // A sibling under the same `join` may have aborted the transaction.
        self.check_open()?;
        Ok(found)
    }
}

impl Statement<'_> {
    /// Reads those of a group, of whom nobody but they themselves is to have a turn.
    fn read_group<P: Policy, K: AsRef<[u8]>>(
        &self,
        table: &Table,
        keys: impl Iterator<Item = (usize, K)>,
        read: impl FnMut(usize, &[u8]),
    ) -> Result<usize, Error> {
        // All bodies have it. None suspends while it runs, so it is borrowed once at a time.
        let read = &RefCell::new(read);
        let bodies = keys.map(|(at, key)| async move {
            let key = key.as_ref();
            if key.len() > crate::KEY_BYTES_MAX {
                return Err(Error::KeyTooLong { bytes: key.len() });
            }
            let mut is_found = false;
            let show = |worth: Worth<'_>| {
                is_found = true;
                (read.borrow_mut())(at, worth.value);
            };
            self.get_body::<P>(table, Name::Key(key), show).await;
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
}
