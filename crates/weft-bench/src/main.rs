//! The `weft-bench` command: measures the engine, servers that speak PostgreSQL's protocol, and the
//! machine that they run on.
//!
//! The command reads its arguments, calls the libraries `bench`, `applications`, `wire`, `tpch`, `ch`
//! and `experiments`, and writes their results: results to standard output, everything else to standard
//! error. Exit codes: 0 for success, 1 when something failed, 2 when the request was wrong.

use std::{path::Path, process::ExitCode};

use clap::Parser;

mod application;
mod beyond_memory;
mod ch;
mod cold;
mod crash;
mod execution;
mod fairness;
mod hot_row;
mod index_build;
mod join;
mod limits;
mod paper;
mod program;
mod recovery;
mod scale;
mod series;
mod smallbank;
mod targets;
mod tatp;
mod tpcc;
mod tpch;
mod wire;
mod wire_crash;
mod ycsb;

/// Measures Weft's engine, servers beside each other, or the machine that they run on.
#[derive(Debug, Parser)]
#[command(name = "weft-bench", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ycsb(Box<ycsb::Arguments>),
    Tpcc(Box<tpcc::Arguments>),
    Smallbank(Box<smallbank::Arguments>),
    Tatp(Box<tatp::Arguments>),
    Cold(Box<cold::Arguments>),
    BeyondMemory(Box<beyond_memory::Arguments>),
    Recovery(recovery::Arguments),
    Crash(crash::Arguments),
    IndexBuild(index_build::Arguments),
    HotRow(hot_row::Arguments),
    Join(Box<join::Arguments>),
    Paper(paper::Arguments),
    Tpch(Box<tpch::Arguments>),
    Ch(Box<ch::Arguments>),
    Wire(Box<wire::Arguments>),
    WireCrash(wire_crash::Arguments),
    Fairness(fairness::Arguments),
    Limits(limits::Arguments),
}

impl Command {
    fn run(self) -> commands::Result<()> {
        match self {
            Self::Ycsb(arguments) => arguments.run(),
            Self::Tpcc(arguments) => arguments.run(),
            Self::Smallbank(arguments) => arguments.run(),
            Self::Tatp(arguments) => arguments.run(),
            Self::Cold(arguments) => arguments.run(),
            Self::BeyondMemory(arguments) => arguments.run(),
            Self::Recovery(arguments) => arguments.run(),
            Self::Crash(arguments) => arguments.run(),
            Self::IndexBuild(arguments) => arguments.run(),
            Self::HotRow(arguments) => arguments.run(),
            Self::Join(arguments) => arguments.run(),
            Self::Paper(arguments) => arguments.run(),
            Self::Tpch(arguments) => arguments.run(),
            Self::Ch(arguments) => arguments.run(),
            Self::Wire(arguments) => arguments.run(),
            Self::WireCrash(arguments) => arguments.run(),
            Self::Fairness(arguments) => arguments.run(),
            Self::Limits(arguments) => arguments.run(),
        }
    }
}

fn main() -> ExitCode {
    // A worker serves all its clients between any two steps of the allocator.
    memory::bound_heap_steps();
    commands::finish(Arguments::parse().command.run())
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
