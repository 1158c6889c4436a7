//! `weft-bench ch`, small: transactions and queries run beside each other, and requests that make no sense are refused.

#[path = "common/weft.rs"]
mod weft;

use assert_cmd::Command;
use predicates::{prelude::PredicateBooleanExt as _, str::contains};

fn ch(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    command.arg("ch").args(arguments.split_whitespace());
    command
}

#[test]
fn transactions_and_queries_run_beside_each_other() {
    weft::build();
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("database");
    let mut command = ch(
        "--warehouses 1 --items 200 --customers 30 --terminals 2 --streams 2 \
        --seconds 1 --repeats 1 --queries 1,6,22 --format json --data-dir",
    );
    let output = command.arg(&directory).assert().success();
    let results: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let results = results.as_array().unwrap();
    let clients: Vec<_> = results
        .iter()
        .map(|result| (result["terminals"].as_u64(), result["streams"].as_u64()))
        .collect();
    let some = |terminals, streams| (Some(terminals), Some(streams));
    assert_eq!(clients, [some(2, 0), some(0, 2), some(2, 2)]);
    for result in results {
        assert_eq!(result["verified"], true, "{result}");
        let orders = &result["transactions"]["new_orders_per_minute"]["median"];
        let has_terminals = result["terminals"] != 0;
        assert_eq!(orders.as_f64() > Some(0.0), has_terminals, "{result}");
        let queries = &result["queries"]["per_hour"]["median"];
        let has_streams = result["streams"] != 0;
        assert_eq!(queries.as_f64() > Some(0.0), has_streams, "{result}");
    }
    // Each query saw all orders that were acknowledged before.
    let queries = &results[2]["queries"];
    assert_eq!(queries["delay_ms"]["max"], 0.0, "{queries}");
    assert_eq!(queries["each"].as_array().unwrap().len(), 3, "{queries}");
    assert!(!directory.exists(), "it is removed");
}

#[test]
fn help_names_its_arguments() {
    let output = ch("--help").assert().success();
    output.stdout(contains("--streams").and(contains("--workers")));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    for (arguments, told) in [
        ("--warehouses 0", "0 is not in 1..=65535"),
        ("--terminals 0", "0 is not in 1..=1024"),
        ("--streams 0", "0 is not in 1..=1024"),
        ("--queries 23", "23 is not in 1..=22"),
        ("--seconds 0", "give a number above 0"),
        ("--items 3", "give a number from 15 to 100000"),
        ("--isolation dirty", "dirty"),
        ("--weft nowhere/weft", "nowhere/weft"),
    ] {
        let assertion = ch(arguments).assert();
        assertion.code(2).stderr(contains(told));
    }
}
