//! One snapshot for transactions on several workers: the parts of a long computation see the same
//! records, whichever workers they run on.

use std::fmt;

use interleave::{Interleaved, Policy};

use crate::{
    changes::Position,
    context::Context,
    database::Database,
    error::{Error, Result},
    run::Running,
    transaction::Transaction,
};

/// A snapshot that transactions on all workers can read at: made by [`Transaction::share_snapshot`],
/// used by [`Database::run_at`]. Cheap to clone; all clones are the same snapshot.
///
/// The versions that the snapshot sees stay until the last clone, and the last transaction at the
/// snapshot, are gone: as with an open transaction, do not keep it while a person thinks.
///
/// ```
/// # use std::ops::ControlFlow;
/// # use weft::*;
/// # let db = Database::open(Options { workers: 2, ..Options::default() })?;
/// let orders: Table<u64, u64> = db.create_table("orders")?;
/// # let filled = orders.clone();
/// # db.run_blocking(async move |txn: &Transaction| {
/// #     for order in 0..1000 { txn.insert(&filled, &order, &2).await?; }
/// #     Ok(())
/// # })?;
/// let reader = TransactionOptions { read_only: true, ..TransactionOptions::default() };
/// let snapshot = db.run_with::<Interleaved, _, _>(reader, async |txn| txn.share_snapshot()).wait()?;
///
/// // Each part is a transaction of its own, on any of the workers.
/// let parts: Vec<_> = (0..4_u64)
///     .map(|part| {
///         let orders = orders.clone();
///         db.run_at(&snapshot, async move |txn: &Transaction| {
///             let mut sum = 0;
///             let scan = txn.scan(&orders, part * 250..(part + 1) * 250);
///             scan.for_each(|_order, amount| {
///                 sum += amount;
///                 ControlFlow::Continue(())
///             })
///             .await?;
///             Ok(sum)
///         })
///     })
///     .collect();
/// drop(snapshot); // The parts keep it until they have ended.
/// let mut sum = 0;
/// for part in parts {
///     sum += part.wait()?;
/// }
/// assert_eq!(sum, 2000);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct SharedSnapshot(engine::SharedSnapshot);

impl SharedSnapshot {
    /// Returns the position of the snapshot: it includes everything that was committed up to there,
    /// and nothing later.
    pub fn position(&self) -> Position {
        Position(self.0.timestamp().0)
    }
}

impl<P: Policy> Transaction<P> {
    /// Shares the transaction's snapshot, which stays where it is from now on
    /// ([`Transaction::snapshot`]); under read committed, a snapshot of the present. The snapshot
    /// outlives the transaction.
    ///
    /// # Errors
    /// [`Error::WritesNotShared`] if the transaction has written something, which others would not
    /// see. [`Error::ReadsNotCertified`] if the transaction is serializable and was not declared
    /// read-only. [`Error::MemoryExhausted`] if 65,536 snapshots are shared. The transaction can go
    /// on.
    pub fn share_snapshot(&self) -> Result<SharedSnapshot> {
        let statement = self.engine().statement_snapshot()?;
        Ok(SharedSnapshot(statement.share()?))
    }
}

impl Context {
    /// Begins a read-only transaction at `snapshot`.
    ///
    /// # Errors
    /// [`Error::ForeignSnapshot`]; any error of [`Context::begin`].
    pub fn begin_at<P: Policy>(&self, snapshot: &SharedSnapshot) -> Result<Transaction<P>> {
        match self.engine_session().begin_at(&snapshot.0) {
            Ok(transaction) => Ok(Transaction::new(transaction)),
            Err(engine::Error::Ended) => Err(Error::Closed),
            Err(error) => Err(error.into()),
        }
    }
}

impl Database {
    /// Runs `closure` in a read-only transaction at `snapshot`, on one of the workers. The closure is
    /// run once: what is in its way at this snapshot would be there again.
    ///
    /// The transaction is submitted at once; the returned future only waits for it and can be
    /// awaited in any runtime. It is ready when everything that the transaction has read is durable.
    ///
    /// # Errors
    /// Errors of the closure; [`Error::ForeignSnapshot`], [`Error::Panicked`], [`Error::Closed`].
    /// [`Error::Abort`] if the closure uses a table or an index that is newer than the snapshot.
    ///
    /// # Cancellation
    /// Dropping the returned future ends the transaction.
    pub fn run_at<T, F>(&self, snapshot: &SharedSnapshot, closure: F) -> Running<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&Transaction) -> Result<T> + Send + 'static,
    {
        if let Err(closed) = self.shared().check_open() {
            return Running::refused(closed);
        }
        let snapshot = snapshot.clone();
        Running::submitted(self.pick().handle.submit(move |state| {
            let context = Context {
                state: state.clone(),
            };
            async move {
                let transaction = context.begin_at::<Interleaved>(&snapshot)?;
                drop(snapshot);
                match closure(&transaction).await {
                    Ok(value) => transaction.commit().await.map(|()| value),
                    Err(error) => Err(transaction.give_up().await.err().unwrap_or(error)),
                }
            }
        }))
    }
}

impl fmt::Debug for SharedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSnapshot")
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}
