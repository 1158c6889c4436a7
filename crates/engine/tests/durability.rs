//! Acknowledged transactions survive, in order, and nothing else changes.

use crate::durable;

use std::collections::BTreeMap;

use durable::{Durable, LOG, open, open_within};
use engine::{Error, OpenError, RecoveryConfig, Session, SessionError};
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
fn acknowledged_commits_survive_crash_after_crash() {
    let mut disk = SimulatedDisk::new(1, Faults::default());
    let mut model = Model::new();
    let mut durable = open(disk.directory()).unwrap();
    assert!(durable.report.is_new);
    durable.create_table("t", b"described").unwrap();
    for round in 0..6 {
        work(&mut durable, &mut model, round * 1000, 300);
        if round % 2 == 1 {
            let report = durable.run(async |s: std::rc::Rc<engine::Session>| s.checkpoint().await);
            assert_eq!(report.unwrap().records, model.len() as u64 + 2);
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

/// Removing a file of a checkpoint once took 10 ms where the system discards its blocks, and all
/// transactions of the worker stood still.
#[test]
fn checkpoints_use_their_files_again() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut model = Model::new();
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    let parts = |disk: &SimulatedDisk| {
        let mut names = disk.directory().list().unwrap();
        names.retain(|name| name.starts_with("checkpoint-"));
        names.sort();
        names
    };
    for round in 0..5 {
        // Each round has less, so that the file keeps a part of its earlier use.
        work(&mut durable, &mut model, round * 1000, 300 - 60 * round);
        let report = durable.run(async |s: std::rc::Rc<engine::Session>| s.checkpoint().await);
        // One part of the table, two of the catalog.
        assert_eq!(report.unwrap().parts, 3);
        let newest = 3 * (round + 1).min(2) as usize;
        assert_eq!(
            parts(&disk).len(),
            newest,
            "three that count, three to be used"
        );
    }
    let names: Vec<_> = (9..15).map(|n| format!("checkpoint-{n:08}")).collect();
    assert_eq!(parts(&disk), names, "no name is used twice");
    drop(durable);
    durable = open(disk.directory()).unwrap();
    assert_eq!(parts(&disk), names[3..]);
    assert_equals(&mut durable, &model);
}

#[test]
fn a_directory_is_open_once() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let durable = open(disk.directory()).unwrap();
    assert!(matches!(open(disk.directory()), Err(OpenError::Locked(_))));
    drop(durable);
    open(disk.directory()).unwrap();
}

#[test]
fn log_buffers_are_part_of_the_memory_limit() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let recovery = RecoveryConfig::default();
    let mut durable = open_within(4 << 20, disk.directory(), LOG, recovery).unwrap();
    let reserved = |durable: &Durable| durable.database.memory().reserved_bytes as usize;
    assert_eq!(reserved(&durable), LOG.session_bytes());
    let table = durable.create_table("t", b"").unwrap();
    let records = |count: u64| (0..count).map(|i| (key(i), Some(vec![1; 1000]))).collect();
    // A transaction that is larger than a buffer takes the memory for as long as it needs it.
    durable.write(&table, records(500)).unwrap();
    durable.write(&table, records(1)).unwrap();
    assert_eq!(reserved(&durable), LOG.session_bytes());
    // The versions fit, but not the same bytes again in the log.
    let refused = durable.write(&table, records(2000)).unwrap_err();
    assert_eq!(refused, Error::MemoryExhausted);
    assert_eq!(durable.read(&table).len(), 500);
    assert_eq!(reserved(&durable), LOG.session_bytes());
    durable.write(&table, records(1)).unwrap();

    let sessions = (0..30).map(|_| Session::new(&durable.database));
    let error = sessions.collect::<Result<Vec<_>, _>>().unwrap_err();
    assert!(matches!(error, SessionError::LogBuffers { .. }), "{error}");
    assert_eq!(reserved(&durable), LOG.session_bytes());
}
