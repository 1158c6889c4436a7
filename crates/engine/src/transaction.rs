//! Transactions: multi-version, on snapshots, first updater wins; serializable transactions are
//! certified when they commit.
//!
//! | phase | file |
//! | --- | --- |
//! | begin, end, isolation | this file |
//! | visibility of versions | `visibility.rs` |
//! | point reads | `read.rs` |
//! | insert, update, upsert, delete | `write.rs` |
//! | ordered scans; whole tables in no order | `scan.rs`; `unordered_scan.rs` |
//! | one snapshot for several operations under read committed | `statement_snapshot.rs` |
//! | one snapshot for transactions of several sessions | `shared_snapshot.rs` |
//! | statements that do not see their own writes | `command.rs` |
//! | rows found earlier, wherever they lie now | `row.rs` |
//! | conflicts, explicit locks | `conflict.rs`, `lock.rs`, `held.rs`, `table_lock.rs` |
//! | snapshots that move forward instead of conflicting | `refresh.rs` |
//! | running again after an abort | `restart.rs` |
//! | commit | `commit.rs` |
//! | certification of serializable transactions | `certify.rs` |
//! | undo, whole or in part | `undo.rs`, `savepoint.rs` |
//! | effects of a write on indexes | `maintain.rs` |
//! | reads by index | `by_index.rs` |
//! | reads of the present beside a snapshot | `present.rs` |
//!
//! Every operation has one body, generic over the suspension policy, and runs as a leaf of the
//! coroutine runtime. All operations take `&self`, so several may be open at once within a
//! transaction (under a `join`); each operation is atomic with respect to the others at its
//! suspension points.
//!
//! # Rules
//! - A *pin* is held for the length of an operation. A *snapshot* is held for the length of the
//!   transaction (snapshot isolation), or of the operation or statement (read committed).
//! - A touch invalidates earlier reads: the head of a chain is validated by the compare-and-swap
//!   that installs a version; visible versions stay visible.
//! - The step that commits never suspends, nor does an immediate undo; the steps before and after
//!   them may (`commit/turns.rs`, `in_turns.rs`).

#[cfg(feature = "baselines")]
mod baseline;
mod by_index;
mod certify;
mod command;
mod commit;
mod conflict;
mod elsewhere;
mod held;
mod in_turns;
mod lock;
mod maintain;
mod multi_get;
mod phantoms;
mod present;
mod read;
mod refresh;
mod restart;
mod row;
mod sample;
mod savepoint;
mod scan;
mod shared_snapshot;
mod statement_snapshot;
mod survey;
mod table_lock;
mod undo;
mod unordered_scan;
mod visibility;
mod write;

use std::{
    mem::ManuallyDrop,
    ops::Bound::{self, Included},
    rc::Rc,
};

pub use self::{
    by_index::IndexPosition,
    command::Command,
    commit::Commit,
    lock::RowLocked,
    present::Present,
    row::{RowFound, RowOutcome},
    savepoint::Savepoint,
    scan::Thawed,
    shared_snapshot::SharedSnapshot,
    statement_snapshot::{Seeing, StatementSnapshot},
    unordered_scan::{BlockScan, Met, ScanPosition, Unordered, Wanted},
};
pub(crate) use self::{
    maintain::Claimed,
    read::INDEX_POINT,
    scan::{Visit, fetch_records},
    table_lock::HeldTable,
};

use index::{Direction, NodeVersion};
use io::Priority;

use crate::{
    error::{Abort, Error},
    indirection::Slot,
    log::Durability,
    session::{Account, Context, Seen, Session, State, Tracker},
    table::Table,
    timestamp::{Begin, Timestamp, TransactionId},
    version::Version,
};

/// Isolation level: the effects of other transactions that a transaction sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Each operation sees the commits before it began. Overlapping operations, under a `join`, see
    /// the commits before the first of them began; operations of a statement, the commits before
    /// the statement began ([`Transaction::statement_snapshot`]). Writes overwrite later commits;
    /// an uncommitted write of another transaction aborts.
    ReadCommitted,
    /// All operations see the commits before the transaction began. A write of a record that was
    /// changed since then aborts (first updater wins), unless nothing that the transaction has read
    /// has changed: then the transaction goes on as if it had begun just now.
    Snapshot,
    /// As [`Isolation::Snapshot`]; besides, the transaction aborts at its commit unless all
    /// serializable transactions together behave as if they had run one after the other (see
    /// [`crate::Certifier`]). Transactions at other levels do not count.
    #[default]
    Serializable,
}

/// Options with which a transaction begins.
///
/// ```
/// use engine::{Isolation, TransactionOptions};
///
/// let audit = TransactionOptions { read_only: true, ..Isolation::Serializable.into() };
/// # let _ = audit;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransactionOptions {
    /// Isolation level. Default: serializable.
    pub isolation: Isolation,
    /// Whether the transaction cannot write ([`Error::ReadOnly`]). A read-only serializable
    /// transaction notes nothing of its reads and never aborts: writers abort instead where that is
    /// needed. Default: it can write.
    pub read_only: bool,
}

impl From<Isolation> for TransactionOptions {
    fn from(isolation: Isolation) -> TransactionOptions {
        TransactionOptions {
            isolation,
            ..TransactionOptions::default()
        }
    }
}

/// An open transaction. Dropping it rolls it back.
///
/// Two words, because a transaction is moved a few times; its state is in its context.
pub struct Transaction {
    session: Rc<Session>,
    /// Given back by the drop.
    context: ManuallyDrop<Rc<Context>>,
}

impl Session {
    /// Begins a transaction with `options`, or just with an isolation level.
    ///
    /// # Errors
    /// [`Error::Ended`] if the database is closed; [`Error::Poisoned`] if its device has failed;
    /// [`Error::MemoryExhausted`] if 65,536 transactions are open in this session.
    #[inline]
    pub fn begin(
        self: &Rc<Session>,
        options: impl Into<TransactionOptions>,
    ) -> Result<Transaction, Error> {
        let transaction = self.open(options.into())?;
        transaction.see();
        Ok(transaction)
    }

    /// Begins a transaction that has no snapshot yet.
    #[inline(always)]
    fn open(self: &Rc<Session>, options: TransactionOptions) -> Result<Transaction, Error> {
        if self.database.is_closed() {
            return Err(self.database.why_closed());
        }
        let context = self.contexts.take().ok_or(Error::MemoryExhausted)?;
        context.open(options, self.database.durability());
        Ok(Transaction {
            session: self.clone(),
            context: ManuallyDrop::new(context),
        })
    }
}

impl Transaction {
    /// Takes the snapshot, unless the isolation level takes one for each operation.
    #[inline(always)]
    fn see(&self) {
        let snapshot = match self.isolation() {
            Isolation::ReadCommitted => return,
            Isolation::Serializable if self.is_read_only() => {
                self.session.take_read_only_snapshot()
            }
            Isolation::Snapshot | Isolation::Serializable => self.session.take_snapshot(),
        };
        self.context.set_snapshot(snapshot);
    }

    /// Returns the isolation level.
    #[inline]
    pub fn isolation(&self) -> Isolation {
        self.context.isolation.get()
    }

    /// Returns the session of the transaction.
    pub fn session(&self) -> &Rc<Session> {
        &self.session
    }

    /// Returns the transaction's snapshot, which does not move from now on; under read committed,
    /// returns the present.
    pub fn snapshot(&self) -> Timestamp {
        match self.isolation() {
            Isolation::Snapshot | Isolation::Serializable => {
                self.context.dependencies.settle();
                self.context.snapshot()
            }
            Isolation::ReadCommitted => self.session.database.now(),
        }
    }

    /// Returns the options with which the transaction began.
    pub fn options(&self) -> TransactionOptions {
        TransactionOptions {
            isolation: self.isolation(),
            read_only: self.is_read_only(),
        }
    }

    /// Whether the transaction was declared read-only.
    pub fn is_read_only(&self) -> bool {
        self.context.read_only.get()
    }

    /// Returns the durability that the acknowledgement of the commit waits for. Default: that of
    /// the database.
    pub fn durability(&self) -> Durability {
        self.context.durability.get()
    }

    /// Sets the durability that the acknowledgement of the commit waits for.
    pub fn set_durability(&self, durability: Durability) {
        self.context.durability.set(durability);
    }

    /// Has writes that find no room in memory fail at once ([`Error::MemoryExhausted`]), for a transaction whose work
    /// may be left undone.
    pub fn fail_without_room(&self) {
        self.context.fails_without_room.set(true);
    }

    /// Returns the urgency of the transaction's reads of cold records.
    pub fn priority(&self) -> Priority {
        self.context.priority.get()
    }

    /// Sets the urgency of the transaction's reads of cold records. Default: interactive. A record
    /// that another transaction is about to read is read with the urgency of that transaction.
    pub fn set_priority(&self, priority: Priority) {
        self.context.priority.set(priority);
    }

    /// Returns the newest commit that the transaction saw anything of: its answers depend on no
    /// later commit.
    pub fn seen(&self) -> Timestamp {
        self.context.seen.get()
    }

    /// Returns the transaction's name, which its versions carry until they are stamped. The name is
    /// taken when it is first needed.
    #[inline]
    fn id(&self) -> TransactionId {
        self.context.id.get().unwrap_or_else(|| self.take_id())
    }

    fn take_id(&self) -> TransactionId {
        let (session, number) = (self.session.number, self.context.number);
        let statuses = self.session.database.statuses.session(session.into());
        let id = TransactionId::new(session, number, statuses.get(number.into()).begin());
        self.context.drop_anchor(|| self.session.take_snapshot());
        self.context.id.set(Some(id));
        id
    }

    /// Notes that the answers depend on the commit at `timestamp`.
    #[inline(always)]
    pub(crate) fn saw(&self, timestamp: Timestamp) {
        let seen = &self.context.seen;
        seen.set(seen.get().max(timestamp));
    }

    /// Returns the newest commit that the answers so far depend on: a commit waits until it is durable. The maker of a
    /// [`SharedSnapshot`] notes those of the readers whose answers it gives ([`Transaction::note_seen`]).
    pub fn newest_seen(&self) -> Timestamp {
        self.context.seen.get()
    }

    /// Notes that the answers depend on a commit that a reader at a shared snapshot of this transaction has seen.
    pub fn note_seen(&self, newest: Timestamp) {
        self.saw(newest);
    }

    /// Ends a transaction of the engine itself that has only read.
    pub(crate) fn release(self) {
        debug_assert_eq!(self.write_count(), 0);
        self.context.state.set(State::Ended);
    }

    /// Returns the context, the private state of the transaction.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the number of records written so far, index entries included.
    pub fn write_count(&self) -> usize {
        self.context.writes.borrow().len()
    }

    /// Fails with the error that every further operation returns, if any.
    #[inline(always)]
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        match self.context.state.get() {
            State::Open => Ok(()),
            State::Returning => Err(Error::OperationUnderWay),
            State::Aborted(abort) | State::Doomed(abort) => Err(Error::Abort(abort)),
            State::Ended => Err(Error::Ended),
        }
    }

    /// Opens an operation on `table`: its snapshot stays open until the guard is dropped.
    #[inline(always)]
    pub(crate) fn statement(&self, table: &Table) -> Result<Statement<'_>, Error> {
        self.check_open()?;
        if !table.is_in(&self.session.database.arena) {
            return Err(Error::ForeignTable);
        }
        let is_first = self.context.open_statement();
        let statement = Statement {
            transaction: self,
            journals: false,
        };
        if is_first && self.isolation() == Isolation::ReadCommitted {
            self.take_present();
        }
        // The existence of the table is part of the answer.
        match table.life.live_since(self.context.snapshot()) {
            Some(made) => self.saw(made),
            None => self.check_use(table)?,
        }
        self.context.note_use(table.number());
        Ok(statement)
    }

    /// Opens an operation that writes to `table`.
    #[inline(always)]
    fn statement_to_write(&self, table: &Table) -> Result<Statement<'_>, Error> {
        let statement = self.statement(table)?;
        if self.context.read_only.get() {
            return Err(Error::ReadOnly);
        }
        Ok(statement)
    }

    /// Notes what the transaction saw of the record in `slot`: `version`, or none.
    #[inline(always)]
    fn note(&self, slot: &Slot, version: Option<Version>) {
        let dependencies = &self.context.dependencies;
        if dependencies.is_active() && !version.is_some_and(|version| self.is_own(version)) {
            if dependencies.is_full() && !self.may_remember_reads() {
                return;
            }
            let seen = version.map(|version| Seen {
                at: self.commit_of(version),
                is_tombstone: version.is_tombstone(),
            });
            dependencies.saw(slot, seen);
        }
    }

    /// Notes that the transaction did not find `key` in `table`, or nothing behind it, if a node of
    /// the index says so.
    #[inline(always)]
    fn note_absence(&self, table: &Table, key: &[u8], node: Option<NodeVersion>) {
        let dependencies = &self.context.dependencies;
        if !dependencies.is_for_certification() {
            dependencies.settle();
        } else if let Some(node) = node {
            dependencies.missed(table.number(), node);
            dependencies.looked_at(table.number(), (Included(key), Included(key)));
        }
    }

    /// Notes that a scan begins.
    #[inline(always)]
    fn note_scan(&self) {
        let dependencies = &self.context.dependencies;
        if !dependencies.is_for_certification() {
            dependencies.settle();
        } else {
            dependencies.count_scan(1);
        }
    }

    /// Notes the keys that a scan has examined: `range`, or the part of it up to the key `up_to`.
    #[inline(always)]
    fn note_scanned(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        up_to: Option<&[u8]>,
    ) {
        let dependencies = &self.context.dependencies;
        if dependencies.is_for_certification() {
            let range = match (up_to, direction) {
                (None, _) => range,
                (Some(last), Direction::Forward) => (range.0, Included(last)),
                (Some(last), Direction::Backward) => (Included(last), range.1),
            };
            dependencies.looked_at(table.number(), range);
            dependencies.count_scan(-1);
        }
    }

    /// Makes room before the list of reads grows. If the list may not grow, the snapshot is settled
    /// or the transaction is doomed, and the result is false.
    #[cold]
    fn may_remember_reads(&self) -> bool {
        if !self.context.dependencies.has_room() {
            return false;
        }
        self.session.account.charge(&self.context);
        if Account::refuses_reads(&self.context, &self.session.database.arena) {
            self.doom(Abort::TooMuchRead);
            return false;
        }
        true
    }

    /// Returns the tracker of nodes of `table`'s index.
    #[inline(always)]
    fn tracker(&self, table: &Table) -> Tracker<'_> {
        let dependencies = &self.context.dependencies;
        Tracker {
            dependencies: dependencies.is_for_certification().then_some(dependencies),
            table: table.number(),
        }
    }

    #[inline(always)]
    fn is_own(&self, version: Version) -> bool {
        matches!(version.begin(), Begin::InProgress(maker) if self.context.id.get() == Some(maker))
    }

    /// Returns the outcome of a fetch; an abort dooms the transaction.
    pub(crate) fn fetched<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        outcome.map_err(|error| match error {
            Error::Abort(abort) => self.doom(abort),
            other => other,
        })
    }

    /// Dooms the transaction. Its writes are undone now or, if there are many and they can wait,
    /// when its owner undoes them in turns or drops the transaction (`in_turns.rs`).
    pub(crate) fn doom(&self, abort: Abort) -> Error {
        if self.context.state.get() == State::Open && self.can_be_undone_later() {
            self.context.state.set(State::Doomed(abort));
            self.count_abort(abort);
            return Error::Abort(abort);
        }
        self.doom_at_once(abort)
    }

    /// Dooms the transaction and undoes all its writes now.
    pub(crate) fn doom_at_once(&self, abort: Abort) -> Error {
        if let Err(over) = self.check_open() {
            return over;
        }
        self.undo(State::Aborted(abort));
        self.count_abort(abort);
        Error::Abort(abort)
    }
}

/// Operation under way.
pub(crate) struct Statement<'t> {
    transaction: &'t Transaction,
    /// Whether its writes are noted in the context's journal and can be undone alone.
    journals: bool,
}

impl Drop for Statement<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let transaction = self.transaction;
        if transaction.context.close_statement()
            && transaction.isolation() == Isolation::ReadCommitted
        {
            transaction.context.drop_snapshot();
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // A return to a savepoint that was under way and forgotten cannot be resumed.
        if self.context.state.get() == State::Returning {
            self.context.state.set(State::Open);
        }
        if self.context.state.get() == State::Open {
            self.undo(State::Ended);
            self.session.counters.update(|stats| stats.rollbacks += 1);
        }
        if let State::Doomed(abort) = self.context.state.get() {
            self.undo(State::Aborted(abort));
        }
        if let State::Aborted(_) = self.context.state.get() {
            self.disinherit();
        }
        // SAFETY: the context is not used after this.
        let context = unsafe { ManuallyDrop::take(&mut self.context) };
        self.session
            .contexts
            .give_back(context, &self.session.account);
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("isolation", &self.isolation())
            .field("state", &self.context.state.get())
            .field("writes", &self.write_count())
            .finish_non_exhaustive()
    }
}
