//! Kills a process that works on a durable database, as often as asked, and verifies each time that
//! no acknowledged transaction is lost. See `tests/killed/harness.rs`.
//!
//! ```text
//! cargo run --release -p weft --example killed -- --kills 500 --seed 1 [--directory DIR]
//! ```
//!
//! With `--lose-unsynced` a kill also discards unsynced writes, as a power cut does.
#![allow(clippy::print_stdout, clippy::print_stderr)] // Examples talk to a person.

#[path = "../tests/killed/harness.rs"]
mod harness;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use harness::Conduct;

const USAGE: &str = "usage: killed [--kills N] [--seed N] [--directory DIR] [--lose-unsynced]";

struct Arguments {
    kills: u32,
    seed: u64,
    directory: PathBuf,
    conduct: Conduct,
}

fn arguments() -> Option<Arguments> {
    let mut arguments = Arguments {
        kills: 100,
        seed: 1,
        directory: std::env::temp_dir(),
        conduct: Conduct::Honest,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        match name.as_str() {
            "--kills" => arguments.kills = given.next()?.parse().ok()?,
            "--seed" => arguments.seed = given.next()?.parse().ok()?,
            "--directory" => arguments.directory = given.next()?.into(),
            "--lose-unsynced" => arguments.conduct = Conduct::LosesUnsynced,
            _ => return None,
        }
    }
    Some(arguments)
}

fn main() -> ExitCode {
    if let Some(ended) = harness::work_as_child() {
        eprintln!("{ended:?}");
        return ExitCode::FAILURE;
    }
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let place = arguments
        .directory
        .join(format!("weft-killed-{}", std::process::id()));
    let began = Instant::now();
    let outcome = harness::run(
        &place,
        arguments.kills,
        arguments.seed,
        arguments.conduct,
        &mut |summary| {
            if summary.kills % 25 == 0 {
                eprintln!("{:.0} s: {summary}", began.elapsed().as_secs_f64());
            }
        },
    );
    match outcome {
        Ok(summary) => {
            // The directory is empty by now.
            let _ = std::fs::remove_dir(&place);
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!(
                "lost: {what}; the directory is kept below {}",
                place.display()
            );
            ExitCode::FAILURE
        }
    }
}
