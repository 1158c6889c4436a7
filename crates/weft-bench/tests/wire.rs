//! `weft-bench wire`, `wire-crash` and `fairness`, small: answers are right, planted bugs are noticed.

#[path = "common/weft.rs"]
mod weft;

use std::path::Path;

use assert_cmd::Command;
use predicates::str::contains;

fn bench(name: &str, directory: &Path, arguments: &str) -> Command {
    weft::build();
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    command.args([name, "--data-dir"]).arg(directory);
    command.args(arguments.split_whitespace());
    command
}

#[test]
fn every_workload_is_answered_rightly() {
    let place = tempfile::tempdir().unwrap();
    let arguments = "--seconds 0.3 --repeats 1 --scale 1 --warehouses 1 --items 200 \
        --customers 30 --rows 20k --clients 4 --protocols prepared,unnamed,simple --format json";
    let mut command = bench("wire", &place.path().join("database"), arguments);
    let output = command.assert().success().get_output().clone();
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = results.as_array().unwrap();
    let names: Vec<&str> = results
        .iter()
        .map(|result| result["workload"].as_str().unwrap())
        .collect();
    let expected = [
        "select-one",
        "select-only",
        "select-only unnamed",
        "select-only simple",
        "tpcb",
        "tpcb unnamed",
        "tpcb simple",
        "tpcc of 1",
        "scan",
        "join",
        "index-join",
    ];
    assert_eq!(names, expected);
    for result in results {
        assert_eq!(result["verified"], true, "{result}");
        let throughput = result["transactions_per_second"]["median"].as_f64();
        assert!(throughput > Some(0.0), "{result}");
    }
}

#[test]
fn clients_beside_long_statements_are_answered_rightly() {
    let place = tempfile::tempdir().unwrap();
    let arguments = "--rows 5k --seconds 0.05 --readers 2 --format json";
    let mut command = bench("fairness", &place.path().join("database"), arguments);
    let output = command.assert().success().get_output().clone();
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 7, "{results:?}");
    for result in results {
        assert_eq!(result["verified"], true, "{result}");
        assert!(result["connections"].as_u64() > Some(0), "{result}");
    }
}

#[test]
fn transactions_acknowledged_over_the_wire_outlive_a_kill() {
    let place = tempfile::tempdir().unwrap();
    for isolation in ["read-committed", "serializable"] {
        let directory = place.path().join(isolation);
        let arguments =
            format!("--kills 3 --records 200 --clients 4 --format json --isolation {isolation}");
        let mut command = bench("wire-crash", &directory, &arguments);
        let output = command.assert().success().get_output().clone();
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = &results[0];
        assert_eq!(result["kills"], 3, "{result}");
        assert_eq!(result["lost"], 0, "{result}");
        assert!(result["acknowledged"].as_u64() > Some(0), "{result}");
        assert!(!directory.exists(), "it is removed");
    }
}

#[test]
fn clients_that_note_too_early_are_found_out() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("database");
    let arguments = "--kills 10 --records 200 --clients 8 --plant-hasty";
    let mut command = bench("wire-crash", &directory, arguments);
    let told = "transactions that are not there";
    command.assert().failure().stderr(contains(told));
    assert!(directory.exists(), "it is kept");
}
