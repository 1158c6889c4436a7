use super::*;
use crate::report::Format;

#[test]
fn every_commit_is_counted_whatever_writers_do_when_they_meet() {
    let settings = Settings {
        writers: 3,
        workers: 2,
        on_conflict: ConflictPolicy::ALL.to_vec(),
        isolations: Isolation::ALL.to_vec(),
        duration: Duration::from_millis(10),
        repeats: 2,
    };
    let results = measure(&settings, &Progress::hidden()).unwrap();
    assert_eq!(results.len(), 6);
    for result in &results {
        assert!(result.verified, "{result:?}");
        assert!(result.fairness.min > 0.0 && result.fairness.max <= 1.0);
        let attempts_max = match (result.on_conflict, result.isolation) {
            (ConflictPolicy::Abort, _) => continue,
            // The transaction goes on with the new version.
            (ConflictPolicy::Wait, Isolation::ReadCommitted) => 1,
            // The retry locks the record before it takes its snapshot.
            (ConflictPolicy::Wait, _) => 2,
        };
        assert!(result.attempts_max <= attempts_max, "{result:?}");
    }
    for format in [Format::Table, Format::Csv, Format::Json] {
        assert!(report(format, &results).unwrap().contains("wait"));
    }
}

#[test]
fn unknown_policies_are_refused() {
    let error = "sleep".parse::<ConflictPolicy>().unwrap_err().to_string();
    assert!(
        error.contains("sleep") && error.contains("abort"),
        "{error}"
    );
}
