//! Commands on data directories as a user meets them: exit codes, messages, forms.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use weft::{Database, IndexDefinition, Options, Table, Transaction};

fn weft() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weft"))
}

fn options(path: &Path) -> Options {
    Options {
        data_dir: Some(path.to_owned()),
        memory_bytes_max: Some(64 << 20),
        ..Options::default()
    }
}

/// Makes a database with a checkpoint of 100 records and 100 more behind it, some text.
fn database(place: &Path) -> PathBuf {
    let path = place.join("data");
    let db = Database::open_local(options(&path)).unwrap();
    let names: Table<u64, String> = db.create_table("names").unwrap();
    for i in 0..200_u64 {
        let ours = names.clone();
        db.run(async move |txn: &Transaction| txn.insert(&ours, &i, &format!("name {i}")).await)
            .unwrap();
        if i == 99 {
            db.checkpoint().unwrap();
        }
    }
    path
}

fn count(path: &Path) -> u64 {
    let db = Database::open_local(options(path)).unwrap();
    let names: Table<u64, String> = db.open_table("names").unwrap();
    db.run(async move |txn: &Transaction| txn.scan(&names, ..).count().await)
        .unwrap()
}

/// Changes a byte of the first file of the kind `kind`.
fn damage(path: &Path, kind: &str, offset: usize) -> String {
    let names = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = names
        .filter(|file| {
            file.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(kind)
        })
        .min()
        .unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[offset] ^= 0xff;
    fs::write(&file, bytes).unwrap();
    file.file_name().unwrap().to_str().unwrap().to_owned()
}

fn json(output: &[u8]) -> Value {
    serde_json::from_slice(output).unwrap()
}

#[test]
fn every_help_teaches() {
    for (command, words) in [
        (
            "check",
            &["Exit code", "superfluous", "--format", "Examples:"][..],
        ),
        (
            "checkpoint",
            &["not open", "Database::checkpoint", "Example:"],
        ),
        ("backup", &["is open", "Database::backup", "Examples:"]),
        ("restore", &["Nothing is overwritten", "Examples:"]),
        (
            "salvage",
            &["Copy the directory first", "--yes", "Example:"],
        ),
        ("log dump", &["--lane", "--from", "--to", "cut-off", "jq"]),
    ] {
        let arguments = command.split(' ').chain(["--help"]);
        let mut help = weft().args(arguments).assert().success();
        for word in words {
            help = help.stdout(contains(*word));
        }
    }
}

#[test]
fn a_checkpoint_makes_the_log_superfluous() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    weft()
        .arg("checkpoint")
        .arg(&path)
        .assert()
        .success()
        .stdout(contains("202 records in 3 files"));
    weft()
        .arg("check")
        .arg(&path)
        .assert()
        .code(0)
        .stdout(contains("names, 200 records in the checkpoint").and(contains("superfluous")));
    assert_eq!(count(&path), 200);
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    weft().arg("checkpoint").arg(&empty).assert().code(2);
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
}

#[test]
fn check_lists_the_indexes_of_each_table() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    let db = Database::open(options(&path)).unwrap();
    let names: Table<u64, String> = db.open_table("names").unwrap();
    let by_name = IndexDefinition::unique("by name", |_, name: String| Some(name));
    db.create_index_blocking(&names, by_name).unwrap();
    db.close();
    let page = contains("\n  unique index ").and(contains(": by name\n"));
    weft().arg("check").arg(&path).assert().code(0).stdout(page);
    let output = weft()
        .arg("check")
        .arg(&path)
        .args(["--format", "json"])
        .output();
    let report = json(&output.unwrap().stdout);
    let indexes = &report["tables"][0]["indexes"];
    assert_eq!(indexes[0]["name"], "by name");
    assert_eq!(indexes[0]["unique"], true);
    assert!(indexes[0]["number"].is_u64() && indexes[1].is_null());
}

#[test]
fn check_tells_sound_from_damaged_from_unreadable() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    weft().arg("check").arg(&path).assert().code(0).stdout(
        contains("names, 100 records in the checkpoint")
            .and(contains("\nsound\n"))
            .and(contains("201 transactions")),
    );
    let output = weft()
        .arg("check")
        .arg(&path)
        .args(["--format", "json"])
        .output();
    let report = json(&output.unwrap().stdout);
    assert_eq!(report["sound"], true);
    assert_eq!(report["tables"][0]["name"], "names");
    assert!(report["recovers_to"].as_u64().unwrap() >= 200);

    let name = damage(&path, "checkpoint-", 70);
    weft()
        .arg("check")
        .arg(&path)
        .assert()
        .code(1)
        .stdout(contains(&name).and(contains("restore a backup")))
        .stderr(contains("damaged in one place"));
    let output = weft()
        .arg("check")
        .arg(&path)
        .args(["--format", "json"])
        .output();
    let report = json(&output.unwrap().stdout);
    assert_eq!(report["findings"][0]["file"], name.as_str());
    assert_eq!(report["recovers_to"], Value::Null);

    let nowhere = place.path().join("nowhere");
    weft()
        .arg("check")
        .arg(&nowhere)
        .assert()
        .code(2)
        .stderr(contains("is no directory"));
    assert!(!nowhere.exists());
    fs::create_dir(&nowhere).unwrap();
    weft()
        .arg("check")
        .arg(&nowhere)
        .assert()
        .code(2)
        .stderr(contains("no database"));
}

#[test]
fn a_directory_that_is_open_elsewhere_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    let to = place.path().join("to");
    let open = Database::open_local(options(&path)).unwrap();
    for arguments in [
        vec!["check"],
        vec!["backup"],
        vec!["salvage", "--yes"],
        vec!["log", "dump"],
    ] {
        let mut command = weft();
        command.args(&arguments).arg(&path);
        if arguments[0] == "backup" {
            command.arg(&to);
        }
        command.assert().code(2).stderr(contains("open elsewhere"));
    }
    drop(open);
    weft().arg("backup").arg(&path).arg(&to).assert().success();
}

#[test]
fn a_backup_is_restored() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    let (kept, again) = (place.path().join("kept"), place.path().join("again"));
    // The definition of the table is two records of the catalog.
    let report = contains("102 records in the checkpoint");
    weft()
        .arg("backup")
        .arg(&path)
        .arg(&kept)
        .assert()
        .success()
        .stdout(report);
    weft()
        .arg("backup")
        .arg(&path)
        .arg(&kept)
        .assert()
        .code(2)
        .stderr(contains("nothing is overwritten"));
    weft()
        .arg("restore")
        .arg(&kept)
        .arg(&again)
        .assert()
        .success();
    assert_eq!((count(&again), count(&path)), (200, 200));
    damage(&kept, "checkpoint-", 70);
    let third = place.path().join("third");
    weft()
        .arg("restore")
        .arg(&kept)
        .arg(&third)
        .assert()
        .code(1)
        .stderr(contains("is damaged and was not copied"));
    weft().arg("check").arg(&third).assert().code(2);
}

#[test]
fn salvage_keeps_what_is_left_and_asks_first() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    weft()
        .arg("salvage")
        .arg(&path)
        .assert()
        .success()
        .stdout(contains("nothing to salvage"));
    damage(&path, "checkpoint-", 70);
    weft()
        .arg("salvage")
        .arg(&path)
        .assert()
        .code(2)
        .stdout(contains("damage: checkpoint-"))
        .stderr(contains("copy it first").and(contains("--yes")));
    weft().arg("check").arg(&path).assert().code(1);
    weft()
        .arg("salvage")
        .arg(&path)
        .arg("--yes")
        .assert()
        .success()
        .stdout(contains("kept: 102 records"));
    weft().arg("check").arg(&path).assert().success();
    assert_eq!(count(&path), 100);
}

#[test]
fn the_log_is_dumped_for_people_and_programs() {
    let place = tempfile::tempdir().unwrap();
    let path = database(place.path());
    weft()
        .args(["log", "dump"])
        .arg(&path)
        .assert()
        .success()
        .stdout(
            contains("put names 0x00000000000000c7 = \"name 199\"")
                .and(contains("in-checkpoint"))
                .and(contains(": 1 writes, durable")),
        );
    let dump = |more: &[&str]| {
        let output = weft()
            .args(["log", "dump", "--format", "json"])
            .args(more)
            .arg(&path)
            .output()
            .unwrap();
        assert!(output.status.success());
        let lines = String::from_utf8(output.stdout).unwrap();
        lines
            .lines()
            .map(|line| json(line.as_bytes()))
            .collect::<Vec<_>>()
    };
    let of_kind = |entries: &[Value], kind: &str| {
        entries.iter().filter(|entry| entry["kind"] == kind).count()
    };
    let all = dump(&[]);
    assert_eq!(
        (of_kind(&all, "transaction"), of_kind(&all, "write")),
        (201, 202)
    );
    let some = dump(&["--from", "150", "--to", "159"]);
    assert_eq!(of_kind(&some, "transaction"), 10);
    assert!(of_kind(&some, "block") <= 10);
    assert_eq!(dump(&["--lane", "7"]).len(), 0);

    let name = damage(&path, "log-", 4096 * 3 + 100);
    weft()
        .args(["log", "dump"])
        .arg(&path)
        .assert()
        .code(1)
        .stdout(contains(format!("damage: {name} at byte 12288")).and(contains("unknown")))
        .stderr(contains("weft check"));
}
