//! Many point reads at once.
//!
//! The reads of one transaction are polled in turn, under the task's own context,
//! so that each can wait for memory while the others go on. A fixed number of
//! places for futures is used again and again.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};

use interleave::Policy;

use super::Transaction;
use crate::{
    error::{DecodeError, Result},
    key::{AsKey, Key},
    table::Table,
    value::{BorrowValue, Value},
};

/// How many reads of one [`Transaction::multi_get`] are under way at once: about
/// as many cache misses as a core can have outstanding.
pub const MULTI_GET_WIDTH: usize = 16;

impl<P: Policy> Transaction<P> {
    /// The values under `keys`, in their order. The reads overlap each other's
    /// cache misses, where [`Transaction::get`] overlaps only with other
    /// transactions. Allocates its answer and up to 16 futures.
    ///
    /// # Errors
    /// As for [`Transaction::get`], for the first key that fails.
    ///
    /// # Suspension
    /// As for [`Transaction::get`].
    pub async fn multi_get<K: Key, V: Value, Q: AsKey<K>>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
    ) -> Result<Vec<Option<V>>> {
        let mut values: Vec<Option<V>> = Vec::new();
        values.resize_with(keys.len(), || None);
        let decode = |at: usize, bytes: &[u8]| {
            values[at] = Some(V::decode(bytes)?);
            Ok(())
        };
        self.multi_get_bytes(table, keys, decode).await?;
        Ok(values)
    }

    /// Shows `read` the values under `keys` in place, without copying, each with the
    /// position of its key; in no particular order, and a key that stands there twice
    /// twice. Returns how many it has shown: fewer than there are keys, if some have no
    /// record. Overlaps like [`Transaction::multi_get`]; allocates up to 16 futures.
    ///
    /// ```
    /// # let db = weft::Database::open(weft::Options { workers: 1, ..Default::default() })?;
    /// # let names: weft::Table<u64, String> = db.create_table("names")?;
    /// # db.run_blocking(async move |txn: &weft::Transaction| {
    /// # txn.insert(&names, &7, "warp").await?;
    /// # txn.insert(&names, &9, "weft").await?;
    /// let mut lengths = [0; 3];
    /// let found = txn
    ///     .multi_get_with(&names, &[9, 8, 7], |at, name| lengths[at] = name.len())
    ///     .await?;
    /// assert_eq!((found, lengths), (2, [4, 0, 4]));
    /// # Ok(()) })?;
    /// # Ok::<(), weft::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::multi_get`]; values may have been shown before.
    ///
    /// # Suspension
    /// As for [`Transaction::get`]; never while `read` runs.
    pub async fn multi_get_with<K: Key, V: BorrowValue, Q: AsKey<K>>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
        mut read: impl FnMut(usize, &V::Borrowed),
    ) -> Result<usize> {
        let show = |at: usize, bytes: &[u8]| {
            read(at, V::borrow(bytes)?);
            Ok(())
        };
        self.multi_get_bytes(table, keys, show).await
    }

    /// Calls `visit` for each value that is found, as it is stored, with the position of
    /// its key. Returns the number found.
    async fn multi_get_bytes<K: Key, V: Value, Q: AsKey<K>>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
        visit: impl FnMut(usize, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<usize> {
        let engine_table = self.checked(table)?;
        // All reads have it. None suspends while it runs, so it is borrowed once at a time.
        let visit = &RefCell::new(visit);
        let engine_table = &engine_table;
        let mut found = 0;
        let mut waiting = keys.iter().enumerate();
        let mut places: Vec<_> = (0..keys.len().min(MULTI_GET_WIDTH))
            .map(|_| Box::pin(None))
            .collect();
        poll_fn(|context| {
            let mut open = false;
            for place in &mut places {
                let next = || {
                    let (at, key) = waiting.next()?;
                    Some(async move {
                        let key = key.encode_key();
                        let read = |bytes: &[u8]| visit.borrow_mut()(at, bytes);
                        let value = self.inner.get::<P, _>(engine_table, key.as_ref(), read);
                        Ok(value.await?.transpose()?.is_some())
                    })
                };
                let (pending, result) = advance(place.as_mut(), next, context, &mut found);
                if result.is_err() {
                    return Poll::Ready(result);
                }
                open |= pending;
            }
            if open {
                Poll::Pending
            } else {
                Poll::Ready(Ok(()))
            }
        })
        .await?;
        Ok(found)
    }
}

/// Polls the read in `place`, and puts the next one there as long as they end at
/// once. Whether one is left pending, and the first error; counts those that found a
/// record.
fn advance<F>(
    mut place: Pin<&mut Option<F>>,
    mut next: impl FnMut() -> Option<F>,
    context: &mut Context<'_>,
    found: &mut usize,
) -> (bool, Result<()>)
where
    F: Future<Output = Result<bool>>,
{
    loop {
        if place.is_none() {
            match next() {
                Some(read) => place.set(Some(read)),
                None => return (false, Ok(())),
            }
        }
        let Some(read) = place.as_mut().as_pin_mut() else {
            return (false, Ok(()));
        };
        match read.poll(context) {
            Poll::Pending => return (true, Ok(())),
            Poll::Ready(Err(error)) => return (false, Err(error)),
            Poll::Ready(Ok(is_found)) => *found += usize::from(is_found),
        }
        place.set(None);
    }
}
