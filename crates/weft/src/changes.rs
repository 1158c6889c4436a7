//! The change stream: committed transactions, in commit order.
//!
//! The engine's reader lives here, with the consumer ([`Cursor`]), and is lent to a task on a worker whenever there is
//! nothing at hand: a stream that is not polled causes no work. The task gives back the reader with a batch of
//! transactions. A stream of a database with threads ([`Changes`]) and one of a local database (`changes/local.rs`)
//! differ in the thread that runs the task.

mod change;
mod local;

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use engine::{ChangeReader, ChangesError, Session, Timestamp};
use futures_core::Stream;
use interleave::{Handle, JoinHandle};

pub use self::{
    change::{Change, ChangedRecord, ChangedTransaction, TableChange, TableChangeKind},
    local::LocalChanges,
};
use crate::{
    context::{Shared, WorkerState},
    database::Database,
    error::{Error, Result},
    run::Running,
    thread::block_on,
};

/// A point in commit order: everything committed up to it, nothing later. A position belongs to one database; kept as
/// its number, it outlives the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Beginning of a change stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangesFrom {
    /// The database's first commit.
    Beginning,
    /// The present: after everything that is committed now.
    Now,
    /// A position: of a change ([`ChangedTransaction::position`]), or a transaction's snapshot
    /// ([`crate::Transaction::snapshot`]). The stream begins after it.
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

/// Values that a cursor gets back: the reader, if there is one, and the batch that it has read.
type GivenBack = (Option<Box<ChangeReader>>, Batch);

/// Transactions that a stream has at hand, and its position.
struct Cursor {
    shared: Arc<Shared>,
    at_hand: VecDeque<engine::ChangedTransaction>,
    position: Position,
    /// The reader; `None` while it is lent, or if the stream begins anew after the position.
    reader: Option<Box<ChangeReader>>,
}

/// Values that a cursor lends.
struct Lent {
    reader: Option<Box<ChangeReader>>,
    position: Timestamp,
}

impl Cursor {
    fn new(shared: Arc<Shared>, reader: Box<ChangeReader>) -> Cursor {
        Cursor {
            shared,
            at_hand: VecDeque::new(),
            position: Position(reader.position().0),
            reader: Some(reader),
        }
    }

    /// Returns the next transaction, if it is at hand.
    fn next_at_hand(&mut self) -> Option<ChangedTransaction> {
        let transaction = self.at_hand.pop_front()?;
        self.position = Position(transaction.timestamp().0);
        let database = Arc::downgrade(&self.shared.engine);
        Some(ChangedTransaction::new(transaction, database))
    }

    fn lend(&mut self) -> Result<Lent> {
        self.shared.check_open()?;
        Ok(Lent {
            reader: self.reader.take(),
            position: Timestamp(self.position.0),
        })
    }

    fn take_back(&mut self, (reader, batch): GivenBack) -> Result<()> {
        self.reader = reader;
        self.at_hand.extend(batch?);
        Ok(())
    }
}

impl Lent {
    /// Reads the next batch of transactions committed up to `newest`, by the reader that is there or a new one.
    async fn read(self, session: Rc<Session>, newest: Timestamp) -> GivenBack {
        let mut reader = match self.reader {
            Some(reader) => reader,
            None => {
                let from = engine::ChangesFrom::After(self.position);
                match session.changes(from).await {
                    Ok(reader) => Box::new(reader),
                    Err(error) => return (None, Err(error)),
                }
            }
        };
        let batch = reader.next_up_to(&session, newest).await;
        (Some(reader), batch)
    }
}

/// Returns a reader that begins at `from`.
async fn begin(session: Rc<Session>, from: ChangesFrom) -> Result<Box<ChangeReader>> {
    let reader = session.changes(from.into()).await;
    reader.map(Box::new).map_err(Error::from)
}

/// A stream of committed transactions, in commit order, each once. Made by [`Database::changes`].
///
/// The stream can be awaited in any runtime, as a [`Stream`] or by [`Changes::next`], and moved between threads. It
/// waits for new commits, and ends only with an error. Dropping it ends it; nothing has to be given back. To go on
/// another time, keep the [`Changes::position`] of the last transaction that was processed.
///
/// A stream that is not polled does nothing, and holds some hundred kilobytes of the log per worker at most, or a large
/// transaction. It does not keep the log either: see [`crate::StorageOptions::change_retention_bytes`].
///
/// # Errors
/// [`Error::Changes`]: the log is not kept any more, if the stream was too slow, or it is damaged.
/// [`Error::MemoryExhausted`]: there is no room for a part of the log at the moment; poll again. [`Error::Closed`],
/// [`Error::Poisoned`].
pub struct Changes {
    handle: Handle<WorkerState>,
    cursor: Cursor,
    /// The task that has the reader.
    task: Option<JoinHandle<GivenBack, WorkerState>>,
    is_over: bool,
}

impl Database {
    /// Opens a stream of the transactions that commit from `from` on, in all tables, in commit order, each once it is
    /// durable.
    ///
    /// When this returns, the beginning of the stream is durable itself. To copy a database and keep the copy up to
    /// date, copy the tables in one transaction, note its [`crate::Transaction::snapshot`], open a stream at that
    /// position, and keep both.
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
    ///     match change {
    ///         Change::Record(record) => {
    ///             if let Some((key, value)) = record.for_table(&stock)? {
    ///                 assert_eq!((&*key, value), ("loom", Some(7)));
    ///             }
    ///         }
    ///         // Here a copy of the table would be emptied or dropped.
    ///         Change::Table(change) => println!("{}: {:?}", change.table_name(), change.kind()),
    ///         _ => {}
    ///     }
    /// }
    /// let go_on_from = ChangesFrom::Position(transaction.position());
    /// # let _ = go_on_from;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Changes`] in memory, where there is no log, and at positions that are not kept any more (it names the
    /// oldest that is) or were never reached; [`Error::Closed`].
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
            let opened =
                Running::submitted(handle.submit(move |state| begin(state.session.clone(), from)));
            let reader = opened.await?;
            Ok(Changes {
                handle,
                cursor: Cursor::new(shared, reader),
                task: None,
                is_over: false,
            })
        }
    }

    /// Opens a stream as [`Database::changes`] does, blocking the calling thread.
    ///
    /// # Errors
    /// Fails as [`Database::changes`] does; [`Error::WouldBlockWorker`] on a worker's thread.
    pub fn changes_blocking(&self, from: ChangesFrom) -> Result<Changes> {
        block_on(self.changes(from))
    }
}

impl Changes {
    /// Returns the next transaction that has changed something.
    ///
    /// # Errors
    /// Fails as the type describes.
    ///
    /// # Cancellation
    /// No transaction is lost: the method can be called again.
    pub async fn next(&mut self) -> Result<ChangedTransaction> {
        poll_fn(|context| self.poll_change(context)).await
    }

    /// Returns the next transaction as [`Changes::next`] does, blocking the calling thread.
    ///
    /// # Errors
    /// Fails as [`Changes::next`] does; [`Error::WouldBlockWorker`] on a worker's thread.
    pub fn next_blocking(&mut self) -> Result<ChangedTransaction> {
        block_on(self.next())
    }

    /// Returns the position of the last transaction handed out; before that, the beginning of the stream.
    pub fn position(&self) -> Position {
        self.cursor.position
    }

    fn poll_change(&mut self, context: &mut Context<'_>) -> Poll<Result<ChangedTransaction>> {
        loop {
            if let Some(transaction) = self.cursor.next_at_hand() {
                return Poll::Ready(Ok(transaction));
            }
            match &mut self.task {
                None => {
                    let lent = self.cursor.lend()?;
                    self.task = Some(self.handle.submit(move |state| {
                        // The read waits for commits to come.
                        lent.read(state.session.clone(), Timestamp(u64::MAX))
                    }));
                }
                Some(task) => {
                    let ended = ready!(Pin::new(task).poll(context));
                    self.task = None;
                    self.cursor.take_back(ended?)?;
                }
            }
        }
    }
}

/// The stream ends after an error that would only be repeated.
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
            .field("position", &self.cursor.position)
            .field("at_hand", &self.cursor.at_hand.len())
            .finish_non_exhaustive()
    }
}
