//! The `weft` command.
//!
//! The command reads its arguments, calls a library, and writes its results to standard output,
//! everything else to standard error. Exit codes: 0 for success, 1 when something failed, 2 when
//! the request was wrong.

use std::process::ExitCode;

use clap::Parser;

mod backup;
mod check;
mod check_history;
mod checkpoint;
mod directory;
mod log;
mod salvage;
mod serve;

/// Weft, a transactional database engine that never waits.
#[derive(Debug, Parser)]
#[command(name = "weft", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
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
    // A worker serves all its clients between any two steps of the allocator.
    memory::bound_heap_steps();
    let result = match Arguments::parse().command {
        Command::Check(arguments) => arguments.run(),
        Command::CheckHistory(arguments) => arguments.run(),
        Command::Checkpoint(arguments) => arguments.run(),
        Command::Backup(arguments) => arguments.run(),
        Command::Restore(arguments) => arguments.run(),
        Command::Salvage(arguments) => arguments.run(),
        Command::Serve(arguments) => arguments.run(),
        Command::Log(command) => command.run(),
    };
    commands::finish(result)
}
