//! Made-up measurements for tests.

use crate::measure::{
    AbortReasons, Durability, InFlight, Isolation, LatencyNs, Measurement, Shape, summarise,
};
use crate::mode::Mode;
use crate::runner::Outcome;

/// Returns a measurement of `mode` with this number of operations per second.
pub(crate) fn measurement(mode: Mode, operations_per_second: f64) -> Measurement {
    Measurement {
        benchmark: "ycsb",
        workload: "read-only".to_owned(),
        mode,
        workers: 2,
        in_flight: InFlight::Auto,
        in_flight_effective: Some(16.0),
        shape: Some(Shape {
            records: 1000,
            operations_per_transaction: 10,
            key_bytes: 8,
            value_bytes: 8,
            distribution: "uniform",
            theta: None,
            unique_indexes: 0,
            secondary_indexes: 0,
        }),
        isolation: Isolation::Snapshot,
        certifier: None,
        read_only_declared: false,
        on_conflict: None,
        durability: Durability::Memory,
        flusher: None,
        seconds: 1.0,
        transactions_per_second: operations_per_second / 10.0,
        operations_per_second,
        latency_ns: LatencyNs {
            p50: 1_000,
            p99: 2_000,
            p999: 3_000,
        },
        aborts: 4,
        aborts_per_transaction: 0.02,
        aborts_by_reason: AbortReasons {
            write_conflict: 3,
            phantom: 1,
            ..AbortReasons::default()
        },
        verified: true,
        limit_lines_per_second: 60e6,
        lines_per_operation: Some(8.0),
        commit: None,
        kinds: Vec::new(),
        extra: Default::default(),
    }
}

/// Returns an outcome of two modes and three repeats.
pub(crate) fn outcome() -> Outcome {
    let repeats = [(1.0e6, 4.0e6), (1.1e6, 4.2e6), (0.9e6, 3.8e6)].map(|(slow, fast)| {
        vec![
            measurement(Mode::Sequential, slow),
            measurement(Mode::Interleaved, fast),
        ]
    });
    Outcome {
        summaries: summarise(&repeats),
        repeats: repeats.to_vec(),
    }
}
