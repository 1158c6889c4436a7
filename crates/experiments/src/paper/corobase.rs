//! The experiments of CoroBase's chapter 5.
//!
//! CoroBase's variants and ours: Naïve is `sequential`, ERMIA `prefetch`, AMAC-MK `amac-multiget`,
//! CORO-MK `coroutine-multiget`, CoroBase `interleaved`, CoroBase-FN `interleaved-nested` (ours
//! nests in the application; the engine's operations are one coroutine either way). On the index
//! alone AMAC-MK and CORO-MK are the paper's own baselines, without a transaction. CORO-FN-MK has
//! no counterpart: no operation of ours is a chain of coroutines.

mod key_value;
mod tpcc;

use super::planned::{Asks, Tpcc};
use super::workloads::{WORKERS, on_workers, skewed, tpcc, ycsb};
use super::{At, Axis, Experiment, Paper, Published, Quantity, RECORDS, Series, Value};
use applications::tpcc::{Mix, Settings};
use bench::measure::InFlight;
use bench::mode::Mode;
use bench::plan::Options;

const NAIVE: Series = Series::of(Mode::Sequential, "Naïve");
const ERMIA: Series = Series::of(Mode::Prefetch, "ERMIA");
const AMAC: Series = Series::of(Mode::AmacMultiget, "AMAC-MK");
const CORO: Series = Series::of(Mode::CoroutineMultiget, "CORO-MK");
const COROBASE: Series = Series::of(Mode::Interleaved, "CoroBase");
const NESTED: Series = Series::of(Mode::InterleavedNested, "CoroBase-FN");
const HYBRID: Series = Series::of(Mode::Hybrid, "Hybrid");
const BARE: Series = Series::new(Mode::Bare);

/// All executions of read-only transactions.
const READERS: &[Series] = &[NAIVE, ERMIA, AMAC, CORO, COROBASE, NESTED];
/// All executions of probes of an index alone.
const PROBES: &[Series] = &[NAIVE, ERMIA, AMAC, CORO];
/// All executions of transactions with writes or scans.
const WRITERS: &[Series] = &[NAIVE, ERMIA, COROBASE, NESTED];

/// All executions of whole transactions.
const TRANSACTIONS: &[Series] = &[NAIVE, ERMIA, COROBASE, HYBRID];

/// Number of records in experiments with long keys or values: a gigabyte at 512 bytes.
const RECORDS_LONG: u64 = 2_000_000;

/// Axis of the number of transactions in flight.
const IN_FLIGHT: Axis = Axis {
    name: "in_flight",
    title: "in flight",
    values: &[1.0, 2.0, 4.0, 8.0, 16.0],
};

const THETA: Axis = Axis {
    name: "theta",
    title: "skew (theta)",
    values: &[0.0, 0.4, 0.8, 0.99, 1.2],
};

const WAREHOUSES: &str = "The paper has 1,000 warehouses, we 20 (2.2 GB). Its transactions abort \
                          where they meet, ours wait for each other.";
const QUERIES: &str = "The paper has 1,000 warehouses, we 20 (2.2 GB). Its transactions abort where \
                       they meet, ours wait for each other; its queries read all suppliers anew \
                       for each of some twelve nations, ours once.";
const LATENCY: &str = "A transaction takes the longer the more are in flight; beyond four, in \
                       proportion, since no misses are left to overlap.";
const MEDIANS: &str =
    "The paper shows means with asynchronous commit; ours are medians, in memory.";
const SIZE: &str = "The paper's table has one billion records (15 GB).";
const HYPERTHREADS: &str = "The paper runs 96 hyperthreads on a table of one billion records.";

/// Returns all experiments, in the order of the paper.
pub(super) fn experiments() -> impl Iterator<Item = &'static Experiment> {
    let all = [key_value::KEY_VALUE, tpcc::TPCC, OTHERS];
    all.into_iter().flatten()
}

/// Experiments on latency, and on the price of isolation: sections 5.9 and 5.1.
const OTHERS: &[Experiment] = &[
    Experiment {
        id: "000-5.12a",
        paper: Paper::CoroBase,
        section: "5.9",
        figure: "figure 5.12 (YCSB)",
        title: "latency of key-value transactions against the number in flight",
        x: IN_FLIGHT,
        series: &[NAIVE, ERMIA, COROBASE],
        quantity: Quantity::Latency,
        relative: false,
        finding: LATENCY,
        published: &[],
        differences: MEDIANS,
        asks: Asks::Ycsb(|in_flight| {
            let mut options = ycsb("rmw")?;
            options.asked.in_flight = InFlight::Fixed(in_flight as u32);
            Ok(options)
        }),
    },
    Experiment {
        id: "000-5.12b",
        paper: Paper::CoroBase,
        section: "5.9",
        figure: "figure 5.12 (TPC-C)",
        title: "latency of TPC-C against the number in flight",
        x: IN_FLIGHT,
        series: TRANSACTIONS,
        quantity: Quantity::Latency,
        relative: false,
        finding: LATENCY,
        published: &[],
        differences: MEDIANS,
        asks: Asks::Tpcc(|in_flight| in_flight_of(Mix::Tpcc, in_flight)),
    },
    Experiment {
        id: "000-5.12c",
        paper: Paper::CoroBase,
        section: "5.9",
        figure: "figure 5.12 (TPC-CH)",
        title: "latency of TPC-CH against the number in flight",
        x: IN_FLIGHT,
        series: TRANSACTIONS,
        quantity: Quantity::Latency,
        relative: false,
        finding: LATENCY,
        published: &[],
        differences: MEDIANS,
        asks: Asks::Tpcc(|in_flight| in_flight_of(Mix::TpccCh, in_flight)),
    },
    Experiment {
        id: "000-5.n2",
        paper: Paper::CoroBase,
        section: "5.1",
        figure: "footnote 2",
        title: "what serializable costs",
        x: WORKERS,
        series: &[
            NAIVE,
            NAIVE.serializable(),
            COROBASE,
            COROBASE.serializable(),
        ],
        quantity: Quantity::Operations,
        relative: false,
        finding: "The serial safety net adds a fixed overhead.",
        published: &[Published {
            of: COROBASE.serializable(),
            by: COROBASE,
            value: Value::Between(0.85, 0.9),
            at: At::Every,
            setting: "10 to 15 % overhead; section 5.1",
        }],
        differences: "The paper does not say on which workload; ours is the mixed one of figure \
                      5.4.",
        asks: Asks::Ycsb(|workers| on_workers("rmw", workers)),
    },
];

/// Returns a mix of TPC-C's transactions on one worker, with `in_flight` of them in flight.
fn in_flight_of(mix: Mix, in_flight: f64) -> Tpcc {
    let mut asked = tpcc(mix, 1.0);
    asked.options.asked.in_flight = InFlight::Fixed(in_flight as u32);
    asked
}

pub(super) const LEFT_OUT: &[(&str, &str)] = &[(
    "figure 5.9",
    "shares of stalled cycles need the processor's counters",
)];
