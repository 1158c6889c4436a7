//! The `weft` command.
//!
//! Reads its arguments, calls a library, writes what comes back: results to
//! standard output, everything else to standard error. Exit codes: 0 for
//! success, 1 when something failed, 2 when the request was wrong.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

mod application;
mod backup;
mod bench;
mod beyond_memory;
mod check;
mod check_history;
mod checkpoint;
mod cold;
mod crash;
mod directory;
mod execution;
mod fairness;
mod hot_row;
mod index_build;
mod join;
mod limits;
mod log;
mod paper;
mod recovery;
mod salvage;
mod series;
mod serve;
mod smallbank;
mod tatp;
mod tpcc;
mod wire;
mod wire_crash;
mod ycsb;

/// Weft, a transactional database engine that never waits.
#[derive(Debug, Parser)]
#[command(name = "weft", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(subcommand)]
    Bench(bench::Command),
    Check(check::Arguments),
    CheckHistory(Box<check_history::Arguments>),
    Checkpoint(checkpoint::Arguments),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Salvage(salvage::Arguments),
    Serve(serve::Arguments),
    #[command(subcommand)]
    Log(log::Command),
}

fn main() -> ExitCode {
    // Workers serve all their clients between any two steps of the allocator.
    memory::bound_heap_steps();
    let result = match Arguments::parse().command {
        Command::Bench(command) => command.run(),
        Command::Check(arguments) => arguments.run(),
        Command::CheckHistory(arguments) => arguments.run(),
        Command::Checkpoint(arguments) => arguments.run(),
        Command::Backup(arguments) => arguments.run(),
        Command::Restore(arguments) => arguments.run(),
        Command::Salvage(arguments) => arguments.run(),
        Command::Serve(arguments) => arguments.run(),
        Command::Log(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error leaves the exit code to tell.
            let _ = writeln!(std::io::stderr().lock(), "error: {error}");
            match error {
                commands::Error::Input(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Writes results to standard output. A reader that went away early, as
/// `head` does, has what it wanted.
fn write_results(text: &str) -> commands::Result<()> {
    let mut output = std::io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(commands::Error::run(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Writes a chart to a file.
fn write_chart(path: &Path, svg: &str) -> commands::Result<()> {
    std::fs::write(path, svg).map_err(|error| {
        commands::Error::run(format!(
            "cannot write the chart to {}: {error}; choose another --chart file",
            path.display()
        ))
    })
}
