//! The change stream: what transactions committed, in commit order.
//!
//! The engine's reader lives here, with the consumer, and is lent to a task on a worker
//! whenever there is nothing at hand: a stream that nobody asks is nobody's work. The task
//! gives back the reader with a batch of transactions.

mod change;

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use engine::{ChangeReader, ChangesError, Timestamp};
use futures_core::Stream;
use interleave::{Handle, JoinHandle};

pub use self::change::{Change, ChangedTransaction};
use crate::{
    context::{Shared, WorkerState},
    database::Database,
    error::{Error, Result},
    run::Running,
    thread::block_on,
};

/// A point in commit order: everything committed up to it, nothing later. Of one
/// database; kept as its number, it outlives the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Where a change stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangesFrom {
    /// With the database's first commit.
    Beginning,
    /// After everything that is committed now.
    Now,
    /// After a position: of a change ([`ChangedTransaction::position`]), or a
    /// transaction's snapshot ([`crate::Transaction::snapshot`]).
    Position(Position),
}

impl From<ChangesFrom> for engine::ChangesFrom {
    fn from(from: ChangesFrom) -> engine::ChangesFrom {
        match from {
            ChangesFrom::Beginning => engine::ChangesFrom::Beginning,
            ChangesFrom::Now => engine::ChangesFrom::Now,
            ChangesFrom::Position(Position(at)) => engine::ChangesFrom::After(Timestamp(at)),
        }
    }
}

type Batch = std::result::Result<Vec<engine::ChangedTransaction>, ChangesError>;

/// A stream of what transactions committed, in commit order, each once. Made by
/// [`Database::changes`].
///
/// It can be awaited in any runtime, as a [`Stream`] or by [`Changes::next`], and moved
/// between threads. It waits for new commits, and ends only with an error. Dropping it
/// ends it; nothing is to be given back. To go on another time, keep the
/// [`Changes::position`] of what was worked off.
///
/// A stream that is not asked does nothing, and holds some hundred kilobytes of the log
/// per worker at most, or a large transaction. It does not keep the log either: see
/// [`crate::StorageOptions::change_retention_bytes`].
///
/// # Errors
/// [`Error::Changes`]: the log is not kept any more, for one that was too slow, or it is
/// damaged. [`Error::MemoryExhausted`]: there is no room for a part of the log at the
/// moment; ask again. [`Error::Closed`], [`Error::Poisoned`].
pub struct Changes {
    handle: Handle<WorkerState>,
    shared: Arc<Shared>,
    reading: Reading,
    at_hand: VecDeque<engine::ChangedTransaction>,
    position: Position,
    is_over: bool,
}

enum Reading {
    /// Begins anew, after the position, if there is none.
    Not(Option<Box<ChangeReader>>),
    Task(JoinHandle<(Option<Box<ChangeReader>>, Batch), WorkerState>),
}

impl Database {
    /// What transactions commit from `from` on, of all tables, in commit order, once it
    /// is durable.
    ///
    /// When this returns, where the stream begins is durable itself. So to copy a
    /// database and keep the copy up to date: copy the tables in one transaction, note
    /// its [`crate::Transaction::snapshot`], open a stream at that position, keep both.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # use weft::*;
    /// # let options = Options { data_dir: Some(directory.path().into()), workers: 1, ..Options::default() };
    /// let db = Database::open(options)?;
    /// let stock: Table<String, u32> = db.create_table("stock")?;
    /// let mut changes = db.changes_blocking(ChangesFrom::Now)?;
    ///
    /// let ours = stock.clone();
    /// db.run_blocking(async move |txn: &Transaction| txn.insert(&ours, "loom", &7).await)?;
    ///
    /// let transaction = changes.next_blocking()?;
    /// for change in transaction.changes() {
    ///     if let Some((key, value)) = change.for_table(&stock)? {
    ///         assert_eq!((&*key, value), ("loom", Some(7)));
    ///     }
    /// }
    /// let go_on_from = ChangesFrom::Position(transaction.position());
    /// # let _ = go_on_from;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Changes`] in memory, where there is no log, and at positions that are not
    /// kept any more (it names the oldest that is) or were never reached;
    /// [`Error::Closed`].
    ///
    /// # Cancellation
    /// Dropping the returned future opens nothing.
    pub fn changes(&self, from: ChangesFrom) -> impl Future<Output = Result<Changes>> + Send {
        let opening = match self.shared().check_open() {
            Err(closed) => Err(closed),
            Ok(()) => Ok((self.pick().handle.clone(), self.shared().clone())),
        };
        async move {
            let (handle, shared) = opening?;
            let opened = Running::submitted(handle.submit(move |state| {
                let session = state.session.clone();
                async move {
                    let reader = session.changes(from.into()).await;
                    reader.map(Box::new).map_err(Error::from)
                }
            }));
            let reader = opened.await?;
            Ok(Changes {
                handle,
                shared,
                position: Position(reader.position().0),
                reading: Reading::Not(Some(reader)),
                at_hand: VecDeque::new(),
                is_over: false,
            })
        }
    }

    /// As [`Database::changes`], blocking the calling thread.
    ///
    /// # Errors
    /// As for [`Database::changes`]; [`Error::WouldBlockWorker`] on a worker's thread.
    pub fn changes_blocking(&self, from: ChangesFrom) -> Result<Changes> {
        block_on(self.changes(from))
    }
}

impl Changes {
    /// The next transaction that has changed something.
    ///
    /// # Errors
    /// See the type.
    ///
    /// # Cancellation
    /// Nothing is lost: it can be called again.
    pub async fn next(&mut self) -> Result<ChangedTransaction> {
        poll_fn(|context| self.poll_change(context)).await
    }

    /// As [`Changes::next`], blocking the calling thread.
    ///
    /// # Errors
    /// As for [`Changes::next`]; [`Error::WouldBlockWorker`] on a worker's thread.
    pub fn next_blocking(&mut self) -> Result<ChangedTransaction> {
        block_on(self.next())
    }

    /// That of the last transaction handed out; before that, where the stream began.
    pub fn position(&self) -> Position {
        self.position
    }

    fn poll_change(&mut self, context: &mut Context<'_>) -> Poll<Result<ChangedTransaction>> {
        loop {
            if let Some(transaction) = self.at_hand.pop_front() {
                self.position = Position(transaction.timestamp().0);
                let database = Arc::downgrade(&self.shared.engine);
                return Poll::Ready(Ok(ChangedTransaction::new(transaction, database)));
            }
            match &mut self.reading {
                Reading::Not(reader) => {
                    self.shared.check_open()?;
                    let (reader, position) = (reader.take(), Timestamp(self.position.0));
                    self.reading = Reading::Task(self.handle.submit(move |state| {
                        let session = state.session.clone();
                        async move { read(&session, reader, position).await }
                    }));
                }
                Reading::Task(task) => {
                    let ended = ready!(Pin::new(task).poll(context));
                    self.reading = Reading::Not(None);
                    let (reader, batch) = ended?;
                    self.reading = Reading::Not(reader);
                    self.at_hand.extend(batch?);
                }
            }
        }
    }
}

/// The next batch, by a reader that is there or a new one.
async fn read(
    session: &std::rc::Rc<engine::Session>,
    reader: Option<Box<ChangeReader>>,
    position: Timestamp,
) -> (Option<Box<ChangeReader>>, Batch) {
    let mut reader = match reader {
        Some(reader) => reader,
        None => match session.changes(engine::ChangesFrom::After(position)).await {
            Ok(reader) => Box::new(reader),
            Err(error) => return (None, Err(error)),
        },
    };
    let batch = reader.next(session).await;
    (Some(reader), batch)
}

/// Ends after an error that would only be repeated.
impl Stream for Changes {
    type Item = Result<ChangedTransaction>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let next = ready!(self.poll_change(context));
        self.is_over = matches!(
            next,
            Err(Error::Closed | Error::Poisoned | Error::Changes(_))
        );
        Poll::Ready(Some(next))
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("position", &self.position)
            .field("at_hand", &self.at_hand.len())
            .finish_non_exhaustive()
    }
}
