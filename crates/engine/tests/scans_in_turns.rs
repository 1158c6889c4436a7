//! Scans that yield to other tasks: over many records of which none is shown, and in pieces that
//! end among records with one index key.

use crate::in_memory;

use std::{
    cell::RefCell,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
};

use engine::{
    DatabaseConfig, Direction, Extractor, Index, IndexOptions, IndexPosition, Isolation,
    ScanPosition, Session, Table, Transaction,
};
use in_memory::in_memory;
use interleave::{
    Clock, FromFn, InFlight, Interleaved, Sequential, Worker, WorkerConfig, run_inline,
};

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

fn load(session: &Rc<Session>, table: &Table, records: u64, value: impl Fn(u64) -> u8) {
    let load = session.begin(Isolation::Snapshot).unwrap();
    for i in 0..records {
        let key = i.to_be_bytes();
        run_inline(load.insert::<Sequential>(table, &key, &[value(i)])).unwrap();
    }
    run_inline(load.commit()).unwrap();
}

/// With one task in flight no scan suspends at its touches, and a scan that shows nothing never
/// returned to its caller: it once went over all records in one slice.
#[test]
fn a_scan_over_invisible_records_lets_others_have_turns() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(256 << 20));
    let reader = Rc::new(session.begin(Isolation::Snapshot).unwrap());
    load(&session, &table, 200_000, |_| 0);
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(1),
        ..WorkerConfig::default()
    };
    for is_ordered in [true, false] {
        let mut worker = Worker::new(config, session.clone(), Clock::real());
        let (mut reader, table) = (Some(reader.clone()), table.clone());
        worker.set_source(FromFn(move |_: &Rc<Session>| {
            let (reader, table) = (reader.take()?, table.clone());
            Some(async move {
                let shown = match is_ordered {
                    true => {
                        let visit = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                        let scan =
                            reader.scan::<Interleaved>(&table, ALL, Direction::Forward, visit);
                        scan.await.unwrap()
                    }
                    false => {
                        let scan = reader.unordered().unwrap().scan::<Interleaved>(
                            &table,
                            ScanPosition::default(),
                            |_| panic!("a record"),
                        );
                        assert_eq!(scan.await.unwrap(), None);
                        0
                    }
                };
                assert_eq!(shown, 0);
            })
        }));
        worker.run_until_idle();
        let stats = worker.handle().stats();
        assert_eq!((stats.tasks_finished, stats.tasks_panicked), (1, 0));
        assert!(stats.waits_memory > 1, "{stats:?}");
    }
}

fn scanned(
    transaction: &Transaction,
    index: &Index,
    direction: Direction,
    piece: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let all = RefCell::new(Vec::new());
    let mut position: Option<Vec<u8>> = None;
    loop {
        let (mut count, mut last) = (0, None);
        let after = position.as_deref().map(IndexPosition::new);
        let visit = |at: IndexPosition<'_>, key: &[u8], primary: &[u8], _: &[u8]| {
            all.borrow_mut().push((key.to_vec(), primary.to_vec()));
            count += 1;
            if count < piece {
                return ControlFlow::Continue(());
            }
            last = Some(at.bytes().to_vec());
            ControlFlow::Break(())
        };
        let scan = transaction.scan_by_from::<Sequential>(index, ALL, direction, after, visit);
        run_inline(scan).unwrap();
        match last {
            Some(last) => position = Some(last),
            None => return all.into_inner(),
        }
    }
}

#[test]
fn a_scan_by_index_goes_on_among_records_with_one_key() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
    load(&session, &table, 500, |i| (i / 200) as u8);
    let by_value: Extractor = Arc::new(|_, value, keys| keys.push(value));
    let options = IndexOptions {
        unique: false,
        prefix_free: false,
    };
    let creator = session.begin(Isolation::Snapshot).unwrap();
    let created = creator.create_index::<Sequential>(&table, "i", b"", options, by_value);
    let index = run_inline(created).unwrap();
    run_inline(creator.commit()).unwrap();
    let reader = session.begin(Isolation::Snapshot).unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let whole = scanned(&reader, &index, direction, usize::MAX);
        assert_eq!(whole.len(), 500);
        for piece in [1, 3, 200, 499, 500] {
            assert_eq!(scanned(&reader, &index, direction, piece), whole);
        }
    }
}
