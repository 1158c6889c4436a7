//! The end of a transaction. What makes it visible never suspends; a commit may wait
//! before that for room in the log, and afterwards for the device.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::Transaction;
use crate::{
    catalog::{EVENTS, Effect},
    device_room::Purse,
    error::{Abort, Error},
    log::{Durability, Durable, LaneWriter, format},
    secondary::derived::is_derived,
    session::State,
    timestamp::Timestamp,
};

/// Bytes that a transaction may write into catalogs, and that drops something, and is still said to make
/// room.
const DROPPED_BYTES_MIN: usize = 64 << 10;

/// A commit: see [`Transaction::commit`].
#[must_use = "a commit is acknowledged only to who awaits it"]
pub struct Commit {
    state: CommitState,
}

enum CommitState {
    Ended(Result<Timestamp, Error>),
    Waits(Timestamp, Durable),
    /// Boxed: rare, and large.
    NoRoom(Pin<Box<dyn Future<Output = Result<Timestamp, Error>>>>),
}

impl Commit {
    /// The answer, if there is nothing to wait for: mostly so for transactions that
    /// have only read. Saves the future its place in a frame.
    ///
    /// # Errors
    /// The commit, which must be awaited.
    #[inline]
    pub fn now(self) -> Result<Result<Timestamp, Error>, Commit> {
        match self.state {
            CommitState::Ended(result) => Ok(result),
            _ => Err(self),
        }
    }
}

impl Future for Commit {
    type Output = Result<Timestamp, Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            CommitState::Ended(result) => Poll::Ready(*result),
            CommitState::Waits(timestamp, durable) => {
                Pin::new(durable).poll(context).map_ok(|()| *timestamp)
            }
            CommitState::NoRoom(commit) => commit.as_mut().poll(context),
        }
    }
}

impl std::fmt::Debug for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commit").finish_non_exhaustive()
    }
}

impl Transaction {
    /// Commits. Read-only transactions have no timestamp of their own and get
    /// their snapshot's.
    ///
    /// The call itself makes the transaction visible to others, if there is room in
    /// the log; the future's answer comes when the transaction is as durable as
    /// [`Transaction::durability`] asks for. The same goes for a read-only
    /// transaction and what it saw.
    ///
    /// # Errors
    /// [`Error::Abort`] if no serial order allows the transaction; this or
    /// [`Error::Ended`] if it is over already.
    /// [`Error::StorageFull`], [`Error::MemoryExhausted`] (it is larger than a log
    /// buffer), [`Error::TransactionTooLarge`]: it was rolled back.
    /// [`Error::Poisoned`]: whether it is durable is unknown.
    ///
    /// # Suspension
    /// An event wait, if there is a log. No snapshot is held meanwhile.
    ///
    /// # Cancellation
    /// Dropping the future leaves the transaction committed or, if there was no room
    /// in the log yet, rolls it back.
    #[inline]
    pub fn commit(self) -> Commit {
        let has_only_read =
            self.context.writes.borrow().is_empty() && self.context.effects.borrow().is_empty();
        let committed = if has_only_read {
            self.commit_reads().map(Some)
        } else {
            self.try_commit()
        };
        Commit {
            state: match committed {
                Ok(Some((timestamp, None))) => CommitState::Ended(Ok(timestamp)),
                Ok(Some((timestamp, Some(depends_on)))) => {
                    CommitState::Waits(timestamp, self.session.durable(depends_on))
                }
                Ok(None) => CommitState::NoRoom(Box::pin(self.commit_when_there_is_room())),
                Err(error) => CommitState::Ended(Err(error)),
            },
        }
    }

    /// Commits a transaction that has written nothing: its timestamp, and what its
    /// answer must wait for.
    #[inline(always)]
    fn commit_reads(&self) -> Result<(Timestamp, Option<Timestamp>), Error> {
        self.check_open()?;
        if let Err(abort) = self.certify_reads() {
            return Err(self.doom(abort));
        }
        // Somebody may be waiting for the end of all that may have written.
        if let Some(id) = self.context.id.get() {
            self.session.database.statuses.of(id).abort(id.sequence());
        }
        let timestamp = self.snapshot();
        self.ended();
        let depends_on = self.context.seen.get();
        Ok((timestamp, self.waits_for(depends_on)?))
    }

    /// What an answer that depends on everything up to a timestamp must wait for.
    #[inline(always)]
    fn waits_for(&self, depends_on: Timestamp) -> Result<Option<Timestamp>, Error> {
        Ok(match self.session.lane() {
            Some(lane) if self.context.durability.get() == Durability::Synchronous => {
                (!lane.is_durable(depends_on)?).then_some(depends_on)
            }
            _ => None,
        })
    }

    /// Commits a transaction that has written, unless there is no room in the log: its
    /// timestamp, and what its answer must wait for.
    fn try_commit(&self) -> Result<Option<(Timestamp, Option<Timestamp>)>, Error> {
        self.check_open()?;
        let lane = self.session.lane();
        if let Some(lane) = lane {
            self.session.database.check_writable()?;
            let bytes = self.log_bytes();
            // Whose purse it is has to be found out only where the room of all is used up.
            if !lane.has_room(bytes, Purse::Free)? && !lane.has_room(bytes, self.purse())? {
                return Ok(None);
            }
        }
        let effects = self.begin_effects().map_err(|abort| self.doom(abort))?;
        let timestamp = match self.commit_writes(lane) {
            Ok(timestamp) => timestamp,
            Err(abort) => {
                drop(effects);
                return Err(self.doom(abort));
            }
        };
        if let Some(effects) = effects {
            effects.committed(timestamp);
        }
        self.ended();
        Ok(Some((timestamp, self.waits_for(timestamp)?)))
    }

    async fn commit_when_there_is_room(self) -> Result<Timestamp, Error> {
        let (timestamp, depends_on) = loop {
            if let Some(lane) = self.session.lane() {
                lane.room_for(self.log_bytes(), self.purse()).await?;
            }
            if let Some(committed) = self.try_commit()? {
                break committed;
            }
        };
        let session = self.session.clone();
        drop(self);
        if let Some(depends_on) = depends_on {
            session.durable(depends_on).await?;
        }
        Ok(timestamp)
    }

    /// Bytes of the transaction in the log.
    fn log_bytes(&self) -> usize {
        let writes = self.context.writes.borrow();
        let logged = writes.iter().filter(|write| !is_derived(write.table));
        let bytes = logged.map(|write| {
            let value = write.version.payload().map_or(0, <[u8]>::len);
            format::write_bytes(write.key.len(), value)
        });
        let events = self.context.effects.borrow();
        let events = events.iter().map(|effect| match effect {
            Effect::Event { key, value, .. } => format::write_bytes(key.len(), value.len()),
            _ => 0,
        });
        format::transaction_bytes() + bytes.sum::<usize>() + events.sum::<usize>()
    }

    /// Which room of the device it may use. What drops a table or an index, or deletes more than it
    /// writes, leaves less for the next checkpoint to write.
    fn purse(&self) -> Purse {
        let (mut written, mut deleted) = (0, 0);
        for write in self.context.writes.borrow().iter() {
            if is_derived(write.table) {
                continue;
            }
            match write.version.payload() {
                Some(value) => written += write.key.len() + value.len(),
                None => deleted += write.key.len(),
            }
        }
        let effects = self.context.effects.borrow();
        let drops =
            |effect: &Effect| matches!(effect, Effect::Gone { .. } | Effect::IndexGone { .. });
        if effects.iter().any(drops) {
            deleted += DROPPED_BYTES_MIN;
        }
        match written < deleted {
            true => Purse::Reserve,
            false => Purse::Free,
        }
    }

    /// Counts the transaction as committed.
    #[inline(always)]
    fn ended(&self) {
        let context = &*self.context;
        context.state.set(State::Ended);
        self.end_locks();
        let counters = &self.session.counters;
        let (reads, scanned) = (context.reads.get(), context.scanned.get());
        let writes = context.written.get();
        counters.update(|stats| {
            stats.commits += 1;
            stats.reads += reads;
            stats.writes += writes;
            stats.scanned += scanned;
        });
        counters
            .useful
            .set(counters.useful.get() + context.work() + 1);
    }

    /// Makes the writes visible, without suspending.
    ///
    /// # Errors
    /// Why the transaction must abort.
    fn commit_writes(&self, lane: Option<&LaneWriter>) -> Result<Timestamp, Abort> {
        let session = &*self.session;
        let id = self.id();
        let status = session.database.statuses.of(id);
        let moves = self.context.moves.borrow();
        let mut moves = (!moves.is_empty()).then(|| moves.condense());
        let take = || status.take_timestamp(id.sequence(), &session.database.horizon.clock);
        let mut commit = |timestamp| {
            let first_drop = self.certify_tables(timestamp)?;
            let successor = self.certify(timestamp, first_drop)?;
            if let Some(moves) = moves.take() {
                session.database.moves.publish(timestamp, moves);
            }
            status.commit(id.sequence(), successor);
            Ok(successor)
        };
        let writes = self.context.writes.borrow();
        let keys = self.context.keys.borrow();
        let (timestamp, certified) = match lane {
            None => {
                let timestamp = take();
                (timestamp, commit(timestamp))
            }
            Some(lane) => lane.append(self.context.durability.get(), take, |timestamp, log| {
                let successor = commit(timestamp)?;
                for effect in self.context.effects.borrow().iter() {
                    if let Effect::Event { key, value, .. } = effect {
                        log.write(EVENTS, key, Some(value));
                    }
                }
                for write in writes.iter().filter(|write| !is_derived(write.table)) {
                    log.write(write.table, write.key(&keys), write.version.payload());
                }
                Ok(successor)
            }),
        };
        let successor = certified?;
        let mut garbage = session.garbage.borrow_mut();
        for write in writes.iter() {
            let is_tombstone = write.version.is_tombstone();
            write.version.stamp(timestamp, successor);
            if let Some((old, block_bytes)) = write.old {
                garbage.superseded(timestamp, old, block_bytes);
            }
            if is_tombstone {
                let key = write.key(&keys);
                garbage.deleted(timestamp, write.table, write.rid, write.version, key);
            }
        }
        drop(garbage);
        self.drop_saved();
        if status.is_watched() {
            self.release_all_written();
        }
        Ok(timestamp)
    }

    /// Aborts the transaction for a conflict that whoever runs it has found, and counts that
    /// as any other: what its operations would say from now on.
    pub fn abort(&self, reason: Abort) -> Error {
        self.doom(reason)
    }

    /// Rolls back. Dropping the transaction does the same.
    pub fn rollback(self) {
        drop(self);
    }
}
