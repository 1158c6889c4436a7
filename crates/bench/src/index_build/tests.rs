use super::*;
use crate::report::Format;

fn settings(unique: bool) -> Settings {
    Settings {
        records: 5000,
        value_bytes: 8,
        update_share: 0.5,
        operations: 4,
        unique,
        workers: 2,
        in_flight: InFlight::Fixed(8),
        isolation: Isolation::Serializable,
        seconds: 0.01,
        repeats: 2,
    }
}

#[test]
fn an_index_built_under_updates_agrees_with_its_table() {
    for unique in [false, true] {
        let result = measure(&settings(unique), &Progress::hidden()).unwrap();
        assert!(result.verified, "{result:?}");
        assert!(result.during.min > 0.0 && result.records_per_second.min > 0.0);
        for format in [Format::Table, Format::Csv, Format::Json] {
            assert!(report(format, &result).unwrap().contains("before"));
        }
    }
}

#[test]
fn shares_out_of_range_are_refused() {
    let settings = Settings {
        update_share: 1.5,
        ..settings(false)
    };
    let error = measure(&settings, &Progress::hidden()).unwrap_err();
    assert!(error.to_string().contains("--update-share 1.5"), "{error}");
}
