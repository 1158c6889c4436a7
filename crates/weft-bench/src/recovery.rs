//! `weft-bench recovery`: the time in which a database comes back.

use std::path::PathBuf;

use bench::recovery::{Cold, Settings, measure, report};
use commands::number::{parse_count, parse_percent};
use commands::progress::Progress;

use crate::series::Series;
use commands::Place;

const EXAMPLES: &str = "\
Examples:
  weft-bench recovery --data-dir /tmp/weft-recovery
  weft-bench recovery --data-dir /tmp/weft-recovery --records 20M --workers 2
  weft-bench recovery --data-dir /tmp/weft-recovery --value-bytes 1000 --format json
  Most records are on the device only when the database is closed:
    weft-bench recovery --data-dir /tmp/weft-recovery --value-bytes 1000 --cold-percent 95";

/// Measures how fast a database is opened again: from its log alone, and from a
/// checkpoint.
///
/// Records are inserted into a new database in the directory, which is then closed and opened again
/// several times; every record is compared after each opening. With --cold-percent, that share of
/// the records leaves memory before a checkpoint is taken, and the database is opened from the
/// checkpoint. The directory is removed afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory for the database, empty or missing.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// Records to load and recover.
    #[arg(long, value_name = "N", default_value = "5M", value_parser = parse_count)]
    records: u64,

    /// Bytes of each value, 8 to 1MiB; keys have 8.
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_count)]
    value_bytes: u64,

    /// Workers that recover the database.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Share of the records that leave memory for the cold tier before the database is closed.
    #[arg(
        long,
        value_name = "PERCENT",
        allow_negative_numbers = true,
        value_parser = parse_percent
    )]
    cold_percent: Option<f64>,

    /// The ceiling on memory of a database with cold records, in bytes [default: the engine's
    /// own].
    #[arg(long, value_name = "N", requires = "cold_percent", value_parser = parse_count)]
    memory: Option<u64>,

    #[command(flatten)]
    series: Series,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        if self.records == 0 {
            return Err(commands::Error::input(
                "--records 0 leaves nothing to recover",
            ));
        }
        let place = Place::make(&self.data_dir)?;
        let settings = Settings {
            records: self.records,
            value_bytes: usize::try_from(self.value_bytes).unwrap_or(usize::MAX),
            workers: self.workers.into(),
            cold: self.cold_percent.map(|percent| Cold {
                percent,
                memory_bytes: self.memory,
            }),
            repeats: self.series.repeats,
        };
        let results = measure(&settings, place.path(), &Progress::stderr())?;
        commands::write_results(&report(self.series.format, &results)?)?;
        if results.iter().all(|result| result.verified) {
            Ok(())
        } else {
            Err(commands::Error::run(
                "records were missing or wrong after recovery; please report it",
            ))
        }
    }
}
