//! Salvage opens a damaged directory with the data that is left, and a checkpoint makes the
//! directory sound again.
//!
//! Salvage once refused damaged checkpoint parts and blocks of unknown versions like any opening,
//! and a log file with a destroyed header stayed where it was: the next opening was refused as
//! well.

use crate::durable;

use std::rc::Rc;

use durable::{Durable, LOG, open, open_with};
use engine::{RecoveryConfig, Session, inspect};
use io::{Faults, OpenMode, SimulatedDisk};

fn write(durable: &mut Durable, from: u64, to: u64) {
    let table = durable.database.table("t").expect("there");
    for i in from..to {
        let record = (i.to_be_bytes().to_vec(), Some(vec![i as u8; 2000]));
        durable.write(&table, vec![record]).unwrap();
    }
}

fn checkpoint(durable: &mut Durable) {
    let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
    taken.expect("a checkpoint");
}

/// Makes a directory with 400 records in the checkpoint (two chunks and more), and 300 in the log
/// behind it.
fn directory() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    write(&mut durable, 0, 400);
    checkpoint(&mut durable);
    write(&mut durable, 400, 700);
    drop(durable);
    disk
}

fn flip(disk: &SimulatedDisk, name: &str, offset: u64) {
    let directory = disk.directory();
    let file = directory.open(name, OpenMode::Write, false).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, offset).unwrap();
    file.write_at(&[!byte[0]], offset).unwrap();
}

/// Returns the log file with the first blocks behind the checkpoint.
fn log_file(disk: &SimulatedDisk) -> String {
    let report = inspect::check(&disk.directory(), &mut |_| {}).unwrap();
    let mut needed = report.files.iter().filter(|file| {
        file.state == inspect::FileState::Needed
            && matches!(file.contents, inspect::Contents::Log(_))
    });
    needed.next().unwrap().name.clone()
}

#[test]
fn surviving_records_are_brought_back_and_sound_again() {
    let log = log_file(&directory());
    for (name, offset, kept) in [
        // The second chunk of the checkpoint is destroyed, and with it only records of the
        // checkpoint.
        ("checkpoint-00000000", 300 << 10, 300..700),
        // The version is unknown.
        ("checkpoint-00000000", 4, 300..310),
        (&log, 100 * 4096 + 4, 400..700),
        (&log, 100 * 4096 + 100, 400..700),
        (&log, 17, 400..700),
    ] {
        let disk = directory();
        flip(&disk, name, offset);
        assert!(open(disk.directory()).is_err(), "{name} at {offset}");
        let salvage = RecoveryConfig { salvage: true };
        let mut durable = open_with(disk.directory(), LOG, salvage).expect("opens");
        let table = durable.database.table("t").unwrap();
        let records = durable.read(&table).len();
        assert!(kept.contains(&records), "{name} at {offset}: {records}");
        checkpoint(&mut durable);
        drop(durable);
        let report = inspect::check(&disk.directory(), &mut |_| {}).unwrap();
        assert!(report.is_sound(), "{name} at {offset}: {report}");
        let mut durable = open(disk.directory()).expect("opens again");
        let table = durable.database.table("t").unwrap();
        assert_eq!(durable.read(&table).len(), records);
    }
}

#[test]
fn a_missing_part_is_done_without() {
    let disk = directory();
    disk.directory().remove("checkpoint-00000000").unwrap();
    assert!(open(disk.directory()).is_err());
    let salvage = RecoveryConfig { salvage: true };
    let mut durable = open_with(disk.directory(), LOG, salvage).expect("opens");
    let table = durable.database.table("t").unwrap();
    assert_eq!(durable.read(&table).len(), 300);
    checkpoint(&mut durable);
    drop(durable);
    assert_eq!(
        open(disk.directory())
            .unwrap()
            .report
            .progress
            .checkpoint_records,
        302
    );
}
