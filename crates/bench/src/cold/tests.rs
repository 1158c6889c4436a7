use super::*;
use crate::place::Place;
use crate::report::Format;

/// Small ones that change half of what they read.
pub(crate) fn settings() -> Settings {
    Settings {
        hot_records: 3000,
        cold_records: 2000,
        value: ValueShape::new(20).unwrap(),
        reads_hot: 8,
        reads_cold: 2,
        read_only_percent: 50.0,
        durability: Durability::None,
        schedulers: Scheduler::ALL.to_vec(),
        storage_bound_percents: vec![0.0, 20.0, 100.0],
        in_flights: vec![InFlight::Auto],
        cold_clients: vec![16],
        workers: 2,
        duration: Duration::from_millis(20),
        repeats: 2,
        seed: 1,
    }
}

fn measured(settings: &Settings) -> Vec<Cold> {
    let place = tempfile::tempdir().unwrap();
    let place = Place::make(place.path()).unwrap();
    let options = Options {
        memory_bytes_max: Some(256 << 20),
        ..place.options()
    };
    measure(settings, options, &Progress::hidden()).unwrap()
}

#[test]
fn both_kinds_commit_as_they_are_offered_and_every_value_is_right() {
    let results = measured(&settings());
    assert_eq!(results.len(), 6);
    for result in &results {
        assert!(result.verified, "{result:?}");
        let percent = result.storage_bound_percent;
        assert_eq!(result.hot_transactions_per_second > 0.0, percent < 100.0);
        assert_eq!(result.cold_transactions_per_second > 0.0, percent > 0.0);
        // Only who asks for cold records has them read.
        assert_eq!(result.device_iops > 0.0, percent > 0.0, "{result:?}");
        assert!(result.device_iops_limit > 0.0);
        if let Some(reads) = result.device_reads_per_cold_access {
            assert!(reads > 0.0 && reads <= 1.0, "{result:?}");
        }
        assert!(result.hot_times_in_memory.is_some() && result.times_sequential.is_some());
    }
    for format in [Format::Table, Format::Csv, Format::Json] {
        let text = report(format, &results).unwrap();
        assert!(text.contains("sequential") && text.contains("auto"));
    }
    let drawn = chart("cold", &results).unwrap();
    assert!(drawn.contains("auto, storage-bound"));
}

#[test]
fn numbers_under_way_are_compared_where_they_make_a_difference() {
    let settings = Settings {
        in_flights: vec![InFlight::Auto, InFlight::Fixed(8)],
        cold_clients: vec![4, 16],
        storage_bound_percents: vec![10.0],
        ..settings()
    };
    let schedulers: Vec<_> = settings
        .variations()
        .iter()
        .map(|one| one.scheduler.name())
        .collect();
    assert_eq!(schedulers, ["sequential", "auto", "auto", "auto", "auto"]);
}

#[test]
fn what_cannot_be_measured_is_refused_by_name() {
    let refused = [
        (
            Settings {
                hot_records: 0,
                ..settings()
            },
            "--hot-records",
        ),
        (
            Settings {
                reads_cold: 0,
                ..settings()
            },
            "--reads-cold",
        ),
        (
            Settings {
                cold_records: 1,
                ..settings()
            },
            "--cold-records 1",
        ),
    ];
    for (settings, named) in refused {
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    let error = "fifo".parse::<Scheduler>().unwrap_err().to_string();
    assert!(
        error.contains("fifo") && error.contains("sequential"),
        "{error}"
    );
}
