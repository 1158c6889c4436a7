//! Indexes that are built and maintained in the middle of everything: they are their
//! tables' in the end, and no history shows that they are there.

#[path = "common/seeds.rs"]
mod seeds;

use seeds::survive;
use sim::{Faults, Parameters};

const SEEDS: u64 = 120;

/// Without operations of one transaction at once: a read that overlaps with a write of
/// its own transaction may see it and then find it taken back, which checkers of
/// histories cannot tell from a lost write.
fn with_indexes(preset: &str) -> Parameters {
    let preset = Parameters::preset(preset).expect("it is a preset");
    Parameters {
        indexes: 4,
        presence_keys: 30,
        faults: Faults {
            join: 0,
            ..preset.faults
        },
        ..preset
    }
}

#[test]
fn indexes_are_built_beside_transactions() {
    let report = survive(SEEDS, &with_indexes("mixed"));
    // Compared once at the end, and once more when everything was deleted.
    assert_eq!(report.indexes, SEEDS * 4 * 2);
    assert!(report.index_entries > SEEDS * 100);
}

#[test]
fn indexes_survive_all_faults() {
    let report = survive(SEEDS * 2, &with_indexes("faults"));
    assert!(report.indexes > SEEDS, "{} indexes", report.indexes);
    assert!(report.panics > SEEDS && report.abandoned > SEEDS);
}

#[test]
fn indexes_survive_exhausted_memory() {
    let report = survive(SEEDS, &with_indexes("scarce"));
    assert!(report.exhausted > SEEDS / 10, "memory was not scarce");
}
