//! The change stream: what transactions committed, in commit order, read from the log.
//!
//! A [`ChangeReader`] stands at a *position*, a commit timestamp: everything up to it was
//! handed out. It reads the lanes' blocks from the device, as recovery does, and merges
//! them (`lane.rs`). Who goes on from a position, after whatever kind of end, gets
//! exactly what was committed after it.
//!
//! # Whole, in order, nothing that can be lost
//! A round reads the frontier `F` first, then for every lane the number of its
//! transactions that are on the device, `D`.
//! - *Everything up to `F` is read.* The frontier rose to `F` because every lane had what
//!   a claim needed of it on the device, and its count was stored before that. So all of
//!   a lane up to `F` is among its first `D` (`log/frontier.rs`); a lane that appeared
//!   since has nothing as old.
//! - *In order.* A lane's timestamps ascend. The next transaction is the earliest of the
//!   lanes' next ones, and it is handed out only if no lane has anything left to read,
//!   up to its `D`, before its next one is known, and if it is not newer than `F`.
//! - *Nothing that is on its way to the device is looked at:* it is behind `D`, which was
//!   read before the bytes were.
//! - *Nothing that a crash takes back:* recovery's frontier is not lower than `F`.
//!
//! A lane without commits has nothing left to read, and holds nobody up. Earlier
//! incarnations, as far as their segments are kept, come first, one after the other, up
//! to where each of them counts.
//!
//! # Segments that are used again
//! Nobody waits for readers. A block that was overwritten gives itself away by its
//! checksum, incarnation, lane or number; a segment that is gone is not found. Both mean
//! [`ChangesError::NotKept`], if the history begins later than the reader's position
//! (`log/segments/kept.rs`), and damage if it does not.
//!
//! # Tables
//! A record is of a storage; which table that is, and what it is named, is told as of the
//! record's place in the stream. The reader knows the tables at its position: it begins
//! with those of the catalog's history (`catalog/history.rs`), and each transaction that
//! is handed out does to them what it did to the catalog's, by its events
//! (`transaction.rs`). That every record's table is known follows from the rule of
//! `catalog/life.rs`: a storage is written by who makes it and those who come later, until
//! who drops it.
//!
//! # Memory
//! A reader has one piece of the log of each lane in memory, and of a block larger than
//! a piece all of it; transactions that it handed out share these bytes. All of them are
//! set aside from the database's memory limit.

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

/// Transactions that are handed out at once, at most.
const BATCH_MAX: usize = 1024;

/// Where a change stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangesFrom {
    /// With the database's first commit.
    Beginning,
    /// After what is committed now.
    Now,
    /// After a commit, or a snapshot ([`crate::Transaction::snapshot`]).
    After(Timestamp),
}

/// Reads what was committed. It belongs to no session: any of the database may go on
/// with it.
pub struct ChangeReader {
    database: Arc<Database>,
    /// Everything up to here was handed out.
    position: Timestamp,
    /// The tables there.
    tables: Arc<Tables>,
    /// Whose log is being read.
    incarnation: u64,
    lanes: Vec<LaneReader>,
}

impl Session {
    /// A reader of what is committed after `from`. Where it begins is durable when this
    /// returns: what was copied at that snapshot survives, and the position may be kept.
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
        // Before the clock: what commits later is in these blocks or later ones.
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
    /// Everything up to here was handed out: where another reader goes on.
    pub fn position(&self) -> Timestamp {
        self.position
    }

    /// The next transactions, in commit order, at least one. `session` is any of the
    /// database.
    ///
    /// # Errors
    /// [`ChangesError::NotKept`]: the reader was too slow. [`ChangesError::Engine`]:
    /// without memory for a block of the log, it can be called again;
    /// [`Error::Ended`] when the session winds up.
    ///
    /// # Suspension
    /// Device waits, and event waits until something is committed and durable.
    ///
    /// # Cancellation
    /// Nothing is lost: it can be called again.
    ///
    /// # Panics
    /// With a session of another database.
    pub async fn next(
        &mut self,
        session: &Rc<Session>,
    ) -> Result<Vec<ChangedTransaction>, ChangesError> {
        self.next_up_to(session, Timestamp(u64::MAX)).await
    }

    /// As [`ChangeReader::next`], but does not wait for more than what was committed up to
    /// `newest`: none, if all of that was handed out.
    ///
    /// # Errors
    /// As for [`ChangeReader::next`].
    ///
    /// # Suspension
    /// As for [`ChangeReader::next`].
    ///
    /// # Cancellation
    /// As for [`ChangeReader::next`].
    ///
    /// # Panics
    /// As for [`ChangeReader::next`].
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
            // In this order: module text.
            let (up_to, durable) = if is_earlier {
                // Without a cut, recovery has kept nothing of it.
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

    /// At first: which incarnation is to be read first.
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
            // Its lanes are found as they come.
            _ => self.incarnation = log.incarnation,
        }
        Ok(())
    }

    /// Finds the lanes that have something on the device and are not being read yet.
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

    /// Transactions up to `up_to`, as far as they are at hand: reads only until there is
    /// one. `durable` tells for each lane how much of it may be read; `None`: all.
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
                    // First what is at hand.
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
                // No lane has anything else that is as old.
                self.position = self.position.max(up_to);
                break;
            };
            match self.lanes[index].take(self.position, &mut self.tables) {
                Ok(taken) => batch.extend(taken),
                // First what is at hand.
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
        // Rung when the session winds up, among other things.
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
