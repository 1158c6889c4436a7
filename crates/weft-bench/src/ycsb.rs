//! `weft-bench ycsb`: the standard key-value workloads in every execution mode.

use bench::plan::{Options, Plan};
use bench::workload::Workload;
use commands::number::parse_count;
use commands::progress::Progress;

use crate::execution::Execution;

const EXAMPLES: &str = "\
Workloads, and the operations in each of their transactions:
  read-only    10  plain reads
  update-only  10  writes of records not read before
  rmw          10  2 read-modify-writes and 8 reads; of any other number a fifth
  insert       10  new records
  scan          1  scan of consecutive records
  a b c d e f   1  YCSB's own six
  FILE          1  a YCSB property file

Modes:
  sequential          one transaction after the other, no prefetch
  prefetch            the same, with prefetch instructions
  amac-multiget       reads of a transaction as a batch, hand-written state machine
  coroutine-multiget  reads of a transaction as a batch of coroutines
  interleaved         many transactions in flight on each worker
  interleaved-nested  the same through nested application functions
  hybrid              interleaved, and the reads of a transaction as a batch

Examples:
  Compare all modes on plain reads, as much data as fits comfortably:
    weft-bench ycsb
  Fifty million records, two modes, five repeats:
    weft-bench ycsb --records 50M --modes sequential,interleaved --repeats 5
  YCSB's update-heavy workload, with a chart:
    weft-bench ycsb --workload a --workers 2 --chart a.svg
  Updates of few hot records, for further processing:
    weft-bench ycsb --workload update-only --distribution zipfian --format json
  What durability costs, in one run:
    weft-bench ycsb --workload update-only --value-bytes 100 --modes interleaved \\
        --data-dir DIR --durability synchronous,relaxed,none
  What serializable costs, and what interleaving still gives, by both certifiers:
    weft-bench ycsb --workload rmw --modes sequential,interleaved \\
        --isolation snapshot,serializable --certifier ssn,validation
  Aborts by reason where few records are hot, sixteen transactions in flight:
    weft-bench ycsb --workload rmw --distribution zipfian --theta 0.9 --workers 2 \\
        --modes sequential,interleaved --in-flight 16 --isolation serializable
  What interleaving gives to inserts into a table with five indexes:
    weft-bench ycsb --workload insert --modes sequential,interleaved \\
        --unique-indexes 3 --secondary-indexes 2
  A workload of your own, starting from a copy of a YCSB file:
    weft-bench ycsb --workload my.properties";

/// Runs a key-value workload in several execution modes and compares them.
///
/// The table is loaded once. Then each repeat runs every mode for some seconds
/// and measures the machine's own limit beside them; medians are reported.
/// Every answer is verified. Results go to standard output, progress and notes
/// to standard error.
///
/// Numbers may have underscores and suffixes: k, M, G for thousands, Ki, Mi, Gi
/// for powers of 1024.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Workload: a name from the list below, or a YCSB property file.
    #[arg(long, value_name = "NAME|FILE", default_value = "read-only")]
    workload: String,

    /// Records to load [default: the number in the workload file, or as many as fit a quarter of
    /// the available memory, at most 10M].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    records: Option<u64>,

    /// Operations in each transaction, up to 10000 [default: see the list below].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    operations: Option<u64>,

    /// Bytes of each key, 8 to 1024.
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count)]
    key_bytes: u64,

    /// Bytes of each value, 8 to 1MiB [default: the number in the workload file, or 8].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    value_bytes: Option<u64>,

    /// Distribution of the accesses over the records: uniform (all alike), zipfian (few hot
    /// records, side by side), scrambled (few hot records, spread; YCSB files call this zipfian) or
    /// latest (the newest are hot) [default: that of the workload].
    #[arg(long, value_name = "NAME")]
    distribution: Option<String>,

    /// Exponent of the skew towards hot records, from 0 (uniform) to below 2 [default: 0.99].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    theta: Option<f64>,

    /// Records that each scan reads; where the workload draws lengths, the greatest [default: the
    /// workload's number, 100 for scan].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    scan_length: Option<u64>,

    /// Transactions open on each worker, those that wait for the device included: the number of
    /// clients that would have one under way each [default: 65536].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    clients: Option<u32>,

    /// Unique secondary indexes of the table. Their keys do not change with the values.
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=64))]
    unique_indexes: u32,

    /// Secondary indexes of the table that are not unique, with eight records to a key;
    /// updates move records within them. All indexes are compared with the table at the
    /// end.
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=64))]
    secondary_indexes: u32,

    #[command(flatten)]
    execution: Execution,
}

impl Arguments {
    fn plan(&self) -> commands::Result<Plan> {
        Options {
            workload: Workload::named_or_file(&self.workload)?,
            records: self.records,
            operations: self.operations,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            distribution: self.distribution.clone(),
            theta: self.theta,
            scan_length: self.scan_length,
            unique_indexes: self.unique_indexes,
            secondary_indexes: self.secondary_indexes,
            asked: self.execution.asked(),
        }
        .plan()
    }

    pub(crate) fn run(self) -> commands::Result<()> {
        let plan = self.plan()?;
        let progress = Progress::stderr();
        for note in &plan.notes {
            progress.note(note);
        }
        let place = self.execution.place()?;
        let mut options = self.execution.options(place.as_ref());
        if let Some(clients) = self.clients {
            options.open_transactions_max = clients as usize;
        }
        let mut subject = bench::subject::weft_subject_with(&plan, options)?;
        progress.note(&plan.description());
        let outcome = bench::runner::run(&mut subject, &plan, &progress)?;
        self.execution.show(&plan.description(), &outcome)?;
        if outcome.verified() {
            Ok(())
        } else {
            Err(commands::Error::run(
                "answers were wrong (see the column verified); these numbers mean nothing, please \
                 report it",
            ))
        }
    }
}
