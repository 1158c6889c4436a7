//! Snapshot isolation holds on simulated workers, and bugs against it are seen.

use crate::seeds;

use seeds::survive;
use sim::{Parameters, Planted, Reason};

const SEEDS: u64 = 300;

#[test]
fn histories_are_those_of_snapshots() {
    let report = survive(SEEDS, &Parameters::default());
    assert!(report.write_conflicts > 0 && report.snapshots_too_old > 0);
}

#[test]
fn contention_on_few_records_is_survived() {
    let parameters = Parameters {
        lists: 1,
        accounts: 2,
        presence_keys: 6,
        registers: 1,
        transactions: 100,
        ..Parameters::default()
    };
    survive(SEEDS / 2, &parameters);
}

#[test]
fn many_keys_make_deep_indexes() {
    let parameters = Parameters {
        presence_keys: 1500,
        mix: [0, 0, 1, 0, 0],
        ..Parameters::default()
    };
    survive(SEEDS / 10, &parameters);
}

#[test]
fn a_run_is_the_same_whenever_it_is_run() {
    for seed in 1..=5 {
        let once = sim::run(seed, &Parameters::default());
        assert_eq!(once, sim::run(seed, &Parameters::default()), "seed {seed}");
    }
}

/// Returns the failure of the first of twenty seeds that shows the bug.
fn found(planted: Planted) -> Reason {
    let parameters = Parameters {
        planted: Some(planted),
        ..Parameters::default()
    };
    (1..=20)
        .find_map(|seed| sim::run(seed, &parameters).err())
        .unwrap_or_else(|| panic!("nobody found {planted:?}"))
        .reason
}

#[test]
fn planted_bugs_are_found() {
    for planted in [
        Planted::LateRead,
        Planted::DropWrite,
        Planted::SwapCommits,
        Planted::AgeSnapshot,
    ] {
        let reason = found(planted);
        assert!(
            matches!(reason, Reason::Violation(_)),
            "{planted:?} gave {reason}"
        );
    }
}

#[test]
fn a_record_that_no_history_knows_is_found() {
    assert!(matches!(found(Planted::HiddenRecord), Reason::Memory(_)));
}

#[test]
fn a_failure_says_how_to_see_it_again() {
    let parameters = Parameters {
        planted: Some(Planted::HiddenRecord),
        ..Parameters::default()
    };
    let failure = sim::run(7, &parameters).expect_err("a bug was planted");
    let text = failure.to_string();
    assert!(
        text.contains("seed 7") && text.contains("HiddenRecord"),
        "{text}"
    );
}
