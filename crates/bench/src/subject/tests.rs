//! The engine itself under the driver, for a moment.

use super::*;
use crate::measure::{Certifier, InFlight, Isolation};
use crate::mode::Mode;
use crate::plan::{Options, tests::asking};
use crate::runner::{self, Outcome};
use commands::progress::Progress;

fn measured(options: Options) -> Outcome {
    let plan = options.plan().unwrap();
    let mut subject = weft_subject(&plan).unwrap();
    runner::run(&mut subject, &plan, &Progress::hidden()).unwrap()
}

#[test]
fn levels_and_certifiers_are_compared_in_one_run() {
    let outcome = measured(Options {
        records: Some(300),
        distribution: Some("zipfian".to_owned()),
        theta: Some(0.9),
        ..asking("rmw", |it| {
            it.workers = 2;
            it.in_flight = InFlight::Fixed(16);
            it.modes = vec![Mode::Sequential, Mode::Interleaved];
            it.isolations = Isolation::ALL.to_vec();
            it.certifiers = Certifier::ALL.to_vec();
            it.repeats = 1;
        })
    });
    assert!(outcome.verified());
    assert_eq!(outcome.summaries.len(), 2 * 4);
    for summary in &outcome.summaries {
        let median = &summary.median;
        assert_eq!(
            summary.times_snapshot.is_some(),
            median.isolation != Isolation::Snapshot
        );
        let reasons: u64 = median.aborts_by_reason.each().iter().sum();
        assert_eq!(reasons, median.aborts, "{median:?}");
    }
    // With sixteen transactions on a few hundred records, some read records that others overwrite.
    let certified = |summary: &&crate::measure::Summary| {
        let median = &summary.median;
        median.isolation == Isolation::Serializable && median.mode == Mode::Interleaved
    };
    for summary in outcome.summaries.iter().filter(certified) {
        assert!(summary.median.aborts > 0, "{:?}", summary.median);
    }
}

#[test]
fn indexes_agree_with_their_table_after_every_kind_of_write() {
    for workload in ["insert", "rmw", "update-only"] {
        let outcome = measured(Options {
            records: Some(500),
            unique_indexes: 3,
            secondary_indexes: 2,
            ..asking(workload, |it| {
                it.workers = 2;
                it.in_flight = InFlight::Fixed(8);
                it.modes = vec![Mode::Sequential, Mode::Interleaved];
                it.repeats = 2;
            })
        });
        assert!(outcome.verified(), "{workload}");
        let median = &outcome.summaries[0].median;
        let shape = median.shape.unwrap();
        assert_eq!((shape.unique_indexes, shape.secondary_indexes), (3, 2));
    }
}

#[test]
fn declared_readers_never_abort() {
    let outcome = measured(Options {
        records: Some(100),
        operations: Some(2),
        ..asking("read-only", |it| {
            it.workers = 2;
            it.isolations = vec![Isolation::Serializable];
            it.declare_read_only = true;
            it.modes = vec![Mode::Interleaved];
        })
    });
    assert!(outcome.verified());
    assert_eq!(outcome.summaries[0].median.aborts, 0);
    assert!(outcome.summaries[0].median.read_only_declared);
}

#[test]
fn workers_parts_are_added() {
    let part = |transactions, in_flight: f64, seconds| RawRun {
        transactions,
        operations: transactions * 10,
        elapsed: Duration::from_secs(seconds),
        lines_touched: Some(transactions * 100),
        in_flight: Some(in_flight),
        extra: [("waits".to_owned(), in_flight)].into(),
        ..RawRun::default()
    };
    let mut whole = RawRun::default();
    whole.merge(&part(100, 8.0, 1));
    whole.merge(&part(300, 16.0, 2));
    assert_eq!((whole.transactions, whole.operations), (400, 4000));
    assert_eq!(whole.lines_touched, Some(40_000));
    assert_eq!(whole.in_flight, Some(14.0));
    assert_eq!(whole.extra["waits"], 14.0);
    assert_eq!(whole.elapsed, Duration::from_secs(2));
}

/// Lookups in the index alone are checked as reads are, and a lookup of an absent key finds
/// nothing.
#[test]
fn probes_find_every_key_and_say_what_they_do_not_find() {
    let probe = |loaded: u64, asked: u64| {
        let plan = |records| {
            let options = Options {
                records: Some(records),
                ..asking("read-only", |it| {
                    it.workers = 2;
                    it.modes = Mode::PROBES.to_vec();
                    it.repeats = 1;
                })
            };
            options.plan().unwrap()
        };
        let progress = Progress::hidden();
        let mut subject = index_subject(&plan(loaded)).unwrap();
        runner::load(&mut subject, &plan(loaded), &progress).unwrap();
        runner::measure(&mut subject, &plan(asked), &progress).unwrap()
    };
    let outcome = probe(30_001, 30_001);
    assert!(outcome.verified());
    assert_eq!(outcome.summaries.len(), Mode::PROBES.len());
    for summary in probe(1_000, 2_000).summaries {
        assert!(!summary.median.verified, "{:?}", summary.median);
    }
}
