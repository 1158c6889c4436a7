//! Experiments with keys and values: sections 5.3 to 5.7.

use super::*;

/// Experiments in the order of the paper.
pub(super) const KEY_VALUE: &[Experiment] = &[
    Experiment {
        id: "000-5.1",
        paper: Paper::CoroBase,
        section: "5.3",
        figure: "figure 5.1",
        title: "probes of the index alone",
        x: WORKERS,
        series: PROBES,
        quantity: Quantity::Operations,
        relative: false,
        finding: "Without transactions around them, interleaved lookups show the most that can \
                  be gained.",
        published: &[
            Published {
                of: AMAC,
                by: NAIVE,
                value: Value::UpTo(2.3),
                at: At::Greatest,
                setting: "without hyperthreads; section 5.3",
            },
            Published {
                of: AMAC,
                by: ERMIA,
                value: Value::UpTo(2.96),
                at: At::Greatest,
                setting: "without hyperthreads; section 5.3",
            },
            Published {
                of: CORO,
                by: NAIVE,
                value: Value::UpTo(2.56),
                at: At::Greatest,
                setting: "section 5.3",
            },
            Published {
                of: CORO,
                by: ERMIA,
                value: Value::UpTo(1.99),
                at: At::Greatest,
                setting: "section 5.3",
            },
        ],
        differences: SIZE,
        asks: Asks::Probes(|workers| on_workers("read-only", workers)),
    },
    Experiment {
        id: "000-5.2",
        paper: Paper::CoroBase,
        section: "5.4",
        figure: "figure 5.2",
        title: "plain reads in every variant",
        x: WORKERS,
        series: &[NAIVE, ERMIA, AMAC, CORO, COROBASE, NESTED, BARE],
        quantity: Quantity::Operations,
        relative: false,
        finding: "Coroutines come close to hand-written state machines without changes to the \
                  application, as long as the engine's operations are flat.",
        published: &[
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::About(1.8),
                at: At::Every,
                setting: "without hyperthreads; section 5.4",
            },
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::About(1.3),
                at: At::Every,
                setting: "with hyperthreads; section 5.4",
            },
            Published {
                of: COROBASE,
                by: AMAC,
                value: Value::Between(0.82, 0.85),
                at: At::Every,
                setting: "15 and 18 % behind on average; section 5.4",
            },
            Published {
                of: NESTED,
                by: ERMIA,
                value: Value::UpTo(1.25),
                at: At::Greatest,
                setting: "section 5.4",
            },
        ],
        differences: "The paper's table has one billion records (15 GB), and up to 48 threads. \
                      `bare` is ours: the same reads without transactions.",
        asks: Asks::Ycsb(|workers| on_workers("read-only", workers)),
    },
    Experiment {
        id: "000-5.3",
        paper: Paper::CoroBase,
        section: "5.4",
        figure: "figure 5.3",
        title: "reads per transaction",
        x: Axis {
            name: "operations_per_transaction",
            title: "reads per transaction",
            values: &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
        },
        series: READERS,
        quantity: Quantity::Operations,
        relative: true,
        finding: "Transactions of one to four reads gain from interleaving between transactions, \
                  while batches within a transaction have nothing to overlap; in longer ones only \
                  the hand-written state machine is ahead.",
        published: &[
            Published {
                of: COROBASE,
                by: AMAC,
                value: Value::Above(1.0),
                at: At::First,
                setting: "transactions of 1 to 4 reads, 48 threads; section 5.4",
            },
            Published {
                of: COROBASE,
                by: AMAC,
                value: Value::Below(1.0),
                at: At::Last,
                setting: "longer transactions, 48 threads; section 5.4",
            },
            Published {
                of: COROBASE,
                by: CORO,
                value: Value::Above(1.0),
                at: At::Every,
                setting: "any length, 48 threads; section 5.4",
            },
        ],
        differences: SIZE,
        asks: Asks::Ycsb(|reads| {
            Ok(Options {
                operations: Some(reads as u64),
                ..ycsb("read-only")?
            })
        }),
    },
    Experiment {
        id: "000-5.4ab",
        paper: Paper::CoroBase,
        section: "5.5",
        figure: "figure 5.4 (a, b)",
        title: "blind writes",
        x: WORKERS,
        series: WRITERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "Writes gain too, since they find their records as reads do.",
        published: &[
            Published {
                of: COROBASE,
                by: NAIVE,
                value: Value::UpTo(1.77),
                at: At::Greatest,
                setting: "up to 48 threads; section 5.5",
            },
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::UpTo(1.45),
                at: At::Greatest,
                setting: "up to 48 threads; section 5.5",
            },
        ],
        differences: SIZE,
        asks: Asks::Ycsb(|workers| on_workers("update-only", workers)),
    },
    Experiment {
        id: "000-5.4cd",
        paper: Paper::CoroBase,
        section: "5.5",
        figure: "figure 5.4 (c, d)",
        title: "two read-modify-writes and eight reads",
        x: WORKERS,
        series: WRITERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "As blind writes, with less to gain: the write finds in the cache what the read \
                  before it has brought there.",
        published: &[
            Published {
                of: COROBASE,
                by: NAIVE,
                value: Value::Below(1.77),
                at: At::Greatest,
                setting: "less than for blind writes; section 5.5",
            },
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::Below(1.45),
                at: At::Greatest,
                setting: "less than for blind writes; section 5.5",
            },
        ],
        differences: "The paper's table has one billion records (15 GB). Our read-modify-writes \
                      come first in the transaction; the paper does not say where.",
        asks: Asks::Ycsb(|workers| on_workers("rmw", workers)),
    },
    Experiment {
        id: "000-5.5",
        paper: Paper::CoroBase,
        section: "5.5",
        figure: "figure 5.5",
        title: "length of scans",
        x: Axis {
            name: "scan_length",
            title: "records per scan",
            values: &[1.0, 10.0, 50.0, 100.0, 1000.0],
        },
        series: WRITERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "The longer the scans, the less there is to gain: variants converge.",
        published: &[Published {
            of: COROBASE,
            by: NAIVE,
            value: Value::About(1.0),
            at: At::Last,
            setting: "long scans converge; section 5.5",
        }],
        differences: "The paper's table has one billion records (15 GB). A scan is one operation, \
                      and its keys are neighbours by hash, so that its records lie anywhere in \
                      memory.",
        asks: Asks::Ycsb(|length| {
            Ok(Options {
                scan_length: Some(length as u64),
                ..ycsb("scan")?
            })
        }),
    },
    Experiment {
        id: "000-5.6a",
        paper: Paper::CoroBase,
        section: "5.6",
        figure: "figure 5.6 (left)",
        title: "length of keys",
        x: Axis {
            name: "key_bytes",
            title: "key length",
            values: &[8.0, 16.0, 32.0, 64.0],
        },
        series: READERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "Long keys cost the flat variant little; nested coroutines suffer, since each \
                  layer of the trie is further calls.",
        published: &[Published {
            of: NESTED,
            by: COROBASE,
            value: Value::Below(1.0),
            at: At::Last,
            setting: "long keys, 96 hyperthreads; section 5.6",
        }],
        differences: "The paper runs 96 hyperthreads on a table of one billion records. Our keys \
                      differ in their first eight bytes.",
        asks: Asks::Ycsb(|bytes| {
            Ok(Options {
                records: Some(RECORDS_LONG),
                key_bytes: bytes as u64,
                ..ycsb("read-only")?
            })
        }),
    },
    Experiment {
        id: "000-5.6b",
        paper: Paper::CoroBase,
        section: "5.6",
        figure: "figure 5.6 (right)",
        title: "length of values",
        x: Axis {
            name: "value_bytes",
            title: "value length",
            values: &[8.0, 64.0, 256.0, 512.0],
        },
        series: READERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "The length of values does not change how variants compare.",
        published: &[],
        differences: HYPERTHREADS,
        asks: Asks::Ycsb(|bytes| {
            Ok(Options {
                records: Some(RECORDS_LONG),
                value_bytes: Some(bytes as u64),
                ..ycsb("read-only")?
            })
        }),
    },
    Experiment {
        id: "000-5.7",
        paper: Paper::CoroBase,
        section: "5.6",
        figure: "figure 5.7",
        title: "size of the table",
        x: Axis {
            name: RECORDS,
            title: "records",
            values: &[1e4, 1e5, 1e6, 1e7, 2e7],
        },
        series: READERS,
        quantity: Quantity::Operations,
        relative: true,
        finding: "Where the table fits the cache, switching is pure overhead.",
        published: &[
            Published {
                of: COROBASE,
                by: NAIVE,
                value: Value::About(0.87),
                at: At::First,
                setting: "10 thousand records, up to 12.64 % behind, 96 hyperthreads; section 5.6",
            },
            Published {
                of: NESTED,
                by: NAIVE,
                value: Value::About(0.5),
                at: At::First,
                setting: "small tables, up to 50 % behind, 96 hyperthreads; section 5.6",
            },
        ],
        differences: "The paper's cache has 35.75 MB per socket, and it runs 96 hyperthreads; what \
                      fits the cache here depends on the machine.",
        asks: Asks::Ycsb(|records| {
            Ok(Options {
                records: Some(records as u64),
                ..ycsb("read-only")?
            })
        }),
    },
    Experiment {
        id: "000-5.8a",
        paper: Paper::CoroBase,
        section: "5.7",
        figure: "figure 5.8 (a)",
        title: "probes of the index alone for few hot keys",
        x: THETA,
        series: PROBES,
        quantity: Quantity::Operations,
        relative: false,
        finding: "The fewer the keys that are asked for, the more of them are in caches, whatever \
                  the variant.",
        published: &[],
        differences: HYPERTHREADS,
        asks: Asks::Probes(|theta| skewed("read-only", theta)),
    },
    Experiment {
        id: "000-5.8b",
        paper: Paper::CoroBase,
        section: "5.7",
        figure: "figure 5.8 (b)",
        title: "plain reads of few hot records",
        x: THETA,
        series: READERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "All variants gain from the locality of skewed reads.",
        published: &[],
        differences: HYPERTHREADS,
        asks: Asks::Ycsb(|theta| skewed("read-only", theta)),
    },
    Experiment {
        id: "000-5.8c",
        paper: Paper::CoroBase,
        section: "5.7",
        figure: "figure 5.8 (c)",
        title: "blind writes of few hot records",
        x: THETA,
        series: WRITERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "Conflicts, not misses, bound writers of hot records, and interleaving only adds \
                  to them.",
        published: &[Published {
            of: COROBASE,
            by: ERMIA,
            value: Value::Below(1.0),
            at: At::Last,
            setting: "high skew, 96 hyperthreads; section 5.7",
        }],
        differences: "The paper runs 96 hyperthreads; here one worker has no conflicts but those \
                      of its own transactions with each other.",
        asks: Asks::Ycsb(|theta| skewed("update-only", theta)),
    },
    Experiment {
        id: "000-5.8d",
        paper: Paper::CoroBase,
        section: "5.7",
        figure: "figure 5.8 (d)",
        title: "read-modify-writes of few hot records",
        x: THETA,
        series: WRITERS,
        quantity: Quantity::Operations,
        relative: false,
        finding: "As blind writes of few hot records.",
        published: &[Published {
            of: COROBASE,
            by: ERMIA,
            value: Value::Below(1.0),
            at: At::Last,
            setting: "high skew, 96 hyperthreads; section 5.7",
        }],
        differences: "The paper runs 96 hyperthreads. Our transactions have two read-modify-writes \
                      and eight reads.",
        asks: Asks::Ycsb(|theta| skewed("rmw", theta)),
    },
];
