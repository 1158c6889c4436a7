//! Indexes that are built and maintained in the middle of everything: they agree with
//! their tables in the end, and no history shows that they are there.

use crate::seeds;

use seeds::survive;
use sim::{Faults, Parameters};

const SEEDS: u64 = 120;

fn preset(name: &str) -> Parameters {
    Parameters::preset(name).expect("it is a preset")
}

#[test]
fn indexes_are_built_beside_transactions() {
    let report = survive(
        SEEDS,
        &Parameters {
            faults: Faults::NONE,
            ..preset("indexes")
        },
    );
    // Compared once at the end, and once more when everything was deleted.
    assert_eq!(report.indexes, SEEDS * 4 * 2);
    assert!(report.index_entries > SEEDS * 100);
    assert!(report.snapshots_compared > SEEDS);
}

#[test]
fn indexes_survive_all_faults() {
    let report = survive(SEEDS * 2, &preset("indexes"));
    assert!(report.indexes > SEEDS, "{} indexes", report.indexes);
    assert!(report.panics > SEEDS && report.abandoned > SEEDS);
    assert!(report.snapshots_compared > SEEDS / 2);
}

/// A waiting write is one of several of its operation, over which it has claimed some
/// entries already.
#[test]
fn indexes_survive_writers_that_wait() {
    let report = survive(SEEDS, &preset("indexes-waiting"));
    assert!(report.indexes > SEEDS / 2, "{} indexes", report.indexes);
    assert!(report.deadlocks > 0, "nobody waited");
}

#[test]
fn indexes_survive_exhausted_memory() {
    let report = survive(
        SEEDS,
        &Parameters {
            memory_bytes_max: preset("scarce").memory_bytes_max,
            ..preset("indexes")
        },
    );
    assert!(report.exhausted > SEEDS / 10, "memory was not scarce");
}
