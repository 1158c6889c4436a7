//! Experiments with TPC-C and its variants: section 5.8.

use super::*;

/// Experiments in the order of the paper.
pub(super) const TPCC: &[Experiment] = &[
    Experiment {
        id: "000-t5.1",
        paper: Paper::CoroBase,
        section: "5.8",
        figure: "table 5.1",
        title: "TPC-C",
        x: WORKERS,
        series: TRANSACTIONS,
        quantity: Quantity::Transactions,
        relative: false,
        finding: "TPC-C writes much and finds much in caches: interleaving gains nothing, batches \
                  within a transaction a little.",
        published: &[
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::About(1.0),
                at: At::Every,
                setting: "48 threads without hyperthreads; table 5.1",
            },
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::About(0.97),
                at: At::Every,
                setting: "96 hyperthreads; table 5.1",
            },
            Published {
                of: HYBRID,
                by: ERMIA,
                value: Value::About(1.13),
                at: At::Every,
                setting: "48 threads without hyperthreads; table 5.1",
            },
            Published {
                of: HYBRID,
                by: ERMIA,
                value: Value::About(1.0),
                at: At::Every,
                setting: "96 hyperthreads; table 5.1",
            },
        ],
        differences: WAREHOUSES,
        asks: Asks::Tpcc(|workers| tpcc(Mix::Tpcc, workers)),
    },
    Experiment {
        id: "000-5.10",
        paper: Paper::CoroBase,
        section: "5.8",
        figure: "figure 5.10",
        title: "TPC-CR: StockLevel and OrderStatus",
        x: WORKERS,
        series: TRANSACTIONS,
        quantity: Quantity::Transactions,
        relative: false,
        finding: "Where transactions only read, interleaving gains as long as hyperthreads do not \
                  hide the misses already.",
        published: &[
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::About(1.04),
                at: At::Every,
                setting: "96 hyperthreads; section 5.8",
            },
            Published {
                of: COROBASE,
                by: NAIVE,
                value: Value::UpTo(1.55),
                at: At::Greatest,
                setting: "with hyperthreads, 1.3 without; over what, the text does not say; \
                          section 5.8",
            },
            Published {
                of: HYBRID,
                by: COROBASE,
                value: Value::UpTo(1.08),
                at: At::Greatest,
                setting: "section 5.8",
            },
        ],
        differences: WAREHOUSES,
        asks: Asks::Tpcc(|workers| tpcc(Mix::TpccCr, workers)),
    },
    Experiment {
        id: "000-5.11a",
        paper: Paper::CoroBase,
        section: "5.8",
        figure: "figure 5.11 (left)",
        title: "TPC-CH: a tenth are queries over 100 suppliers",
        x: WORKERS,
        series: TRANSACTIONS,
        quantity: Quantity::Transactions,
        relative: false,
        finding: "The more is read, the more interleaving gains.",
        published: &[
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::UpTo(1.34),
                at: At::Greatest,
                setting: "48 threads; section 5.8",
            },
            Published {
                of: HYBRID,
                by: COROBASE,
                value: Value::UpTo(1.36),
                at: At::Greatest,
                setting: "section 5.8",
            },
        ],
        differences: QUERIES,
        asks: Asks::Tpcc(|workers| tpcc(Mix::TpccCh, workers)),
    },
    Experiment {
        id: "000-5.11b",
        paper: Paper::CoroBase,
        section: "5.8",
        figure: "figure 5.11 (right)",
        title: "TPC-CH by the size of its queries",
        x: Axis {
            name: "suppliers",
            title: "suppliers",
            values: &[10.0, 50.0, 100.0, 200.0],
        },
        series: TRANSACTIONS,
        quantity: Quantity::Transactions,
        relative: true,
        finding: "The more is read, the more interleaving gains.",
        published: &[
            Published {
                of: COROBASE,
                by: ERMIA,
                value: Value::Between(1.25, 1.39),
                at: At::Every,
                setting: "48 threads; section 5.8",
            },
            Published {
                of: COROBASE,
                by: NAIVE,
                value: Value::Between(1.37, 1.71),
                at: At::Every,
                setting: "48 threads; section 5.8",
            },
        ],
        differences: QUERIES,
        asks: Asks::Tpcc(|suppliers| {
            let asked = tpcc(Mix::TpccCh, 1.0);
            Tpcc {
                settings: Settings {
                    suppliers: suppliers as u32,
                    ..asked.settings
                },
                ..asked
            }
        }),
    },
];
