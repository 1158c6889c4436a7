//! `weft-bench crash`: runs that hold, runs that must fail, and refused requests.

use std::path::Path;

use assert_cmd::Command;
use predicates::str::contains;

fn crash(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    command.args(["crash", "--records", "200", "--data-dir"]);
    command.arg(directory);
    command.args(arguments.split_whitespace());
    command
}

#[test]
fn every_application_comes_back_whole() {
    let place = tempfile::tempdir().unwrap();
    for arguments in [
        "--application tpcc",
        "--application smallbank --lose-unsynced",
        "--application tatp --isolation read-committed --workers 1",
    ] {
        let directory = place.path().join("database");
        let mut command = crash(&directory, arguments);
        command.args(["--kills", "3", "--format", "json"]);
        let output = command.assert().success().get_output().clone();
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = &results[0];
        assert_eq!(result["recoveries"], 3, "{arguments}: {result}");
        assert!(result["kills"].as_u64() >= Some(3), "{result}");
        assert!(result["acknowledged"].as_u64() > Some(0), "{result}");
        assert_eq!(result["lost"], 0, "{result}");
        assert_eq!(result["violations"], 0, "{result}");
        assert!(!directory.exists(), "it is removed");
    }
}

/// Each planted bug is noticed, and the directory that shows it is kept.
#[test]
fn planted_bugs_are_told_and_the_directory_is_kept() {
    let place = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        ("--application tatp --plant hasty", "are durable, and"),
        (
            "--application tatp --plant skips-syncs --lose-unsynced",
            "after kill",
        ),
        (
            "--application smallbank --plant skips-work",
            "where transactions that committed made",
        ),
        (
            "--application tpcc --plant skips-work",
            "where transactions that committed made",
        ),
    ] {
        let directory = place.path().join(arguments);
        let mut command = crash(&directory, arguments);
        command.args(["--kills", "20"]);
        let kept = format!("{} is kept", directory.display());
        let told = command.assert().code(1).stderr(contains(told));
        told.stderr(contains(kept)).stderr(contains("(seed 1)"));
        assert!(directory.read_dir().unwrap().next().is_some());
    }
}

#[test]
fn runs_that_cannot_be_are_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("letter"), "not yours").unwrap();
    for (arguments, named) in [
        ("--application tpcc", "choose another --data-dir"),
        ("--application ycsb", "smallbank"),
        ("--application tatp --kills 0", "--kills"),
        ("--application tatp --plant moths", "skips-work"),
        ("--application tatp --plant skips-syncs", "--lose-unsynced"),
        ("--application tatp --isolation strict", "read-committed"),
        ("--application smallbank --workers 0", "--workers"),
    ] {
        let refused = crash(place.path(), arguments).assert().code(2);
        refused.stderr(contains(named)).stdout("");
    }
    let letter = std::fs::read_to_string(place.path().join("letter"));
    assert_eq!(letter.unwrap(), "not yours");
}
