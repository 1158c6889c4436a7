//! Indexes that are built while writers run: for any order of the steps of builder and writers, the
//! index agrees with its table in the end.

use crate::in_memory;
use crate::index_kinds::{UNIQUE, by_value};
use crate::stepping;

use std::{
    cell::Cell,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use engine::{
    Abort, BuildError, BuildStep, DatabaseConfig, Error, Extractor, Index, IndexBuild,
    IndexOptions, IndexState, Isolation, OnConflict, Session, Table, Transaction,
};
use in_memory::in_memory;
use interleave::{
    Clock, FromFn, InFlight, Interleaved, Sequential, Worker, WorkerConfig, run_inline,
};
use stepping::{Rng, Stepping, interleave, pause};

struct Setup {
    session: Rc<Session>,
    table: Arc<Table>,
}

const fn unique(unique: bool) -> IndexOptions {
    IndexOptions {
        unique,
        prefix_free: false,
    }
}

impl Setup {
    fn new() -> Setup {
        let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
        Setup { session, table }
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        let txn = self.session.begin(Isolation::Snapshot).unwrap();
        run_inline(txn.upsert::<Sequential>(&self.table, key, value)).unwrap();
        run_inline(txn.commit()).unwrap();
    }

    fn begin(&self, options: IndexOptions) -> IndexBuild {
        let build = self
            .session
            .begin_index(&self.table, "i", options, by_value());
        build.unwrap()
    }

    fn step(&self, build: &mut IndexBuild) -> Result<BuildStep, BuildError> {
        self.session.tend();
        run_inline(build.step::<Sequential>())
    }

    /// Takes steps until records were read whose entries are to be claimed next.
    fn step_to_claim(&self, build: &mut IndexBuild) {
        while self.step(build).unwrap() == BuildStep::Waits {}
        if !build.index().options().unique {
            self.extend(build);
        }
        assert_eq!(self.step(build), Ok(BuildStep::Advanced));
    }

    /// Extends the reach of a builder by a stride in which no transaction is writing.
    fn extend(&self, build: &mut IndexBuild) {
        assert_eq!(self.step(build), Ok(BuildStep::Advanced));
        assert_eq!(self.step(build), Ok(BuildStep::Advanced));
    }

    fn finish(&self, mut build: IndexBuild) -> Index {
        while self.step(&mut build).unwrap() != BuildStep::Ready {}
        self.check(build.index());
        build.index().clone()
    }

    fn check(&self, index: &Index) {
        let report = run_inline(self.session.check_index::<Sequential>(index)).unwrap();
        assert_eq!(report.flaws, []);
    }

    fn lookup(&self, index: &Index, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let txn = self.session.begin(Isolation::Snapshot).unwrap();
        run_inline(txn.get_by::<Sequential, _>(index, key, |key, _| key.to_vec()))
    }
}

#[test]
fn an_index_has_the_records_that_were_there_before_it() {
    let setup = Setup::new();
    for key in 0..=255 {
        for other in 0..4 {
            setup.put(&[key, other], &[255 - key, other]);
        }
    }
    let build = setup.begin(unique(false));
    let index = build.index().clone();
    assert_eq!(index.state(), IndexState::Building);
    assert_eq!(setup.lookup(&index, &[1]), Err(Error::IndexNotUnique));
    setup.finish(build);
    assert_eq!(index.state(), IndexState::Ready);
    let report = run_inline(setup.session.check_index::<Sequential>(&index)).unwrap();
    assert_eq!((report.records, report.entries), (1024, 1024));
}

#[test]
fn an_index_cannot_be_read_before_it_is_ready_nor_by_older_transactions() {
    let setup = Setup::new();
    setup.put(b"k", b"a");
    let old = setup.session.begin(Isolation::Snapshot).unwrap();
    let build = setup.begin(UNIQUE);
    let index = build.index().clone();
    assert_eq!(setup.lookup(&index, b"a"), Err(Error::IndexNotReady));
    setup.finish(build);
    assert_eq!(setup.lookup(&index, b"a"), Ok(Some(b"k".to_vec())));
    // The index has no entries for the version that `old` would have to see, had the record changed
    // since.
    let read = old.get_by::<Sequential, _>(&index, b"a", |_, _| ());
    assert_eq!(run_inline(read), Err(Error::Abort(Abort::SnapshotTooOld)));
}

#[test]
fn two_records_with_one_key_stop_a_unique_index_which_leaves_nothing() {
    let setup = Setup::new();
    setup.put(b"j", b"a");
    setup.put(b"k", b"a");
    let mut build = setup.begin(UNIQUE);
    let index = build.index().clone();
    setup.step_to_claim(&mut build);
    let key = b"a".as_slice().into();
    assert_eq!(setup.step(&mut build), Err(BuildError::Duplicate { key }));
    drop(build);
    assert_eq!(index.state(), IndexState::Dropped);
    setup.put(b"l", b"a");
    assert!(setup.table.indexes().is_empty());
    // The name of the index is free again.
    setup.put(b"j", b"b");
    setup.put(b"l", b"c");
    setup.finish(setup.begin(UNIQUE));
}

#[test]
fn a_build_that_is_dropped_drops_the_index() {
    let setup = Setup::new();
    setup.put(b"k", b"a");
    let mut build = setup.begin(UNIQUE);
    setup.step_to_claim(&mut build);
    let again = setup
        .session
        .begin_index(&setup.table, "i", UNIQUE, by_value());
    assert_eq!(again.unwrap_err(), BuildError::Exists);
    drop(build);
    setup.put(b"j", b"a");
    assert!(setup.table.indexes().is_empty());
}

#[test]
fn a_build_of_an_index_that_is_dropped_meanwhile_ends() {
    let setup = Setup::new();
    let mut build = setup.begin(UNIQUE);
    assert!(run_inline(setup.session.drop_index(build.index())).unwrap());
    assert_eq!(setup.step(&mut build), Err(BuildError::Dropped));
    assert!(!run_inline(setup.session.drop_index(build.index())).unwrap());
}

#[test]
fn a_build_waits_for_transactions_that_do_not_maintain_the_index() {
    let setup = Setup::new();
    setup.put(b"k", b"a");
    let writer = setup.session.begin(Isolation::Snapshot).unwrap();
    run_inline(writer.upsert::<Sequential>(&setup.table, b"k", b"b")).unwrap();
    let reader = setup.session.begin(Isolation::Snapshot).unwrap();
    run_inline(reader.update::<Sequential>(&setup.table, b"none", b"b")).unwrap();
    let mut build = setup.begin(UNIQUE);
    for _ in 0..20 {
        assert_eq!(setup.step(&mut build), Ok(BuildStep::Waits));
    }
    run_inline(writer.commit()).unwrap();
    for _ in 0..20 {
        assert_eq!(setup.step(&mut build), Ok(BuildStep::Waits));
    }
    // The transaction has a name and has written nothing.
    run_inline(reader.commit()).unwrap();
    let index = setup.finish(build);
    assert_eq!(setup.lookup(&index, b"a"), Ok(None));
    assert_eq!(setup.lookup(&index, b"b"), Ok(Some(b"k".to_vec())));
}

/// The builder has read a record; before it claims the entry, the record is changed. There is no
/// entry that the writer could delete. If the writer left no tombstone, the builder would enter a
/// key that the record does not have any more.
#[test]
fn records_changed_since_the_builder_read_them_are_read_again() {
    let change = |setup: &Setup| setup.put(b"k", b"b");
    let there_and_back = |setup: &Setup| {
        setup.put(b"k", b"b");
        setup.put(b"k", b"a");
    };
    let delete = |setup: &Setup| {
        let txn = setup.session.begin(Isolation::ReadCommitted).unwrap();
        assert!(run_inline(txn.delete::<Sequential>(&setup.table, b"k")).unwrap());
        run_inline(txn.commit()).unwrap();
    };
    let changes: [&dyn Fn(&Setup); 3] = [&change, &there_and_back, &delete];
    for change in changes {
        for options in [unique(true), unique(false)] {
            let setup = Setup::new();
            setup.put(b"k", b"a");
            let mut build = setup.begin(options);
            setup.step_to_claim(&mut build);
            change(&setup);
            // The tombstone must outlast the builder's snapshot.
            for _ in 0..20 {
                setup.session.tend();
            }
            assert_eq!(setup.step(&mut build), Ok(BuildStep::Conflict));
            setup.finish(build);
        }
    }
}

/// As long as the builder has not come to a record, another one may take its unique key: a record
/// that has the key from then on, once the first has moved away (or expired, as the simulated
/// crashes found it, seed 1118). The first record once erased the other's entry when it went.
#[test]
fn a_writer_that_leaves_a_key_to_another_leaves_the_entry() {
    let setup = Setup::new();
    setup.put(b"j", b"a");
    setup.put(b"z", b"k");
    let mut build = setup.begin(UNIQUE).in_batches_of(1);
    setup.step_to_claim(&mut build);
    assert_eq!(setup.step(&mut build), Ok(BuildStep::Advanced));
    setup.put(b"j", b"k");
    setup.put(b"z", b"m");
    let index = setup.finish(build);
    assert_eq!(setup.lookup(&index, b"k"), Ok(Some(b"j".to_vec())));
}

/// Before the builder has come by, writers leave the index alone. The builder waits for each open
/// writer that has done so, whatever it does meanwhile and in the end.
#[test]
fn the_builder_waits_for_writers_that_left_a_record_to_it() {
    type Write = fn(&Setup, &Transaction);
    let insert: Write = |setup, txn| {
        run_inline(txn.insert::<Sequential>(&setup.table, b"l", b"b")).unwrap();
    };
    let change: Write = |setup, txn| {
        assert!(run_inline(txn.update::<Sequential>(&setup.table, b"k", b"b")).unwrap());
    };
    let change_again: Write = |setup, txn| {
        assert!(run_inline(txn.update::<Sequential>(&setup.table, b"k", b"c")).unwrap());
    };
    let delete: Write = |setup, txn| {
        assert!(run_inline(txn.delete::<Sequential>(&setup.table, b"k")).unwrap());
    };
    let nothing: Write = |_, _| {};
    for first in [insert, change, delete] {
        for second in [nothing, insert, change, change_again, delete] {
            for end in 0..3 {
                let setup = Setup::new();
                setup.put(b"k", b"a");
                let mut build = setup.begin(unique(false));
                while setup.step(&mut build).unwrap() == BuildStep::Waits {}
                let writer = setup.session.begin(Isolation::Snapshot).unwrap();
                first(&setup, &writer);
                assert_eq!(setup.step(&mut build), Ok(BuildStep::Advanced));
                assert_eq!(setup.step(&mut build), Ok(BuildStep::Waits));
                let savepoint = writer.savepoint().unwrap();
                let is_deleted = std::ptr::fn_addr_eq(first, delete);
                let is_there = std::ptr::fn_addr_eq(first, insert);
                let writes_k = !std::ptr::fn_addr_eq(second, insert);
                // A missing record cannot be changed, and an existing one cannot be inserted.
                if !(is_deleted && writes_k || is_there && !writes_k) {
                    second(&setup, &writer);
                }
                assert_eq!(setup.step(&mut build), Ok(BuildStep::Waits));
                match end {
                    0 => drop(writer),
                    _ => {
                        if end == 1 {
                            writer.rollback_to(&savepoint).unwrap();
                        }
                        run_inline(writer.commit()).unwrap();
                    }
                }
                setup.finish(build);
            }
        }
    }
}

/// A writer and the builder want the same entry: the later of the two gives way, or takes a newer
/// snapshot.
#[test]
fn a_writer_that_the_builder_overtook_gives_way_or_takes_a_newer_snapshot() {
    for may_move in [false, true] {
        let setup = Setup::new();
        setup.put(b"k", b"a");
        let writer = setup.session.begin(Isolation::Snapshot).unwrap();
        if !may_move {
            writer.snapshot();
        }
        let build = setup.begin(UNIQUE);
        let index = setup.finish(build);
        let write = writer.upsert::<Sequential>(&setup.table, b"k", b"b");
        match may_move {
            true => {
                assert_eq!(run_inline(write), Ok(()));
                run_inline(writer.commit()).unwrap();
                setup.check(&index);
            }
            false => assert_eq!(run_inline(write), Err(Error::Abort(Abort::SnapshotTooOld))),
        }
    }
}

#[test]
fn a_panicking_key_function_ends_the_build_alone() {
    let setup = Setup::new();
    setup.put(b"k", b"a");
    let extract: Extractor = Arc::new(|_, _, _| panic!("the test's panic"));
    let build = setup
        .session
        .begin_index(&setup.table, "i", UNIQUE, extract);
    let mut build = Some(build.unwrap());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut build = build.take().unwrap();
        while setup.step(&mut build).unwrap() != BuildStep::Ready {}
    }));
    assert!(ended.is_err());
    setup.put(b"k", b"b");
    assert!(setup.table.indexes().is_empty());
}

/// A worker that keeps one transaction in flight begins no other while a builder yields, only while
/// the builder rests. A builder that looked for other tasks in between saw none, and had the worker
/// for itself until the index was ready.
#[test]
fn transactions_and_a_builder_share_a_worker_whatever_it_keeps_in_flight() {
    for in_flight in [1, 8] {
        let setup = Setup::new();
        for key in 0..2000_u32 {
            setup.put(&key.to_be_bytes(), &key.to_be_bytes());
        }
        let Setup { session, table } = setup;
        let config = WorkerConfig {
            in_flight: InFlight::Fixed(in_flight),
            ..WorkerConfig::default()
        };
        let mut worker = Worker::new(config, session, Clock::real());
        // Relaxed: one thread has all of it.
        let commits = Arc::new(AtomicU32::new(0));
        let (count, written) = (commits.clone(), table.clone());
        worker.set_source(FromFn(move |session: &Rc<Session>| {
            let (session, table, count) = (session.clone(), written.clone(), count.clone());
            let is_ready = |index: &Index| index.state() == IndexState::Ready;
            (!table.indexes().iter().any(is_ready)).then_some(async move {
                let txn = session.begin(Isolation::Snapshot).unwrap();
                let key = (count.load(Relaxed) % 2000).to_be_bytes();
                // The builder may be in the way.
                let written = txn.upsert::<Interleaved>(&table, &key, &key).await;
                if written.is_ok() && txn.commit().await.is_ok() {
                    count.fetch_add(1, Relaxed);
                }
            })
        }));
        let (send, receive) = std::sync::mpsc::channel();
        let task = worker.handle().submit(move |session: &Rc<Session>| {
            let build = session.begin_index(&table, "i", UNIQUE, by_value());
            let build = build.unwrap();
            build.run(move |_| send.send(commits.load(Relaxed)).unwrap())
        });
        let index = worker.run_until(task).unwrap().unwrap();
        worker.run_until_idle();
        let counts: Vec<u32> = receive.iter().collect();
        let batches = counts.len() - 1;
        let shared = counts.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(batches > 10, "{batches}");
        assert!(shared * 2 > batches, "{shared} of {batches} in company");
        let report = run_inline(worker.local().check_index::<Sequential>(&index)).unwrap();
        assert_eq!(report.flaws, []);
    }
}

/// Three writers and a builder, suspended at every touch and resumed in an order that the seed
/// decides.
#[test]
fn builders_and_writers_take_their_steps_in_any_order() {
    let mut conflicts = 0;
    for seed in 1..=500 {
        let setup = Setup::new();
        let mut rng = Rng(seed * 0x9e37_79b9 + 1);
        for key in 0..12 {
            setup.put(&[key], &[key]);
        }
        let is_unique = rng.below(2) == 0;
        // Some builders see the whole table as one stride, others as three.
        let batch = 1 + rng.below(4) as usize;
        let ready = Cell::new(None);
        let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for writer in 0..3_u8 {
            let rng = Rng(rng.below(u64::MAX) | 1);
            // The values of a unique index's writers differ.
            let own = is_unique.then_some(writer);
            futures.push(Box::pin(write(&setup, rng, own)));
        }
        let build = async {
            let mut build = setup.begin(unique(is_unique)).in_batches_of(batch);
            loop {
                match build.step::<Stepping>().await.unwrap() {
                    BuildStep::Ready => break,
                    _ => pause().await,
                }
            }
            let progress = build.progress();
            ready.set(Some((build.index().clone(), progress.conflicts)));
        };
        futures.push(Box::pin(build));
        interleave(&mut rng, futures, || setup.session.tend());
        let (index, met) = ready.take().expect("the index is ready");
        conflicts += met;
        setup.check(&index);
    }
    assert!(conflicts > 100, "{conflicts}: they are to meet");
}

/// Writes any values, or, for a writer with a number of its own, a new one each time.
async fn write(setup: &Setup, mut rng: Rng, own: Option<u8>) {
    let mut written_before = 0;
    for _ in 0..30 {
        let isolation = match rng.below(2) {
            0 => Isolation::Snapshot,
            _ => Isolation::ReadCommitted,
        };
        let txn = setup.session.begin(isolation).unwrap();
        if rng.below(2) == 0 {
            txn.set_on_conflict(OnConflict::Wait);
        }
        let mut alive = true;
        for _ in 0..1 + rng.below(3) {
            let key = [rng.below(12) as u8];
            let value = match own {
                None => vec![rng.below(8) as u8],
                Some(number) => vec![100 + number, written_before],
            };
            written_before += 1;
            let written = match rng.below(3) {
                0 => txn.delete::<Stepping>(&setup.table, &key).await.map(drop),
                _ => txn.upsert::<Stepping>(&setup.table, &key, &value).await,
            };
            match written {
                Ok(()) | Err(Error::DuplicateIndexKey { .. }) => {}
                Err(Error::Abort(_)) => {
                    alive = false;
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        if alive && rng.below(4) > 0 {
            txn.commit().await.unwrap();
        }
    }
}

fn truncate(txn: &Transaction) -> Arc<Table> {
    run_inline(txn.truncate_table::<Sequential>("t")).unwrap()
}

/// An index that became ready after the truncation had listed the indexes would get lost. Its
/// builder therefore waits for the end of the truncation.
#[test]
fn an_index_does_not_become_ready_beside_a_truncation() {
    let s = Setup::new();
    s.put(b"a", b"x");
    let mut build = s.begin(UNIQUE);
    s.step_to_claim(&mut build);
    let txn = s.session.begin(Isolation::Snapshot).unwrap();
    truncate(&txn);
    while s.step(&mut build).unwrap() != BuildStep::Conflict {}
    assert_eq!(build.index().state(), IndexState::Building);
    drop(txn);
    let index = s.finish(build);
    // The next truncation includes the index.
    let txn = s.session.begin(Isolation::Snapshot).unwrap();
    let new = truncate(&txn);
    run_inline(txn.commit()).unwrap();
    let s = Setup { table: new, ..s };
    let index = index.newest().unwrap();
    assert!(index.options().unique);
    s.put(b"b", b"x");
    s.check(&index);
    let txn = s.session.begin(Isolation::Snapshot).unwrap();
    let again = run_inline(txn.insert::<Sequential>(&s.table, b"c", b"x"));
    assert!(matches!(again, Err(Error::DuplicateIndexKey { .. })));
}

/// An index that is dropped beside a truncation would come back with it. The first of the
/// two to write the record of the table wins.
#[test]
fn an_index_is_not_dropped_beside_a_truncation() {
    let s = Setup::new();
    let index = s.finish(s.begin(UNIQUE));
    let txn = s.session.begin(Isolation::Snapshot).unwrap();
    truncate(&txn);
    let conflict = Err(Error::Abort(Abort::WriteConflict));
    assert_eq!(run_inline(s.session.drop_index(&index)), conflict);
    assert_eq!(index.state(), IndexState::Ready);
    run_inline(txn.commit()).unwrap();
    // The index is dropped by the handle from before.
    assert_eq!(run_inline(s.session.drop_index(&index)), Ok(true));
    assert_eq!(index.newest().map(|index| index.state()), None);
    let txn = s.session.begin(Isolation::Snapshot).unwrap();
    assert_eq!(truncate(&txn).indexes().len(), 0);
}

/// The builder of an index learns that its table is gone.
#[test]
fn an_index_is_not_built_on_a_table_that_was_truncated() {
    let s = Setup::new();
    s.put(b"a", b"x");
    let mut build = s.begin(UNIQUE);
    s.step_to_claim(&mut build);
    let txn = s.session.begin(Isolation::Snapshot).unwrap();
    truncate(&txn);
    run_inline(txn.commit()).unwrap();
    let gone = loop {
        match s.step(&mut build) {
            Ok(BuildStep::Ready) => panic!("there is nothing to be ready"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(
        matches!(gone, BuildError::Engine(Error::TableDropped)),
        "{gone:?}"
    );
    assert!(build.index().newest().is_none());
}
