//! `weft-bench` as a user meets it: help, bad input, forms of results.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn bench(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    command.args(arguments.split_whitespace());
    command
}

const QUICK: &str = "limits --bytes 2MiB --seconds 0.01 --repeats 3";

#[test]
fn help_names_every_flag_and_shows_examples() {
    let mut help = bench("ycsb --help").assert().success();
    for word in [
        "--workload",
        "--records",
        "--operations",
        "--key-bytes",
        "--value-bytes",
        "--distribution",
        "--theta",
        "--scan-length",
        "--workers",
        "--in-flight",
        "--modes",
        "--isolation",
        "--certifier",
        "--declare-read-only",
        "--unique-indexes",
        "--secondary-indexes",
        "--seconds",
        "--repeats",
        "--format",
        "--chart",
        "--seed",
        "Examples:",
        "interleaved-nested",
        "scrambled",
        "read-committed",
    ] {
        help = help.stdout(contains(word));
    }
    let mut help = bench("limits --help").assert().success();
    for word in [
        "--bytes",
        "--workers",
        "--seconds",
        "--repeats",
        "--format",
        "Examples:",
    ] {
        help = help.stdout(contains(word));
    }
    bench("--help").assert().success().stdout(
        contains("ycsb")
            .and(contains("limits"))
            .and(contains("hot-row"))
            .and(contains("index-build"))
            .and(contains("paper"))
            .and(contains("tpcc"))
            .and(contains("smallbank"))
            .and(contains("tatp"))
            .and(contains("crash"))
            .and(contains("cold"))
            .and(contains("beyond-memory")),
    );
}

#[test]
fn applications_report_every_kind_in_the_form_of_ycsb() {
    for (benchmark, kind) in [
        (
            "tpcc --warehouses 1 --items 1000 --customers 30",
            "new-order",
        ),
        ("smallbank --accounts 1000", "write_check"),
        ("tatp --subscribers 1000", "update_location"),
    ] {
        let mut output = bench(&format!(
            "{benchmark} --seconds 0.05 --repeats 1 --format json"
        ));
        let output = output.assert().success().get_output().clone();
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = results.as_array().unwrap();
        let modes: Vec<_> = results.iter().map(|one| &one["mode"]).collect();
        assert_eq!(modes, ["sequential", "prefetch", "interleaved", "hybrid"]);
        for result in results {
            assert_eq!(result["verified"], true, "{benchmark}: {result}");
            assert!(result["transactions_per_second"].as_f64().unwrap() > 0.0);
            let kinds = result["kinds"].as_array().unwrap();
            assert!(kinds.iter().any(|one| one["kind"] == kind), "{result}");
        }
    }
}

#[test]
fn conditions_are_checked_beside_clients_if_asked_for() {
    for benchmark in [
        "tpcc --warehouses 1 --items 1000 --customers 30",
        "smallbank --accounts 1000",
        "tatp --subscribers 1000",
    ] {
        let mut output = bench(&format!(
            "{benchmark} --check-while-running --isolation read-committed --on-conflict wait \
             --modes sequential,interleaved --seconds 0.05 --repeats 1 --format json"
        ));
        let output = output.assert().success();
        let output = output.stderr(contains("checks of the conditions beside clients"));
        let output = output.get_output().clone();
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for result in results.as_array().unwrap() {
            let checks = result["extra"]["checks_while_running"].as_f64();
            assert!(checks.unwrap() >= 1.0, "{benchmark}: {result}");
        }
    }
}

#[test]
fn wrong_requests_exit_2_with_a_sentence_and_no_output() {
    for (arguments, word) in [
        ("--workload nothing-like-it", "update-only"),
        ("--records many", "50M"),
        ("--records 0", "--records 0"),
        ("--operations 0", "--operations 0"),
        ("--key-bytes 4", "keys of 4 bytes"),
        ("--value-bytes 4", "values of 4 bytes"),
        ("--distribution normal", "scrambled"),
        ("--distribution zipfian --theta 2", "theta 2"),
        ("--distribution zipfian --theta -1", "theta -1"),
        ("--theta 0.9", "uniform"),
        ("--scan-length 0", "--scan-length 0"),
        ("--workers 0", "--workers 0"),
        ("--in-flight lots", "auto"),
        ("--in-flight 0", "auto"),
        ("--modes sequential,parallel", "parallel"),
        ("--workload insert --modes amac-multiget", "no mode is left"),
        ("--isolation strict", "read-committed"),
        ("--isolation snapshot,strict", "serializable"),
        ("--certifier silo", "validation"),
        ("--unique-indexes 65", "--unique-indexes"),
        ("--seconds 0", "'0' for '--seconds"),
        ("--seconds -1", "'-1' for '--seconds"),
        ("--repeats 0", "'0' for '--repeats"),
        ("--format xml", "json"),
        ("--unknown", "--unknown"),
        ("--records 99999G", "do not fit"),
    ] {
        bench(&format!("ycsb {arguments}"))
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(word).and(contains("panicked").not()));
    }
    for (arguments, word) in [
        ("--on-conflict sleep", "wait, abort"),
        ("--isolation strict", "serializable"),
        ("--seconds 0", "'0' for '--seconds"),
        ("--writers 0", "--writers"),
    ] {
        bench(&format!("hot-row {arguments}"))
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    for (arguments, word) in [
        ("--update-share 2", "--update-share 2"),
        ("--records 0", "--records 0"),
        ("--seconds 0", "'0' for '--seconds"),
    ] {
        bench(&format!("index-build {arguments}"))
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    for (arguments, word) in [
        ("tpcc --warehouses 0", "--warehouses"),
        ("tpcc --mix tpcc-x", "tpcc-ch"),
        ("tpcc --home away", "bound"),
        ("tpcc --items 3", "3 items"),
        ("smallbank --accounts 1", "accounts"),
        ("smallbank --hotspot warm", "0.9:1000"),
        ("smallbank --mix balance=many", "balance"),
        ("smallbank --modes bare", "bare"),
        ("smallbank --offered 0", "--offered 0"),
        ("tatp --subscribers 0", "subscribers"),
        ("tatp --mix sleep=100", "sleep"),
    ] {
        bench(arguments).assert().code(2).stderr(contains(word));
    }
    for (arguments, word) in [
        (
            "--schedulers fifo",
            "sequential, batch, pipelined, dual-queue, auto",
        ),
        ("--storage-bound 0,101", "`101`"),
        ("--read-only-percent -1", "`-1`"),
        ("--cold-records 0", "--cold-records 0"),
        ("--cold-clients 0", "--cold-clients"),
        ("--value-bytes 4", "values of 4 bytes"),
    ] {
        bench(&format!("cold --data-dir nowhere {arguments}"))
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    for (arguments, word) in [
        ("--distribution latest", "zipfian, uniform"),
        ("--working-sets 2,1", "--working-sets"),
        ("--working-sets 0", "--working-sets"),
        ("--memory 10", "--memory 10"),
        ("--read-percent 101", "`101`"),
        ("--accesses 0", "--accesses"),
        ("--value-bytes 4", "values of 4 bytes"),
    ] {
        bench(&format!("beyond-memory --data-dir nowhere {arguments}"))
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    for (arguments, word) in [
        ("--cold-percent 101", "`101`"),
        ("--memory 1GiB", "--cold-percent"),
        ("--records 0", "--records 0"),
    ] {
        bench(&format!("recovery --data-dir nowhere {arguments}"))
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    bench("limits --bytes 1")
        .assert()
        .code(2)
        .stderr(contains("1MiB"));
    bench("limits --seconds 0")
        .assert()
        .code(2)
        .stderr(contains("--seconds"));
}

#[test]
fn storage_bound_transactions_are_reported_beside_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let chart = directory.path().join("cold.svg");
    let output = bench("cold --hot-records 2k --cold-records 2k --storage-bound 0,50")
        .args(["--seconds", "0.05", "--repeats", "1", "--format", "json"])
        .arg("--data-dir")
        .arg(directory.path().join("data"))
        .arg("--chart")
        .arg(&chart)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.contains("2000 of 2000 records of the cold table have left memory (100.0 %)"),
        "{errors}"
    );
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = results.as_array().unwrap();
    let modes: Vec<_> = results.iter().map(|one| &one["mode"]).collect();
    assert_eq!(modes, ["sequential", "auto", "sequential", "auto"]);
    for result in results {
        assert_eq!(result["verified"], true, "{result}");
        let figure = |name: &str| result[name].as_f64().unwrap();
        let is_cold = figure("storage_bound_percent") > 0.0;
        assert!(figure("hot_transactions_per_second") > 0.0);
        assert_eq!(figure("cold_transactions_per_second") > 0.0, is_cold);
        assert_eq!(figure("device_iops") > 0.0, is_cold);
        assert!(figure("device_iops_limit") > 0.0);
    }
    let drawn = std::fs::read_to_string(chart).unwrap();
    assert!(drawn.contains("auto, in memory"), "{drawn}");
    assert!(!directory.path().join("data").exists());
}

#[test]
fn working_sets_beyond_memory_are_reported_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let chart = directory.path().join("beyond.svg");
    let output = bench("beyond-memory --memory 16MiB --value-bytes 1000 --working-sets 0.25,2")
        .args(["--distribution", "uniform", "--no-comparison"])
        .args(["--warm-up", "0.05", "--seconds", "0.05", "--repeats", "1"])
        .args(["--format", "json", "--data-dir"])
        .arg(directory.path().join("data"))
        .arg("--chart")
        .arg(&chart)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("% of the ceiling"), "{errors}");
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = results.as_array().unwrap();
    let directions: Vec<_> = results.iter().map(|one| &one["direction"]).collect();
    assert_eq!(directions, ["growing", "growing", "shrinking", "shrinking"]);
    for result in results {
        assert_eq!(result["mode"], "beyond-memory", "{result}");
        assert_eq!(result["verified"], true, "{result}");
        let figure = |name: &str| result[name].as_f64().unwrap();
        assert!(figure("operations_per_second") > 0.0);
        assert!(result["latency_ns"]["p99"].as_u64().unwrap() > 0);
        assert!(figure("resident_bytes") > 0.0 && figure("cold_file_bytes") > 0.0);
        if figure("working_set") > 1.0 {
            assert!(figure("cold_read_share") > 0.1, "{result}");
        }
    }
    let drawn = std::fs::read_to_string(chart).unwrap();
    assert!(drawn.contains("beyond-memory, shrinking"), "{drawn}");
    assert!(!directory.path().join("data").exists());
}

#[test]
fn a_mostly_cold_database_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let output = bench("recovery --records 20k --cold-percent 90 --memory 64MiB")
        .args(["--repeats", "1", "--format", "json", "--data-dir"])
        .arg(directory.path().join("data"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("have left memory"), "{errors}");
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results.as_array().unwrap().len(), 1, "{results}");
    let result = &results[0];
    assert_eq!(result["mode"], "checkpoint", "{result}");
    assert_eq!(result["verified"], true, "{result}");
    let cold = result["cold_records"].as_u64().unwrap();
    assert!((17_000..19_000).contains(&cold), "{result}");
}

#[test]
fn published_experiments_are_listed_run_and_reported() {
    bench("paper").assert().success().stdout(
        contains("000-5.2")
            .and(contains("001-12"))
            .and(contains("figure 5.3"))
            .and(contains("minutes")),
    );
    bench("paper 000-5.4cd 5.4")
        .assert()
        .code(2)
        .stdout("")
        .stderr(
            contains("`5.4`")
                .and(contains("000-5.4cd"))
                .and(contains("001-7")),
        );
    bench("paper --scale 0")
        .assert()
        .code(2)
        .stderr(contains("--scale 0"));
    let directory = tempfile::tempdir().unwrap();
    let (pages, charts) = (
        directory.path().join("pages"),
        directory.path().join("charts"),
    );
    let output = bench("paper 001-11 --scale 0.0002 --seconds 0.01 --repeats 1")
        .args(["--format", "json", "--report"])
        .arg(&pages)
        .arg("--charts")
        .arg(&charts)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("experiment 1 of 1: 001-11"), "{errors}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Two series on one and on two workers.
    assert_eq!(rows.as_array().unwrap().len(), 4);
    assert_eq!(rows[3]["x_name"], "workers");
    assert_eq!(rows[3]["x"], 2.0);
    assert_eq!(rows[3]["mode"], "interleaved-nested");
    let page = std::fs::read_to_string(pages.join("mosaicdb.md")).unwrap();
    assert!(
        page.contains("0.82") && page.contains("001-11.svg"),
        "{page}"
    );
    let index = std::fs::read_to_string(pages.join("README.md")).unwrap();
    assert!(index.contains("(mosaicdb.md#001-11"), "{index}");
    // The report contains no path that tells where it was made.
    let place = directory.path().display().to_string();
    assert!(!page.contains(&place) && !index.contains(&place));
    for directory in [&pages, &charts] {
        assert!(directory.join("001-11.svg").exists());
    }
}

#[test]
fn a_workload_file_is_refused_by_line_and_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.properties");
    std::fs::write(&path, "readproportion=1\nupdateproportions=0\n").unwrap();
    bench("ycsb --workload")
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("line 2").and(contains("updateproportions")));
    bench("ycsb --workload")
        .arg(directory.path())
        .assert()
        .code(2);
}

#[test]
fn notes_of_a_workload_file_go_to_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.properties");
    std::fs::write(
        &path,
        "recordcount=1000\noperationcount=5\nreadproportion=0\n",
    )
    .unwrap();
    bench("ycsb --seconds 0.01 --workload")
        .arg(&path)
        .assert()
        .stderr(contains("operationcount=5 has no effect").and(contains("amac-multiget")));
}

#[test]
fn limits_are_written_in_each_format() {
    bench(QUICK)
        .assert()
        .success()
        .stdout(contains("random independent").and(contains("lines/s")));
    bench(&format!("{QUICK} --format csv"))
        .assert()
        .success()
        .stdout(predicate::str::starts_with("benchmark,measure,unit").and(contains("GB/s")));
    let output = bench(&format!("{QUICK} --workers 2 --format json"))
        .output()
        .unwrap();
    let array: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(array.as_array().unwrap().len(), 4);
    assert_eq!(array[0]["benchmark"], "limits");
    assert_eq!(array[0]["workers"], 2);
    assert!(array[0]["median"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [QUICK, "ycsb --help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_weft-bench"))
            .args(arguments.split_whitespace())
            .stdout(writer)
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !errors.contains("panicked"),
            "{errors}"
        );
    }
}
