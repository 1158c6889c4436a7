//! Transactions that are driven from outside, call by call.
//!
//! The transaction itself lives in a task on a worker, which waits for commands (an event wait, which
//! keeps no other task from running) and carries them out one after another. Its owner holds the sending end. The
//! operations one by one are in `records.rs`, `ddl.rs` and `conflicts.rs`, for callers that block
//! again in `blocking.rs`.
//!
//! | end | effect |
//! | --- | --- |
//! | commit, rollback | a command like others |
//! | the owner drops it | the task is cancelled, hence rolled back |
//! | the database closes | the channel is closed; the task drains it and rolls back |
//! | an operation panics | the task unwinds, hence rolls back; the reason is read from its handle |

mod blocking;
mod conflicts;
mod ddl;
mod encoded;
mod records;
mod registry;

use std::{
    fmt,
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
};

use async_channel::{Receiver, Sender};
use futures_channel::oneshot;
use interleave::{Interleaved, JoinHandle, Wait, noting};

pub use self::blocking::BlockingTransaction;
pub(crate) use self::registry::Registry;
use crate::{
    context::{Context, Shared, WorkerState},
    database::Database,
    error::{Error, Result},
    layers::Closing,
    options::{Isolation, TransactionOptions},
    transaction::Transaction,
};

type Step<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;
type Operation = Box<dyn for<'t> FnOnce(&'t Transaction) -> Step<'t> + Send>;

pub(crate) enum Command {
    Operate(Operation),
    Commit(oneshot::Sender<Result<()>>),
    Rollback(oneshot::Sender<Result<()>>),
}

/// A transaction that is driven call by call, from any thread or async runtime.
/// Made by [`Database::begin`]. Dropping it rolls it back.
///
/// Prefer [`Database::run`] where the whole transaction is known: it needs one message for all
/// operations instead of one for each, and retries.
///
/// # Errors
/// [`Error::Abort`] ends the transaction, and it is not retried: begin another. [`Error::Closed`]
/// if the database was closed meanwhile, which rolled it back.
///
/// # Cancellation
/// An operation whose future is dropped may still be carried out; the
/// transaction's commit or rollback covers it.
pub struct InteractiveTransaction {
    commands: Sender<Command>,
    /// The task; taken when the transaction ends.
    task: Mutex<Option<JoinHandle<(), WorkerState>>>,
    _closing: Closing,
    isolation: Isolation,
    shared: Arc<Shared>,
}

impl Database {
    /// Begins a transaction to be driven call by call, at the database's default
    /// isolation.
    ///
    /// # Errors
    /// [`Error::Closed`]; [`Error::MemoryExhausted`] with too many transactions
    /// open.
    ///
    /// # Cancellation
    /// Dropping the future begins nothing.
    pub async fn begin(&self) -> Result<InteractiveTransaction> {
        self.begin_with(self.shared().defaults).await
    }

    /// Begins a transaction as [`Database::begin`] does, with options (or just an isolation level)
    /// of its own.
    ///
    /// # Errors
    /// Fails as [`Database::begin`] does.
    ///
    /// # Cancellation
    /// Dropping the future has the effect described for [`Database::begin`].
    pub async fn begin_with(
        &self,
        options: impl Into<TransactionOptions>,
    ) -> Result<InteractiveTransaction> {
        let options = options.into();
        let shared = self.shared();
        let (sender, receiver) = async_channel::unbounded();
        // Weak: the registry must not keep a dropped transaction open.
        let commands = sender.downgrade();
        // Commands that were sent are carried out; then the transaction rolls back.
        let closing = self.when_closing(move || {
            if let Some(commands) = commands.upgrade() {
                commands.close();
            }
        })?;
        let (ready, begun) = oneshot::channel();
        let task = self.pick().handle.submit(move |state| {
            let context = Context {
                state: state.clone(),
            };
            serve(context, options, receiver, ready)
        });
        let transaction = InteractiveTransaction {
            commands: sender,
            task: Mutex::new(Some(task)),
            _closing: closing,
            isolation: options.isolation,
            shared: shared.clone(),
        };
        match begun.await {
            Ok(Ok(())) => Ok(transaction),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(transaction.why_lost().await),
        }
    }

    /// Begins a transaction as [`Database::begin`] does, blocking the calling thread.
    ///
    /// # Errors
    /// Fails as [`Database::begin`] does; [`Error::WouldBlockWorker`] on a worker's thread.
    pub fn begin_blocking(&self) -> Result<BlockingTransaction> {
        crate::thread::block_on(self.begin()).map(BlockingTransaction::new)
    }
}

/// Runs the transaction in a task of its worker.
async fn serve(
    context: Context,
    options: TransactionOptions,
    commands: Receiver<Command>,
    ready: oneshot::Sender<Result<()>>,
) {
    context.state.session.admission().await;
    // A reply is sent to a receiver that may be gone; then the caller does not want it.
    let transaction = match context.begin::<Interleaved>(options) {
        Ok(transaction) => transaction,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    while let Ok(command) = noting(Wait::Request, pin!(commands.recv())).await {
        match command {
            Command::Operate(operation) => operation(&transaction).await,
            Command::Commit(reply) => {
                let _ = reply.send(transaction.commit().await);
                return;
            }
            Command::Rollback(reply) => {
                transaction.rollback();
                let _ = reply.send(Ok(()));
                return;
            }
        }
    }
}

impl InteractiveTransaction {
    /// Returns the isolation level of the transaction.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Runs several operations on the transaction with one message to its
    /// worker.
    ///
    /// # Errors
    /// Errors of `operation`; [`Error::Panicked`] if it panics, which rolls the transaction back;
    /// also fails as the type describes.
    ///
    /// # Cancellation
    /// Dropping the future has the effect that the type describes.
    pub async fn call<T, F>(&self, operation: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&Transaction) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let operation: Operation = Box::new(move |transaction| {
            Box::pin(async move {
                let _ = reply.send(operation(transaction).await);
            })
        });
        self.ask(Command::Operate(operation), answer).await
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// [`Error::Abort`] if an operation was aborted; also fails as the type describes.
    ///
    /// # Cancellation
    /// If the future is dropped, the transaction is committed or rolled back.
    pub async fn commit(self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Commit(reply), answer).await
    }

    /// Rolls the transaction back, and waits until that is done. Dropping the transaction rolls it
    /// back without waiting.
    ///
    /// # Errors
    /// Fails as the type describes. The transaction is rolled back in any case.
    pub async fn rollback(self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Rollback(reply), answer).await
    }

    async fn ask<T>(&self, command: Command, answer: oneshot::Receiver<Result<T>>) -> Result<T> {
        if self.commands.try_send(command).is_err() {
            return Err(self.why_lost().await);
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.why_lost().await),
        }
    }

    /// Returns the reason why the task does not answer.
    async fn why_lost(&self) -> Error {
        let task = self.task.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(task) = task
            && let Err(lost) = task.await
        {
            return lost.into();
        }
        // The task has ended in order, or its reason was told before.
        match self.shared.check_open() {
            Err(closed) => closed,
            Ok(()) => Error::Ended,
        }
    }
}

impl fmt::Debug for InteractiveTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InteractiveTransaction")
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}
