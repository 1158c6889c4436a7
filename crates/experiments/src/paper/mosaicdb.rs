//! The experiments of MosaicDB's section 6 that Weft covers.
//!
//! MosaicDB's variants and ours: Sequential prefetches, as `prefetch` does; Batch, Pipeline and
//! MosaicDB itself are scheduling policies, and where everything is in memory all stand beside
//! `interleaved`.

use super::planned::Asks;
use super::workloads::{WORKERS, on_workers, tpcc};
use super::{At, Experiment, Paper, Published, Quantity, Series, Value};
use applications::tpcc::Mix;
use bench::keys::InsertOrder;
use bench::measure::{Durability, Flusher, InFlight};
use bench::mode::Mode;
use bench::plan::Options;
use bench::workload::{Proportions, Workload};

const SEQUENTIAL: Series = Series::of(Mode::Prefetch, "Sequential");
const MOSAIC: Series = Series::of(Mode::Interleaved, "MosaicDB");
const NESTED: Series = Series::of(Mode::InterleavedNested, "fully nested");
const FLATTENED: Series = Series::of(Mode::Interleaved, "flattened");
const OVERSUBSCRIBED: Series =
    Series::of(Mode::Interleaved, "Oversubscribed").flushed_by(Flusher::Thread);
const THREAD_FREE: Series = Series::of(Mode::Interleaved, "MosaicDB").flushed_by(Flusher::Workers);
const ONE_AT_A_TIME: Series = Series::of(Mode::Sequential, "Sequential");
const BATCH_4: Series = Series::of(Mode::Interleaved, "batch of 4").in_flight(4);
const BATCH_8: Series = Series::of(Mode::Interleaved, "batch of 8").in_flight(8);

pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "001-7",
        paper: Paper::MosaicDb,
        section: "6.2",
        figure: "figure 7 (no cold records)",
        title: "reads and updates in memory",
        x: WORKERS,
        series: &[SEQUENTIAL, MOSAIC],
        quantity: Quantity::Operations,
        relative: false,
        finding: "Where nothing is cold, interleaving gains what it gains in CoroBase.",
        published: &[Published {
            of: MOSAIC,
            by: SEQUENTIAL,
            value: Value::Between(1.29, 1.39),
            at: At::Every,
            setting: "the three policies, 10 threads; section 6.2",
        }],
        differences: "The paper's table has 300 million records, and half of its transactions read \
                      ten and half update ten; each of ours reads five and updates five, and logs \
                      nothing.",
        asks: Asks::Ycsb(|workers| {
            let options = on_workers("rmw", workers)?;
            Ok(Options {
                workload: Workload {
                    name: "half rmw".to_owned(),
                    proportions: Proportions {
                        read: 0.5,
                        read_modify_write: 0.5,
                        ..Default::default()
                    },
                    ..options.workload
                },
                ..options
            })
        }),
    },
    Experiment {
        id: "001-10",
        paper: Paper::MosaicDb,
        section: "6.3",
        figure: "figure 10",
        title: "TPC-C with and without a thread that writes the log",
        x: WORKERS,
        series: &[OVERSUBSCRIBED, THREAD_FREE],
        quantity: Quantity::Transactions,
        relative: false,
        finding: "A thread that writes the log competes with the workers for their cores, the \
                  more of them there are the worse.",
        published: &[Published {
            of: THREAD_FREE,
            by: OVERSUBSCRIBED,
            value: Value::UpTo(1.7),
            at: At::Last,
            setting: "10 threads on 10 cores; section 6.3",
        }],
        differences: "Two cores: with one worker the thread has a core to itself (Dedicated, in \
                      the paper), with two none. Commits are acknowledged when they are on the \
                      device; four transactions are in flight besides those that wait for it.",
        asks: Asks::Tpcc(|workers| {
            let mut asked = tpcc(Mix::Tpcc, workers);
            asked.options.asked.durabilities = vec![Durability::Synchronous];
            asked.options.asked.in_flight = InFlight::Fixed(4);
            asked
        }),
    },
    Experiment {
        id: "001-11",
        paper: Paper::MosaicDb,
        section: "6.5",
        figure: "figure 11 (in memory)",
        title: "flat and nested coroutines",
        x: WORKERS,
        series: &[FLATTENED, NESTED],
        quantity: Quantity::Operations,
        relative: false,
        finding: "Nesting on the path of memory accesses costs; nesting where a device is waited \
                  for does not.",
        published: &[Published {
            of: NESTED,
            by: FLATTENED,
            value: Value::About(0.82),
            at: At::Every,
            setting: "18 % slower, 40 threads; section 6.5",
        }],
        differences: "The paper nests the engine's own functions; ours are flat, and what nests is \
                      the application, five levels deep.",
        asks: Asks::Ycsb(|workers| on_workers("read-only", workers)),
    },
    Experiment {
        id: "001-12",
        paper: Paper::MosaicDb,
        section: "6.4",
        figure: "figure 12 (a)",
        title: "inserts with ascending keys",
        x: WORKERS,
        series: &[ONE_AT_A_TIME, BATCH_4, BATCH_8],
        quantity: Quantity::Operations,
        relative: false,
        finding: "Threads that append to one place contend for its latch; interleaving makes them \
                  meet there less often.",
        published: &[
            Published {
                of: BATCH_4,
                by: ONE_AT_A_TIME,
                value: Value::UpTo(1.71),
                at: At::Greatest,
                setting: "many threads of one socket; section 6.4",
            },
            Published {
                of: BATCH_8,
                by: ONE_AT_A_TIME,
                value: Value::UpTo(2.38),
                at: At::Greatest,
                setting: "many threads of one socket; section 6.4",
            },
        ],
        differences: "The paper begins with 300 million records, logs, and has up to a socket's \
                      cores contend; two workers contend little.",
        asks: Asks::Ycsb(|workers| {
            let options = on_workers("insert", workers)?;
            Ok(Options {
                workload: Workload {
                    name: "ascending inserts".to_owned(),
                    insert_order: InsertOrder::Ordered,
                    ..options.workload
                },
                operations: Some(1),
                ..options
            })
        }),
    },
];

pub(super) const LEFT_OUT: &[(&str, &str)] = &[
    (
        "figures 6, 8 and 9, figures 7 and 11 with storage",
        "are experiments of `weft-bench cold`; its figures are in cold-tier.md",
    ),
    (
        "figure 12 (b)",
        "the share of cycles spent on the latch needs the processor's counters",
    ),
];
