//! Levels hold on threads, and the anomalies that they allow are seen to happen.

use std::time::Duration;

use histories::{Settings, Summary, Watch, run};
use isolation::{Isolation, Level};
use weft::{Certifier, OnConflict};

fn settings(isolation: Isolation) -> Settings {
    Settings {
        running: Duration::from_millis(700),
        isolation,
        ..Settings::default()
    }
}

/// Runs transactions, and panics with an explanation if their history has a forbidden anomaly.
#[track_caller]
fn must_hold(settings: &Settings) -> Summary {
    let summary = run(settings, &mut Watch::default()).expect("the run goes through");
    if let Some((anomaly, observed)) = summary.forbidden(settings.level()).next() {
        panic!(
            "{} of {anomaly}: {}",
            observed.count, observed.examples[0].0
        );
    }
    assert!(summary.committed > 100, "{} committed", summary.committed);
    summary
}

fn names(summary: &Summary) -> Vec<&'static str> {
    summary
        .observed
        .keys()
        .map(|anomaly| anomaly.name())
        .collect()
}

#[test]
fn read_committed_on_threads() {
    let summary = must_hold(&settings(Isolation::ReadCommitted));
    let found = names(&summary);
    assert!(
        found.contains(&"P4") && found.contains(&"G-single"),
        "{found:?}"
    );
}

#[test]
fn snapshots_on_threads() {
    let summary = must_hold(&settings(Isolation::Snapshot));
    let found = names(&summary);
    assert!(
        found.contains(&"G2-item") || found.contains(&"G2"),
        "{found:?}"
    );
}

#[test]
fn serializable_on_threads() {
    for certifier in [Certifier::Ssn, Certifier::Validation] {
        let settings = Settings {
            certifier,
            ..settings(Isolation::Serializable)
        };
        must_hold(&settings);
    }
}

#[test]
fn serializable_with_waits_and_locks() {
    let settings = Settings {
        on_conflict: OnConflict::Wait,
        locks: 500,
        undone: 100,
        ..settings(Isolation::Serializable)
    };
    must_hold(&settings);
}

#[test]
fn serializable_through_crashes() {
    let settings = Settings {
        crashes: 4,
        running: Duration::from_millis(1500),
        ..settings(Isolation::Serializable)
    };
    must_hold(&settings);
}

#[test]
fn snapshots_through_crashes() {
    let settings = Settings {
        crashes: 4,
        running: Duration::from_millis(1500),
        ..settings(Isolation::Snapshot)
    };
    let summary = must_hold(&settings);
    assert_eq!(summary.crashes, 4);
    assert!(!summary.unknown.is_empty(), "{:?}", summary.unknown);
}

#[test]
fn a_history_that_is_kept_is_judged_the_same() {
    let settings = Settings {
        keep_history: true,
        batch: 2000,
        ..settings(Isolation::Snapshot)
    };
    let summary = must_hold(&settings);
    let whole = isolation::check(&summary.history);
    assert_eq!(whole.transactions, summary.transactions);
    assert_eq!(whole.committed, summary.committed);
    assert!(whole.satisfies(Level::of(Isolation::Snapshot)));
}
