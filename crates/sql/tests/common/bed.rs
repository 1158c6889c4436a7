//! A database with one session, in memory as a rule, for tests that send statements and look at
//! answers.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    future::{Future as _, poll_fn},
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use async_channel::{Receiver, Sender};
use engine::{ColdConfig, Database, DatabaseConfig, LogConfig, RecoveryConfig, TransactionStats};
use interleave::{Clock, FromFn, InFlight, JoinHandle, Wait, Worker, WorkerConfig, note_wait};
use io::{Faults, SimulatedDisk};
use sql::{CommandTag, CopyForm, CopyTarget, Field, Notice, ResultRow, Session, Sink};
use types::{Result, SqlError};

/// Time for which a statement is given turns before it counts as waiting: a machine that does much
/// else plans slowly, and a session that has taken long has only a share of the turns.
const SETTLING: Duration = Duration::from_millis(60);

/// Returns the configuration of workers that are given their turns by short tasks: long statements have half of the
/// time beside these, and workers help each other whatever else they have to do.
fn worker_config() -> WorkerConfig {
    WorkerConfig {
        batch_percent: 50,
        demand_percent: 100,
        ..WorkerConfig::default()
    }
}

/// The answer to a text.
#[derive(Debug, Default, Clone)]
pub(crate) struct Answer {
    /// Fields of the last statement with rows.
    pub(crate) fields: Vec<Field>,
    /// Rows as text; `NULL` stands for NULL.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) tags: Vec<String>,
    /// Notices, with their SQLSTATEs.
    pub(crate) notices: Vec<String>,
    /// Output of COPY; below it, its input, and the bytes of the input's pieces.
    pub(crate) copied: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) piece_bytes: usize,
}

impl Sink for Answer {
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        self.fields = fields.to_vec();
        self.rows.clear();
        Ok(())
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        let mut shown = Vec::with_capacity(row.values.len());
        for (value, field) in row.values.iter().zip(row.fields) {
            let mut text = Vec::new();
            if value.is_null() {
                text.extend_from_slice(b"NULL");
            } else {
                types::text::write(*value, field.ty, &row.context, &mut text)?;
            }
            shown.push(String::from_utf8(text).expect("text is UTF-8"));
        }
        self.rows.push(shown);
        Ok(())
    }

    fn complete(&mut self, tag: CommandTag) -> Result<()> {
        self.tags.push(tag.to_string());
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        let report = &notice.report;
        let notice = format!("{} {}", report.state().code(), report.message());
        self.notices.push(notice);
    }

    async fn copy_in(&mut self, _: CopyForm, _: usize, target: &mut impl CopyTarget) -> Result<()> {
        for piece in self.data.chunks(self.piece_bytes.max(1)) {
            target.take(piece).await?;
        }
        Ok(())
    }

    fn begin_copy_out(&mut self, _: CopyForm, _: usize) -> Result<()> {
        Ok(())
    }

    fn copy_out(&mut self, data: &[u8]) -> Result<()> {
        self.copied.extend_from_slice(data);
        Ok(())
    }
}

type Reply = std::result::Result<Answer, SqlError>;

/// A database for tests: see the module text.
pub(crate) struct Bed {
    worker: Worker<engine::Session>,
    /// Further workers of the database, which go on when they are given a turn ([`Bed::turn`]).
    others: Vec<Worker<engine::Session>>,
    database: Arc<sql::Database>,
    first: Client,
}

/// One session.
pub(crate) struct Client {
    statements: Sender<(String, Answer)>,
    replies: Receiver<Reply>,
    /// Task of the session, which ends when it is dropped.
    _task: JoinHandle<(), engine::Session>,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::with_in_flight(InFlight::Auto)
    }

    /// Makes a database on a worker that keeps `in_flight` tasks in flight.
    pub(crate) fn with_in_flight(in_flight: InFlight) -> Bed {
        let config = WorkerConfig {
            in_flight,
            ..worker_config()
        };
        let database = Database::new(DatabaseConfig::with_memory(256 << 20)).unwrap();
        let session = engine::Session::new(&database).unwrap();
        Bed::of(Worker::new(config, session, Clock::real()))
    }

    /// Makes a database on a clock that stands still, with one task in flight: a task comes back to
    /// its worker only when it yields or waits.
    pub(crate) fn timeless() -> Bed {
        let config = WorkerConfig {
            in_flight: InFlight::Fixed(1),
            ..worker_config()
        };
        let database = Database::new(DatabaseConfig::with_memory(1 << 30)).unwrap();
        let session = engine::Session::new(&database).unwrap();
        Bed::of(Worker::new(config, session, Clock::Manual(Rc::default())))
    }

    /// Makes a database on a worker with this clock.
    pub(crate) fn on_clock(clock: Clock) -> Bed {
        let database = Database::new(DatabaseConfig::with_memory(256 << 20)).unwrap();
        let session = engine::Session::new(&database).unwrap();
        Bed::of(Worker::new(worker_config(), session, clock))
    }

    /// Returns how often tasks have yielded, if they suspend nowhere else.
    pub(crate) fn turns(&self) -> u64 {
        self.worker.handle().stats().waits_memory
    }

    /// Makes a database of `bytes` of memory.
    pub(crate) fn with_memory(bytes: usize) -> Bed {
        let database = Database::new(DatabaseConfig::with_memory(bytes)).unwrap();
        let session = engine::Session::new(&database).unwrap();
        Bed::of(Worker::new(worker_config(), session, Clock::real()))
    }

    /// Returns the bytes of the database's memory that lie outside its records: those of its
    /// statements.
    pub(crate) fn statement_bytes(&mut self) -> u64 {
        let task = self
            .worker
            .handle()
            .submit(|session: &Rc<engine::Session>| {
                let memory = session.database().memory();
                async move { memory.reserved_bytes }
            });
        self.worker.run_until(task).unwrap()
    }

    /// Returns how often transactions have begun to wait for the end of others.
    pub(crate) fn lock_waits(&mut self) -> u64 {
        self.stats().lock_waits
    }

    /// Returns the counters of all transactions.
    pub(crate) fn stats(&mut self) -> TransactionStats {
        let task = self
            .worker
            .handle()
            .submit(|session: &Rc<engine::Session>| {
                session.tend();
                let stats = session.database().stats();
                async move { stats }
            });
        self.worker.run_until(task).unwrap()
    }

    /// Makes a database on a simulated disk, with a tier for records that leave memory.
    pub(crate) fn on_disk() -> Bed {
        let disk = SimulatedDisk::new(1, Faults::default());
        Bed::on(&disk, 256 << 20)
    }

    /// Makes a database of `bytes` of memory on a disk, with a tier for records that leave memory.
    pub(crate) fn on(disk: &SimulatedDisk, bytes: usize) -> Bed {
        Bed::configured(disk, DatabaseConfig::with_memory(bytes))
    }

    /// Makes a database on a disk, with a tier for records that leave memory.
    pub(crate) fn configured(disk: &SimulatedDisk, config: DatabaseConfig) -> Bed {
        let config = DatabaseConfig {
            cold_tier: Some(ColdConfig::default()),
            ..config
        };
        let log = LogConfig {
            segment_bytes: 4 << 20,
            ..LogConfig::default()
        };
        let directory = disk.directory();
        let recovery = Database::open(config, log, RecoveryConfig::default(), directory).unwrap();
        let session = engine::Session::new(recovery.database()).unwrap();
        let mut tasks = recovery.tasks(&session);
        let mut worker = Worker::new(worker_config(), session, Clock::real());
        worker.set_source(FromFn(move |_: &Rc<engine::Session>| tasks()));
        worker.run_until_idle();
        recovery.finish().unwrap();
        Bed::of(worker)
    }

    /// Begins the upkeep, by which records leave memory when it is short.
    pub(crate) fn begin_upkeep(&mut self) {
        let handle = self.worker.handle();
        let upkeep = handle.submit(|session: &Rc<engine::Session>| session.clone().upkeep());
        upkeep.detach();
    }

    /// Makes all records leave memory that can.
    pub(crate) fn demote(&mut self) {
        let task = self
            .worker
            .handle()
            .submit(|session: &Rc<engine::Session>| {
                let session = session.clone();
                async move {
                    // Each record is passed twice: the first time its use is noted.
                    let mut in_vain = 0;
                    while in_vain < 3 {
                        session.tend();
                        let demoted = session.demote(u64::MAX).await.unwrap().unwrap();
                        in_vain += u64::from(demoted.records == 0);
                    }
                    session.tend();
                }
            });
        self.worker.run_until(task).unwrap();
    }

    fn of(mut worker: Worker<engine::Session>) -> Bed {
        let task = worker.handle().submit(|session: &Rc<engine::Session>| {
            let session = session.clone();
            async move { sql::Database::open(&session, "weft", "weft").await }
        });
        let database = worker.run_until(task).unwrap().unwrap();
        let first = client(&worker, &database);
        Bed {
            worker,
            others: Vec::new(),
            database,
            first,
        }
    }

    /// Makes a database with `workers` workers, which help each other.
    pub(crate) fn crew(workers: usize) -> Bed {
        let mut bed = Bed::with_memory(256 << 20);
        bed.add_workers(workers - 1);
        bed
    }

    /// Adds workers to the database, which help each other.
    pub(crate) fn add_workers(&mut self, workers: usize) {
        let database = self.worker.local().database().clone();
        self.others.resize_with(workers, || {
            let session = engine::Session::new(&database).unwrap();
            Worker::new(worker_config(), session, Clock::real())
        });
        let all = std::iter::once(&self.worker).chain(&self.others);
        let handles: Vec<_> = all.map(Worker::handle).collect();
        let offers = std::sync::Arc::new(engine::Offers::new(handles.len()));
        database.set_helpers(Box::new(move |help| {
            offers.leave(help, 0..handles.len(), |number| {
                let offers = offers.clone();
                let task = handles[number].submit(move |session: &Rc<engine::Session>| {
                    let (help, session) = (offers.take(number), session.clone());
                    async move {
                        if let Some(help) = help {
                            help.run(session).await;
                        }
                    }
                });
                task.detach();
            });
        }));
    }

    fn worker(&mut self, number: usize) -> &mut Worker<engine::Session> {
        match number.checked_sub(1) {
            None => &mut self.worker,
            Some(other) => &mut self.others[other],
        }
    }

    /// Gives the tasks of a worker a turn: one of a class goes on.
    pub(crate) fn turn(&mut self, worker: usize) {
        let worker = self.worker(worker);
        let turn = worker.handle().submit(|_| std::future::ready(()));
        worker.run_until(turn).unwrap();
    }

    /// Ends a worker, whose tasks are dropped.
    pub(crate) fn end_worker(&mut self, number: usize) {
        drop(self.others.remove(number - 1));
    }

    /// Returns the number of tasks of a worker that have not ended.
    pub(crate) fn open_tasks(&mut self, worker: usize) -> u64 {
        self.worker(worker).handle().open_tasks()
    }

    /// Returns whether no old version is kept for any snapshot.
    pub(crate) fn is_horizon_now(&mut self) -> bool {
        for worker in 0..=self.others.len() {
            let worker = self.worker(worker);
            worker.local().tend();
        }
        let database = self.worker.local().database();
        database.horizon() == database.now()
    }

    /// Opens another session, on a worker.
    pub(crate) fn client_on(&mut self, worker: usize) -> Client {
        let database = self.database.clone();
        client(self.worker(worker), &database)
    }

    /// Returns the answer to a text that was sent to `client`, after which workers were given turns in an order.
    pub(crate) fn reply_after(
        &mut self,
        client: &Client,
        mut order: impl FnMut() -> usize,
    ) -> Reply {
        loop {
            if let Ok(reply) = client.replies.try_recv() {
                return reply;
            }
            let worker = order();
            self.turn(worker);
        }
    }

    /// Runs a test within a session of its own, as the server has them.
    pub(crate) fn within(&mut self, test: impl AsyncFnOnce(&mut Session) + Send + 'static) {
        let database = self.database.clone();
        let task = self
            .worker
            .handle()
            .submit(move |session: &Rc<engine::Session>| {
                let session = session.clone();
                async move { test(&mut Session::new(&database, &session, "weft")).await }
            });
        self.worker.run_until(task).unwrap();
    }

    /// Opens another session of the same database.
    pub(crate) fn client(&mut self) -> Client {
        client(&self.worker, &self.database)
    }

    pub(crate) fn run(&mut self, text: &str) -> Reply {
        self.run_with(text, &[], 1)
    }

    /// Runs a text with data for a COPY, in pieces of `piece_bytes`.
    pub(crate) fn run_with(&mut self, text: &str, data: &[u8], piece_bytes: usize) -> Reply {
        let answer = Answer {
            data: data.to_vec(),
            piece_bytes,
            ..Answer::default()
        };
        let request = (text.to_owned(), answer);
        self.first.statements.try_send(request).unwrap();
        let replies = self.first.replies.clone();
        self.receive(replies)
    }

    /// Runs a text in another session.
    pub(crate) fn run_in(&mut self, client: &Client, text: &str) -> Reply {
        self.send_to(client, text);
        self.reply_of(client)
    }

    /// Sends a text without waiting for the answer, which [`Bed::reply_of`] does.
    pub(crate) fn send_to(&mut self, client: &Client, text: &str) {
        let request = (text.to_owned(), Answer::default());
        client.statements.try_send(request).unwrap();
    }

    /// Returns whether the answer to a text that was sent to `client` is there.
    pub(crate) fn has_reply(&self, client: &Client) -> bool {
        !client.replies.is_empty()
    }

    pub(crate) fn reply_of(&mut self, client: &Client) -> Reply {
        self.receive(client.replies.clone())
    }

    fn receive(&mut self, replies: Receiver<Reply>) -> Reply {
        let task = self
            .worker
            .handle()
            .submit(move |_| async move { replies.recv().await });
        self.worker.run_until(task).unwrap().unwrap()
    }

    /// Returns whether no answer has come when no task can go on any more.
    pub(crate) fn is_waiting(&mut self, client: &Client) -> bool {
        let (begun, mut turns) = (Instant::now(), 0);
        while client.replies.is_empty() && (turns < 1000 || begun.elapsed() < SETTLING) {
            let turn = self.worker.handle().submit(|_| std::future::ready(()));
            self.worker.run_until(turn).unwrap();
            turns += 1;
        }
        client.replies.is_empty()
    }
}

fn client(worker: &Worker<engine::Session>, database: &Arc<sql::Database>) -> Client {
    let (statements, requests) = async_channel::unbounded::<(String, Answer)>();
    let (answers, replies) = async_channel::unbounded::<Reply>();
    let database = database.clone();
    let task = worker
        .handle()
        .submit(move |session: &Rc<engine::Session>| {
            let session = session.clone();
            async move {
                let mut session = Session::new(&database, &session, "weft");
                while let Ok((text, mut answer)) = request(&requests).await {
                    let reply = session.execute(&text, &mut answer).await.map(|()| answer);
                    if answers.send(reply).await.is_err() {
                        break;
                    }
                }
            }
        });
    Client {
        statements,
        replies,
        _task: task,
    }
}

/// Waits for a client's next statement, as the server does.
async fn request<T>(requests: &Receiver<T>) -> std::result::Result<T, async_channel::RecvError> {
    let mut request = pin!(requests.recv());
    poll_fn(|context| {
        let polled = request.as_mut().poll(context);
        if polled.is_pending() {
            note_wait(Wait::Request);
        }
        polled
    })
    .await
}
