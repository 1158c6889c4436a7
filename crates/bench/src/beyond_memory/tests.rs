use super::*;
use crate::distribution::Distribution;
use crate::report::Format;
use crate::values::ValueShape;
use commands::Place;

fn settings() -> Settings {
    Settings {
        memory_bytes: 16 << 20,
        value: ValueShape::new(1000).unwrap(),
        // The smaller size is in memory soon.
        working_sets: vec![0.0625, 2.0],
        distribution: Distribution::Uniform,
        read_percent: 50.0,
        accesses: 4,
        durability: Durability::None,
        in_flight: InFlight::Auto,
        workers: 1,
        warm_up: Duration::from_millis(500),
        duration: Duration::from_millis(100),
        compares: true,
        repeats: 1,
        seed: 1,
    }
}

fn measured(settings: &Settings) -> Vec<BeyondMemory> {
    let place = tempfile::tempdir().unwrap();
    let place = Place::make(place.path()).unwrap();
    measure(
        settings,
        &crate::kept::without_checkpoints(place.path()),
        &Progress::hidden(),
    )
    .unwrap()
}

#[test]
fn every_size_is_measured_both_ways_and_every_value_is_right() {
    let settings = settings();
    let results = measured(&settings);
    assert_eq!(results.len(), 8);
    for result in &results {
        assert!(result.verified, "{result:?}");
        assert!(result.operations_per_second > 0.0);
        let operations = result.transactions_per_second * 4.0;
        assert!((result.operations_per_second / operations - 1.0).abs() < 1e-6);
        let is_beyond = result.mode == Mode::BeyondMemory;
        assert_eq!(result.times_in_memory.is_some(), is_beyond);
        assert_eq!(result.device_iops_limit.is_some(), is_beyond);
        assert_eq!(result.cold_file_bytes > 0, is_beyond, "{result:?}");
        assert_eq!(result.resident_bytes.is_some(), is_beyond);
        let nodes = result.cold_nodes_share.zip(result.cold_records_share);
        assert_eq!(nodes.is_some(), is_beyond);
        // A node of cold records names some of them; a node with others may name some too.
        assert!(nodes.is_none_or(|(nodes, records)| records > 0.2 && nodes < 1.0));
        let is_large = result.working_set > 1.0;
        // At least half of a large working set cannot be in memory.
        let expected = is_beyond && is_large;
        assert_eq!(result.cold_read_share > 0.1, expected, "{result:?}");
        assert!(is_beyond || result.device_iops == 0.0);
    }
    let sets: Vec<_> = results.iter().map(|one| one.working_set).collect();
    assert_eq!(sets, [0.0625, 0.0625, 2.0, 2.0, 2.0, 2.0, 0.0625, 0.0625]);
    for format in [Format::Table, Format::Csv, Format::Json] {
        let text = report(format, &results).unwrap();
        assert!(text.contains("beyond-memory") && text.contains("shrinking"));
    }
    let drawn = chart("beyond memory", &results).unwrap();
    assert!(drawn.contains("all-in-memory, growing"));
}

#[test]
fn a_database_that_would_not_fit_is_left_out() {
    let settings = Settings {
        // The number exceeds the memory of any machine.
        memory_bytes: 1 << 50,
        ..settings()
    };
    assert!(!compares(&settings, &Progress::hidden()));
}

#[test]
fn what_cannot_be_measured_is_refused_by_name() {
    let working_sets = |working_sets| Settings {
        working_sets,
        ..settings()
    };
    let theta = Distribution::THETA_DEFAULT;
    for (settings, named) in [
        (working_sets(vec![0.0, 1.0]), "--working-sets"),
        (working_sets(vec![2.0, 1.0]), "--working-sets"),
        (working_sets(vec![1.0, f64::INFINITY]), "--working-sets"),
        (working_sets(vec![1e-9]), "less than a record"),
        (
            Settings {
                distribution: Distribution::Latest { theta },
                ..settings()
            },
            "--distribution",
        ),
    ] {
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}
