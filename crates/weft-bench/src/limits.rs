//! `weft-bench limits`: the capabilities of the machine itself.

use std::path::PathBuf;

use bench::limits::{Settings, measure};
use commands::number::{parse_count, parse_seconds};
use commands::progress::Progress;

use crate::series::Series;

const EXAMPLES: &str = "\
Examples:
  weft-bench limits
  weft-bench limits --data-dir .
  weft-bench limits --bytes 2GiB --workers 2
  weft-bench limits --format json | jq '.[0].median'";

/// Measures memory and a device of this machine without the engine.
///
/// Four numbers, each the median of several repeats: random independent cache
/// lines per second (the ceiling of any engine that hides cache misses), the
/// latency of one dependent load, the bandwidth of sequential reads, and the
/// cost of reading the clock.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Memory to read from, at least 1MiB; larger than all caches to measure memory.
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = parse_count)]
    bytes: u64,

    /// Threads that read at the same time.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Also measure the device of this directory: the latency of a durable write of 4 KiB, and
    /// random reads of 4 KiB by the number under way. Writes a file of up to 256 MiB, and removes
    /// it.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Seconds for each of the measures in each repeat.
    #[arg(
        long,
        value_name = "S",
        default_value = "0.5",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    #[command(flatten)]
    series: Series,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let available = bench::machine::memory_available_bytes().unwrap_or(u64::MAX);
        if !(1 << 20..=available).contains(&self.bytes) {
            return Err(commands::Error::input(format!(
                "--bytes {} is out of range; give 1MiB to {}MiB, the memory available",
                self.bytes,
                available >> 20
            )));
        }
        let settings = Settings {
            bytes: self.bytes,
            workers: self.workers.into(),
            seconds: self.seconds,
            repeats: self.series.repeats,
            directory: self.data_dir,
        };
        let limits = measure(&settings, &Progress::stderr())?;
        commands::write_results(&self.series.format.limits(&limits)?)
    }
}
