//! What was acknowledged survives SIGKILL, whenever it comes: in transactions, in
//! checkpoints, in recovery.
//!
//! Without the usual test harness, since the process starts itself as a child. More
//! kills by command: `cargo run --release -p weft --example killed -- --kills 500`.

#[path = "killed/harness.rs"]
mod harness;

use std::io::Write;

const KILLS: u32 = 30;

fn main() {
    if let Some(ended) = harness::work_as_child() {
        let _ = writeln!(std::io::stderr().lock(), "{ended:?}");
        std::process::exit(1);
    }
    // As the usual harness does: other tests may have been asked for.
    let asked: Vec<_> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let listing = std::env::args().any(|argument| argument == "--list");
    if listing || !asked.is_empty() && !asked.iter().any(|name| "killed".contains(name.as_str())) {
        return;
    }
    let place = tempfile::tempdir().expect("a directory for the databases");
    let caught = harness::run(place.path(), KILLS, 1, true, &mut |_| {});
    let caught = caught.expect_err("promises that were not kept are noticed");
    assert!(caught.contains("was promised"), "{caught}");
    let summary = harness::run(&place.path().join("honest"), KILLS, 1, false, &mut |_| {});
    match summary {
        Ok(summary) => drop(writeln!(std::io::stdout().lock(), "killed: {summary}")),
        Err(what) => {
            let kept = place.keep();
            panic!("{what}; the directory is kept below {}", kept.display());
        }
    }
}
