//! Databases that keep to a level, and databases that do not, under many
//! seeds.

use super::{
    model::{Kind, Mix, run},
    must_satisfy,
};
use crate::{Anomaly, Isolation, Level, Verdict, check};

const SEEDS: u64 = 60;

fn all_satisfy(kind: Kind, level: Level) {
    for seed in 0..SEEDS {
        must_satisfy(&run(kind, Mix::ALL, seed), level);
    }
}

/// Counts the seeds that show a wanted anomaly.
fn seen(kind: Kind, wanted: impl Fn(&Verdict) -> bool) -> u64 {
    let seeds = 0..SEEDS;
    seeds
        .filter(|&seed| wanted(&check(&run(kind, Mix::ALL, seed))))
        .count() as u64
}

fn names(name: &'static str) -> impl Fn(&Verdict) -> bool {
    move |verdict| verdict.found.keys().any(|anomaly| anomaly.name() == name)
}

#[test]
fn serial_executions_are_strictly_serializable() {
    let alone = Mix {
        open: 1,
        ..Mix::ALL
    };
    for seed in 0..SEEDS {
        for kind in [Kind::Serializable, Kind::Snapshot, Kind::ReadCommitted] {
            must_satisfy(
                &run(kind, alone, seed),
                Level::strict(Isolation::Serializable),
            );
        }
    }
}

#[test]
fn validation_is_strictly_serializable() {
    all_satisfy(Kind::Serializable, Level::strict(Isolation::Serializable));
}

#[test]
fn snapshots_allow_write_skew_and_phantoms_only() {
    all_satisfy(Kind::Snapshot, Level::strict(Isolation::Snapshot));
    for name in ["G2-item", "G2"] {
        assert!(seen(Kind::Snapshot, names(name)) > SEEDS / 4, "{name}");
    }
}

#[test]
fn read_committed_allows_skew_and_lost_updates() {
    all_satisfy(Kind::ReadCommitted, Level::strict(Isolation::ReadCommitted));
    for name in ["G-single", "P4", "G2-item"] {
        assert!(seen(Kind::ReadCommitted, names(name)) > SEEDS / 4, "{name}");
    }
}

#[test]
fn bad_databases_are_found() {
    for (kind, name) in [
        (Kind::LosesUpdates, "P4"),
        (Kind::ReadsDirty, "G1a"),
        (Kind::ReadsDirty, "G1b"),
        (Kind::ReadsStale, "G-single-realtime"),
        (Kind::ForgetsPhantoms, "G2"),
    ] {
        assert!(seen(kind, names(name)) > SEEDS / 4, "{kind:?}: {name}");
    }
    let forbidden = |kind, level: Level| seen(kind, move |verdict| !verdict.satisfies(level));
    let snapshot = Level::of(Isolation::Snapshot);
    assert!(forbidden(Kind::LosesUpdates, snapshot) > SEEDS / 2);
    let serializable = Level::of(Isolation::Serializable);
    assert!(forbidden(Kind::ForgetsPhantoms, serializable) > SEEDS / 4);
}

#[test]
fn a_check_is_the_same_whenever_it_is_made() {
    for seed in 0..8 {
        let history = run(Kind::ReadsDirty, Mix::ALL, seed);
        let explained = || -> Vec<(Anomaly, u64, String)> {
            let found = check(&history).found;
            let all = found.into_iter();
            all.map(|(anomaly, it)| (anomaly, it.count, it.examples[0].explain(&history)))
                .collect()
        };
        assert_eq!(explained(), explained());
    }
}
