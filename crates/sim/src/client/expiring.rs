//! A client's operations on records that expire (`workload/expiring.rs`).

use std::sync::Arc;

use engine::{Error, Isolation, Table};
use interleave::Policy;

use super::Client;
use crate::{history::Action, workload::expiring};

impl Client<'_> {
    fn expiring(&self) -> Arc<Table> {
        let expiring = self.world.expiring.as_ref();
        expiring.expect("crashes have one").table.clone()
    }

    /// Reads a record, which must not have expired.
    pub(crate) async fn get_expiring<P: Policy>(&self, key: &[u8]) -> Result<(), Error> {
        let start = self.start();
        // Under read committed the operation's present may be later.
        let present = match self.isolation() {
            Isolation::ReadCommitted => self.world.database.wall_clock().now(),
            _ => self.transaction().present(),
        };
        let table = self.expiring();
        let read = self
            .transaction()
            .get::<P, _>(&table, key, expiring::expiry);
        match read.await {
            Ok(found) => {
                let expired = found.filter(|&expiry| expiry <= present);
                self.claim(
                    "records found after they expired",
                    0,
                    expired.iter().len() as u64,
                );
                Ok(())
            }
            Err(error) => self.finish(start, None, Err(error), |()| unreachable!("refused")),
        }
    }

    /// Writes a record, unless its expiry cannot be known.
    pub(crate) async fn upsert_expiring<P: Policy>(&self, key: &[u8]) -> Result<(), Error> {
        if self.isolation() == Isolation::ReadCommitted {
            return Ok(());
        }
        let start = self.start();
        let value = expiring::value(self.unique(), self.transaction().present());
        let table = self.expiring();
        let written = self.transaction().upsert::<P>(&table, key, &value).await;
        self.finish(start, None, written, |()| Action::Upsert {
            key: key.to_vec(),
            value,
        })
    }

    /// Deletes a record, if there is one.
    pub(crate) async fn delete_expiring<P: Policy>(&self, key: &[u8]) -> Result<(), Error> {
        let start = self.start();
        match self.transaction().delete::<P>(&self.expiring(), key).await {
            // The history contains expired records.
            Ok(false) => Ok(()),
            deleted => self.finish(start, None, deleted.map(drop), |()| Action::Delete {
                key: key.to_vec(),
                done: true,
            }),
        }
    }
}
