//! `weft-bench tpch`, small: answers are PostgreSQL's, and requests that make no sense are refused.

#[path = "common/weft.rs"]
mod weft;

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

#[test]
fn help_names_its_arguments() {
    let mut command = tpch("--help");
    let output = command.assert().success();
    output.stdout(contains("--scale").and(contains("--queries")));
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
