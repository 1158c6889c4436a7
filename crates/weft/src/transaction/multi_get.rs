//! Many point reads at once.
//!
//! The reads of one transaction are polled in turn, under the task's own context,
//! so that each can wait for memory while the others go on. A fixed number of
//! places for futures is used again and again.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};

use interleave::Policy;

use super::Transaction;
use crate::{
    error::Result,
    key::{AsKey, Key},
    table::Table,
    value::Value,
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
        let mut waiting = keys.iter().enumerate();
        let mut places: Vec<_> = (0..keys.len().min(MULTI_GET_WIDTH))
            .map(|_| Box::pin(None))
            .collect();
        poll_fn(|context| {
            let mut open = false;
            for place in &mut places {
                let next = || {
                    let (at, key) = waiting.next()?;
                    Some(async move { (at, self.get(table, key).await) })
                };
                let (pending, result) = advance(place.as_mut(), next, context, &mut values);
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
        Ok(values)
    }
}

/// Polls the read in `place`, and puts the next one there as long as they end at
/// once. Whether one is left pending, and the first error.
fn advance<F, V>(
    mut place: Pin<&mut Option<F>>,
    mut next: impl FnMut() -> Option<F>,
    context: &mut Context<'_>,
    values: &mut [Option<V>],
) -> (bool, Result<()>)
where
    F: Future<Output = (usize, Result<Option<V>>)>,
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
            Poll::Ready((_, Err(error))) => return (false, Err(error)),
            Poll::Ready((at, Ok(value))) => values[at] = value,
        }
        place.set(None);
    }
}
