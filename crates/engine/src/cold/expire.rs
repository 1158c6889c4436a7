//! Deleting what has expired on the device, so that it takes no room there, nor in indexes.
//!
//! The walk that deletes expired records (`ttl/collect.rs`) passes over cold ones: it would have to
//! read each of them, live ones too, to know. Instead each file knows, by table, when the last
//! record expires that it has (`files.rs`). When that is over, all that the file has of the table
//! is to go, and the file is gone through as for compaction, a large read at a time and
//! at the same bounded rate. What has expired is made hot, a few records at a time, and
//! deleted by a transaction like any of the walk's. What is live stays; what is dead then,
//! compaction finds by counting. What compaction itself meets on its way has no need to wait for
//! the last of its table: it is deleted rather than moved.
//!
//! A record lives a TTL at most after it has come to a file. So what has expired and is still there
//! takes no more room than what was written in a TTL, or the time in which a file is filled,
//! if that is longer. A file is read once for each table with a TTL of which it has records, and
//! again if some that were in memory meanwhile return to it.
//!
//! What is not deleted, since somebody is writing one of the few, has become hot, and is the
//! walk's; should it leave memory before, its file is told again (`demote.rs`). Without room
//! in memory, all of it is left to another time.

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

/// What was known of a file that is gone through; it is again, unless that comes to an end.
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
    /// Goes through the cold files of which all records of some table have expired, and deletes
    /// what has. `None` if another session does so, or goes through cold files for something else,
    /// or records are still being loaded. The upkeep calls this when it is needed.
    ///
    /// # Errors
    /// `Unsupported` without a cold tier; `ResourceBusy` without room in memory. Nothing is lost.
    ///
    /// # Suspension
    /// Memory and device waits; others have their turn now and then.
    ///
    /// # Cancellation
    /// Who calls this next goes on.
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

    /// Deletes what has expired in a file; whether it came to the end.
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

    /// Deletes records that have expired, and were read from their file: how many.
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
                // What somebody is writing is hot.
                Err(Error::Abort(_) | Error::TableDropped) => {}
                Err(error) => return Err(another_time(error)),
            }
            interleave::yield_now().await;
        }
        Ok(deleted)
    }

    /// The same for a few of one table, in one transaction.
    async fn expire_some(self: &Rc<Self>, records: &[Expired]) -> Result<u64, Error> {
        let transaction = self.begin_to_expire()?;
        // While it is open, a table that is found stays.
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
