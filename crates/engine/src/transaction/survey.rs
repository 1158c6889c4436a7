//! A survey of the records in a part of a table, visible or not: for the builder of an index.

use std::ops::{Bound, ControlFlow};

use index::{Batch, Direction};
use interleave::{Policy, leaf};

use super::{Statement, Transaction, fetch_records};
use crate::{
    error::{Abort, Error},
    indirection::{Head, Rid, Slot},
    table::Table,
    timestamp::{Begin, TransactionId},
};

type Range<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

impl Transaction {
    /// Returns the last of the first `count` keys in `range`. `None`: there are fewer.
    ///
    /// # Suspension
    /// Memory waits.
    pub(crate) async fn key_at<P: Policy>(
        &self,
        table: &Table,
        range: Range<'_>,
        count: usize,
    ) -> Result<Option<Vec<u8>>, Error> {
        let statement = self.statement(table)?;
        Ok(leaf!(P, statement.key_at_body(table, range, count)))
    }

    /// Returns the transactions with uncommitted versions in `range`; some may have ended
    /// meanwhile.
    ///
    /// # Suspension
    /// Memory waits.
    pub(crate) async fn writers_in<P: Policy>(
        &self,
        table: &Table,
        range: Range<'_>,
    ) -> Result<Vec<TransactionId>, Error> {
        let statement = self.statement(table)?;
        Ok(leaf!(P, statement.writers_in_body(table, range)))
    }
}

impl Transaction {
    /// Visits the newest versions of at most `records` records from the key `from` on that are not
    /// deleted, even versions newer than the snapshot. Returns whether there are no more. The
    /// caller has locked the table against writers.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has written a record all the same and not
    /// ended; any error of [`Transaction::scan`].
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub(crate) async fn newest_in<P: Policy>(
        &self,
        table: &Table,
        from: Bound<&[u8]>,
        records: usize,
        mut visit: impl FnMut(&[u8], Rid, &[u8]),
    ) -> Result<bool, Error> {
        let statement = self.statement(table)?;
        let (mut left, mut last) = (records, None::<Vec<u8>>);
        loop {
            let from = last.as_deref().map_or(from, Bound::Excluded);
            let visit = |key: &[u8], rid, stored: &[u8]| {
                visit(key, rid, stored);
                left -= 1;
                match left {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            };
            let stop = leaf!(P, statement.newest_in_body(table, from, visit));
            self.check_open()?;
            match stop {
                Stop::End => return Ok(true),
                Stop::Told => return Ok(false),
                Stop::Busy => return Err(self.doom(Abort::WriteConflict)),
                // The records before it were visited.
                Stop::Cold { slot, before } => {
                    self.thaw_to_write(slot).await?;
                    last = before.or(last);
                }
            }
        }
    }
}

/// Reason for the end of a visit.
enum Stop<'t> {
    End,
    Told,
    Busy,
    /// A record has to be fetched; `before` is the last record visited before it.
    Cold {
        slot: &'t Slot,
        before: Option<Vec<u8>>,
    },
}

impl<'t> Statement<'t> {
    async fn newest_in_body<P: Policy>(
        &self,
        table: &'t Table,
        from: Bound<&[u8]>,
        mut visit: impl FnMut(&[u8], Rid, &[u8]) -> ControlFlow<()>,
    ) -> Stop<'t> {
        let mut batch = Batch::default();
        let mut scan = table
            .index
            .scan((from, Bound::Unbounded), Direction::Forward);
        let pin = self.transaction.session.memory.pin();
        let mut before = None::<Vec<u8>>;
        while scan.next::<P>(&pin, &mut batch).await {
            fetch_records::<P>(table, batch.iter().map(|(_, rid)| Rid(rid))).await;
            for (key, rid) in batch.iter() {
                let rid = Rid(rid);
                let slot = table.records.slot(rid);
                let head = match slot.head() {
                    Head::Version(head) => head,
                    Head::Cold(_) => return Stop::Cold { slot, before },
                    Head::Unused | Head::Dead => continue,
                };
                let is_ended = matches!(head.begin(), Begin::Committed(_))
                    || self.transaction.committed_at(head).is_some();
                if !is_ended && !self.transaction.is_own(head) {
                    return Stop::Busy;
                }
                if let Some(stored) = head.payload() {
                    let before = before.get_or_insert_with(Vec::new);
                    before.clear();
                    before.extend_from_slice(key);
                    if visit(key, rid, stored).is_break() {
                        return Stop::Told;
                    }
                }
            }
        }
        Stop::End
    }
}

impl Statement<'_> {
    async fn key_at_body<P: Policy>(
        &self,
        table: &Table,
        range: Range<'_>,
        mut count: usize,
    ) -> Option<Vec<u8>> {
        let mut batch = Batch::default();
        let mut scan = table.index.scan(range, Direction::Forward);
        let pin = self.transaction.session.memory.pin();
        while scan.next::<P>(&pin, &mut batch).await {
            match batch.iter().nth(count - 1) {
                Some((key, _)) => return Some(key.to_vec()),
                None => count -= batch.iter().count(),
            }
        }
        None
    }

    async fn writers_in_body<P: Policy>(
        &self,
        table: &Table,
        range: Range<'_>,
    ) -> Vec<TransactionId> {
        let mut writers = Vec::new();
        let mut batch = Batch::default();
        let mut scan = table.index.scan(range, Direction::Forward);
        let pin = self.transaction.session.memory.pin();
        while scan.next::<P>(&pin, &mut batch).await {
            let rids = batch.iter().map(|(_, rid)| Rid(rid));
            fetch_records::<P>(table, rids.clone()).await;
            for rid in rids {
                let Head::Version(head) = table.records.slot(rid).head() else {
                    continue;
                };
                if let Begin::InProgress(maker) = head.begin()
                    && !writers.contains(&maker)
                {
                    writers.push(maker);
                }
            }
        }
        writers
    }
}
