use super::*;
use crate::measure::{Certifier, Isolation};

/// Returns a small request that is right in every respect.
pub(crate) fn options(workload: &str) -> Options {
    Options {
        records: Some(1000),
        asked: Asked {
            seconds: 0.01,
            ..Asked::default()
        },
        ..Options::of(Workload::named_or_file(workload).unwrap())
    }
}

/// Returns a small request, with its comparison changed by `ask`.
pub(crate) fn asking(workload: &str, ask: impl FnOnce(&mut Asked)) -> Options {
    let mut options = options(workload);
    ask(&mut options.asked);
    options
}

fn refusal(change: impl FnOnce(&mut Options)) -> String {
    let mut options = options("read-only");
    change(&mut options);
    options.plan().unwrap_err().to_string()
}

#[test]
fn the_workload_says_what_the_request_leaves_open() {
    let plan = options("read-only").plan().unwrap();
    assert_eq!(plan.operations_per_transaction, 10);
    assert_eq!(plan.value.bytes(), 8);
    assert_eq!(plan.comparison.modes, Mode::ALL);
    let plan = Options {
        records: None,
        ..options("read-only")
    }
    .plan()
    .unwrap();
    assert!((1000..=RECORDS_DEFAULT).contains(&plan.records));
}

#[test]
fn the_request_overrides_the_workload() {
    let plan = Options {
        operations: Some(3),
        distribution: Some("latest".to_owned()),
        theta: Some(0.5),
        scan_length: Some(7),
        ..options("e")
    };
    let plan = plan.plan().unwrap();
    assert_eq!(plan.operations_per_transaction, 3);
    assert_eq!(
        plan.workload.distribution,
        Distribution::Latest { theta: 0.5 }
    );
    assert_eq!(plan.workload.scan_length.max, 7);
    let plan = Options {
        theta: Some(1.2),
        ..options("a")
    }
    .plan()
    .unwrap();
    assert_eq!(
        plan.workload.distribution,
        Distribution::Scrambled { theta: 1.2 }
    );
}

#[test]
fn multiget_modes_are_skipped_with_a_note_when_there_are_no_reads() {
    let plan = options("update-only").plan().unwrap();
    assert!(plan.comparison.modes.iter().all(|mode| !mode.needs_reads()));
    assert_eq!(plan.comparison.modes.len(), 4);
    let skipped = ["amac-multiget", "coroutine-multiget", "hybrid"];
    assert_eq!(plan.notes.len(), skipped.len());
    for (note, mode) in plan.notes.iter().zip(skipped) {
        assert!(note.contains(mode), "{note}");
    }
    let only = asking("scan", |it| it.modes = vec![Mode::AmacMultiget]);
    assert!(
        only.plan()
            .unwrap_err()
            .to_string()
            .contains("no mode is left")
    );
}

#[test]
fn modes_run_once_each_in_canonical_order() {
    let modes = vec![Mode::Interleaved, Mode::Sequential, Mode::Interleaved];
    let plan = asking("a", |it| it.modes = modes).plan().unwrap();
    assert_eq!(plan.comparison.modes, [Mode::Sequential, Mode::Interleaved]);
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    for (error, words) in [
        (refusal(|it| it.key_bytes = 7), "keys of 7 bytes"),
        (refusal(|it| it.value_bytes = Some(0)), "values of 0 bytes"),
        (refusal(|it| it.operations = Some(0)), "--operations 0"),
        (refusal(|it| it.asked.workers = 0), "--workers 0"),
        (refusal(|it| it.asked.repeats = 0), "--repeats 0"),
        (refusal(|it| it.asked.seconds = 0.0), "--seconds 0"),
        (refusal(|it| it.asked.seconds = f64::NAN), "--seconds NaN"),
        (refusal(|it| it.records = Some(0)), "--records 0"),
        (refusal(|it| it.records = Some(u64::MAX)), "do not fit"),
        (refusal(|it| it.scan_length = Some(0)), "--scan-length 0"),
        (refusal(|it| it.theta = Some(0.9)), "--theta"),
        (
            refusal(|it| it.distribution = Some("pareto".to_owned())),
            "pareto",
        ),
    ] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_scan_length_without_scans_is_noted() {
    let plan = Options {
        scan_length: Some(10),
        ..options("read-only")
    }
    .plan()
    .unwrap();
    assert!(plan.notes[0].contains("no scans"), "{:?}", plan.notes);
}

#[test]
fn default_records_follow_the_memory() {
    assert_eq!(records_that_fit(Some(64 << 30), 8, 8), RECORDS_DEFAULT);
    assert_eq!(records_that_fit(Some(1 << 30), 8, 8), 3_000_000);
    assert_eq!(records_that_fit(Some(1 << 30), 8, 1024), 240_000);
    assert_eq!(records_that_fit(Some(0), 8, 8), 1000);
    assert!(records_that_fit(None, 8, 8) <= RECORDS_DEFAULT);
}

#[test]
fn the_description_names_what_matters() {
    let text = options("a").plan().unwrap().description();
    for word in [
        "YCSB a",
        "1,000 records",
        "scrambled 0.99",
        "1 operation per",
        "1 worker,",
    ] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn levels_and_certifiers_are_compared_each_once() {
    let plan = asking("rmw", |it| {
        it.isolations = vec![
            Isolation::Serializable,
            Isolation::Snapshot,
            Isolation::Snapshot,
        ];
        it.certifiers = vec![Certifier::Validation, Certifier::Ssn];
        it.modes = vec![Mode::Interleaved];
    });
    let plan = plan.plan().unwrap();
    let compared: Vec<_> = plan
        .comparison
        .variants()
        .iter()
        .map(|variant| (variant.isolation, variant.certifier))
        .collect();
    assert_eq!(
        compared,
        [
            (Isolation::Serializable, Some(Certifier::Validation)),
            (Isolation::Serializable, Some(Certifier::Ssn)),
            (Isolation::Snapshot, None),
        ]
    );
    let plan = asking("rmw", |it| it.certifiers = vec![Certifier::Validation]);
    let plan = plan.plan().unwrap();
    assert_eq!(plan.comparison.isolations, [Isolation::Snapshot]);
    assert!(plan.notes[0].contains("--certifier"), "{:?}", plan.notes);
}
