//! `weft-bench join` as a user meets it.

use assert_cmd::Command;
use predicates::str::contains;

fn join(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    command.args(["join"]);
    command.args(arguments.split_whitespace());
    command
}

const TINY: &str = "--bytes 4Ki,64Ki --list 200 --groups 4,8 --batches 2 --repeats 2";

#[test]
fn help_names_every_flag_experiment_and_technique() {
    let mut help = join("--help").assert().success();
    for word in [
        "--experiment",
        "--bytes",
        "--keys",
        "--list",
        "--sorted",
        "--absent-percent",
        "--techniques",
        "--groups",
        "--rows",
        "--batches",
        "--repeats",
        "--format",
        "--chart",
        "--seed",
        "Examples:",
        "group-sizes",
        "in-predicate",
        "coroutines",
        "string15",
        "lines",
    ] {
        help = help.stdout(contains(word));
    }
    let mut bench = Command::new(env!("CARGO_BIN_EXE_weft-bench"));
    bench.args(["--help"]);
    bench.assert().success().stdout(contains("join"));
}

#[test]
fn bad_input_is_refused_with_what_would_be_right() {
    for (arguments, word) in [
        ("--experiment sisez", "sizes"),
        ("--techniques magic", "coroutines"),
        ("--keys float", "string15"),
        ("--bytes 10", "1 KiB"),
        ("--bytes 1Mi,1Ki", "grow"),
        ("--list 0", "--list"),
        ("--groups 100", "--groups"),
        ("--absent-percent 101", "`101`"),
        ("--experiment sizes,lines", "alone"),
        (
            "--experiment sizes,small --chart both.svg",
            "one experiment",
        ),
        ("--experiment csb --techniques std", "techniques"),
    ] {
        join(arguments).assert().code(2).stderr(contains(word));
    }
}

#[test]
fn techniques_are_compared_by_size_with_a_chart() {
    let directory = tempfile::tempdir().unwrap();
    let chart = directory.path().join("sizes.svg");
    let output = join(TINY)
        .args(["--experiment", "sizes", "--absent-percent", "20"])
        .args(["--format", "json", "--chart"])
        .arg(&chart)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = results.as_array().unwrap();
    assert!(results.len() >= 10);
    for result in results {
        assert_eq!(result["benchmark"], "join", "{result}");
        assert_eq!(result["verified"], true, "{result}");
        assert!(result["operations_per_second"].as_f64().unwrap() > 0.0);
        assert!(result["limit_lines_per_second"].as_f64().unwrap() > 0.0);
        let is_large = result["bytes"] == 64 << 10;
        assert_eq!(result["growth_beyond_logarithm"].is_number(), is_large);
    }
    let has = |mode: &str| results.iter().any(|result| result["mode"] == mode);
    assert!(has("std") && has("branch-free") && has("coroutines") && has("auto"));
    let drawn = std::fs::read_to_string(chart).unwrap();
    assert!(drawn.contains("branch-free"), "{drawn}");
}

#[test]
fn a_table_says_what_its_columns_mean() {
    join(&format!("{TINY} --experiment small,in-predicate --rows 5k"))
        .assert()
        .success()
        .stdout(contains("technique"))
        .stdout(contains("5k rows"))
        .stdout(contains("every answer was right"));
    join("--experiment lines")
        .assert()
        .success()
        .stdout(contains("different"));
}
