//! The end of a transaction. What makes it visible never suspends; a commit may wait
//! before that for room in the log, and afterwards for the device. What a large one has to do
//! besides is in `commit/turns.rs`.

mod turns;

use std::{
    future::Future,
    ops::{ControlFlow, Range},
    pin::Pin,
    task::{Context, Poll},
};

use self::turns::{LogSize, Stamping};
use super::Transaction;
use crate::{
    catalog::{EVENTS, Effect},
    device_room::Purse,
    error::{Abort, Error},
    log::{Durability, Durable, LaneWriter, LargeTransaction},
    secondary::derived::is_derived,
    session::State,
    timestamp::Timestamp,
};

/// Writes, or locks, of a transaction that ends in one go: more would take longer than a turn.
pub(super) const AT_ONCE_MAX: usize = 1024;

/// Events of moved rows of such a transaction: two for each write. There are more of them than writes if the
/// transaction has moved rows to and fro.
const MOVES_AT_ONCE_MAX: usize = 2 * AT_ONCE_MAX;

/// Where a commit is logged.
enum Log<'l> {
    None,
    /// Of the writes in these places, which have all that is to be logged.
    Buffer(&'l LaneWriter, &'l [Range<usize>]),
    /// As a block that was put together.
    Large(&'l LaneWriter, LargeTransaction<'l>),
}

/// A commit: see [`Transaction::commit`].
#[must_use = "a commit is acknowledged only to who awaits it"]
pub struct Commit {
    state: CommitState,
}

enum CommitState {
    Ended(Result<Timestamp, Error>),
    Waits(Timestamp, Durable),
    /// There is no room, or much to do. Boxed: rare, and large.
    InTurns(Pin<Box<dyn Future<Output = Result<Timestamp, Error>>>>),
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
            CommitState::InTurns(commit) => commit.as_mut().poll(context),
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
    /// the log and it is not large; the future's answer comes when the transaction is as durable as
    /// [`Transaction::durability`] asks for. The same goes for a read-only
    /// transaction and what it saw. A transaction of more than a thousand writes, or of more bytes
    /// than a log buffer ([`crate::LogConfig::buffer_bytes`]), commits in turns with other tasks; so does one
    /// that has moved the same rows again and again ([`Transaction::note_move`]).
    ///
    /// # Errors
    /// [`Error::Abort`] if no serial order allows the transaction; this or
    /// [`Error::Ended`] if it is over already.
    /// [`Error::StorageFull`], [`Error::MemoryExhausted`] (it is larger than a log
    /// buffer), [`Error::TransactionTooLarge`]: it was rolled back.
    /// [`Error::Poisoned`]: whether it is durable is unknown.
    ///
    /// # Suspension
    /// An event wait, if there is a log. No snapshot is held meanwhile. A large transaction
    /// yields as well.
    ///
    /// # Cancellation
    /// Dropping the future leaves the transaction committed or, if there was no room
    /// in the log yet or a large one was not put together, rolls it back.
    #[inline]
    pub fn commit(self) -> Commit {
        let committed = if self.has_only_read() {
            self.commit_reads()
        } else {
            self.commit_at_once(AT_ONCE_MAX)
        };
        Commit {
            state: match committed {
                Ok(Some((timestamp, None))) => CommitState::Ended(Ok(timestamp)),
                Ok(Some((timestamp, Some(depends_on)))) => {
                    CommitState::Waits(timestamp, self.session.durable(depends_on))
                }
                Ok(None) => CommitState::InTurns(Box::pin(self.commit_in_turns())),
                Err(error) => CommitState::Ended(Err(error)),
            },
        }
    }

    #[inline(always)]
    fn has_only_read(&self) -> bool {
        self.context.writes.borrow().is_empty() && self.context.effects.borrow().is_empty()
    }

    /// Commits a transaction that has written nothing, unless it has many locks: its timestamp, and what its
    /// answer must wait for.
    #[inline(always)]
    fn commit_reads(&self) -> Result<Option<(Timestamp, Option<Timestamp>)>, Error> {
        self.check_open()?;
        if self.has_many_locks() {
            return Ok(None);
        }
        self.certify_what_was_read()?;
        self.end_reads().map(Some)
    }

    fn has_many_locks(&self) -> bool {
        self.context.locks.borrow().len() > AT_ONCE_MAX
    }

    fn has_many_moves(&self) -> bool {
        self.context.moves.borrow().len() > MOVES_AT_ONCE_MAX
    }

    #[inline(always)]
    fn certify_what_was_read(&self) -> Result<(), Error> {
        let certified = self.certify_reads();
        certified.map_err(|abort| self.doom_at_once(abort))
    }

    /// Ends a transaction that has written nothing, and is certified.
    #[inline(always)]
    fn end_reads(&self) -> Result<(Timestamp, Option<Timestamp>), Error> {
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

    /// Commits a transaction that has written, however many writes these are, for who cannot
    /// suspend and does not wait for the device. False if there is no room in the log for as many
    /// bytes: then it is rolled back.
    ///
    /// # Errors
    /// As for [`Transaction::commit`].
    pub(crate) fn commit_in_one_go(self) -> Result<bool, Error> {
        Ok(self.commit_at_once(usize::MAX)?.is_some())
    }

    /// Commits a transaction that has written, unless it has more writes, is large or there is no
    /// room in the log: its timestamp, and what its answer must wait for.
    fn commit_at_once(
        &self,
        writes_max: usize,
    ) -> Result<Option<(Timestamp, Option<Timestamp>)>, Error> {
        self.check_open()?;
        let has_many = || self.has_many_locks() || self.has_many_moves();
        if self.write_count() > writes_max || writes_max <= AT_ONCE_MAX && has_many() {
            return Ok(None);
        }
        let all = 0..self.write_count();
        let log = match self.session.lane() {
            None => Log::None,
            Some(lane) => {
                let mut size = LogSize::default();
                size.add_some(self, writes_max);
                match !lane.is_large(size.bytes) && self.has_room(lane, &size)? {
                    true => Log::Buffer(lane, std::slice::from_ref(&all)),
                    false => return Ok(None),
                }
            }
        };
        let timestamp = self.commit_writes(log)?.timestamp;
        Ok(Some((timestamp, self.waits_for(timestamp)?)))
    }

    /// Whether a transaction of this size fits into the lane's buffer.
    fn has_room(&self, lane: &LaneWriter, size: &LogSize) -> Result<bool, Error> {
        self.session.database.check_writable()?;
        // Whose purse it is has to be found out only where the room of all is used up.
        Ok(lane.has_room(size.bytes, Purse::Free)?
            || lane.has_room(size.bytes, size.purse(self))?)
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

    /// The commit itself, without suspending: from here on it is visible. Its versions are stamped
    /// when the answer is dropped.
    ///
    /// # Errors
    /// [`Error::Abort`]: it was aborted.
    fn commit_writes(&self, log: Log<'_>) -> Result<Stamping<'_>, Error> {
        let session = &*self.session;
        let effects = self.begin_effects();
        let effects = effects.map_err(|abort| self.doom_at_once(abort))?;
        let id = self.id();
        let status = session.database.statuses.of(id);
        let has_moves = !self.context.moves.borrow().is_empty();
        if has_moves {
            // Of a large transaction, that has been done.
            while self.context.moves.borrow_mut().condense_some(usize::MAX) {}
        }
        let take = || status.take_timestamp(id.sequence(), &session.database.horizon.clock);
        let commit = |timestamp| {
            let first_drop = self.certify_tables(timestamp)?;
            let successor = self.certify(timestamp, first_drop)?;
            if has_moves {
                let mut moves = self.context.moves.borrow_mut();
                session.database.moves.publish(timestamp, moves.condensed());
            }
            status.commit(id.sequence(), successor);
            Ok(successor)
        };
        let (timestamp, certified) = match log {
            Log::None => {
                let timestamp = take();
                (timestamp, commit(timestamp))
            }
            Log::Buffer(lane, places) => {
                let durability = self.context.durability.get();
                lane.append(durability, take, |timestamp, log| {
                    let successor = commit(timestamp)?;
                    self.each_event(|key, value| log.write(EVENTS, key, Some(value)));
                    for some in places {
                        self.each_write(some.clone(), |table, key, value| {
                            log.write(table, key, value);
                            ControlFlow::Continue(())
                        });
                    }
                    Ok(successor)
                })
            }
            Log::Large(lane, large) => lane.append_large(large, take, commit),
        };
        let successor = match certified {
            Ok(successor) => successor,
            Err(abort) => {
                drop(effects);
                // Others that meet its versions spin until a commit that has begun is over.
                return Err(self.doom_at_once(abort));
            }
        };
        if let Some(effects) = effects {
            effects.committed(timestamp);
        }
        Ok(Stamping::begin(self, timestamp, successor))
    }

    /// Shows what the catalog has to log.
    fn each_event(&self, mut show: impl FnMut(&[u8], &[u8])) {
        for effect in self.context.effects.borrow().iter() {
            if let Effect::Event { key, value, .. } = effect {
                show(key, value);
            }
        }
    }

    /// Shows what writes have to log, until the answer is a break: the place behind the last one.
    fn each_write(
        &self,
        range: Range<usize>,
        mut show: impl FnMut(u32, &[u8], Option<&[u8]>) -> ControlFlow<()>,
    ) -> usize {
        let writes = self.context.writes.borrow();
        let keys = self.context.keys.borrow();
        for (write, at) in writes.range(range.clone()).zip(range.clone()) {
            if is_derived(write.table) {
                continue;
            }
            let shown = show(write.table, write.key(&keys), write.version.payload());
            if shown.is_break() {
                return at + 1;
            }
        }
        range.end
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
