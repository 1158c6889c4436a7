//! `weft bench`: which benchmark.

use crate::{
    beyond_memory, cold, crash, fairness, hot_row, index_build, join, limits, paper, recovery,
    smallbank, tatp, tpcc, wire, wire_crash, ycsb,
};

/// Measures the engine, or the machine it runs on.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
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
    Wire(Box<wire::Arguments>),
    WireCrash(wire_crash::Arguments),
    Fairness(fairness::Arguments),
    Limits(limits::Arguments),
}

impl Command {
    pub(crate) fn run(self) -> commands::Result<()> {
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
            Self::Wire(arguments) => arguments.run(),
            Self::WireCrash(arguments) => arguments.run(),
            Self::Fairness(arguments) => arguments.run(),
            Self::Limits(arguments) => arguments.run(),
        }
    }
}
