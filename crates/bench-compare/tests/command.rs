//! The command as people use it: tiny runs of everything, and its errors for requests that cannot
//! be carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

const PEERS: &[&str] = &[
    "redb",
    "fjall",
    "lmdb",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
    "sqlite",
];

fn command(arguments: &str) -> Command {
    let mut command = Command::cargo_bin("bench-compare").unwrap();
    command.args(arguments.split_whitespace());
    command
}

/// Returns the CSV that a command prints: for each line its fields by their columns.
fn lines_of(command: &mut Command) -> Vec<BTreeMap<String, String>> {
    let assert = command.assert().success();
    let mut reader = csv::Reader::from_reader(assert.get_output().stdout.as_slice());
    reader.deserialize().map(Result::unwrap).collect()
}

/// Makes a tiny run below `directory`; returns the engines and workloads that occur, and the number
/// of lines.
fn tiny(arguments: &str, directory: &Path) -> (BTreeSet<String>, BTreeSet<String>, usize) {
    let mut command = command(arguments);
    command
        .args("--records 2k --seconds 0.05 --repeats 1 --format csv --data-dir".split(' '))
        .arg(directory);
    let lines = lines_of(&mut command);
    let (mut engines, mut workloads) = (BTreeSet::new(), BTreeSet::new());
    for line in &lines {
        assert_eq!(line["verified"], "true", "{line:?}");
        let rate: f64 = line["operations_per_second"].parse().unwrap();
        assert!(rate > 0.0, "{line:?}");
        engines.insert(line["engine"].clone());
        workloads.insert(line["workload"].clone());
    }
    (engines, workloads, lines.len())
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_engine_runs_every_workload_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("redb");
    std::fs::write(&own, "the user's").unwrap();
    let names = "read-only,update-only,rmw,insert,scan,a,b,c,d,e,f";
    let arguments = format!("--workloads {names} --durability none --threads 1 --peer-threads 2");
    let (engines, workloads, lines) = tiny(&arguments, directory.path());
    assert_eq!(engines, &set(PEERS) | &set(&["weft"]));
    assert_eq!(workloads, set(&names.split(',').collect::<Vec<_>>()));
    assert_eq!(lines, 11 * (1 + 2 * PEERS.len()));
    assert_eq!(std::fs::read_to_string(own).unwrap(), "the user's");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn every_engine_runs_durably() {
    let directory = tempfile::tempdir().unwrap();
    for durability in ["synchronous", "relaxed"] {
        let arguments =
            format!("--workloads a --threads 2 --peer-threads 4 --durability {durability}");
        let (engines, _, lines) = tiny(&arguments, directory.path());
        assert_eq!(engines, &set(PEERS) | &set(&["weft"]));
        assert_eq!(lines, 1 + 2 * PEERS.len());
    }
}

#[test]
fn engines_with_less_memory_than_records_answer_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let mut compared = command("--workloads b --records 32k --value-bytes 1000 --memory 16MiB");
    let compared = compared
        .args("--threads 1 --peer-threads 2 --durability none --seconds 0.2".split(' '))
        .args("--repeats 1 --format json --data-dir".split(' '))
        .arg(directory.path())
        .assert()
        .success()
        .stderr(contains(
            "lmdb, sqlite have the system's cache beside 16 MiB",
        ));
    let results = compared.get_output().stdout.as_slice();
    let results: serde_json::Value = serde_json::from_slice(results).unwrap();
    assert_eq!(results[0]["memory_bytes"], 16 << 20, "{results}");
    for engine in results[0]["engines"].as_array().unwrap() {
        assert_eq!(engine["verified"], true, "{engine}");
        let text = engine["configuration"].as_str().unwrap();
        let limited = match engine["engine"].as_str().unwrap() {
            "weft" => "a ceiling of 16 MiB on memory",
            "rocksdb" => "tables in memory, indexes and filters are part of it",
            _ => continue,
        };
        assert!(text.contains(limited), "{text}");
    }
}

/// Number of forms in which DuckDB is asked, if it is there.
const FORMS: usize = if cfg!(feature = "duckdb") { 8 } else { 0 };

#[test]
fn an_in_predicate_is_answered_alike_by_everybody() {
    let tiny = "in-predicate --values 3k --rows 10k --list 100 --absent-percent 10 --sorted";
    let mut command = command(tiny);
    let lines = lines_of(command.args("--repeats 2 --batches 2 --format csv".split(' ')));
    let threads = bench::machine::cores().min(2);
    let mut ways = BTreeSet::new();
    for line in &lines {
        assert_eq!(line["verified"], "true", "{line:?}");
        assert_eq!(line["is_agreed"], "true", "{line:?}");
        assert!(line["milliseconds"].parse::<f64>().unwrap() > 0.0);
        ways.insert(["engine", "form", "threads", "answer"].map(|name| line[name].clone()));
    }
    assert_eq!(ways.len(), 2 * (3 + threads * FORMS));
    assert_eq!(lines.len(), 2 * ways.len());
}

#[test]
fn a_table_says_what_an_in_predicate_found_and_the_ratios() {
    let tiny = "in-predicate --values 3k --rows 10k --list 100 --repeats 1 --batches 1";
    let mut assert = command(tiny).assert().success().stdout(
        contains("10k rows of 3k values, lists of 100")
            .and(contains("First list: all found its"))
            .and(contains("weft: column, all rows in the Main")),
    );
    if cfg!(feature = "duckdb") {
        assert = assert.stdout(contains("Weft against DuckDB's best taking the list"));
        assert.stdout(contains("duckdb: DuckDB v"));
    } else {
        assert.stderr(contains("without DuckDB"));
    }
}

#[test]
fn a_table_names_the_best_peer_and_the_device() {
    let directory = tempfile::tempdir().unwrap();
    command("--workloads c --engines weft,lmdb --durability none --records 2k --seconds 0.05")
        .arg("--data-dir")
        .arg(directory.path())
        .assert()
        .success()
        .stdout(contains("best of the others, lmdb with").and(contains("writes of 4 KiB")));
}

#[test]
fn configurations_are_described_without_a_run() {
    let mut described = command("--describe").assert().success();
    for engine in PEERS.iter().chain(&["weft"]) {
        described = described.stdout(contains(format!("{engine}: ")));
    }
    command("--describe --durability none --engines sqlite")
        .assert()
        .success()
        .stdout(contains("synchronous=OFF"));
}

#[test]
fn what_cannot_be_carried_out_is_said_clearly() {
    for (arguments, text) in [
        ("--engines leveldb", "`leveldb` is not an engine"),
        ("--durability eventual", "`eventual` is not a durability"),
        ("--workloads z", "there is no workload `z`"),
        ("--threads 0", "from 1 to 1024"),
        ("--peer-threads 1,many", "`many` is not a whole number"),
        ("--relaxed-ms 0 --durability relaxed", "from 1 to 1000"),
        ("--records 0", "--records 0 is out of range"),
        ("--seconds -1", "--seconds -1 is out of range"),
        ("--memory 1MiB", "--memory"),
        ("--memory 1GiB --cache-bytes 1GiB", "--cache-bytes"),
        ("--weft-clients 0", "from 1 to 65536"),
        ("--in-flight none", "`none` cannot be in flight"),
        ("--format xml", "`xml` is not a format"),
        ("--data-dir /nowhere/at/all", "--data-dir"),
        ("in-predicate --rows 0", "from 1 to 2147483648"),
        ("in-predicate --values 3G", "from 1 to 2147483648"),
        ("in-predicate --list 0", "from 1 to 1048576"),
        (
            "in-predicate --absent-percent 101",
            "`101` is not a percentage",
        ),
        ("in-predicate --in-flight 65", "from 1 to 64"),
        ("in-predicate --repeats 0", "from 1 to 1000000"),
        ("in-predicate --format xml", "`xml` is not a format"),
        #[cfg(feature = "duckdb")]
        ("in-predicate --forms hash", "`hash` is not a form"),
        #[cfg(feature = "duckdb")]
        ("in-predicate --threads 0", "from 1 to 1024"),
        ("--workloads a in-predicate", "in-predicate"),
    ] {
        command(arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(text));
    }
}
