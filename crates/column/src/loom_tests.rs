//! The parts of a column under all interleavings of a writer, a reader and a merge.

use crate::{Column, Progress};

fn values(column: &Column<u8>) -> Vec<u8> {
    let snapshot = column.snapshot();
    let rows = 0..snapshot.rows();
    rows.map(|row| snapshot.value(row).expect("no row is NULL"))
        .collect()
}

#[test]
fn a_snapshot_sees_each_row_once() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let column = Column::<u8>::new().expect("memory");
        column.append(Some(1)).expect("memory");
        let writer = loom::thread::spawn({
            let column = column.clone();
            move || {
                for value in [2, 3] {
                    column.append(Some(value)).expect("memory");
                    let seen = values(&column);
                    assert_eq!(seen, [1, 2, 3][..value as usize], "what it wrote");
                }
            }
        });
        let merger = loom::thread::spawn({
            let column = column.clone();
            move || {
                let mut merge = column
                    .begin_merge()
                    .expect("memory")
                    .expect("there is a row");
                while merge.step(usize::MAX).expect("memory") == Progress::Unfinished {}
                assert!(values(&column).starts_with(&[1]));
            }
        });
        let seen = values(&column);
        assert_eq!(seen, [1, 2, 3][..seen.len()]);
        assert!(!seen.is_empty());
        writer.join().expect("no panic");
        merger.join().expect("no panic");
        assert_eq!(values(&column), [1, 2, 3]);
    });
}
