//! Serializable transactions of simulated workers, by both certifiers, before the checker
//! that looks for cycles.

use crate::seeds;

use seeds::survive;
use sim::{Parameters, Planted, Reason};

const SEEDS: u64 = 120;

#[test]
fn the_serial_safety_net_leaves_no_cycle() {
    let parameters = Parameters::preset("ssn").expect("it is a preset");
    assert!(survive(SEEDS, &parameters).committed > SEEDS * 20);
}

#[test]
fn validation_leaves_no_cycle() {
    let parameters = Parameters::preset("validation").expect("it is a preset");
    assert!(survive(SEEDS, &parameters).committed > SEEDS * 20);
}

#[test]
fn snapshots_leave_only_cycles_that_they_may() {
    let parameters = Parameters::preset("groups").expect("it is a preset");
    survive(SEEDS, &parameters);
}

/// A history that snapshots allow is not serializable: the checker finds it in the same
/// workload.
#[test]
fn snapshots_are_not_taken_for_serializable() {
    let parameters = Parameters {
        planted: Some(Planted::NotCertified),
        ..Parameters::preset("ssn").expect("it is a preset")
    };
    let failure = (1..=20).find_map(|seed| sim::run(seed, &parameters).err());
    match failure.expect("write skew happens").reason {
        Reason::Violation(violation) => assert!(violation.rule.starts_with("G2"), "{violation}"),
        reason => panic!("{reason}"),
    }
}

#[test]
fn planted_bugs_are_found() {
    for planted in [Planted::LateRead, Planted::DropWrite] {
        let parameters = Parameters {
            planted: Some(planted),
            ..Parameters::preset("ssn").expect("it is a preset")
        };
        let failure = (1..=20).find_map(|seed| sim::run(seed, &parameters).err());
        let reason = failure
            .unwrap_or_else(|| panic!("nobody found {planted:?}"))
            .reason;
        assert!(
            matches!(reason, Reason::Violation(_)),
            "{planted:?}: {reason}"
        );
    }
}
