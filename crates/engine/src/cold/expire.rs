//! Deletion of expired records on the device, where they take room, and in indexes, too.
//!
//! The walk that deletes expired records (`ttl/collect.rs`) passes over cold ones: it would have to
//! read each of them, live ones too, to know. Instead each file knows, by table, when its last
//! record expires (`files.rs`). After that time, all records of the table in the file are to be
//! deleted, and the file is gone through as for compaction, a large read at a time and at the same
//! bounded rate. Expired records are made hot, a few at a time, and deleted by a transaction like
//! any of the walk's. Live records stay; compaction later finds by counting how much is dead. An
//! expired record that compaction itself meets need not wait for the last of its table: it is
//! deleted rather than moved.
//!
//! A record lives a TTL at most after it has come to a file. Expired records that are still there
//! therefore take no more room than the records written within a TTL, or within the time in which a
//! file is filled, if that is longer. A file is read once for each table with a TTL of which it has
//! records, and again if records that were in memory meanwhile return to it.
//!
//! If another transaction is writing one of the few records, these are not deleted: they have
//! become hot, and the walk deletes them. If one leaves memory before, its expiry is noted at its
//! file again (`demote.rs`). Without room in memory, the whole pass is left to another time.

use std::{io, rc::Rc, sync::Arc};

use super::{
    ColdTier,
    compact::{Aim, Compacted, another_time},
    fetch::Fetched,
    files::{ColdFile, ColdFiles},
    format::ColdRecord,
};
use crate::{
    error::Error,
    indirection::Rid,
    session::Session,
    ttl::{EXPIRED_MAX, WallTime},
};

/// A cold record that has expired.
pub(super) struct Expired {
    table: u32,
    rid: Rid,
    key: Vec<u8>,
    fetched: Fetched,
}

impl Expired {
    pub(super) fn new(record: &ColdRecord<'_>, rid: Rid, fetched: Fetched) -> Expired {
        Expired {
            table: record.table,
            rid,
            key: record.key.to_vec(),
            fetched,
        }
    }
}

/// Expiries of a file that is gone through; they are noted again, unless the pass comes to its end.
struct Forgotten<'f> {
    files: &'f ColdFiles,
    file: Arc<ColdFile>,
    expiries: Vec<(u32, WallTime)>,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        for (table, expiry) in self.expiries.drain(..) {
            self.files.note_expiry(&self.file, table, expiry);
        }
    }
}

impl Session {
    /// Goes through the cold files of which all records of some table have expired, and deletes the
    /// expired records. Returns `None` if another session does so or compacts cold files, or if
    /// records are still being loaded. The upkeep calls this function when it is needed.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier; `ResourceBusy` without room in memory. No record is lost.
    ///
    /// # Suspension
    /// Memory and device waits; yields to other tasks now and then.
    ///
    /// # Cancellation
    /// The next call goes on.
    pub async fn expire_cold_records(self: &Rc<Self>) -> io::Result<Option<Compacted>> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        let tier = self.database.cold().ok_or_else(unsupported)?;
        if self.database.log().is_none() {
            return Ok(None);
        }
        let Some(_turn) = tier.compaction.begin() else {
            return Ok(None);
        };
        let mut compacted = Compacted::default();
        for file in tier.files.expired(self.database.wall_clock()) {
            if !self.expire_in(tier, file, &mut compacted).await? {
                break;
            }
            compacted.files += 1;
        }
        Ok(Some(compacted))
    }

    /// Deletes the expired records of a file; returns whether it came to the end.
    async fn expire_in(
        self: &Rc<Self>,
        tier: &ColdTier,
        file: Arc<ColdFile>,
        compacted: &mut Compacted,
    ) -> io::Result<bool> {
        let mut forgotten = Forgotten {
            files: &tier.files,
            expiries: file.take_expiries(),
            file,
        };
        let aim = Aim::Expire;
        let is_end = self.go_through(tier, &forgotten.file, aim, compacted);
        let is_end = is_end.await?;
        if is_end {
            forgotten.expiries.clear();
        }
        Ok(is_end)
    }

    /// Deletes expired records that were read from their file; returns how many were deleted.
    ///
    /// # Suspension
    /// Waits for room in the log.
    pub(super) async fn expire_all(self: &Rc<Self>, records: Vec<Expired>) -> io::Result<u64> {
        let mut deleted = 0;
        let same_table = |one: &Expired, next: &Expired| one.table == next.table;
        let some = records.chunk_by(same_table);
        for some in some.flat_map(|records| records.chunks(EXPIRED_MAX)) {
            match self.expire_some(some).await {
                Ok(some) => deleted += some,
                // A record that another transaction is writing is hot.
                Err(Error::Abort(_) | Error::TableDropped) => {}
                Err(error) => return Err(another_time(error)),
            }
            interleave::yield_now().await;
        }
        Ok(deleted)
    }

    /// Deletes a few expired records of one table in one transaction; returns how many were
    /// deleted.
    async fn expire_some(self: &Rc<Self>, records: &[Expired]) -> Result<u64, Error> {
        let transaction = self.begin_to_expire()?;
        // While the transaction is open, a table that is found stays.
        let number = records.first().map(|record| record.table);
        let table = number.and_then(|number| self.database.table_by_number(number));
        let table = table.ok_or(Error::TableDropped)?;
        for record in records {
            let promoted = self.promote(table.records.slot(record.rid), &record.fetched);
            promoted.map_err(|_| Error::MemoryExhausted)?;
        }
        let keys = records.iter().map(|record| &*record.key);
        let deleted = transaction.expire_all(&table, keys)?;
        transaction.commit().await?;
        self.note_expired(deleted);
        Ok(deleted)
    }
}
