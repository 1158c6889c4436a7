//! Acknowledged commits survive SIGKILL, whenever it comes: in transactions, in checkpoints, in
//! recovery; also if the kill discards unsynced writes.
//!
//! The test runs without the usual harness, since the process starts itself as a child. More kills
//! by command: `cargo run --release -p weft --example killed -- --kills 500`.

#[path = "killed/harness.rs"]
mod harness;

use std::io::Write;

use harness::Conduct;

const KILLS: u32 = 30;

fn main() {
    if let Some(ended) = harness::work_as_child() {
        let _ = writeln!(std::io::stderr().lock(), "{ended:?}");
        std::process::exit(1);
    }
    // The usual harness filters tests by their names: other tests may have been asked for.
    let asked: Vec<_> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let listing = std::env::args().any(|argument| argument == "--list");
    if listing || !asked.is_empty() && !asked.iter().any(|name| "killed".contains(name.as_str())) {
        return;
    }
    let place = tempfile::tempdir().expect("a directory for the databases");
    for conduct in [
        Conduct::Hasty,
        Conduct::SkipsSyncs,
        Conduct::SkipsDurableWrites,
        Conduct::LosesDirectorySyncs,
    ] {
        let below = place.path().join(conduct.name());
        let caught = harness::run(&below, KILLS, 1, conduct, &mut |_| {});
        let caught = caught.expect_err("a loss is noticed");
        // A verification notices the loss, or the next child, which cannot open the files that are
        // left.
        let noticed = ["(seed 1, ", "the child failed: Err(Open("];
        assert!(
            noticed.iter().any(|words| caught.contains(words)),
            "{conduct:?}: {caught}"
        );
    }
    for conduct in [Conduct::Honest, Conduct::LosesUnsynced] {
        let below = place.path().join(conduct.name());
        match harness::run(&below, KILLS, 1, conduct, &mut |_| {}) {
            Ok(summary) => drop(writeln!(std::io::stdout().lock(), "{conduct:?}: {summary}")),
            Err(what) => {
                let kept = place.keep();
                panic!("{what}; the directory is kept below {}", kept.display());
            }
        }
    }
}
