//! The end of a transaction. The step that makes it visible never suspends; a commit may wait
//! before it for room in the log, and after it for the device. The further work of a large
//! transaction is in `commit/turns.rs`.

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

/// Maximum writes, or locks, of a transaction that ends at once: more would take longer than a
/// turn.
pub(super) const AT_ONCE_MAX: usize = 1024;

/// Maximum events of moved rows of a transaction that ends at once: two for each write. A
/// transaction that has moved rows to and fro has more events than writes.
const MOVES_AT_ONCE_MAX: usize = 2 * AT_ONCE_MAX;

/// Destination of a commit in the log.
enum Log<'l> {
    None,
    /// The buffer; the writes in these places cover all that is to be logged.
    Buffer(&'l LaneWriter, &'l [Range<usize>]),
    /// A block that was put together.
    Large(&'l LaneWriter, LargeTransaction<'l>),
}

/// A commit: see [`Transaction::commit`].
#[must_use = "a commit is acknowledged only when it is awaited"]
pub struct Commit {
    state: CommitState,
}

enum CommitState {
    Ended(Result<Timestamp, Error>),
    Waits(Timestamp, Durable),
    /// Lack of room, or much to do. Boxed: rare, and large.
    InTurns(Pin<Box<dyn Future<Output = Result<Timestamp, Error>>>>),
}

impl Commit {
    /// Returns the result if there is nothing to wait for, as for most transactions that have only
    /// read. Saves the future its place in a frame.
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
    /// Commits. A transaction that has only read has no timestamp of its own and returns its
    /// snapshot's.
    ///
    /// The call itself makes the transaction visible to others, if there is room in the log and the
    /// transaction is not large; the future ends when the transaction is as durable as
    /// [`Transaction::durability`] asks for. For a transaction that has only read, the future ends
    /// when the commits that it saw are that durable. A transaction of more than a thousand writes,
    /// or of more bytes than a log buffer ([`crate::LogConfig::buffer_bytes`]), commits in turns
    /// with other tasks; so does a transaction that has moved the same rows again and again
    /// ([`Transaction::note_move`]).
    ///
    /// # Errors
    /// [`Error::Abort`] if no serial order allows the transaction; [`Error::Abort`] or
    /// [`Error::Ended`] if it is over already. [`Error::StorageFull`], [`Error::MemoryExhausted`]
    /// (the transaction is larger than a log buffer), [`Error::TransactionTooLarge`]: the
    /// transaction was rolled back. [`Error::Poisoned`]: the durability of the transaction is
    /// unknown.
    ///
    /// # Suspension
    /// An event wait, if there is a log. No snapshot is held meanwhile. The commit of a large
    /// transaction yields as well.
    ///
    /// # Cancellation
    /// Dropping the future leaves the transaction committed or, if there was no room in the log yet
    /// or a large one was not put together, rolls it back.
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

    /// Commits a transaction that has written nothing. Returns its timestamp, and the timestamp
    /// whose durability its result must wait for; `None` if the transaction has many locks.
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
        // Another task may be waiting for the end of all transactions that may have written.
        if let Some(id) = self.context.id.get() {
            self.session.database.statuses.of(id).abort(id.sequence());
        }
        let timestamp = self.snapshot();
        self.ended();
        let depends_on = self.context.seen.get();
        Ok((timestamp, self.waits_for(depends_on)?))
    }

    /// Returns `depends_on` if a result that depends on it must wait for its durability.
    #[inline(always)]
    fn waits_for(&self, depends_on: Timestamp) -> Result<Option<Timestamp>, Error> {
        Ok(match self.session.lane() {
            Some(lane) if self.context.durability.get() == Durability::Synchronous => {
                (!lane.is_durable(depends_on)?).then_some(depends_on)
            }
            _ => None,
        })
    }

    /// Commits a transaction that has written, in one go whatever the number of writes, for a
    /// caller that cannot suspend and does not wait for the device. Returns false if the log has no
    /// room: then the transaction is rolled back.
    ///
    /// # Errors
    /// Fails as [`Transaction::commit`] does.
    pub(crate) fn commit_in_one_go(self) -> Result<bool, Error> {
        Ok(self.commit_at_once(usize::MAX)?.is_some())
    }

    /// Commits a transaction that has written. Returns its timestamp, and the timestamp whose
    /// durability its result must wait for; `None` if the transaction has more than `writes_max`
    /// writes, is large, or finds no room in the log.
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

    /// Whether a transaction of this `size` fits into the buffer of `lane`.
    fn has_room(&self, lane: &LaneWriter, size: &LogSize) -> Result<bool, Error> {
        self.session.database.check_writable()?;
        // The purse has to be determined only if the room of all transactions is used up.
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
            stats.scanned_in_blocks += context.scanned_in_blocks.get();
        });
        counters
            .useful
            .set(counters.useful.get() + context.work() + 1);
    }

    /// Commits without suspending: from here on the transaction is visible. Its versions are
    /// stamped when the result is dropped.
    ///
    /// # Errors
    /// [`Error::Abort`] if the transaction was aborted.
    fn commit_writes(&self, log: Log<'_>) -> Result<Stamping<'_>, Error> {
        let session = &*self.session;
        let effects = self.begin_effects();
        let effects = effects.map_err(|abort| self.doom_at_once(abort))?;
        let id = self.id();
        let status = session.database.statuses.of(id);
        let has_moves = !self.context.moves.borrow().is_empty();
        if has_moves {
            // A large transaction has condensed its moves already.
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
                // Transactions that meet its versions spin until a commit that has begun is over.
                return Err(self.doom_at_once(abort));
            }
        };
        if let Some(effects) = effects {
            effects.committed(timestamp);
        }
        Ok(Stamping::begin(self, timestamp, successor))
    }

    /// Calls `show` with each event of the catalog to log.
    fn each_event(&self, mut show: impl FnMut(&[u8], &[u8])) {
        for effect in self.context.effects.borrow().iter() {
            if let Effect::Event { key, value, .. } = effect {
                show(key, value);
            }
        }
    }

    /// Calls `show` with each write in `range` to log, until `show` breaks. Returns the place
    /// behind the last write shown.
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

    /// Aborts the transaction for a conflict that its caller has found, and counts the conflict as
    /// any other. Returns the error that its operations return from now on.
    pub fn abort(&self, reason: Abort) -> Error {
        self.doom(reason)
    }

    /// Rolls back, as dropping the transaction does.
    pub fn rollback(self) {
        drop(self);
    }
}
