//! Transactions that are driven from outside, call by call.
//!
//! The transaction itself lives in a task on a worker, which waits for commands
//! (an event wait: it is in nobody's way) and carries them out one after the
//! other. Its owner holds the sending end.
//!
//! | end | what happens |
//! | --- | --- |
//! | commit, rollback | a command like others |
//! | the owner drops it | the task is cancelled, hence rolled back |
//! | the database closes | the channel is closed; the task drains it and rolls back |
//! | an operation panics | the task unwinds, hence rolls back; the reason is read from its handle |

mod blocking;
mod conflicts;
mod encoded;
mod registry;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
};

use async_channel::{Receiver, Sender};
use interleave::{Interleaved, JoinHandle};

pub use self::blocking::BlockingTransaction;
use self::encoded::{EncodedKey, EncodedRange, EncodedValue};
pub(crate) use self::registry::Registry;
use crate::{
    context::{Context, Shared, WorkerState},
    database::Database,
    error::{Error, Result},
    index::Index,
    key::{AsKey, Key, KeyRange},
    options::{Isolation, TableOptions, TransactionOptions, WallTime},
    table::Table,
    transaction::Transaction,
    value::{AsValue, Value},
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
/// Prefer [`Database::run`] where the whole transaction is known: it needs one
/// message for all operations instead of one for each, and retries.
///
/// # Errors
/// [`Error::Abort`] ends the transaction, and nothing retries it: begin another.
/// [`Error::Closed`] if the database was closed meanwhile, which rolled it back.
///
/// # Cancellation
/// An operation whose future is dropped may still be carried out; the
/// transaction's commit or rollback covers it.
pub struct InteractiveTransaction {
    commands: Sender<Command>,
    /// Taken when the transaction ends.
    task: Mutex<Option<JoinHandle<(), WorkerState>>>,
    number: u64,
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

    /// As [`Database::begin`], with options (or just an isolation level) of its own.
    ///
    /// # Errors
    /// As for [`Database::begin`].
    ///
    /// # Cancellation
    /// As for [`Database::begin`].
    pub async fn begin_with(
        &self,
        options: impl Into<TransactionOptions>,
    ) -> Result<InteractiveTransaction> {
        let options = options.into();
        let shared = self.shared();
        let (sender, receiver) = async_channel::unbounded();
        let number = shared.interactive.register(shared, &sender)?;
        let (ready, begun) = oneshot::async_channel();
        let task = self.pick().handle.submit(move |state| {
            let context = Context {
                state: state.clone(),
            };
            serve(context, options, receiver, ready)
        });
        let transaction = InteractiveTransaction {
            commands: sender,
            task: Mutex::new(Some(task)),
            number,
            isolation: options.isolation,
            shared: shared.clone(),
        };
        match begun.await {
            Ok(Ok(())) => Ok(transaction),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(transaction.why_lost().await),
        }
    }

    /// As [`Database::begin`], blocking the calling thread.
    ///
    /// # Errors
    /// As for [`Database::begin`]; [`Error::WouldBlockWorker`] on a worker's
    /// thread.
    pub fn begin_blocking(&self) -> Result<BlockingTransaction> {
        crate::thread::block_on(self.begin()).map(BlockingTransaction::new)
    }
}

/// The task that holds the transaction.
async fn serve(
    context: Context,
    options: TransactionOptions,
    commands: Receiver<Command>,
    ready: oneshot::Sender<Result<()>>,
) {
    context.state.session.admission().await;
    // Replies are sent to receivers that may be gone; then nobody wants them.
    let transaction = match context.begin::<Interleaved>(options) {
        Ok(transaction) => transaction,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    while let Ok(command) = commands.recv().await {
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
    /// What this transaction sees of others.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Runs several operations on the transaction with one message to its
    /// worker.
    ///
    /// # Errors
    /// Those of `operation`; [`Error::Panicked`] if it panics, which rolls the
    /// transaction back; as for the type.
    ///
    /// # Cancellation
    /// As for the type.
    pub async fn call<T, F>(&self, operation: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&Transaction) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::async_channel();
        let operation: Operation = Box::new(move |transaction| {
            Box::pin(async move {
                let _ = reply.send(operation(transaction).await);
            })
        });
        self.ask(Command::Operate(operation), answer).await
    }

    /// The value under `key`, if there is a record.
    ///
    /// # Errors
    /// As for [`Transaction::get`], and for the type.
    pub async fn get<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.get(&table, &key).await)
            .await
    }

    /// The values under `keys`, in their order.
    ///
    /// # Errors
    /// As for [`Transaction::multi_get`], and for the type.
    pub async fn multi_get<K, V, Q>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
    ) -> Result<Vec<Option<V>>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K>,
    {
        let table = table.clone();
        let keys: Vec<_> = keys.iter().map(EncodedKey::of).collect();
        self.call(async move |txn: &Transaction| txn.multi_get(&table, &keys).await)
            .await
    }

    /// The first `rows_max` records with keys in `range`, in the order of their
    /// keys. For more than that, ask again from behind the last, or use
    /// [`InteractiveTransaction::call`] and work where the data is.
    ///
    /// # Errors
    /// As for [`Transaction::scan`], and for the type.
    pub async fn scan<K, V>(
        &self,
        table: &Table<K, V>,
        range: impl KeyRange<K>,
        rows_max: usize,
    ) -> Result<Vec<(K, V)>>
    where
        K: Key,
        V: Value,
    {
        let (table, range) = (table.clone(), EncodedRange::of(&range));
        self.call(async move |txn: &Transaction| {
            let mut found = Vec::new();
            let mut rows = txn.range(&table, range);
            while found.len() < rows_max {
                let Some(row) = rows.next().await? else { break };
                found.push(row);
            }
            Ok(found)
        })
        .await
    }

    /// The record that has `key` in a unique index: its key and its value.
    ///
    /// # Errors
    /// As for [`Transaction::get_by`], and for the type.
    pub async fn get_by<I, K, V, C, Q>(
        &self,
        index: &Index<I, K, V, C>,
        key: &Q,
    ) -> Result<Option<(K, V)>>
    where
        I: Key,
        K: Key,
        V: Value,
        C: Value,
        Q: AsKey<I> + ?Sized,
    {
        let (index, key) = (index.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.get_by(&index, &key).await)
            .await
    }

    /// The first `rows_max` records whose index keys lie in `range`, in the order of
    /// their index keys: index key, key and value.
    ///
    /// # Errors
    /// As for [`Transaction::scan_by`], and for the type.
    pub async fn scan_by<I, K, V, C>(
        &self,
        index: &Index<I, K, V, C>,
        range: impl KeyRange<I>,
        rows_max: usize,
    ) -> Result<Vec<(I, K, V)>>
    where
        I: Key,
        K: Key,
        V: Value,
        C: Value,
    {
        let (index, range) = (index.clone(), EncodedRange::of(&range));
        self.call(async move |txn: &Transaction| {
            txn.scan_by(&index, range.clone())
                .collect_some(rows_max)
                .await
        })
        .await
    }

    /// As [`InteractiveTransaction::scan_by`], of what the index covers instead of the
    /// records' values.
    ///
    /// # Errors
    /// As for [`InteractiveTransaction::scan_by`].
    pub async fn scan_covered<I, K, V, C>(
        &self,
        index: &Index<I, K, V, C>,
        range: impl KeyRange<I>,
        rows_max: usize,
    ) -> Result<Vec<(I, K, C)>>
    where
        I: Key,
        K: Key,
        V: Value,
        C: Value,
    {
        let (index, range) = (index.clone(), EncodedRange::of(&range));
        self.call(async move |txn: &Transaction| {
            let scan = txn.scan_covered(&index, range.clone());
            scan.collect_some(rows_max).await
        })
        .await
    }

    /// Adds a record.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], and for the type.
    pub async fn insert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let (table, key, value) = (table.clone(), EncodedKey::of(key), EncodedValue::of(value));
        self.call(async move |txn: &Transaction| txn.insert(&table, &key, &value).await)
            .await
    }

    /// Replaces a record's value; false if there is no such record.
    ///
    /// # Errors
    /// As for [`Transaction::update`], and for the type.
    pub async fn update<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let (table, key, value) = (table.clone(), EncodedKey::of(key), EncodedValue::of(value));
        self.call(async move |txn: &Transaction| txn.update(&table, &key, &value).await)
            .await
    }

    /// Adds a record or replaces its value.
    ///
    /// # Errors
    /// As for [`Transaction::upsert`], and for the type.
    pub async fn upsert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let (table, key, value) = (table.clone(), EncodedKey::of(key), EncodedValue::of(value));
        self.call(async move |txn: &Transaction| txn.upsert(&table, &key, &value).await)
            .await
    }

    /// Removes a record; false if there is no such record.
    ///
    /// # Errors
    /// As for [`Transaction::delete`], and for the type.
    pub async fn delete<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.delete(&table, &key).await)
            .await
    }

    /// Creates a table.
    ///
    /// # Errors
    /// As for [`Transaction::create_table`], and for the type.
    pub async fn create_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.create_table(&name).await)
            .await
    }

    /// As [`InteractiveTransaction::create_table`], with options.
    ///
    /// # Errors
    /// As for [`Transaction::create_table`], and for the type.
    pub async fn create_table_with<K: Key, V: Value>(
        &self,
        name: &str,
        options: TableOptions,
    ) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.create_table_with(&name, options).await)
            .await
    }

    /// When the record under `key` expires.
    ///
    /// # Errors
    /// As for [`Transaction::expires_at`], and for the type.
    pub async fn expires_at<K, V, Q>(
        &self,
        table: &Table<K, V>,
        key: &Q,
    ) -> Result<Option<WallTime>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.expires_at(&table, &key).await)
            .await
    }

    /// Opens a table that exists for this transaction.
    ///
    /// # Errors
    /// As for [`Transaction::open_table`], and for the type.
    pub async fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.open_table(&name).await)
            .await
    }

    /// Drops a table.
    ///
    /// # Errors
    /// As for [`Transaction::drop_table`], and for the type.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.drop_table(&name).await)
            .await
    }

    /// Removes all records of a table.
    ///
    /// # Errors
    /// As for [`Transaction::truncate_table`], and for the type.
    pub async fn truncate_table(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.truncate_table(&name).await)
            .await
    }

    /// Renames a table.
    ///
    /// # Errors
    /// As for [`Transaction::rename_table`], and for the type.
    pub async fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.call(async move |txn: &Transaction| txn.rename_table(&from, &to).await)
            .await
    }

    /// Commits.
    ///
    /// # Errors
    /// [`Error::Abort`] if an operation was aborted; as for the type.
    ///
    /// # Cancellation
    /// If the future is dropped, the transaction is committed or rolled back.
    pub async fn commit(self) -> Result<()> {
        let (reply, answer) = oneshot::async_channel();
        self.ask(Command::Commit(reply), answer).await
    }

    /// Rolls back, and waits until that is done. Dropping the transaction rolls
    /// back without waiting.
    ///
    /// # Errors
    /// As for the type. The transaction is rolled back in any case.
    pub async fn rollback(self) -> Result<()> {
        let (reply, answer) = oneshot::async_channel();
        self.ask(Command::Rollback(reply), answer).await
    }

    async fn ask<T>(
        &self,
        command: Command,
        answer: oneshot::AsyncReceiver<Result<T>>,
    ) -> Result<T> {
        if self.commands.try_send(command).is_err() {
            return Err(self.why_lost().await);
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.why_lost().await),
        }
    }

    /// Why the task does not answer.
    async fn why_lost(&self) -> Error {
        let task = self.task.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(task) = task
            && let Err(lost) = task.await
        {
            return lost.into();
        }
        // The task has ended in order, or told its reason before.
        match self.shared.check_open() {
            Err(closed) => closed,
            Ok(()) => Error::Ended,
        }
    }
}

impl Drop for InteractiveTransaction {
    fn drop(&mut self) {
        self.shared.interactive.deregister(self.number);
    }
}

impl fmt::Debug for InteractiveTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InteractiveTransaction")
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}
