//! The engine itself under the driver, for a moment.

use super::*;
use crate::measure::{Certifier, InFlight, Isolation};
use crate::mode::Mode;
use crate::plan::{Options, tests::options};
use crate::progress::Progress;
use crate::runner::{self, Outcome};

fn measured(options: Options) -> Outcome {
    let plan = options.plan().unwrap();
    let mut subject = weft_subject(&plan).unwrap();
    runner::run(&mut subject, &plan, &Progress::hidden()).unwrap()
}

#[test]
fn levels_and_certifiers_are_compared_in_one_run() {
    let outcome = measured(Options {
        records: Some(300),
        workers: 2,
        in_flight: InFlight::Fixed(16),
        modes: vec![Mode::Sequential, Mode::Interleaved],
        isolations: Isolation::ALL.to_vec(),
        certifiers: Certifier::ALL.to_vec(),
        distribution: Some("zipfian".to_owned()),
        theta: Some(0.9),
        repeats: 1,
        ..options("rmw")
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
    // Sixteen transactions on a few hundred records: some read what others overwrite.
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
            workers: 2,
            in_flight: InFlight::Fixed(8),
            modes: vec![Mode::Sequential, Mode::Interleaved],
            unique_indexes: 3,
            secondary_indexes: 2,
            repeats: 2,
            ..options(workload)
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
        workers: 2,
        isolations: vec![Isolation::Serializable],
        declare_read_only: true,
        modes: vec![Mode::Interleaved],
        ..options("read-only")
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
