//! `weft check-history` as a user meets it.

use assert_cmd::Command;
use predicates::str::contains;
use serde_json::Value;

fn check_history() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.arg("check-history");
    command
}

/// A history of two transactions, each of which reads the record that the other is about to write.
const WRITE_SKEW: &str = r#"{"weft-history":1}
{"number":1,"process":1,"begun":1,"ended":9,"outcome":"committed","operations":[{"op":"read","key":7,"found":null,"ended":3},{"op":"append","key":8,"element":1,"onto":[],"ended":5}]}
{"number":2,"process":2,"begun":2,"ended":10,"outcome":"committed","operations":[{"op":"read","key":8,"found":null,"ended":4},{"op":"append","key":7,"element":1,"onto":[],"ended":6}]}
"#;

#[test]
fn the_help_teaches() {
    let mut help = check_history().arg("--help").assert().success();
    for words in [
        "G-single",
        "write skew",
        "Exit code",
        "--history",
        "Examples:",
    ] {
        help = help.stdout(contains(words));
    }
}

#[test]
fn a_run_is_reported_saved_and_checked_again() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.jsonl");
    let run = check_history()
        .args([
            "--seconds",
            "0.2",
            "--isolation",
            "snapshot",
            "--format",
            "json",
        ])
        .arg("--history")
        .arg(&file)
        .assert()
        .success();
    let run: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(run["holds"], true);
    let again = check_history()
        .args(["--isolation", "snapshot", "--format", "json", "--check"])
        .arg(&file)
        .assert()
        .success();
    let again: Value = serde_json::from_slice(&again.get_output().stdout).unwrap();
    for field in ["transactions", "committed", "aborted", "operations"] {
        assert_eq!(run[field], again[field], "{field}");
    }
}

#[test]
fn anomalies_that_a_level_forbids_are_explained() {
    let place = tempfile::tempdir().unwrap();
    let (file, dot) = (place.path().join("skew"), place.path().join("skew.dot"));
    std::fs::write(&file, WRITE_SKEW).unwrap();
    let check = |level: &str| {
        let mut command = check_history();
        command.args(["--isolation", level, "--check"]).arg(&file);
        command.arg("--dot").arg(&dot);
        command
    };
    check("snapshot")
        .assert()
        .success()
        .stdout(contains("satisfies snapshot, strict snapshot"))
        .stdout(contains("G2-item"));
    assert!(!dot.exists());
    check("serializable")
        .assert()
        .code(1)
        .stdout(contains("T1 comes before T2: T1 found no record 7"))
        .stderr(contains("serializable forbids G2-item (write skew)"));
    assert!(std::fs::read_to_string(&dot).unwrap().contains("T2 -> T1"));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    check_history().args(["--seconds", "0"]).assert().code(2);
    let absent = ["--check", "no such file"];
    let refused = check_history().args(absent).assert().code(2);
    refused.stderr(contains("no such file"));
}
