//! `weft-bench tpch`, small: answers are PostgreSQL's, and requests that make no sense are refused.

#[path = "common/weft.rs"]
mod weft;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use assert_cmd::Command;
use predicates::{prelude::PredicateBooleanExt as _, str::contains};

fn tpch(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    command.arg("tpch").args(arguments.split_whitespace());
    command
}

#[test]
fn answers_are_those_of_postgresql() {
    weft::build();
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("database");
    // The queries of which the planner makes joins, and one whose answer is NULL.
    let mut command =
        tpch("--scale 0.01 --queries 6,17,19,20 --repeats 1 --format json --data-dir");
    let output = command.arg(&directory).assert().success();
    let results: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let results = results.as_array().unwrap();
    let queries: Vec<_> = results.iter().map(|result| &result["query"]).collect();
    assert_eq!(queries, [6, 17, 19, 20]);
    for result in results {
        assert_eq!(result["verified"], true, "{result}");
        assert_eq!(result["ended"], true, "{result}");
        assert_eq!(result["rows"], 1, "{result}");
    }
    assert!(!directory.exists(), "it is removed");
}

#[test]
fn a_query_that_takes_too_long_is_told() {
    weft::build();
    let place = tempfile::tempdir().unwrap();
    let mut command = tpch("--scale 0.01 --queries 1 --repeats 1 --time-limit 0.001 --data-dir");
    let output = command.arg(place.path().join("database")).assert();
    output.success().stdout(contains("> "));
}

/// Writes a program that takes the place of DuckDB's: it looks for the files of rows, and answers query 6 with
/// `answer`.
fn program(path: &Path, answer: &str) {
    let text = format!(
        r#"#!/bin/sh
while read -r line; do
  case "$line" in
    .print*) printf '%s\n' "${{line#.print }}" ;;
    copy*) file="${{line#*\'}}"; [ -s "${{file%%\'*}}" ] || {{ echo "no rows: $line" >&2; exit 1; }} ;;
    *"as revenue"*) printf '{answer}\036' ;;
  esac
done
"#
    );
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn duckdb_gets_the_same_rows_and_its_answers_are_compared() {
    weft::build();
    let place = tempfile::tempdir().unwrap();
    let duckdb = place.path().join("duckdb");
    let run = || {
        let mut command = tpch("--scale 0.01 --queries 6 --repeats 1 --format csv --duckdb");
        command.arg(&duckdb).arg("--data-dir");
        command.arg(place.path().join("database")).assert()
    };
    program(&duckdb, "1193053.2253");
    let right = contains(",6,weft,").and(contains(",6,duckdb,"));
    run().success().stdout(right);
    program(&duckdb, "1193053.2453");
    let told = "query 6 on duckdb";
    run().code(1).stderr(contains(told));
    fs::remove_file(&duckdb).unwrap();
    run().code(2).stderr(contains("program of DuckDB"));
}

#[test]
fn help_names_its_arguments() {
    let mut command = tpch("--help");
    let output = command.assert().success();
    output.stdout(contains("--scale").and(contains("--duckdb")));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    for (arguments, told) in [
        ("--scale 0", "give a number above 0 and up to 300"),
        ("--scale 301", "give a number above 0 and up to 300"),
        ("--scale nan", "give a number above 0 and up to 300"),
        ("--scale much", "`much` is no number"),
        ("--queries 23", "23 is not in 1..=22"),
        ("--queries 0", "0 is not in 1..=22"),
        ("--queries 1,,2", "invalid value ''"),
        ("--time-limit 0", "give a number above 0"),
        ("--repeats 0", "0 is not in 1..=1000"),
        ("--format xml", "xml"),
        ("--server nobody", "nobody"),
        ("--weft nowhere/weft", "nowhere/weft"),
    ] {
        let assertion = tpch(arguments).assert();
        assertion.code(2).stderr(contains(told));
    }
}
