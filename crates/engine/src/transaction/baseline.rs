//! Multi-gets within one transaction, for comparison with interleaving across transactions. The
//! engine does not run them; they exist only with the feature `baselines`.
//!
//! Both multi-gets read only records in memory. Both take the transaction's keys at once, the
//! change of interface that coroutine-to-transaction spares the application (paper 000 section
//! 1.1).

mod amac;
mod bare;

use std::{
    future::Future,
    task::{Context, Poll, Waker},
};

use interleave::Grouped;

use super::{Transaction, read::Name};
use crate::{error::Error, table::Table, ttl::Worth};

impl Transaction {
    /// Reads `keys` as a group of coroutines, all in flight at once, without a scheduler. `read` is
    /// given the position and the value of each key that is found.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    pub fn multi_get_coroutines<K: AsRef<[u8]>>(
        &self,
        table: &Table,
        keys: &[K],
        mut read: impl FnMut(usize, &[u8]),
    ) -> Result<(), Error> {
        let statement = self.statement(table)?;
        let read = std::cell::RefCell::new(&mut read);
        let mut group: Box<[_]> = keys
            .iter()
            .enumerate()
            .map(|(index, key)| {
                let read = &read;
                let visit = move |worth: Worth<'_>| (read.borrow_mut())(index, worth.value);
                Some(statement.get_body::<Grouped>(table, Name::Key(key.as_ref()), visit))
            })
            .collect();
        let mut context = Context::from_waker(Waker::noop());
        let mut live = group.len();
        while live > 0 {
            for place in &mut group {
                let Some(body) = place else { continue };
                // SAFETY: the future lies in a boxed slice, which does not move,
                // and is dropped in place when `place` is assigned.
                let body = unsafe { std::pin::Pin::new_unchecked(body) };
                if let Poll::Ready(_found) = body.poll(&mut context) {
                    *place = None;
                    live -= 1;
                }
            }
        }
        let reads = &self.context.reads;
        reads.set(reads.get() + keys.len() as u64);
        Ok(())
    }
}
