//! The change stream: the changes of committed transactions, in commit order, read from the log.
//!
//! A [`ChangeReader`] stands at a *position*, a commit timestamp: everything up to it was handed
//! out. It reads the lanes' blocks from the device, as recovery does, and merges them (`lane.rs`).
//! A reader that goes on from a position, after any kind of end, gets exactly the transactions that
//! were committed after it.
//!
//! # Complete, in order, and durable
//! A round reads the frontier `F` first, then for every lane the number of its
//! transactions that are on the device, `D`.
//! - *Everything up to `F` is read.* The frontier rose to `F` because every lane had all
//!   transactions that a claim needed on the device, and the lane's count was stored before that.
//!   All of a lane's transactions up to `F` are therefore among its first `D` (`log/frontier.rs`);
//!   a lane that appeared since has none that old.
//! - *In order.* A lane's timestamps ascend. The next transaction is the earliest of the lanes'
//!   next ones. It is handed out only if the next transaction of every lane is known, or the lane
//!   has nothing left to read up to its `D`, and if it is not newer than `F`.
//! - *No block on its way to the device is looked at:* such a block is behind `D`, which was read
//!   before the bytes were.
//! - *A crash takes back nothing that was handed out:* recovery's frontier is not lower than `F`.
//!
//! A lane without commits has nothing left to read, and does not hold the stream up. Earlier
//! incarnations, as far as their segments are kept, come first, one after the other, up to where
//! each of them counts.
//!
//! # Segments that are used again
//! The log does not wait for readers. A reader recognises an overwritten block by its checksum,
//! incarnation, lane or number, and does not find a segment that is gone. Both mean
//! [`ChangesError::NotKept`], if the history begins later than the reader's position
//! (`log/segments/kept.rs`), and damage if it does not.
//!
//! # Tables
//! A record belongs to a storage; its table, and the table's name, are told as of the record's
//! place in the stream. The reader knows the tables at its position: it begins with those of the
//! catalog's history (`catalog/history.rs`), and each transaction that is handed out applies its
//! events to them, as it did to the catalog's tables (`transaction.rs`). The rule of
//! `catalog/life.rs` implies that every record's table is known: a storage is written by the
//! transaction that makes it and by later ones, up to the one that drops it.
//!
//! # Memory
//! A reader has one piece of the log of each lane in memory, or all of a block that is larger than
//! a piece; transactions that it handed out share these bytes. All of them are set aside from the
//! database's memory limit.

mod error;
mod lane;
mod tables;
mod transaction;

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::Poll,
};

pub(crate) use self::tables::Tables;
pub use self::{
    error::ChangesError,
    transaction::{Change, ChangedRecord, ChangedTransaction},
};
use self::{
    lane::{Device, LaneReader},
    transaction::Next,
};
use crate::{
    database::Database,
    error::Error,
    log::{LaneWriter, Log},
    session::Session,
    timestamp::Timestamp,
};

/// Maximum number of transactions that are handed out at once.
const BATCH_MAX: usize = 1024;

/// Beginning of a change stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangesFrom {
    /// The stream begins with the database's first commit.
    Beginning,
    /// The stream begins after the commits so far.
    Now,
    /// The stream begins after a commit, or a snapshot ([`crate::Transaction::snapshot`]).
    After(Timestamp),
}

/// Reader of committed changes. It belongs to no session: any session of the database may go on
/// with it.
pub struct ChangeReader {
    database: Arc<Database>,
    /// Commit timestamp up to which everything was handed out.
    position: Timestamp,
    /// Tables at that position.
    tables: Arc<Tables>,
    /// Incarnation whose log is being read.
    incarnation: u64,
    lanes: Vec<LaneReader>,
}

impl Session {
    /// Returns a reader of the transactions committed after `from`. The commits up to that position
    /// are durable when this returns: a copy made at that snapshot survives a crash, and the
    /// position may be kept.
    ///
    /// # Errors
    /// [`ChangesError::InMemory`]; [`ChangesError::NotKept`] if the log from there on is
    /// not kept any more; [`ChangesError::Unreached`]; [`ChangesError::Engine`].
    ///
    /// # Suspension
    /// An event wait.
    ///
    /// # Cancellation
    /// Leaves nothing behind.
    pub async fn changes(self: &Rc<Self>, from: ChangesFrom) -> Result<ChangeReader, ChangesError> {
        let database = self.database().clone();
        let (Some(lane), Some(log)) = (self.lane(), database.log().cloned()) else {
            return Err(ChangesError::InMemory);
        };
        // Before the clock: later commits are in these blocks or later ones.
        let marks = log.frontier.positions();
        let newest = log.now();
        let mut lanes = Vec::new();
        let (position, incarnation) = match from {
            ChangesFrom::Now => {
                let marks = marks.iter().enumerate();
                let begun = marks.filter(|(_, mark)| mark.blocks > 0);
                lanes.extend(
                    begun.map(|(lane, mark)| LaneReader::at(log.incarnation, lane as u32, mark)),
                );
                (newest, log.incarnation)
            }
            ChangesFrom::Beginning => (Timestamp(0), 0),
            ChangesFrom::After(position) => (position, 0),
        };
        if position > newest {
            return Err(ChangesError::Unreached { position, newest });
        }
        let tables = database.catalog.tables_at(position);
        // In this order: `catalog/history.rs`.
        let oldest = log.segments.oldest();
        if position < oldest {
            return Err(ChangesError::NotKept { position, oldest });
        }
        log.frontier.want_all();
        until_durable(self, lane, position).await?;
        Ok(ChangeReader {
            database,
            position,
            tables: Arc::new(tables),
            incarnation,
            lanes,
        })
    }
}

impl ChangeReader {
    /// Returns the position up to which everything was handed out, and from which another reader
    /// goes on.
    pub fn position(&self) -> Timestamp {
        self.position
    }

    /// Returns the next transactions, in commit order, at least one. `session` is any session of
    /// the database.
    ///
    /// # Errors
    /// [`ChangesError::NotKept`]: the reader was too slow. [`ChangesError::Engine`]:
    /// without memory for a block of the log, the function can be called again; [`Error::Ended`]
    /// when the session winds up.
    ///
    /// # Suspension
    /// Device waits, and event waits until a commit is durable.
    ///
    /// # Cancellation
    /// Nothing is lost: the function can be called again.
    ///
    /// # Panics
    /// With a session of another database.
    pub async fn next(
        &mut self,
        session: &Rc<Session>,
    ) -> Result<Vec<ChangedTransaction>, ChangesError> {
        self.next_up_to(session, Timestamp(u64::MAX)).await
    }

    /// Returns the next transactions like [`ChangeReader::next`], but does not wait for commits
    /// newer than `newest`: returns none if all commits up to `newest` were handed out.
    ///
    /// # Errors
    /// [`ChangesError::NotKept`]: the reader was too slow. [`ChangesError::Engine`]:
    /// without memory for a block of the log, the function can be called again;
    /// [`Error::Ended`] when the session winds up.
    ///
    /// # Suspension
    /// Device waits, and event waits until a commit up to `newest` is durable.
    ///
    /// # Cancellation
    /// Nothing is lost: the function can be called again.
    ///
    /// # Panics
    /// With a session of another database.
    pub async fn next_up_to(
        &mut self,
        session: &Rc<Session>,
        newest: Timestamp,
    ) -> Result<Vec<ChangedTransaction>, ChangesError> {
        assert!(Arc::ptr_eq(session.database(), &self.database));
        let (Some(lane), Some(log)) = (session.lane(), self.database.log().cloned()) else {
            return Err(Error::Ended.into());
        };
        let port = session.port().ok_or(ChangesError::InMemory)?;
        let arena = self.database.arena.clone();
        let device = Device {
            port,
            log: &log,
            arena: &arena,
        };
        self.begin_earlier(&log)?;
        loop {
            if session.winds_up() {
                return Err(Error::Ended.into());
            }
            let is_earlier = self.incarnation < log.incarnation;
            // In this order: see the module's doc.
            let (up_to, durable) = if is_earlier {
                // Without a cut, recovery has kept nothing of the incarnation.
                let up_to = log.segments.cut(self.incarnation).unwrap_or(self.position);
                (up_to, None)
            } else {
                let up_to = log.frontier.reached();
                let durable = log.frontier.needed().map(|(_, durable)| durable);
                (up_to, Some(durable.collect::<Vec<u64>>()))
            };
            if let Some(durable) = &durable {
                self.find_lanes(&log, durable)?;
            }
            let batch = self.collect(&device, up_to, durable.as_deref()).await?;
            if !batch.is_empty() || self.position >= newest {
                return Ok(batch);
            }
            if is_earlier {
                self.begin_next(&log)?;
            } else {
                until_durable(session, lane, Timestamp(up_to.0 + 1)).await?;
            }
        }
    }

    /// Chooses the first incarnation to read, at the first call.
    fn begin_earlier(&mut self, log: &Log) -> Result<(), ChangesError> {
        if self.incarnation == 0 {
            self.incarnation = 1;
            self.begin(log)?;
        }
        Ok(())
    }

    /// Goes on with the next incarnation.
    fn begin_next(&mut self, log: &Log) -> Result<(), ChangesError> {
        self.incarnation += 1;
        self.begin(log)
    }

    fn begin(&mut self, log: &Log) -> Result<(), ChangesError> {
        let position = self.position;
        let found = log.segments.lanes_after(self.incarnation, position);
        let not_kept = |not_kept| ChangesError::not_kept(position, not_kept);
        self.lanes.clear();
        match found.map_err(not_kept)? {
            Some((incarnation, lanes)) if incarnation < log.incarnation => {
                self.incarnation = incarnation;
                for lane in lanes {
                    self.find_lane(log, lane)?;
                }
            }
            // The lanes of the current incarnation are found as they come.
            _ => self.incarnation = log.incarnation,
        }
        Ok(())
    }

    /// Finds the lanes that have transactions on the device and are not being read yet.
    fn find_lanes(&mut self, log: &Log, durable: &[u64]) -> Result<(), ChangesError> {
        for (lane, &durable) in durable.iter().enumerate() {
            let lane = lane as u32;
            if durable > 0 && !self.lanes.iter().any(|reader| reader.lane() == lane) {
                self.find_lane(log, lane)?;
            }
        }
        Ok(())
    }

    fn find_lane(&mut self, log: &Log, lane: u32) -> Result<(), ChangesError> {
        let of_lane = (self.incarnation, lane);
        let found = log.segments.first_after(of_lane, self.position);
        if let Some(first) =
            found.map_err(|not_kept| ChangesError::not_kept(self.position, not_kept))?
        {
            self.lanes.push(LaneReader::from_start(&first));
        }
        Ok(())
    }

    /// Collects transactions up to `up_to`, as far as they are at hand: reads only until there is
    /// one. `durable` tells for each lane how many of its transactions may be read; `None`: all.
    async fn collect(
        &mut self,
        device: &Device<'_>,
        up_to: Timestamp,
        durable: Option<&[u64]>,
    ) -> Result<Vec<ChangedTransaction>, ChangesError> {
        let mut batch = Vec::new();
        while batch.len() < BATCH_MAX {
            let mut earliest: Option<(Timestamp, usize)> = None;
            for index in 0..self.lanes.len() {
                let reader = &mut self.lanes[index];
                let durable = durable.map(|durable| durable[reader.lane() as usize]);
                let next = match reader.next_at_hand(durable) {
                    Ok(Next::At(timestamp)) => Some(timestamp),
                    Ok(Next::None) => None,
                    // Transactions at hand go first.
                    _ if !batch.is_empty() => return Ok(batch),
                    _ => reader.read(device, durable, self.position).await?,
                };
                if let Some(timestamp) = next
                    && earliest.is_none_or(|(known, _)| timestamp < known)
                {
                    earliest = Some((timestamp, index));
                }
            }
            let Some((timestamp, index)) = earliest.filter(|&(next, _)| next <= up_to) else {
                // No lane has another transaction that is as old.
                self.position = self.position.max(up_to);
                break;
            };
            match self.lanes[index].take(self.position, &mut self.tables) {
                Ok(taken) => batch.extend(taken),
                // Transactions at hand go first.
                Err(_) if !batch.is_empty() => return Ok(batch),
                Err(error) => return Err(error),
            }
            self.position = self.position.max(timestamp);
        }
        Ok(batch)
    }
}

/// Waits until everything up to `timestamp` is durable.
///
/// # Errors
/// [`Error::Ended`] when the session winds up; [`Error::Poisoned`].
///
/// # Suspension
/// An event wait.
async fn until_durable(
    session: &Rc<Session>,
    lane: &LaneWriter,
    timestamp: Timestamp,
) -> Result<(), Error> {
    let mut durable = pin!(session.durable(timestamp));
    loop {
        // The bell rings when the session winds up, among other things.
        let mut ring = pin!(lane.upkeep_is_due());
        if session.winds_up() {
            return Err(Error::Ended);
        }
        let reached = poll_fn(|context| {
            if let Poll::Ready(reached) = durable.as_mut().poll(context) {
                return Poll::Ready(Some(reached));
            }
            ring.as_mut().poll(context).map(|()| None)
        });
        if let Some(reached) = reached.await {
            return reached;
        }
    }
}

impl fmt::Debug for ChangeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeReader")
            .field("position", &self.position)
            .field("incarnation", &self.incarnation)
            .field("lanes", &self.lanes.len())
            .finish_non_exhaustive()
    }
}
