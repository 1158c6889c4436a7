//! Keys and records of new rows, which are put in beside each other.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    rc::Rc,
    task::Poll,
};

use interleave::{Interleaved, together};
use types::{Charge, Memory, Result, Value};

use super::super::{BATCH_ROWS, ExecutionContext, new_row};
use batch::BATCH_BYTES;
use catalog::RowKey;
use planner::plan::NewRow;

/// Keys and records of new rows, one behind the other.
#[derive(Default)]
pub(super) struct Encoded {
    bytes: Vec<u8>,
    /// Ends of the key and the record of each row. A row without a key gets a number.
    ends: Vec<(usize, usize)>,
    charge: Charge,
}

impl Encoded {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are as many rows, or bytes, as are put in at once: one more record than that is in memory.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= BATCH_ROWS || self.bytes.len() >= BATCH_BYTES
    }

    /// Charges the memory to the statement.
    ///
    /// # Errors
    /// 53200 if the statement has no more.
    pub(super) fn settle(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.charge.set(memory, self.bytes.capacity())
    }

    pub(super) fn push(&mut self, new: &NewRow, row: &[Value<'_>]) -> Result<()> {
        new_row::key(new, row, &mut self.bytes)?;
        let key_end = self.bytes.len();
        new_row::record(new, row, &mut self.bytes)?;
        self.ends.push((key_end, self.bytes.len()));
        Ok(())
    }

    pub(super) fn row(&self, at: usize) -> (&[u8], &[u8]) {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (key_end, end) = self.ends[at];
        (&self.bytes[start..key_end], &self.bytes[key_end..end])
    }

    /// Puts all rows in; returns the first of those that failed, if any did.
    pub(super) async fn put(
        &self,
        new: &NewRow,
        context: &ExecutionContext<'_>,
    ) -> Option<(usize, engine::Error)> {
        let one = async |at: usize| {
            let (key, record) = self.row(at);
            put_record(new, context, key, record).await
        };
        if self.len() == 1 || !new.table.indexes.is_empty() {
            for at in 0..self.len() {
                if let Err(error) = one(at).await {
                    return Some((at, error));
                }
            }
            return None;
        }
        let progress: RefCell<Progress> = RefCell::default();
        let all = (0..self.len())
            .take_while(|_| progress.borrow().failed.is_empty())
            .inspect(|at| progress.borrow_mut().begin(*at))
            .map(async |at| (at, one(at).await));
        // The future is boxed: a statement that puts one row in should not carry the frames of many
        // along.
        let mut all = Box::pin(together::<Interleaved, _>(all, |(at, done)| {
            progress.borrow_mut().end(at, done);
        }));
        poll_fn(|context| match all.as_mut().poll(context) {
            // Rows behind the one that failed may wait for as long as another transaction likes.
            Poll::Pending if self.is_decided(&progress.borrow()) => Poll::Ready(()),
            polled => polled,
        })
        .await;
        drop(all);
        self.first_failed(&progress.into_inner())
    }

    /// Returns whether no row that is under way can change which failure is reported.
    fn is_decided(&self, progress: &Progress) -> bool {
        self.first_failed(progress)
            .is_some_and(|(first, _)| progress.under_way.iter().all(|at| *at > first))
    }

    fn first_failed(&self, progress: &Progress) -> Option<(usize, engine::Error)> {
        let told = progress
            .failed
            .iter()
            .map(|&(at, error)| (self.in_order(at, error, progress), error));
        told.min_by_key(|(at, _)| *at)
    }

    /// Returns the row that would have failed if the rows had gone in one after the other. If several
    /// rows have one key, a later one may have gone in before one that failed: then the second of
    /// them is reported.
    fn in_order(&self, at: usize, error: engine::Error, progress: &Progress) -> usize {
        if !matches!(error, engine::Error::DuplicateKey) {
            return at;
        }
        let key = self.row(at).0;
        let mut later = (at + 1..progress.begun).filter(|other| self.row(*other).0 == key);
        match later.clone().any(|other| progress.is_in(other)) {
            true => later.next().unwrap_or(at),
            false => at,
        }
    }
}

/// The progress of rows that go in beside each other.
#[derive(Default)]
struct Progress {
    /// Number of rows that were begun; these are the first ones.
    begun: usize,
    /// Rows that have not ended. Both lists are as long at most as the number of rows that
    /// [`together`] has under way.
    under_way: Vec<usize>,
    failed: Vec<(usize, engine::Error)>,
}

impl Progress {
    fn begin(&mut self, at: usize) {
        self.begun = at + 1;
        self.under_way.push(at);
    }

    fn end(&mut self, at: usize, done: std::result::Result<(), engine::Error>) {
        self.under_way.retain(|other| *other != at);
        if let Err(error) = done {
            self.failed.push((at, error));
        }
    }

    /// Returns whether a row that was begun has gone in.
    fn is_in(&self, at: usize) -> bool {
        !self.under_way.contains(&at) && self.failed.iter().all(|(failed, _)| *failed != at)
    }
}

/// Puts in a record under its key, which a table without a primary key makes.
pub(super) async fn put_record(
    new: &NewRow,
    context: &ExecutionContext<'_>,
    key: &[u8],
    record: &[u8],
) -> std::result::Result<(), engine::Error> {
    let storage = new.table.storage();
    if let RowKey::Columns(_) = new.table.row_key {
        return context
            .transaction
            .insert::<Interleaved>(storage, key, record)
            .await;
    }
    loop {
        let number = context.row_numbers.next().to_be_bytes();
        let put = context
            .transaction
            .insert::<Interleaved>(storage, &number, record);
        match put.await {
            // The clock was turned back to where there are rows already.
            Err(engine::Error::DuplicateKey) => {}
            other => return other,
        }
    }
}
