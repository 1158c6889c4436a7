//! Deleting records that have expired: part of the housekeeping of one session, whichever
//! first finds that there are tables with a TTL.
//!
//! The session *walks* through these tables, a chunk at a time. Each chunk is a
//! transaction of its own, which takes a snapshot, looks at some records and deletes those
//! that have expired, like any transaction that deletes: so indexes, log, change stream
//! and undo see nothing new. It is not serializable (it relies on nothing it has read),
//! gives way to whoever is in the middle of writing one of them, and waits neither for
//! others nor for room in the log: what is left, the next walk finds.
//!
//! Records are passed over from when they have expired, so nobody waits for the walk. It
//! takes at most a tenth of its worker's time, and rests between two walks for an eighth
//! of the shortest TTL: while it keeps up, what has expired takes little more than an
//! eighth of the memory of what has not.

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use index::Direction;
use interleave::{Prefetching, run_inline};

use crate::{
    catalog::Catalog, error::Error, log::Durability, session::Session, table::Table,
    transaction::Isolation,
};

/// Records looked at per chunk, and deleted.
const SEEN_MAX: usize = 128;
const EXPIRED_MAX: usize = 16;
/// How much longer than a chunk took the session does other things.
const RESTS: u32 = 9;
/// Rest between walks.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How far a session is on its way through the tables. Dropped, another session can begin
/// one.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The number of the table.
    table: u32,
    /// Its records up to this key were looked at.
    after: Option<Vec<u8>>,
    /// The shortest TTL met.
    shortest: Duration,
    /// When to go on, by the session's clock.
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

    /// Looks at the next records; whether there was a table left.
    fn step(&mut self, session: &Rc<Session>) -> Result<bool, Error> {
        let Some(table) = session.database.catalog.next_expiring(self.table) else {
            return Ok(false);
        };
        if table.number() > self.table {
            self.table = table.number();
            self.after = None;
        }
        self.shortest = self.shortest.min(table.ttl().unwrap_or(Duration::MAX));
        let expired = self.look(session, &table)?;
        session.counters.update(|stats| stats.expired += expired);
        Ok(true)
    }

    /// Deletes what has expired of the next records, and moves on behind them; how many.
    fn look(&mut self, session: &Rc<Session>, table: &Table) -> Result<u64, Error> {
        let transaction = session.begin(Isolation::Snapshot)?;
        transaction.set_durability(Durability::None);
        transaction.read_stored();
        // Without a wait, and what has expired is not shown wherever it is.
        transaction.context().passes_over_cold.set(true);
        let (mut seen, mut expired, mut last) = (0, Vec::new(), None);
        let from = self.after.as_deref();
        let from = from.map_or(Bound::Unbounded, Bound::Excluded);
        let scanned = transaction.scan::<Prefetching>(
            table,
            (from, Bound::Unbounded),
            Direction::Forward,
            |key, stored| {
                seen += 1;
                if transaction.is_expired(table, stored) {
                    expired.push(key.to_vec());
                }
                if seen < SEEN_MAX && expired.len() < EXPIRED_MAX {
                    return ControlFlow::Continue(());
                }
                last = Some(key.to_vec());
                ControlFlow::Break(())
            },
        );
        let scanned = run_inline(scanned);
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
            return Ok(0);
        }
        let mut deleted = 0;
        for key in &expired {
            deleted += u64::from(run_inline(transaction.expire::<Prefetching>(table, key))?);
        }
        match transaction.commit().now() {
            Ok(committed) => committed.map(|_| deleted),
            // There is no room in the log; dropping it rolls it back.
            Err(_) => Ok(0),
        }
    }
}

impl Session {
    /// Deletes some records that have expired, if it is time, and this session's business.
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
        // What is given up is counted where it is.
        let goes_on = walk.step(&session).unwrap_or(true);
        let now = self.clock().now();
        if goes_on {
            walk.due = now + (now - began) * RESTS;
        } else {
            let pause = (walk.shortest / 8).clamp(PAUSE_MIN, PAUSE_MAX);
            *walk = Walk::new(now + pause);
        }
    }

    /// How long until the session is to delete more, if that is its business.
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
        // Relaxed: who must not miss one has made it.
        self.expiring.load(Ordering::Relaxed) > 0
    }

    /// A table with a TTL has come (or gone).
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
