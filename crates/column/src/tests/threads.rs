//! A column in the hands of threads.

use std::fmt::Debug;

use super::random;
use crate::{Column, InPredicate, Merge, Progress, Snapshot};

/// Each writer appends its own ascending numbers, while others merge and read.
#[test]
fn threads_see_each_row_once_while_merges_go_on() {
    const WRITERS: u64 = 3;
    const EACH: u64 = if cfg!(miri) { 60 } else { 6000 };
    let column = Column::<u64>::new().unwrap();
    let written = [const { std::sync::atomic::AtomicU64::new(0) }; WRITERS as usize];
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|threads| {
        for writer in 0..WRITERS {
            let (column, written) = (&column, &written[writer as usize]);
            threads.spawn(move || {
                let mut next = random(writer);
                let mut done = 0;
                while done < EACH {
                    let count = (next() % 20 + 1).min(EACH - done);
                    let values: Vec<_> = (done..done + count)
                        .map(|number| Some(number * WRITERS + writer))
                        .collect();
                    match values[..] {
                        [value] => column.append(value).unwrap(),
                        _ => column.append_all(&values).unwrap(),
                    }
                    done += count;
                    written.store(done, order);
                }
            });
        }
        threads.spawn(|| {
            let mut next = random(99);
            while written.iter().any(|written| written.load(order) < EACH) {
                let Some(mut merge) = column.begin_merge().unwrap() else {
                    continue;
                };
                let budget = next() as usize % 3000 + 1;
                let is_dropped = next().is_multiple_of(4);
                while merge.step(budget).unwrap() == Progress::Unfinished && !is_dropped {}
            }
        });
        threads.spawn(|| {
            let mut next = random(55);
            let mut predicate = InPredicate::auto();
            let mut is_last = false;
            while !is_last {
                is_last = written.iter().all(|written| written.load(order) == EACH);
                let before: Vec<u64> = written.iter().map(|written| written.load(order)).collect();
                let snapshot = column.snapshot();
                let mut seen = [0; WRITERS as usize];
                for row in 0..snapshot.rows() {
                    let value = snapshot.value(row).unwrap();
                    let writer = (value % WRITERS) as usize;
                    assert_eq!(value / WRITERS, seen[writer], "in the order of its writer");
                    seen[writer] += 1;
                }
                assert!(
                    seen.iter()
                        .zip(&before)
                        .all(|(seen, before)| seen >= before)
                );
                let value = next() % (WRITERS * EACH);
                let list = [Some(value), Some(WRITERS * EACH), None];
                let mut rows = Vec::new();
                predicate.rows_in(&snapshot, &list, &mut rows).unwrap();
                let is_there = value / WRITERS < seen[(value % WRITERS) as usize];
                assert_eq!(rows.len(), usize::from(is_there));
                assert!(rows.iter().all(|&row| snapshot.value(row) == Some(value)));
            }
        });
    });
    column.merge().unwrap();
    column.merge().unwrap();
    let snapshot = column.snapshot();
    assert_eq!(
        (snapshot.rows(), snapshot.main().rows() as u64),
        (WRITERS * EACH, WRITERS * EACH)
    );
}

#[test]
fn handles_and_parts_can_be_sent() {
    fn is_sent<T: Send + Sync + Debug>() {}
    is_sent::<Column<String>>();
    is_sent::<Snapshot<String>>();
    is_sent::<Merge<String>>();
    is_sent::<InPredicate>();
}
