//! What is acknowledged survives, in order, and nothing else happens to it.

#[path = "common/durable.rs"]
mod durable;

use std::collections::BTreeMap;

use durable::{Durable, open};
use engine::OpenError;
use io::{Faults, SimulatedDisk};

fn key(i: u64) -> Vec<u8> {
    format!("key {i:06}").into_bytes()
}

fn value(i: u64) -> Vec<u8> {
    i.to_le_bytes().repeat(1 + i as usize % 30)
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Commits `count` transactions and keeps the model in step.
fn work(durable: &mut Durable, model: &mut Model, from: u64, count: u64) {
    let table = durable.database.table("t").expect("made before");
    for i in from..from + count {
        let mut records = vec![(key(i * 7 % 500), Some(value(i)))];
        records.push((key(i * 13 % 500), (i % 3 > 0).then(|| value(i + 1))));
        for (key, value) in &records {
            match value {
                Some(value) => drop(model.insert(key.clone(), value.clone())),
                None => drop(model.remove(key)),
            }
        }
        durable.write(&table, records).expect("commits");
    }
}

fn assert_equals(durable: &mut Durable, model: &Model) {
    let table = durable.database.table("t").expect("recovered");
    let all = durable.read(&table);
    let expected: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert_eq!(all.len(), expected.len());
    assert!(all == expected);
}

#[test]
fn what_is_acknowledged_survives_crash_after_crash() {
    let mut disk = SimulatedDisk::new(1, Faults::default());
    let mut model = Model::new();
    let mut durable = open(disk.directory()).unwrap();
    assert!(durable.report.is_new);
    durable.database.create_table("t", b"described").unwrap();
    for round in 0..6 {
        work(&mut durable, &mut model, round * 1000, 300);
        if round % 2 == 1 {
            let report = durable.run(async |s: std::rc::Rc<engine::Session>| s.checkpoint().await);
            assert_eq!(report.unwrap().records, model.len() as u64);
            work(&mut durable, &mut model, round * 1000 + 500, 100);
        }
        disk.crash();
        drop(durable);
        disk = disk.after_crash(round);
        durable = open(disk.directory()).unwrap();
        assert_eq!(
            durable.database.table("t").unwrap().description(),
            b"described"
        );
        assert_equals(&mut durable, &model);
    }
}

#[test]
fn a_directory_is_open_once() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let durable = open(disk.directory()).unwrap();
    assert!(matches!(open(disk.directory()), Err(OpenError::Locked(_))));
    drop(durable);
    open(disk.directory()).unwrap();
}
