//! A check finds all damage of a directory, and changes nothing.

use crate::durable;

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use durable::{Durable, open};
use engine::{
    Extractor, IndexOptions, Isolation, OpenError, Session,
    inspect::{CheckReport, Contents, FileState, check},
};
use interleave::Interleaved;
use io::{Directory, Faults, OpenMode, SimulatedDisk};

/// Makes a directory with two tables, a checkpoint, log files before and after it, and two
/// incarnations.
fn directory() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    durable.create_table("u", b"").unwrap();
    write(&mut durable, 0, 200);
    let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
    // One part of each table, and two of the catalog.
    assert_eq!(taken.unwrap().parts, 4);
    write(&mut durable, 100, 300);
    drop(durable);
    let mut durable = open(disk.directory()).unwrap();
    write(&mut durable, 300, 400);
    drop(durable);
    disk
}

fn write(durable: &mut Durable, from: u64, to: u64) {
    for i in from..to {
        let name = ["t", "u"][i as usize % 2];
        let table = durable.database.table(name).unwrap();
        let value = vec![i as u8; 3000];
        let record = (i.to_be_bytes().to_vec(), Some(value));
        durable.write(&table, vec![record]).unwrap();
    }
}

fn report(disk: &SimulatedDisk) -> CheckReport {
    check(&disk.directory(), &mut |_| {}).unwrap()
}

/// Returns all names and contents.
fn contents(directory: &Arc<dyn Directory>) -> BTreeMap<String, Vec<u8>> {
    let names = directory.list().unwrap().into_iter();
    names
        .map(|name| (name.clone(), read(directory, &name)))
        .collect()
}

fn read(directory: &Arc<dyn Directory>, name: &str) -> Vec<u8> {
    let file = directory.open(name, OpenMode::Read, false).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn put(directory: &Arc<dyn Directory>, name: &str, bytes: &[u8]) {
    let _ = directory.remove(name);
    let file = directory.open(name, OpenMode::Create, false).unwrap();
    file.write_at(bytes, 0).unwrap();
}

fn flip(directory: &Arc<dyn Directory>, name: &str, offset: u64) {
    let file = directory.open(name, OpenMode::Write, false).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, offset).unwrap();
    file.write_at(&[byte[0] ^ 4], offset).unwrap();
}

/// Returns the needed files with contents for which `is` is true.
fn needed(report: &CheckReport, is: impl Fn(&Contents) -> bool) -> Vec<String> {
    let files = report.files.iter();
    let needed = files.filter(|file| file.state == FileState::Needed && is(&file.contents));
    needed.map(|file| file.name.clone()).collect()
}

fn is_log(contents: &Contents) -> bool {
    matches!(contents, Contents::Log(_))
}

fn is_part(contents: &Contents) -> bool {
    matches!(contents, Contents::Part(_))
}

/// Returns the names of the tables, and of the indexes of each, with whether the index is unique.
fn listed(report: &CheckReport) -> Vec<(&str, Vec<(&str, bool)>)> {
    let tables = report.tables.iter();
    let listed = tables.map(|table| {
        let indexes = table.indexes.iter();
        let indexes = indexes.map(|index| (index.name.as_str(), index.unique));
        (table.name.as_str(), indexes.collect())
    });
    listed.collect()
}

/// Indexes are listed if the checkpoint, the log, or both have them, and whether or not the last
/// opening of the database has attached them.
#[test]
fn the_indexes_that_the_catalog_records_are_listed() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    for name in ["t", "u"] {
        durable.create_table(name, b"").unwrap();
    }
    let build = |durable: &mut Durable, name: &'static str, unique| {
        let table = durable.database.table("t").unwrap();
        durable.run(async move |session: Rc<Session>| {
            let options = IndexOptions {
                unique,
                prefix_free: false,
            };
            let by_value: Extractor = Arc::new(|_, value, keys| keys.push(value));
            let build = session.begin_index(&table, name, options, by_value);
            build.unwrap().run(|_| {}).await.unwrap();
        });
    };
    build(&mut durable, "b", true);
    build(&mut durable, "c", false);
    let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
    taken.unwrap();
    build(&mut durable, "a", false);
    drop(durable);
    let (b, c, a) = (("b", true), ("c", false), ("a", false));
    let report = report(&disk);
    assert!(report.findings.is_empty(), "{report}");
    let expected = [("t", vec![b, c, a]), ("u", vec![])];
    assert_eq!(listed(&report), expected, "{report}");
    let page = report.to_string();
    assert!(page.contains("\n  unique index "), "{page}");

    let mut durable = open(disk.directory()).unwrap();
    durable.run(async |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let dropped = transaction.drop_index_named::<Interleaved>("b").await;
        dropped.unwrap();
        let renamed = transaction.rename_index::<Interleaved>("c", "d").await;
        renamed.unwrap();
        transaction.commit().await.unwrap();
    });
    drop(durable);
    let report = check(&disk.directory(), &mut |_| {}).unwrap();
    assert!(report.findings.is_empty(), "{report}");
    let expected = [("t", vec![("d", false), a]), ("u", vec![])];
    assert_eq!(listed(&report), expected, "{report}");
}

#[test]
fn a_sound_directory_is_called_sound_and_described() {
    let disk = directory();
    let before = contents(&disk.directory());
    let mut last = None;
    let report = check(&disk.directory(), &mut |progress| last = Some(*progress)).unwrap();
    assert!(report.is_sound(), "{report}");
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(contents(&disk.directory()), before, "nothing was changed");
    let last = last.unwrap();
    assert_eq!(last.bytes_done, last.bytes_total);
    assert_eq!(last.bytes_total, report.bytes());

    let names: Vec<_> = report
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(names, ["t", "u"]);
    // Records of the tables, their definitions and their names.
    assert_eq!(report.checkpoint.unwrap().records, 204);
    assert_eq!(report.incarnation, 2);
    let transactions = |incarnation| {
        let logs = report.files.iter().filter_map(|file| match &file.contents {
            Contents::Log(log) if log.incarnation == incarnation => Some(log.transactions),
            _ => None,
        });
        logs.sum::<u64>()
    };
    assert_eq!((transactions(1), transactions(2)), (402, 100));
    assert_eq!(needed(&report, is_part).len(), 4);
    // The report tells up to where recovery gets.
    let durable = open(disk.directory()).unwrap();
    assert_eq!(report.recovers_to, Some(durable.report.recovered_up_to));
    assert_eq!(report.cut_off, 0);
    let page = report.to_string();
    for text in [
        "table 2: t",
        "checkpoint 1",
        "log of incarnation 2",
        "MANIFEST",
        "\nsound\n",
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
}

#[test]
fn a_flipped_bit_is_found_in_every_kind_of_file() {
    let sound = report(&directory());
    let mut names = needed(&sound, is_part);
    names.extend(needed(&sound, is_log));
    names.push("MANIFEST".to_owned());
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let file = sound.files.iter().find(|file| file.name == name).unwrap();
        // In a header, in the middle, and at the end (but not of a log, which may end torn).
        let last = match file.contents {
            Contents::Log(_) => file.used_bytes / 2,
            _ => file.used_bytes - 5000.min(file.used_bytes / 4),
        };
        // A part of the catalog has one record, and padding.
        let is_small = is_part(&file.contents) && file.used_bytes == 4096;
        let (middle, last) = if is_small {
            (66, 75)
        } else {
            (file.used_bytes / 3, last)
        };
        for offset in [17, middle, last] {
            let disk = directory();
            flip(&disk.directory(), &name, offset);
            let report = report(&disk);
            // If a whole log file cannot be read, the next one does not follow either.
            let first = report.damages().next().map(|found| found.file.as_str());
            assert_eq!(first, Some(name.as_str()), "byte {offset}: {report}");
            assert_eq!(report.recovers_to, None);
            assert!(open(disk.directory()).is_err(), "{name} at {offset}");
        }
    }
}

#[test]
fn all_damages_are_listed_not_only_the_first() {
    let disk = directory();
    let sound = report(&disk);
    let names: Vec<_> = needed(&sound, |_| true)
        .into_iter()
        .filter(|name| name != "MANIFEST")
        .collect();
    for name in &names {
        let file = sound.files.iter().find(|file| file.name == *name).unwrap();
        let start = if file.used_bytes > 4096 { 4096 } else { 0 };
        flip(&disk.directory(), name, start + 40);
    }
    let report = report(&disk);
    let mut found: Vec<_> = report.damages().map(|found| found.file.clone()).collect();
    found.dedup();
    let mut expected = names.clone();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected, "{report}");
    assert!(report.damages().all(|found| !found.advice.is_empty()));
}

#[test]
fn missing_files_are_found() {
    let sound = report(&directory());
    for name in needed(&sound, |_| true) {
        let disk = directory();
        disk.directory().remove(&name).unwrap();
        let report = report(&disk);
        let is_last_log = sound.files.iter().any(|file| {
            file.name == name
                && matches!(&file.contents, Contents::Log(log) if log.incarnation == 2)
        });
        // Only the log of an incarnation tells that it wrote at all.
        assert_eq!(report.is_sound(), is_last_log, "{name}: {report}");
        assert_eq!(open(disk.directory()).is_ok(), is_last_log, "{name}");
    }
}

#[test]
fn swapped_files_are_found() {
    let sound = report(&directory());
    for names in [needed(&sound, is_part), needed(&sound, is_log)] {
        let disk = directory();
        let directory = disk.directory();
        let bytes = [read(&directory, &names[0]), read(&directory, &names[1])];
        put(&directory, &names[0], &bytes[1]);
        put(&directory, &names[1], &bytes[0]);
        let report = report(&disk);
        // The name of a log file means nothing.
        assert_eq!(report.is_sound(), is_log_name(&names[0]), "{report}");
        assert_eq!(open(disk.directory()).is_ok(), is_log_name(&names[0]));
    }
}

fn is_log_name(name: &str) -> bool {
    name.starts_with("log-")
}

/// Recovery once looked only at the numbers in a chunk, which are alike in any two databases that
/// are alike.
#[test]
fn files_of_another_database_are_found() {
    for is in [is_part, is_log] {
        let (disk, other) = (directory(), directory());
        let name = needed(&report(&other), is)[0].clone();
        put(&disk.directory(), &name, &read(&other.directory(), &name));
        let report = report(&disk);
        assert!(!report.is_sound(), "{name}: {report}");
        assert!(open(disk.directory()).is_err(), "{name}");
    }
}

#[test]
fn an_unknown_version_is_named() {
    // A bit is added to the known version, or removed from it.
    for (is, offset, unknown) in [
        (is_part as fn(&Contents) -> bool, 4, 6),
        (is_log, 4100, 5),
        (|contents: &Contents| *contents == Contents::Manifest, 4, 1),
    ] {
        let disk = directory();
        let name = needed(&report(&disk), is)[0].clone();
        flip(&disk.directory(), &name, offset);
        let report = report(&disk);
        let found: Vec<_> = report.damages().collect();
        assert_eq!((found.len(), &found[0].file), (1, &name), "{report}");
        let version = format!("format version {unknown}");
        assert!(found[0].what.contains(&version), "{}", found[0]);
        assert!(found[0].advice.contains("version"), "{}", found[0]);
        assert!(matches!(
            open(disk.directory()),
            Err(OpenError::UnknownVersion { version, .. }) if version == unknown
        ));
    }
}

#[test]
fn leftovers_and_strangers_are_told_apart_and_do_no_harm() {
    let disk = directory();
    let directory = disk.directory();
    put(&directory, "log-00000099", &[0; 8192]);
    put(&directory, "checkpoint-00000099", b"half a chunk");
    put(&directory, "MANIFEST.new", b"half a manifest");
    put(&directory, "notes.txt", b"mine");
    let report = report(&disk);
    assert!(report.is_sound(), "{report}");
    for (name, state) in [
        ("log-00000099", FileState::Blank),
        ("checkpoint-00000099", FileState::Superfluous),
        ("MANIFEST.new", FileState::Superfluous),
        ("notes.txt", FileState::Stranger),
    ] {
        let file = report.files.iter().find(|file| file.name == name).unwrap();
        assert_eq!(file.state, state, "{name}");
    }
    assert_eq!(report.findings.len(), 1, "a note about the stranger");
}

#[test]
fn a_directory_that_is_open_or_empty_is_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let empty = check(&disk.directory(), &mut |_| {});
    assert!(matches!(empty, Err(OpenError::NoDatabase(_))));
    let durable = open(disk.directory()).unwrap();
    let open = check(&disk.directory(), &mut |_| {});
    assert!(matches!(open, Err(OpenError::Locked(_))));
    drop(durable);
    assert!(report(&disk).is_sound());
}

#[test]
fn records_that_were_never_acknowledged_are_counted() {
    let disk = directory();
    let sound = report(&disk);
    // The last block of the last incarnation, torn.
    let last = sound.files.iter().rev().find(
        |file| matches!(&file.contents, Contents::Log(log) if log.incarnation == 2 && log.transactions > 0),
    );
    let last = last.unwrap();
    flip(&disk.directory(), &last.name, last.used_bytes - 4096 + 30);
    let report = report(&disk);
    assert!(report.is_sound(), "{report}");
    assert_eq!(report.findings.len(), 1, "{report}");
    assert!(report.findings[0].what.contains("torn"));
    let durable = open(disk.directory()).unwrap();
    assert_eq!(report.recovers_to, Some(durable.report.recovered_up_to));
}
