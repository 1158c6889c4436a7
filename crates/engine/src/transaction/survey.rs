//! What is under way in a part of a table, visible or not: for the builder of an index.

use std::ops::Bound;

use index::{Batch, Direction};
use interleave::{Policy, leaf};

use super::{Statement, Transaction, fetch_records};
use crate::{
    error::Error,
    indirection::{Head, Rid},
    table::Table,
    timestamp::{Begin, TransactionId},
};

type Range<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

impl Transaction {
    /// The last of the first `count` keys in a range. `None`: there are fewer.
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

    /// Who has uncommitted versions in a range; some may have ended meanwhile.
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
