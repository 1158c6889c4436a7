//! Options are checked when a database is opened, and wrong ones are named.

use weft::{Database, Error, InFlight, Options};

fn refused(options: Options) -> &'static str {
    match Database::open(options) {
        Err(Error::InvalidOption(invalid)) => {
            let text = invalid.to_string();
            assert!(text.contains(invalid.field), "{text}");
            assert!(text.contains(&invalid.value), "{text}");
            assert!(text.contains(&invalid.range), "{text}");
            invalid.field
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let options = Options::default;
    assert_eq!(
        refused(Options {
            workers: 0,
            ..options()
        }),
        "workers"
    );
    assert_eq!(
        refused(Options {
            workers: 1025,
            ..options()
        }),
        "workers"
    );
    assert_eq!(
        refused(Options {
            memory_bytes_max: Some(1000),
            ..options()
        }),
        "memory_bytes_max"
    );
    let directory = tempfile::tempdir().unwrap();
    // The limit would suffice for records alone.
    assert_eq!(
        refused(Options {
            data_dir: Some(directory.path().join("never made")),
            memory_bytes_max: Some(1 << 20),
            ..options()
        }),
        "memory_bytes_max"
    );
    for in_flight in [InFlight::Fixed(0), InFlight::Fixed(1025)] {
        assert_eq!(
            refused(Options {
                in_flight,
                ..options()
            }),
            "in_flight"
        );
    }
    for open_transactions_max in [0, 65_537] {
        assert_eq!(
            refused(Options {
                open_transactions_max,
                ..options()
            }),
            "open_transactions_max"
        );
    }
}

#[test]
fn the_defaults_open() {
    let options = Options::default();
    assert!(options.workers >= 1);
    assert!(options.memory_bytes_effective() >= 1 << 20);
    let db = Database::open(options).unwrap();
    assert!(db.stats().to_string().contains("committed"));
    assert!(db.memory().limit_bytes > 0);
}
