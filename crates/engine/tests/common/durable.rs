//! A database in a directory, with one worker on the calling thread.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::{future::Future, rc::Rc, sync::Arc};

use engine::{
    CheckpointConfig, Database, DatabaseConfig, Isolation, LogConfig, OpenError, RecoveryConfig,
    RecoveryReport, Session, Table, Timestamp,
};
use interleave::{Clock, FromFn, Interleaved, Worker, WorkerConfig};
use io::Directory;

/// An open database and its worker.
pub(crate) struct Durable {
    pub(crate) database: Arc<Database>,
    pub(crate) worker: Worker<Session>,
    pub(crate) report: RecoveryReport,
}

/// Log settings with files so small that tests fill several.
pub(crate) const LOG: LogConfig = LogConfig {
    group_commit_window: std::time::Duration::from_micros(50),
    relaxed_window: std::time::Duration::from_millis(2),
    buffer_bytes: 64 << 10,
    segment_bytes: 1 << 20,
    transaction_bytes_max: 8 << 20,
    change_retention_bytes: 0,
};

pub(crate) fn open(directory: Arc<dyn Directory>) -> Result<Durable, OpenError> {
    open_with(directory, LOG, RecoveryConfig::default())
}

pub(crate) fn open_with(
    directory: Arc<dyn Directory>,
    log: LogConfig,
    recovery: RecoveryConfig,
) -> Result<Durable, OpenError> {
    open_within(256 << 20, directory, log, recovery)
}

pub(crate) fn open_within(
    memory_bytes_max: usize,
    directory: Arc<dyn Directory>,
    log: LogConfig,
    recovery: RecoveryConfig,
) -> Result<Durable, OpenError> {
    let config = DatabaseConfig::with_memory(memory_bytes_max);
    open_configured(config, directory, log, recovery)
}

/// Opens a database that takes no checkpoints of its own accord.
pub(crate) fn open_configured(
    config: DatabaseConfig,
    directory: Arc<dyn Directory>,
    log: LogConfig,
    recovery: RecoveryConfig,
) -> Result<Durable, OpenError> {
    let config = DatabaseConfig {
        checkpoint: CheckpointConfig {
            log_bytes_max: 0,
            ..CheckpointConfig::default()
        },
        ..config
    };
    let recovery = Database::open(config, log, recovery, directory)?;
    let database = recovery.database().clone();
    let session = Session::new(&database).expect("a session");
    let mut tasks = recovery.tasks(&session);
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    worker.set_source(FromFn(move |_: &Rc<Session>| tasks()));
    worker.run_until_idle();
    let report = recovery.finish()?;
    Ok(Durable {
        database,
        worker,
        report,
    })
}

impl Durable {
    pub(crate) fn session(&self) -> Rc<Session> {
        self.worker.local().clone()
    }

    /// Runs a future on the worker.
    pub(crate) fn run<T: Send + 'static, F: Future<Output = T> + 'static>(
        &mut self,
        make: impl FnOnce(Rc<Session>) -> F + Send + 'static,
    ) -> T {
        let task = self.worker.handle().submit(|session| make(session.clone()));
        self.worker.run_until(task).expect("the task ends")
    }

    /// Creates a table, on the worker.
    pub(crate) fn create_table(
        &mut self,
        name: &str,
        description: &[u8],
    ) -> Result<Arc<Table>, engine::Error> {
        let (name, description) = (name.to_owned(), description.to_vec());
        self.run(async move |session: Rc<Session>| session.create_table(&name, &description).await)
    }

    /// Writes records in one transaction; `None` deletes.
    pub(crate) fn write(
        &mut self,
        table: &Arc<Table>,
        records: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<Timestamp, engine::Error> {
        let table = table.clone();
        self.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot)?;
            for (key, value) in &records {
                match value {
                    Some(value) => {
                        transaction
                            .upsert::<Interleaved>(&table, key, value)
                            .await?
                    }
                    None => drop(transaction.delete::<Interleaved>(&table, key).await?),
                }
            }
            transaction.commit().await
        })
    }

    /// Returns all records of a table.
    pub(crate) fn read(&mut self, table: &Arc<Table>) -> Vec<(Vec<u8>, Vec<u8>)> {
        use std::ops::{Bound, ControlFlow};
        let table = table.clone();
        self.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).expect("begins");
            let mut all = Vec::new();
            let range = (Bound::Unbounded, Bound::Unbounded);
            let forward = engine::Direction::Forward;
            transaction
                .scan::<Interleaved>(&table, range, forward, |key, value| {
                    all.push((key.to_vec(), value.to_vec()));
                    ControlFlow::Continue(())
                })
                .await
                .expect("scans");
            transaction.commit().await.expect("commits");
            all
        })
    }
}
