//! Samples of tables show the records that a transaction sees, and count the occupied places.

use crate::in_memory;

use engine::{DatabaseConfig, Isolation};
use in_memory::in_memory;
use interleave::{Interleaved, Sequential, run_inline};

#[test]
fn all_places_of_a_table_are_all_its_records() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
    let key = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let load = session.begin(Isolation::Snapshot).unwrap();
    for i in 0..1_000_u64 {
        run_inline(load.insert::<Sequential>(&table, &key(i), &i.to_le_bytes())).unwrap();
    }
    run_inline(load.commit()).unwrap();
    let reader = session.begin(Isolation::Snapshot).unwrap();
    let writer = session.begin(Isolation::Snapshot).unwrap();
    for i in (0..1_000).step_by(2) {
        run_inline(writer.upsert::<Sequential>(&table, &key(i), b"changed.")).unwrap();
    }
    for i in (1..1_000).step_by(10) {
        run_inline(writer.delete::<Sequential>(&table, &key(i))).unwrap();
    }
    for i in 1_000..1_100_u64 {
        run_inline(writer.insert::<Sequential>(&table, &key(i), &i.to_le_bytes())).unwrap();
    }
    run_inline(writer.commit()).unwrap();

    // The sample shows the old records: the new ones are counted, and not shown.
    let places = 0..table.records_estimate();
    let mut shown = Vec::new();
    let show = |value: &[u8]| shown.push(u64::from_le_bytes(value.try_into().unwrap()));
    let all = places.clone().collect::<Vec<u64>>().into_iter();
    let occupied = run_inline(reader.sample::<Sequential>(&table, all, show)).unwrap();
    shown.sort_unstable();
    assert_eq!(shown, (0..1_000).collect::<Vec<_>>());
    assert_eq!(occupied, 1_100);

    // A later transaction sees changed records, and no deleted ones.
    let later = session.begin(Isolation::Snapshot).unwrap();
    let all: Vec<u64> = places.collect();
    let mut changed = 0;
    let count = |value: &[u8]| changed += usize::from(value == b"changed.");
    let occupied = run_inline(later.sample::<Interleaved>(&table, all.into_iter(), count)).unwrap();
    assert_eq!((occupied, changed), (1_000, 500));
}

#[test]
fn places_that_no_record_ever_had_are_empty() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
    let reader = session.begin(Isolation::Snapshot).unwrap();
    let places = vec![0, 1, 63, 1_000, u64::MAX];
    let sample = reader.sample::<Sequential>(&table, places.into_iter(), |_| panic!("a record"));
    assert_eq!(run_inline(sample).unwrap(), 0);
}
