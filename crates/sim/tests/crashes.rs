//! A database on a disk whose power fails: acknowledged commits survive, in order, and bugs against
//! that are seen.

use sim::{CrashParameters, Parameters, Planted, Reason, run_crashes, run_crashes_many};

const SEEDS: u64 = 250;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn crashes_lose_nothing_that_was_acknowledged() {
    let seeds = from_environment("WEFT_SIM_SEEDS").unwrap_or(SEEDS);
    let first = from_environment("WEFT_SIM_FIRST").unwrap_or(1);
    let parameters = CrashParameters::default();
    let mut report = run_crashes_many(first, seeds, 2, &parameters, |_, _| {})
        .unwrap_or_else(|failure| panic!("{failure}"));
    // A device may fail in a fourth of the rounds, and in most of these no call fails that matters: a
    // handful of 250 seeds end with a failed device, about as many as are asked for below, and every
    // changed schedule decides anew. Half as many runs more, in which the device of each round may
    // fail, settle it.
    let failing = CrashParameters {
        device_errors: 1000,
        ..parameters
    };
    let more = run_crashes_many(first, seeds / 2, 2, &failing, |_, _| {})
        .unwrap_or_else(|failure| panic!("{failure}"));
    report.merge(&more);
    for (what, times) in [
        ("crash points", report.crash_points / 10),
        ("acknowledged transactions", report.synchronous / 10),
        ("transactions in doubt", report.in_doubt),
        ("power failures halfway in a change", report.halfway),
        ("rounds closed in order", report.closed),
        ("interrupted loads", report.interrupted_loads),
        ("checkpoints", report.checkpoints),
        ("records that left memory", report.demoted / 5),
        ("records that came back", report.promoted / 2),
        ("versions that moved in memory", report.moved / 5),
        ("regions that became empty", report.emptied),
        ("operations without memory", report.exhausted * 2),
        ("backups", report.backups),
        ("tables", report.tables),
        ("followers", report.followers),
        ("indexes", report.indexes),
        ("attached indexes", report.attached),
        ("comparisons of indexes", report.compared),
        ("reads at shared snapshots", report.snapshots_compared),
        ("refusals without indexes", report.not_attached),
        ("refusals by unique indexes", report.duplicates),
        ("expired records", report.expired),
        ("records that have not expired", report.unexpired),
        ("followed transactions", report.followed / 10),
        ("late followers", report.not_kept * 5),
        ("tables in doubt", report.tables_in_doubt),
        ("failed devices", report.poisoned * 5),
        ("full disks", report.no_space),
        ("rotten disks that were refused", report.rot_refused),
        ("rotten disks without harm", report.rot_harmless),
    ] {
        assert!(times >= seeds / 10, "only {times} {what} in {report}");
    }
}

#[test]
fn a_run_is_the_same_whenever_it_is_run() {
    for seed in 1..=8 {
        let once = run_crashes(seed, &CrashParameters::default());
        let again = run_crashes(seed, &CrashParameters::default());
        assert_eq!(once, again, "seed {seed}");
    }
}

/// Returns the first seed that shows a bug, and its failure.
fn found(planted: Planted) -> (u64, Reason) {
    let default = CrashParameters::default();
    let parameters = CrashParameters {
        run: Parameters {
            planted: Some(planted),
            ..default.run
        },
        // Rotten data is refused, or lost.
        rot: 0,
        ..default
    };
    (1..=60)
        .find_map(|seed| Some((seed, run_crashes(seed, &parameters).err()?.reason)))
        .unwrap_or_else(|| panic!("nobody found {planted:?}"))
}

#[test]
fn a_skipped_sync_is_found() {
    let (seed, reason) = found(Planted::SkipSync);
    assert!(
        matches!(
            reason,
            Reason::Lost(_) | Reason::Refused(_) | Reason::Recovered(_)
        ),
        "seed {seed}: {reason}"
    );
}

#[test]
fn a_lost_sync_of_the_directory_is_found() {
    let (seed, reason) = found(Planted::LoseDirectorySync);
    assert!(
        matches!(
            reason,
            Reason::Lost(_) | Reason::Refused(_) | Reason::Recovered(_)
        ),
        "seed {seed}: {reason}"
    );
}

#[test]
fn a_skipped_checksum_is_found() {
    let (seed, reason) = found(Planted::SkipChecksum);
    assert!(
        matches!(
            reason,
            Reason::Lost(_) | Reason::Refused(_) | Reason::Recovered(_)
        ),
        "seed {seed}: {reason}"
    );
}

#[test]
fn an_early_acknowledgement_is_found() {
    let (seed, reason) = found(Planted::EarlyAcknowledgement);
    assert!(matches!(reason, Reason::Lost(_)), "seed {seed}: {reason}");
}

#[test]
fn changes_that_are_missed_or_repeated_are_found() {
    for planted in [Planted::ForgetChange, Planted::RepeatChange] {
        let (seed, reason) = found(planted);
        assert!(
            matches!(reason, Reason::Changes(_)),
            "seed {seed}: {reason}"
        );
    }
}

#[test]
fn an_index_without_a_maker_is_found() {
    let (seed, reason) = found(Planted::HiddenIndex);
    assert!(
        matches!(reason, Reason::Recovered(_) | Reason::Violation(_)),
        "seed {seed}: {reason}"
    );
}

#[test]
fn expired_records_that_come_back_are_found() {
    let (seed, reason) = found(Planted::LateClock);
    assert!(
        matches!(reason, Reason::Recovered(_)),
        "seed {seed}: {reason}"
    );
}

#[test]
fn a_failure_says_how_to_see_it_again() {
    let default = CrashParameters::default();
    let parameters = CrashParameters {
        run: Parameters {
            planted: Some(Planted::SkipSync),
            ..default.run
        },
        ..default
    };
    let failure = (1..=60).find_map(|seed| run_crashes(seed, &parameters).err());
    let text = failure.expect("a bug was planted").to_string();
    assert!(
        text.contains("seed ") && text.contains("SkipSync"),
        "{text}"
    );
}
