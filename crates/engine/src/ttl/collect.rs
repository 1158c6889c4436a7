//! Deletion of expired records: part of the housekeeping of one session, the first that finds that
//! there are tables with a TTL.
//!
//! The session *walks* through these tables, a chunk at a time. Each chunk is a transaction of its
//! own, which takes a snapshot, looks at some records and deletes the expired ones, like any
//! transaction that deletes: indexes, log, change stream and undo see nothing new. It is not
//! serializable (it relies on nothing it has read), gives way to a transaction that is writing one
//! of the records, and waits neither for other transactions nor for room in the log: the next walk
//! finds the records that are left.
//!
//! The walk passes over cold records without a look at the device: `cold/expire.rs` finds them.
//!
//! Readers pass over records from the moment of their expiry, and need not wait for the walk. The
//! walk takes at most a tenth of its worker's time, and rests between two rounds for an eighth of
//! the shortest TTL: while it keeps up, expired records take little more than an eighth of the
//! memory of the others.

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use index::Direction;
use interleave::{Prefetching, run_inline};

use crate::{
    catalog::Catalog,
    cold::ColdAddress,
    error::Error,
    indirection::Rid,
    log::Durability,
    session::Session,
    table::Table,
    transaction::{Isolation, Transaction, Visit},
};

/// Maximum records per chunk that are looked at, and that are deleted.
const SEEN_MAX: usize = 128;
pub(crate) const EXPIRED_MAX: usize = 16;
/// Time for other work after a chunk, in multiples of the chunk's duration.
const RESTS: u32 = 9;
/// Rest between walks.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Progress of a session's walk through the tables. After it is dropped, another session can begin
/// a walk.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Number of the table.
    table: u32,
    /// Key up to which the table's records were looked at.
    after: Option<Vec<u8>>,
    /// Shortest TTL met.
    shortest: Duration,
    /// Time to go on, by the session's clock.
    due: Duration,
}

impl Walk {
    fn new(due: Duration) -> Walk {
        Walk {
            table: 0,
            after: None,
            shortest: Duration::MAX,
            due,
        }
    }

    /// Looks at the next records; returns whether there was a table left.
    fn step(&mut self, session: &Rc<Session>) -> Result<bool, Error> {
        let Some(table) = session.database.catalog.next_expiring(self.table) else {
            return Ok(false);
        };
        if table.number() > self.table {
            self.table = table.number();
            self.after = None;
        }
        self.shortest = self.shortest.min(table.ttl().unwrap_or(Duration::MAX));
        self.look(session, &table)?;
        Ok(true)
    }

    /// Deletes the expired ones of the next records, and moves on behind them.
    fn look(&mut self, session: &Rc<Session>, table: &Table) -> Result<(), Error> {
        let transaction = session.begin_to_expire()?;
        let mut sight = Sight::new(&transaction, table);
        let from = self.after.as_deref();
        let from = from.map_or(Bound::Unbounded, Bound::Excluded);
        let range = (from, Bound::Unbounded);
        let scanned =
            transaction.scan_records::<Prefetching>(table, range, Direction::Forward, &mut sight);
        let scanned = run_inline(scanned);
        let Sight {
            mut expired, last, ..
        } = sight;
        self.after = last;
        if self.after.is_none() {
            self.table += 1;
        }
        match scanned {
            Err(Error::TableDropped) => expired.clear(),
            scanned => drop(scanned?),
        }
        if expired.is_empty() {
            transaction.release();
            return Ok(());
        }
        let keys = expired.iter().map(Vec::as_slice);
        let deleted = transaction.expire_all(table, keys)?;
        // If there is no room in the log, dropping the transaction rolls it back.
        if transaction.commit_in_one_go()? {
            session.note_expired(deleted);
        }
        Ok(())
    }
}

/// Result of looking at a chunk.
struct Sight<'t> {
    transaction: &'t Transaction,
    table: &'t Table,
    seen: usize,
    /// Keys of the expired records.
    expired: Vec<Vec<u8>>,
    /// Key at which the chunk ended, if there may be more.
    last: Option<Vec<u8>>,
}

impl<'t> Sight<'t> {
    fn new(transaction: &'t Transaction, table: &'t Table) -> Sight<'t> {
        Sight {
            transaction,
            table,
            seen: 0,
            expired: Vec::new(),
            last: None,
        }
    }

    fn go_on_behind(&mut self, key: &[u8]) -> ControlFlow<()> {
        self.seen += 1;
        if self.seen < SEEN_MAX && self.expired.len() < EXPIRED_MAX {
            return ControlFlow::Continue(());
        }
        self.last = Some(key.to_vec());
        ControlFlow::Break(())
    }
}

impl Visit for &mut Sight<'_> {
    fn visit(&mut self, key: &[u8], _: Rid, stored: &[u8]) -> ControlFlow<()> {
        if self.transaction.is_expired(self.table, stored) {
            self.expired.push(key.to_vec());
        }
        self.go_on_behind(key)
    }

    fn visit_cold(&mut self, key: &[u8], _: ColdAddress) -> Option<ControlFlow<()>> {
        Some(self.go_on_behind(key))
    }
}

impl Transaction {
    /// Deletes the records of `table` among `keys` that have expired, without a wait; returns how
    /// many. The transaction is one that was [begun](Session::begin_to_expire) for that.
    pub(crate) fn expire_all<'k>(
        &self,
        table: &Table,
        mut keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<u64, Error> {
        keys.try_fold(0, |deleted, key| {
            let expired = run_inline(self.expire::<Prefetching>(table, key))?;
            Ok(deleted + u64::from(expired))
        })
    }
}

impl Session {
    /// Begins a transaction that deletes expired records, and waits for no other.
    pub(crate) fn begin_to_expire(self: &Rc<Self>) -> Result<Transaction, Error> {
        let transaction = self.begin(Isolation::Snapshot)?;
        transaction.set_durability(Durability::None);
        transaction.read_stored();
        transaction.context().passes_over_cold.set(true);
        Ok(transaction)
    }

    /// Counts `deleted` expired records that were deleted.
    pub(crate) fn note_expired(&self, deleted: u64) {
        self.counters.update(|stats| stats.expired += deleted);
    }

    /// Deletes some expired records, if it is time, and this session walks.
    #[inline]
    pub(crate) fn collect_expired(&self) {
        if self.database.catalog.has_expiring() {
            self.walk_on();
        }
    }

    #[cold]
    fn walk_on(&self) {
        // Before recovery has finished there is no log to write to.
        let is_ready = self.port().is_none() || self.lane().is_some();
        let (true, Some(session)) = (is_ready, self.this.upgrade()) else {
            return;
        };
        let mut walk = self.walk.borrow_mut();
        let began = self.clock().now();
        if walk.is_none() {
            if self.database.has_walker.swap(true, Ordering::AcqRel) {
                return;
            }
            *walk = Some(Walk::new(began));
        }
        let Some(walk) = walk.as_mut().filter(|walk| walk.due <= began) else {
            return;
        };
        // Operations that are given up are counted elsewhere.
        let goes_on = walk.step(&session).unwrap_or(true);
        let now = self.clock().now();
        if goes_on {
            walk.due = now + (now - began) * RESTS;
        } else {
            let pause = (walk.shortest / 8).clamp(PAUSE_MIN, PAUSE_MAX);
            *walk = Walk::new(now + pause);
        }
    }

    /// Returns the time until the session is to delete more, if it walks.
    pub(crate) fn until_walk(&self) -> Option<Duration> {
        let walk = self.walk.borrow();
        let walk = walk.as_ref()?;
        let is_needed = self.database.catalog.has_expiring();
        is_needed.then(|| walk.due.saturating_sub(self.clock().now()))
    }

    /// Leaves the walk to another session.
    pub(crate) fn end_walk(&self) {
        if self.walk.take().is_some() {
            self.database.has_walker.store(false, Ordering::Release);
        }
    }
}

impl Catalog {
    /// Whether there may be tables with a TTL.
    #[inline]
    pub(crate) fn has_expiring(&self) -> bool {
        // Relaxed: a session that must not miss a table has made it itself.
        self.expiring.load(Ordering::Relaxed) > 0
    }

    /// Counts a table with a TTL that comes (or goes).
    pub(crate) fn count_expiring(&self, table: &Arc<Table>, comes: bool) {
        if table.time_to_live().is_some() {
            let count = &self.expiring;
            match comes {
                true => count.fetch_add(1, Ordering::Relaxed),
                false => count.fetch_sub(1, Ordering::Relaxed),
            };
        }
    }
}
