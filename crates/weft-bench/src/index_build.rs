//! `weft-bench index-build`: an index built while writers run.

use bench::index_build::{Settings, measure, report};
use bench::measure::{InFlight, Isolation};
use commands::number::{parse_count, parse_seconds};
use commands::progress::Progress;

use crate::series::Series;

const EXAMPLES: &str = "\
Examples:
  Ten million records, half of the operations updates:
    weft-bench index-build
  A unique index, on two workers, under a heavier load:
    weft-bench index-build --unique --workers 2 --update-share 0.9
  What a build costs those who only read:
    weft-bench index-build --records 1M --update-share 0 --format json";

/// Measures the cost of building a secondary index to transactions that go on beside it.
///
/// A table is loaded. Then each repeat runs transactions of reads and updates before,
/// while, and after an index is built beside them, compares every record with the index,
/// and drops it. Updates move records within an index that is not unique.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Records in the table.
    #[arg(long, value_name = "N", default_value = "10M", value_parser = parse_count)]
    records: u64,

    /// Bytes of each value, 8 to 1MiB; keys have 8.
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count)]
    value_bytes: u64,

    /// Updates, as a share of the operations; the others are reads.
    #[arg(
        long,
        value_name = "X",
        default_value = "0.5",
        allow_negative_numbers = true
    )]
    update_share: f64,

    /// Operations in each transaction, up to 10000.
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_count)]
    operations: u64,

    /// Build a unique index. Without: an index that is not unique, with eight records to a key.
    #[arg(long)]
    unique: bool,

    /// Worker threads; one of them builds the index, beside its transactions.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count)]
    workers: u64,

    /// Transactions in flight on each worker: a number, or auto to let the engine adapt.
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    in_flight: InFlight,

    /// Isolation level of the transactions: read-committed, snapshot or serializable.
    #[arg(long, value_name = "LEVEL", default_value = "snapshot")]
    isolation: Isolation,

    /// Seconds before, and after, in each repeat; between, the build takes its time.
    #[arg(
        long,
        value_name = "S",
        default_value = "2",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    #[command(flatten)]
    series: Series,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = Settings {
            records: self.records,
            value_bytes: self.value_bytes,
            update_share: self.update_share,
            operations: self.operations,
            unique: self.unique,
            workers: self.workers,
            in_flight: self.in_flight,
            isolation: self.isolation,
            seconds: self.seconds,
            repeats: self.series.repeats.into(),
        };
        let result = measure(&settings, &Progress::stderr())?;
        commands::write_results(&report(self.series.format, &result)?)?;
        if result.verified {
            Ok(())
        } else {
            Err(commands::Error::run(
                "answers were wrong, or the index did not agree with the table; please report it",
            ))
        }
    }
}
