//! Transactions: typed operations on those of the engine.
//!
//! | operations | file |
//! | --- | --- |
//! | begin, end, isolation | here |
//! | `get`, `get_with`, `contains` | `read.rs` |
//! | `multi_get`, `multi_get_with` | `multi_get.rs` |
//! | `insert`, `update`, `upsert`, `modify`, `delete` | `write.rs` |
//! | `lock`, `get_for_update`, the reaction to conflicts | `lock.rs` |
//! | savepoints | `savepoint.rs` |
//! | `scan` | `scan.rs` |
//! | `get_by`, `scan_by`, `scan_covered` | `by_index.rs` |
//! | `range`, a stream of rows | `rows.rs` |
//! | `create_table`, `open_table`, `drop_table`, `truncate_table`, `rename_table` | `ddl.rs` |

mod by_index;
mod ddl;
mod lock;
mod multi_get;
mod read;
mod rows;
mod savepoint;
mod scan;
mod write;

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use engine::Priority;
use interleave::{Interleaved, Policy};

pub use self::{by_index::IndexScan, rows::Rows, scan::Scan};
use crate::{
    changes::Position,
    error::{Error, Result},
    options::{Durability, Isolation},
    table::{Current, Table},
};

/// An open transaction. Dropping it rolls it back.
///
/// The closures that [`crate::Database::run`] takes are given a transaction; it is committed when
/// they return `Ok`. All operations take `&self`, so several may be under way at once (`join`);
/// each sees the effects of those that ended before it began.
///
/// `P` decides how operations reach memory: [`Interleaved`] (the default) lets
/// other transactions run during cache misses, the others are for comparison.
///
/// # Errors
/// After [`crate::Error::Abort`] every further operation returns the same error: return it, and the
/// transaction is run again. After other errors the transaction can go on.
///
/// # Suspension
/// All operations may suspend. They leave nothing behind when their future is dropped, except that
/// a write may have happened or not, which the transaction's commit or rollback covers.
pub struct Transaction<P: Policy = Interleaved> {
    inner: engine::Transaction,
    _policy: PhantomData<P>,
}

impl<P: Policy> Transaction<P> {
    #[inline]
    pub(crate) fn new(inner: engine::Transaction) -> Transaction<P> {
        Transaction {
            inner,
            _policy: PhantomData,
        }
    }

    /// Returns the isolation level of the transaction.
    pub fn isolation(&self) -> Isolation {
        self.inner.isolation()
    }

    /// Returns the position of the transaction's snapshot: it sees everything committed up to
    /// there, and nothing later; under read committed, the position is the present. A change stream
    /// can go on from there ([`crate::Database::changes`]). The snapshot therefore stays where it
    /// is from now on, and a write that meets a later commit aborts.
    pub fn snapshot(&self) -> Position {
        Position(self.inner.snapshot().0)
    }

    /// Returns the number of records written so far.
    pub fn write_count(&self) -> usize {
        self.inner.write_count()
    }

    /// Returns the durability of the transaction: the condition for acknowledging it.
    pub fn durability(&self) -> Durability {
        self.inner.durability()
    }

    /// Changes the durability of the transaction.
    pub fn set_durability(&self, durability: Durability) {
        self.inner.set_durability(durability);
    }

    /// Returns the priority of the transaction's reads of records that are not in memory.
    pub fn priority(&self) -> Priority {
        self.inner.priority()
    }

    /// Changes the priority of the transaction's reads of records that are not in memory. Default
    /// `Interactive`; the reads of lower priority wait for them, but not for ever.
    pub fn set_priority(&self, priority: Priority) {
        self.inner.set_priority(priority);
    }

    /// Commits the transaction, and waits until it is as durable as [`Transaction::durability`]
    /// says, or, if it has written nothing, until everything that it has read is.
    ///
    /// # Errors
    /// [`crate::Error::Abort`] if an operation was aborted, [`crate::Error::StorageFull`],
    /// [`crate::Error::TransactionTooLarge`]: nothing of the transaction remains.
    /// [`crate::Error::Poisoned`]: whether anything remains is unknown.
    ///
    /// # Cancellation
    /// The call itself makes the transaction visible, if there is room in the log and the
    /// transaction is not large ([`engine::Transaction::commit`]): dropping the future then leaves
    /// it committed. A large transaction commits while the future is awaited, and is rolled back if
    /// that is dropped before.
    #[inline]
    pub fn commit(self) -> impl Future<Output = Result<()>> {
        Commit(self.inner.commit())
    }

    /// Rolls the transaction back, and waits until the data that it has read is durable, because an
    /// answer that depends on that data is to leave.
    ///
    /// # Errors
    /// [`crate::Error::Poisoned`].
    pub(crate) async fn give_up(self) -> Result<()> {
        let (session, seen) = (self.inner.session().clone(), self.inner.seen());
        let waits = self.durability() == Durability::Synchronous;
        self.inner.rollback_in_turns().await;
        if waits {
            session.durable(seen).await?;
        }
        Ok(())
    }

    /// Rolls the transaction back. Dropping it does the same.
    pub fn rollback(self) {
        self.inner.rollback();
    }

    /// Begins again after an abort, with the lock of the record that the transaction was aborted
    /// for.
    ///
    /// # Errors
    /// [`crate::Error::Closed`], [`crate::Error::MemoryExhausted`].
    pub(crate) async fn restart(self) -> Result<Transaction<P>> {
        match self.inner.restart::<P>().await {
            Ok(inner) => Ok(Transaction::new(inner)),
            Err(engine::Error::Ended) => Err(crate::Error::Closed),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn into_engine(self) -> engine::Transaction {
        self.inner
    }

    /// Returns the engine's transaction, for the comparison baselines of the benchmark.
    #[doc(hidden)]
    pub fn engine(&self) -> &engine::Transaction {
        &self.inner
    }

    /// Returns the table that the handle refers to in this transaction.
    #[inline(always)]
    fn checked<'t, K, V>(&self, table: &'t Table<K, V>) -> Result<Current<'t>> {
        match table.within(self.inner.session().database()) {
            Some(opened) if opened.is_live() => Ok(Current::Opened(opened)),
            Some(opened) => self.current(opened, table.name()),
            None => Err(table.foreign()),
        }
    }

    /// Returns the table that the handle refers to if its own was dropped or truncated, or is just
    /// being made.
    #[cold]
    fn current<'t>(&self, opened: &Arc<engine::Table>, name: &str) -> Result<Current<'t>> {
        match self.inner.current(opened) {
            Ok(current) => Ok(Current::Successor(current)),
            Err(_) => Err(Error::TableDropped(name.into())),
        }
    }
}

/// Future of a commit; see [`Transaction::commit`].
struct Commit(engine::Commit);

impl Future for Commit {
    type Output = Result<()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let committed = Pin::new(&mut self.0).poll(context);
        committed.map(|committed| Ok(committed.map(|_| ())?))
    }
}

impl<P: Policy> fmt::Debug for Transaction<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("isolation", &self.isolation())
            .field("policy", &P::NAME)
            .field("writes", &self.write_count())
            .finish_non_exhaustive()
    }
}
