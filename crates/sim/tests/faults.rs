//! Panics, cancellations, dying workers, parked transactions, operations given up
//! or run at once, exhausted memory: no other transaction is affected, nothing is
//! lost.

use crate::seeds;

use seeds::survive;
use sim::{Faults, Parameters};

const SEEDS: u64 = 250;

#[test]
fn all_faults_are_survived() {
    let parameters = Parameters::preset("faults").expect("it is a preset");
    let report = survive(SEEDS, &parameters);
    for (what, times) in [
        ("panics", report.panics),
        ("cancellations", report.cancelled),
        ("restarts", report.restarts),
        ("rollbacks", report.rolled_back),
        ("abandoned writes", report.abandoned),
        ("joined operations", report.joined),
    ] {
        assert!(times > SEEDS / 10, "only {times} {what}");
    }
}

#[test]
fn exhausted_memory_is_survived() {
    let parameters = Parameters::preset("scarce").expect("it is a preset");
    let report = survive(SEEDS, &parameters);
    assert!(report.exhausted > SEEDS / 10, "memory was not scarce");
}

#[test]
fn parked_snapshots_keep_what_they_see() {
    let parameters = Parameters {
        faults: Faults {
            park: 400,
            ..Faults::NONE
        },
        presence_keys: 30,
        ..Parameters::default()
    };
    survive(SEEDS / 2, &parameters);
}

#[test]
fn operations_of_one_transaction_at_once() {
    let parameters = Parameters {
        faults: Faults {
            join: 700,
            abandon: 200,
            ..Faults::NONE
        },
        presence_keys: 12,
        ..Parameters::default()
    };
    survive(SEEDS / 2, &parameters);
}

/// Each of these points must be passed by some seed; a name that vanishes here
/// means that a suspension point was renamed or that no workload passes it any
/// more.
#[test]
fn suspension_points_are_reached() {
    let parameters = Parameters::preset("faults").expect("it is a preset");
    let points = survive(20, &parameters).points;
    for point in [
        "engine: slot",
        "engine: version",
        "engine: older version",
        "engine: head to replace",
        "engine: slots of a batch",
        "engine: versions of a batch",
        "yield",
    ] {
        assert!(points.contains_key(point), "{point} in {points:?}");
    }
    assert!(points.keys().any(|point| point.starts_with("index")));
}
