//! Indexes that are attached after an opening, by all workers of the database.

use crate::durable::{Durable, open};
use crate::index_kinds::{UNIQUE, by_value};
use crate::stepping::Stepping;
use crate::steps::Stepped;

use std::{
    cell::Cell,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
    time::Duration,
};

use engine::{
    BuildError, BuildStep, Error, Extractor, Help, IndexBuild, IndexOptions, IndexState, Isolation,
    Session, Table, TableOptions,
};
use interleave::{Clock, Lost, Sequential, Worker, WorkerConfig, WorkerLocal, run_inline};
use io::{Faults, SimulatedDisk};

/// Records of the table: more than four pieces.
const RECORDS: u32 = 5000;

/// A database that was opened again, with an index `i` that is to be attached.
struct Setup {
    durable: Durable,
    /// Builds that were handed to helpers.
    handed: Arc<Mutex<Vec<Help>>>,
}

impl Setup {
    fn new() -> Setup {
        Setup::with(IndexOptions::default(), TableOptions::default(), RECORDS)
    }

    fn with(index: IndexOptions, table: TableOptions, records: u32) -> Setup {
        let disk = SimulatedDisk::new(1, Faults::default());
        let mut durable = open(disk.directory()).unwrap();
        let handed = Arc::<Mutex<Vec<Help>>>::default();
        let made = durable.run(async move |session: Rc<Session>| {
            session.create_table_with("t", &[], table).await
        });
        let key = |number: u32| number.to_be_bytes().to_vec();
        let all = (0..records).map(|number| (key(number), Some(key(!number))));
        let made = made.unwrap();
        durable.write(&made, all.collect()).unwrap();
        durable.run(async move |session: Rc<Session>| {
            let build = session.begin_index(&made, "i", index, by_value());
            build.unwrap().run(|_| {}).await.unwrap();
        });
        disk.crash();
        drop(durable);
        let durable = open(disk.after_crash(1).directory()).unwrap();
        let helps = handed.clone();
        let hand = move |help: &Help| helps.lock().unwrap().push(help.clone());
        assert!(durable.database.set_helpers(Box::new(hand)));
        Setup { durable, handed }
    }

    fn table(&self) -> Arc<Table> {
        self.durable.database.table("t").unwrap()
    }

    fn begin(&self, options: IndexOptions, extract: Extractor) -> IndexBuild {
        let session = self.durable.session();
        session
            .begin_index(&self.table(), "i", options, extract)
            .unwrap()
    }

    fn step(&self, build: &mut IndexBuild) -> Result<BuildStep, BuildError> {
        let session = self.durable.session();
        session.tend();
        // The commit of the last step waits for the device.
        let mut step = Stepped::new(build.step::<Sequential>());
        loop {
            if let Some(outcome) = step.step() {
                return outcome;
            }
            session.poll(true);
        }
    }

    /// Takes steps until the table is cut. The builder takes no piece while it cuts.
    fn cut(&self, build: &mut IndexBuild) -> Help {
        while self.handed.lock().unwrap().is_empty() {
            self.step(build).unwrap();
        }
        for _ in 0..RECORDS / 1024 + 1 {
            assert_eq!(self.step(build), Ok(BuildStep::Advanced));
        }
        assert_eq!(build.progress().records_done, 0);
        self.handed.lock().unwrap().pop().unwrap()
    }

    /// Helps on another worker, on a thread of its own, to the end.
    fn help(&self, help: Help) -> Result<(), Lost> {
        let database = self.durable.database.clone();
        let helper = thread::spawn(move || {
            let session = Session::new(&database).unwrap();
            let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
            let task = worker
                .handle()
                .submit(|session: &Rc<Session>| help.run(session.clone()));
            worker.run_until(task)
        });
        helper.join().unwrap()
    }

    fn finish(&self, build: &mut IndexBuild) -> Result<(), BuildError> {
        while self.step(build)? != BuildStep::Ready {}
        let session = self.durable.session();
        let report = run_inline(session.check_index::<Sequential>(build.index())).unwrap();
        assert_eq!(report.flaws, []);
        assert_eq!(report.entries, u64::from(RECORDS));
        Ok(())
    }
}

/// Another worker reads all pieces at the shared snapshot, and the builder records the index.
#[test]
fn a_helper_can_do_all_pieces() {
    for options in [IndexOptions::default(), UNIQUE] {
        let s = Setup::with(options, TableOptions::default(), RECORDS);
        let mut build = s.begin(options, by_value());
        let help = s.cut(&mut build);
        s.help(help).unwrap();
        assert_eq!(build.progress().records_done, u64::from(RECORDS));
        assert_eq!(build.index().state(), IndexState::Building);
        s.finish(&mut build).unwrap();
    }
}

#[test]
fn a_builder_without_help_does_all_pieces() {
    let s = Setup::new();
    let mut build = s.begin(IndexOptions::default(), by_value());
    s.finish(&mut build).unwrap();
    assert_eq!(s.handed.lock().unwrap().len(), 1);
    assert_eq!(build.progress().records_done, u64::from(RECORDS));
    // The horizon is held by nothing any more.
    drop(build);
    s.durable.session().tend();
    let database = &s.durable.database;
    assert_eq!(database.horizon(), database.now());
}

/// Workers that are to have met: each of them waits, at its first record, for the others'.
struct Meeting {
    workers: usize,
    arrived: Mutex<HashSet<ThreadId>>,
    all_are_here: Condvar,
}

impl Meeting {
    fn of(workers: usize) -> Arc<Meeting> {
        Arc::new(Meeting {
            workers,
            arrived: Mutex::default(),
            all_are_here: Condvar::new(),
        })
    }

    /// Returns once every worker has called this.
    fn attend(&self) {
        let mut arrived = self.arrived.lock().unwrap();
        arrived.insert(thread::current().id());
        self.all_are_here.notify_all();
        let some_are_missing = |arrived: &mut HashSet<_>| arrived.len() < self.workers;
        let waited = self.all_are_here.wait_timeout_while(
            arrived,
            Duration::from_secs(30),
            some_are_missing,
        );
        assert!(!waited.unwrap().1.timed_out(), "a worker takes no piece");
    }
}

/// The builder and two helpers take pieces beside each other, on true threads. The test passed with
/// helpers that did nothing, until each worker waited for the others at its first record.
#[test]
fn workers_share_the_pieces() {
    let mut s = Setup::with(UNIQUE, TableOptions::default(), RECORDS);
    let meeting = Meeting::of(3);
    let extract: Extractor = Arc::new(move |_, value, keys| {
        meeting.attend();
        keys.push(value);
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let helpers: Vec<_> = (0..2)
        .map(|_| {
            let (database, handed) = (s.durable.database.clone(), s.handed.clone());
            let is_over = is_over.clone();
            thread::spawn(move || {
                let session = Session::new(&database).unwrap();
                let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
                // Relaxed: nothing else depends on it.
                while !is_over.load(Relaxed) {
                    let help = handed.lock().unwrap().last().cloned();
                    let Some(help) = help else {
                        thread::yield_now();
                        continue;
                    };
                    let handle = worker.handle();
                    let task = handle.submit(|session: &Rc<Session>| help.run(session.clone()));
                    worker.run_until(task).unwrap();
                }
            })
        })
        .collect();
    let table = s.table();
    let (index, told) = s.durable.run(async move |session: Rc<Session>| {
        let build = session.begin_index(&table, "i", UNIQUE, extract);
        let mut told = 0;
        let index = build.unwrap().run(|progress| {
            assert!(progress.records_done >= told, "progress goes back");
            told = progress.records_done;
        });
        (index.await, told)
    });
    is_over.store(true, Relaxed);
    helpers.into_iter().for_each(|one| one.join().unwrap());
    let index = index.unwrap();
    assert!(told > 0);
    let session = s.durable.session();
    let report = run_inline(session.check_index::<Sequential>(&index)).unwrap();
    assert_eq!((report.flaws, report.entries), (vec![], RECORDS.into()));
}

/// A helper that waited for room, or to try again after an abort, asked whether the index was still
/// being built only after its next success: it read and claimed for an index that was gone, and made
/// another shared snapshot, which held the horizon for as long as any handle on the build was kept.
#[test]
fn a_helper_that_tries_again_hears_of_the_builders_end_first() {
    let s = Setup::with(UNIQUE, TableOptions::default(), RECORDS);
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    let extract: Extractor = Arc::new(move |key, value, keys| {
        // Relaxed, here and below: there is one thread.
        count.fetch_add(1, Relaxed);
        // The first record of the second piece has the key of the first record of all.
        match u32::from_be_bytes(key.try_into().unwrap()) {
            1024 => keys.push(&u32::MAX.to_be_bytes()),
            _ => keys.push(value),
        }
    });
    let mut build = s.begin(UNIQUE, extract);
    let help = s.cut(&mut build);
    // The builder has claimed the key, and has not committed.
    let mut step = Stepped::new(build.step::<Stepping>());
    while read.load(Relaxed) < 64 {
        assert_eq!(step.step(), None);
    }
    for _ in 0..64 {
        assert_eq!(step.step(), None);
    }
    let database = &s.durable.database;
    let time = Rc::new(Cell::new(Duration::ZERO));
    let session = Session::with_clock(database, Clock::Manual(time.clone())).unwrap();
    let config = WorkerConfig::default();
    let mut helper = Worker::new(config, session, Clock::Manual(time.clone()));
    let for_helper = help.clone();
    let task = helper
        .handle()
        .submit(|session: &Rc<Session>| for_helper.run(session.clone()));
    helper.run_until_idle();
    let before = read.load(Relaxed);
    assert!(before > 64);
    drop(step);
    drop(build);
    time.set(Duration::from_secs(1));
    helper.run_until(task).unwrap();
    assert_eq!(read.load(Relaxed), before, "the helper reads again");
    drop(helper);
    s.durable.session().tend();
    assert_eq!(database.horizon(), database.now());
    drop(help);
}

/// A helper that meets two records with one key gives its piece back, and the builder tells of it.
#[test]
fn a_duplicate_that_a_helper_meets_is_the_error_of_the_builder() {
    let s = Setup::with(UNIQUE, TableOptions::default(), RECORDS);
    let half: Extractor = Arc::new(|key, _, keys| {
        let number = u32::from_be_bytes(key.try_into().unwrap());
        keys.push(&(number % (RECORDS - 100)).to_be_bytes());
    });
    let mut build = s.begin(UNIQUE, half);
    let help = s.cut(&mut build);
    s.help(help).unwrap();
    let failed = s.finish(&mut build);
    assert!(
        matches!(failed, Err(BuildError::Duplicate { .. })),
        "{failed:?}"
    );
    drop(build);
    // The index is missing as before, and can be attached.
    let mut build = s.begin(UNIQUE, by_value());
    s.finish(&mut build).unwrap();
}

/// A helper whose extractor panics gives its piece back; without that the builder would wait for it
/// for ever.
#[test]
fn a_panic_of_a_helper_leaves_its_piece_to_the_builder() {
    let s = Setup::new();
    let panics = Arc::new(AtomicBool::new(true));
    let while_set = panics.clone();
    let extract: Extractor = Arc::new(move |key, value, keys| {
        let number = u32::from_be_bytes(key.try_into().unwrap());
        // Relaxed: the threads that set it and read it end and begin in between.
        assert!(
            number < 1500 || !while_set.load(Relaxed),
            "the test's panic"
        );
        keys.push(value);
    });
    let mut build = s.begin(IndexOptions::default(), extract);
    let help = s.cut(&mut build);
    assert!(matches!(s.help(help), Err(Lost::Panicked(_))));
    let done = build.progress().records_done;
    assert!((1024..=1500).contains(&done), "{done}");
    let stepped = catch_unwind(AssertUnwindSafe(|| {
        while s.step(&mut build).unwrap() != BuildStep::Ready {}
    }));
    assert!(stepped.is_err());
    panics.store(false, Relaxed);
    s.finish(&mut build).unwrap();
    assert_eq!(build.progress().records_done, u64::from(RECORDS));
}

#[test]
fn helpers_of_a_build_that_is_given_up_end() {
    let s = Setup::new();
    let mut build = s.begin(IndexOptions::default(), by_value());
    let help = s.cut(&mut build);
    drop(build);
    s.help(help).unwrap();
    let mut build = s.begin(IndexOptions::default(), by_value());
    s.finish(&mut build).unwrap();
}

/// An owner of sessions closes the database after they have ended: their builders and helpers, which
/// looked for a closed database alone, went on to the end of the build.
#[test]
fn sessions_that_wind_up_build_no_more() {
    let s = Setup::new();
    let mut build = s.begin(IndexOptions::default(), by_value());
    let help = s.cut(&mut build);
    let session = Session::new(&s.durable.database).unwrap();
    session.wind_up();
    let mut helper = Worker::new(WorkerConfig::default(), session, Clock::real());
    let handle = helper.handle();
    let task = handle.submit(|session: &Rc<Session>| help.run(session.clone()));
    helper.run_until(task).unwrap();
    assert_eq!(build.progress().records_done, 0);
    s.durable.session().wind_up();
    let ended = s.step(&mut build);
    assert_eq!(ended, Err(BuildError::Engine(Error::Ended)));
}

/// The table cannot be written before the index is attached, which is why its parts can be read at
/// one snapshot; once the index is ready, the table is written, with its entries.
#[test]
fn no_transaction_writes_the_table_during_a_divided_build() {
    let s = Setup::new();
    let mut build = s.begin(IndexOptions::default(), by_value());
    let help = s.cut(&mut build);
    let (session, table) = (s.durable.session(), s.table());
    let write = || {
        let txn = session.begin(Isolation::Snapshot).unwrap();
        run_inline(txn.upsert::<Sequential>(&table, b"k", b"v"))
    };
    assert!(matches!(write(), Err(Error::IndexNotAttached { .. })));
    s.help(help).unwrap();
    assert!(matches!(write(), Err(Error::IndexNotAttached { .. })));
    s.finish(&mut build).unwrap();
    assert_eq!(write(), Ok(()));
}

/// Expired records are deleted while the index is missing, so parts at one snapshot could give the
/// index entries of records that are gone: such a build has one worker, as have small ones, and those
/// of new indexes, whose tables are written.
#[test]
fn builds_that_are_not_divided() {
    let ttl = Some(Duration::from_secs(3600));
    for (options, records) in [
        (TableOptions { ttl }, RECORDS),
        (TableOptions::default(), 1000),
    ] {
        let s = Setup::with(IndexOptions::default(), options, records);
        let mut build = s.begin(IndexOptions::default(), by_value());
        while s.step(&mut build).unwrap() != BuildStep::Ready {}
        assert!(s.handed.lock().unwrap().is_empty());
    }
    let s = Setup::new();
    s.finish(&mut s.begin(IndexOptions::default(), by_value()))
        .unwrap();
    let new = s
        .durable
        .session()
        .begin_index(&s.table(), "new", UNIQUE, by_value());
    s.finish(&mut new.unwrap()).unwrap();
    assert_eq!(s.handed.lock().unwrap().len(), 1);
}
