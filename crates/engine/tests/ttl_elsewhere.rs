//! Tables whose records expire, beyond the database that made them: in backups, for followers of
//! the change stream, and in the tools' reports of a directory.

use crate::durable;

use std::{collections::BTreeMap, ops::ControlFlow, rc::Rc, sync::Arc, time::Duration};

use durable::{Durable, LOG, open_with};
use engine::{
    Change, ChangesFrom, LogConfig, OpenError, RecoveryConfig, Session, Table, TableEventKind,
    TableOptions, WallClock, WallTime, backup,
    inspect::{self, DumpEntry, DumpSelection},
};
use io::{Directory, Faults, SimulatedDisk};

const TTL: Duration = Duration::from_micros(100);

fn open(disk: &SimulatedDisk, at: u64) -> (Durable, WallClock) {
    let log = LogConfig {
        change_retention_bytes: 1 << 30,
        ..LOG
    };
    let durable = open_with(disk.directory(), log, RecoveryConfig::default()).unwrap();
    let wall = WallClock::manual(WallTime(at));
    assert!(durable.database.set_wall_clock(wall.clone()));
    (durable, wall)
}

fn put(durable: &mut Durable, table: &Arc<Table>, key: &str) {
    let record = (key.as_bytes().to_vec(), Some(b"value".to_vec()));
    durable.write(table, vec![record]).unwrap();
}

/// Makes a database with a record in its checkpoint that expires at 1100, and one in the log that
/// expires at 1150.
fn database(disk: &SimulatedDisk) -> (Durable, WallClock, Arc<Table>) {
    let (mut durable, wall) = open(disk, 1000);
    let table = durable.run(async |session: Rc<Session>| {
        let options = TableOptions { ttl: Some(TTL) };
        session.create_table_with("t", b"", options).await.unwrap()
    });
    put(&mut durable, &table, "early");
    durable.run(async |session: Rc<Session>| session.checkpoint().await.unwrap());
    wall.set(WallTime(1050));
    put(&mut durable, &table, "late");
    (durable, wall, table)
}

fn keys(durable: &mut Durable, table: &Arc<Table>) -> Vec<String> {
    let records = durable.read(table).into_iter();
    let keys = records.map(|(key, value)| {
        assert_eq!(value, b"value");
        String::from_utf8(key).unwrap()
    });
    keys.collect()
}

#[test]
fn a_backup_has_the_time_to_live_and_every_expiry() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (durable, wall, _) = database(&disk);
    // Both records have expired by now; no session has deleted them, and the backup does not ask.
    wall.set(WallTime(2000));
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let copies = [2, 3].map(|seed| SimulatedDisk::new(seed, Faults::default()));
    let online: Arc<dyn Directory> = copies[0].directory();
    durable.database.backup(&online, go_on).unwrap();
    drop(durable);
    let (from, offline): (Arc<dyn Directory>, Arc<dyn Directory>) =
        (disk.directory(), copies[1].directory());
    backup::copy(&from, &offline, go_on).unwrap();
    for copy in copies {
        // Each opening of the backup has a clock of its own.
        for (at, expected) in [
            (1099, &["early", "late"][..]),
            (1100, &["late"]),
            (1150, &[]),
        ] {
            let (mut durable, _) = open(&copy, at);
            let table = durable.database.table("t").unwrap();
            assert_eq!(table.ttl(), Some(TTL));
            assert_eq!(keys(&mut durable, &table), expected, "at {at}");
        }
        // Records that are written there live as long.
        let (mut durable, wall) = open(&copy, 3000);
        let table = durable.database.table("t").unwrap();
        put(&mut durable, &table, "new");
        wall.set(WallTime(3099));
        assert_eq!(keys(&mut durable, &table), ["new"]);
        wall.set(WallTime(3100));
        assert_eq!(keys(&mut durable, &table), [""; 0]);
    }
}

/// A follower keeps a copy: with the expiries in the stream it answers as the database does at
/// every moment, and records that the database deletes in the end are deleted in the copy, too.
#[test]
fn a_follower_answers_as_the_database_does() {
    let disk = SimulatedDisk::new(4, Faults::default());
    let (mut durable, mut wall, mut table) = database(&disk);
    // A record that is written again lives longer.
    put(&mut durable, &table, "early");
    let mut copy: BTreeMap<String, WallTime> = BTreeMap::new();
    let mut ttl = None;
    let mut position = ChangesFrom::Beginning;
    for present in [1060, 1149, 1150] {
        match present {
            1149 => {
                drop((durable, table));
                (durable, wall) = open(&disk, present);
                table = durable.database.table("t").unwrap();
                put(&mut durable, &table, "last");
            }
            1150 => {
                wall.set(WallTime(present));
                while durable.database.stats().expired < 2 {
                    durable.session().tend();
                }
            }
            _ => wall.set(WallTime(present)),
        }
        let (batches, end) = durable.run(async move |session: Rc<Session>| {
            let up_to = session.database().now();
            let mut changes = session.changes(position).await.unwrap();
            let mut batches = Vec::new();
            while changes.position() < up_to {
                batches.extend(changes.next(&session).await.unwrap());
            }
            (batches, changes.position())
        });
        position = ChangesFrom::After(end);
        for change in batches.iter().flat_map(|transaction| transaction.changes()) {
            match change {
                Change::Table(event) => {
                    assert_eq!(event.kind, TableEventKind::Created);
                    ttl = event.table.ttl();
                }
                Change::Record(record) => {
                    let key = String::from_utf8(record.key.to_vec()).unwrap();
                    match record.value.map(|stored| record.table.split(stored)) {
                        Some((expires, value)) => {
                            assert_eq!(value, b"value");
                            copy.insert(key, expires.expect("it expires"));
                        }
                        None => drop(copy.remove(&key)),
                    }
                }
            }
        }
        assert_eq!(ttl, Some(TTL));
        let live = copy.iter().filter(|(_, expires)| expires.0 > present);
        let live: Vec<String> = live.map(|(key, _)| key.clone()).collect();
        assert_eq!(keys(&mut durable, &table), live, "at {present}");
    }
    assert_eq!(copy, BTreeMap::from([("last".to_owned(), WallTime(1249))]));
}

#[test]
fn the_tools_tell_how_long_records_live_and_when_each_expires() {
    let disk = SimulatedDisk::new(5, Faults::default());
    let (mut durable, _, table) = database(&disk);
    // A table that is gone by the time of the look, and one of its records.
    durable.run(async |session: Rc<Session>| session.truncate_table("t").await.unwrap());
    let current = durable.run(async |session: Rc<Session>| {
        let txn = session.begin(engine::Isolation::Snapshot).unwrap();
        txn.open_table::<interleave::Interleaved>("t")
            .await
            .unwrap()
    });
    put(&mut durable, &current, "newest");
    drop((durable, table, current));
    let directory: Arc<dyn Directory> = disk.directory();
    let report = inspect::check(&directory, &mut |_| {}).unwrap();
    assert!(report.is_sound(), "{report}");
    let tables = report.tables.iter().map(|table| (&*table.name, table.ttl));
    assert_eq!(tables.collect::<Vec<_>>(), [("t", Some(TTL))]);
    let mut told = Vec::new();
    let mut visit = |entry: DumpEntry<'_>| {
        match entry {
            DumpEntry::Write {
                table_name: Some("t"),
                key,
                value,
                expires,
                ..
            } => {
                let key = String::from_utf8(key.to_vec()).unwrap();
                assert_eq!(value, Some(&b"value"[..]));
                told.push(format!("{key} {}", expires.expect("it expires").0));
            }
            DumpEntry::Table { event, .. } => {
                assert_eq!(event.table.ttl(), Some(TTL));
                told.push(event.to_string());
            }
            _ => {}
        }
        Ok::<_, OpenError>(())
    };
    inspect::dump(&directory, &DumpSelection::default(), &mut visit).unwrap();
    assert_eq!(
        told,
        [
            "create table 2 \"t\"",
            "early 1100",
            "late 1150",
            "truncate table 2 \"t\": storage 3 in place of 2",
            "newest 1150",
        ]
    );
}
