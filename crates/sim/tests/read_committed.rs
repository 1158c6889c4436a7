//! Read committed holds on simulated workers, alone and beside snapshots.

use crate::seeds;

use seeds::survive;
use sim::{Levels, Parameters, Planted, Reason};

const SEEDS: u64 = 250;

#[test]
fn operations_see_what_was_committed_when_they_began() {
    let parameters = Parameters::preset("read-committed").expect("it is a preset");
    let report = survive(SEEDS, &parameters);
    assert!(report.write_conflicts > 0);
    assert_eq!(report.snapshots_too_old, 0, "nobody has a snapshot");
}

#[test]
fn both_levels_live_side_by_side() {
    let parameters = Parameters::preset("mixed").expect("it is a preset");
    survive(SEEDS, &parameters);
}

#[test]
fn lost_writes_are_found_without_snapshots() {
    let parameters = Parameters {
        levels: Levels::ReadCommitted,
        planted: Some(Planted::DropWrite),
        ..Parameters::default()
    };
    let failure = (1..=20).find_map(|seed| sim::run(seed, &parameters).err());
    let reason = failure.expect("writes are lost").reason;
    assert!(matches!(reason, Reason::Violation(_)), "{reason}");
}
