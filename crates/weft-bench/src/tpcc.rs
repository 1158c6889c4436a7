//! `weft-bench tpcc`: orders, payments and deliveries of a wholesale supplier.

use applications::tpcc::{Home, LOAD, Mix, Settings};

use crate::application::Clients;
use crate::scale::Scale;

const EXAMPLES: &str = "\
Mixes:
  tpcc     45 % NewOrder, 43 % Payment, 4 % each OrderStatus, Delivery, StockLevel
  tpcc-cr  50 % StockLevel, 50 % OrderStatus
  tpcc-ch  10 % Query2, 40 % NewOrder, 38 % Payment, 4 % each of the others

Modes:
  sequential   one transaction after the other, no prefetch
  prefetch     the same, with prefetch instructions
  interleaved  many transactions in flight on each worker
  hybrid       the same, and reads of several known keys (items and stock) as a batch

Examples:
  All modes on twenty warehouses:
    weft-bench tpcc
  Every worker bound to a warehouse of its own, where its transactions meet:
    weft-bench tpcc --home bound --on-conflict wait --workers 2
  What serializable and durable cost:
    weft-bench tpcc --modes interleaved --isolation snapshot,serializable
    weft-bench tpcc --modes interleaved --data-dir DIR --durability synchronous,none
  A log that workers write themselves, and one that a thread writes for them:
    weft-bench tpcc --modes interleaved --workers 2 --data-dir DIR --flusher workers,thread
  Latency where each mode has the same to do:
    weft-bench tpcc --modes sequential,interleaved --offered 20000";

/// Runs TPC-C: five kinds of transactions over nine tables, and two relatives of it.
///
/// The database is loaded once. Then each repeat runs every mode for some seconds, without keying
/// and thinking times; after each run the twelve consistency conditions of the specification
/// (clause 3.3.2) are checked. Results go to standard output, progress and notes to standard error.
/// The result is no audited TPC-C result, and is not comparable with one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Kinds of transactions, and the share of each: see the list below.
    #[arg(long, value_name = "NAME", default_value = "tpcc")]
    mix: Mix,

    /// Warehouses; each takes about 110 MiB.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(1..))]
    warehouses: u16,

    /// Home of the transactions of a worker: a warehouse drawn for each (random) or one for all
    /// (bound).
    #[arg(long, value_name = "random|bound", default_value = "random")]
    home: Home,

    /// Suppliers that Query2 looks at, up to 10000.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    suppliers: u32,

    #[command(flatten)]
    scale: Scale,

    #[command(flatten)]
    clients: Clients,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = Settings {
            scale: self.scale.numbers(),
            home: self.home,
            suppliers: self.suppliers,
            ..Settings::standard(self.mix, self.warehouses)
        };
        settings.check()?;
        self.clients.run(
            &settings.mix_name(),
            &settings.description(),
            &settings,
            LOAD,
        )
    }
}
