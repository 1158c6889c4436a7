use super::*;
use bench::report::Format;

/// Returns settings of an experiment in miniature.
pub(super) fn settings() -> Settings {
    Settings {
        experiments: vec![Experiment::Sizes],
        bytes: vec![4 << 10, 64 << 10],
        keys: Keys::Int,
        lists: vec![200],
        is_sorted: false,
        absent_percent: 30.0,
        techniques: Technique::ALL.to_vec(),
        groups: vec![1, 7, 16],
        rows: 5000,
        batches: 2,
        repeats: 2,
        seed: 1,
    }
}

fn measured(settings: &Settings) -> Vec<Join> {
    match measure(settings, &Progress::hidden()).unwrap() {
        Outcome::Measured(results) => results,
        Outcome::Counted(_) => panic!("nothing was to be counted"),
    }
}

#[test]
fn every_experiment_answers_right_in_miniature() {
    for experiment in Experiment::ALL {
        if experiment == Experiment::Lines {
            continue;
        }
        for (keys, is_sorted) in [(Keys::Int, false), (Keys::String15, true)] {
            let results = measured(&Settings {
                experiments: vec![experiment],
                keys,
                is_sorted,
                ..settings()
            });
            for one in &results {
                assert!(one.verified, "{one:?}");
                assert_eq!(one.experiment, experiment);
                assert!(
                    one.operations_per_second > 0.0 && one.entries > 0,
                    "{one:?}"
                );
                assert_eq!(one.repeats, 2);
            }
        }
    }
}

#[test]
fn sizes_are_compared_with_the_smallest() {
    let results = measured(&settings());
    let (small, large) = results.split_at(results.len() / 2);
    assert!(
        small
            .iter()
            .all(|one| one.growth_beyond_logarithm.is_none())
    );
    assert!(
        large
            .iter()
            .all(|one| one.growth_beyond_logarithm.unwrap() > 0.0)
    );
    assert!(
        results
            .iter()
            .all(|one| one.limit_lines_per_second.unwrap() > 0.0)
    );
    let groups = |mode| results.iter().find(|one| one.mode == mode).unwrap().group;
    assert_eq!(groups(Technique::Std), None);
    assert!([1, 7, 16].contains(&groups(Technique::Coroutines).unwrap()));
}

#[test]
fn group_sizes_are_those_of_the_figure_with_the_estimate_beside() {
    let results = measured(&Settings {
        experiments: vec![Experiment::GroupSizes],
        techniques: vec![Technique::Sequential, Technique::Coroutines],
        ..settings()
    });
    let coroutines = results
        .iter()
        .filter(|one| one.mode == Technique::Coroutines);
    let groups: Vec<usize> = coroutines.clone().map(|one| one.group.unwrap()).collect();
    assert!(groups.is_sorted() && groups.len() == 32);
    assert_eq!((groups[0], groups[31]), (1, 64));
    for one in coroutines {
        let [sequential, cached, switched] = one.costs_ns.unwrap();
        assert!(sequential > 0.0 && cached > 0.0 && switched > 0.0);
        assert!(one.times_sequential.is_some() && one.bytes == 64 << 10);
    }
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let refused = |change: &dyn Fn(&mut Settings), hint: &str| {
        let mut settings = settings();
        change(&mut settings);
        let error = measure(&settings, &Progress::hidden()).unwrap_err();
        assert!(error.to_string().contains(hint), "{error}");
        assert!(matches!(error, Error::Input(_)));
    };
    refused(&|it| it.bytes = vec![], "--bytes");
    refused(&|it| it.bytes = vec![10], "1 KiB");
    refused(&|it| it.bytes = vec![1 << 20, 1 << 10], "grow");
    refused(&|it| it.lists = vec![0], "from 1");
    refused(&|it| it.groups = vec![65], "to 64");
    refused(&|it| it.rows = 0, "--rows");
    refused(&|it| it.repeats = 0, "--repeats");
    refused(&|it| it.techniques = vec![], "--techniques");
    refused(&|it| it.experiments.push(Experiment::Lines), "alone");
    let several = Settings {
        experiments: vec![Experiment::Sizes, Experiment::Small],
        ..settings()
    };
    several.check_chart().unwrap_err();
    settings().check_chart().unwrap();
}

#[test]
fn results_have_three_forms_and_a_chart() {
    let mut results = measured(&settings());
    results[0].encode_nanoseconds_per_lookup = Some(Spread::of(&[1.0]));
    results[0].scan_nanoseconds_per_lookup = Some(Spread::of(&[2.0]));
    let outcome = Outcome::Measured(results.clone());
    let json = report(Format::Json, &outcome).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for one in json.as_array().unwrap() {
        assert_eq!(one["benchmark"], "join");
        assert!(one["operations_per_second"].as_f64().unwrap() > 0.0);
        assert!(one["nanoseconds_per_lookup"]["median"].as_f64().unwrap() > 0.0);
        assert_eq!(one["verified"], true);
    }
    let csv = report(Format::Csv, &outcome).unwrap();
    assert_eq!(csv.lines().count(), results.len() + 1);
    assert!(
        csv.lines().all(|line| line.split(',').count() == 32),
        "{csv}"
    );
    let table = report(Format::Table, &outcome).unwrap();
    for word in [
        "sorted array of 4 KiB",
        "technique",
        "encode",
        "model",
        "yes",
    ] {
        assert!(table.contains(word), "{table}");
    }
    let svg = chart("searches", &results).unwrap();
    roxmltree::Document::parse(&svg).unwrap();
    for word in ["searches", "64 KiB", "coroutines", "nanoseconds"] {
        assert!(svg.contains(word), "{word}");
    }
}

#[test]
fn charts_of_several_experiments_are_refused() {
    let mut results = measured(&settings());
    results[0].experiment = Experiment::Small;
    assert!(chart("both", &results).is_err());
    assert!(chart("none", &[]).is_err());
}

#[test]
fn lines_have_three_forms() {
    let outcome = measure(
        &Settings {
            experiments: vec![Experiment::Lines],
            ..settings()
        },
        &Progress::hidden(),
    )
    .unwrap();
    for format in [Format::Table, Format::Csv, Format::Json] {
        let text = report(format, &outcome).unwrap();
        assert!(
            text.contains("coroutines") && text.contains("search tree"),
            "{text}"
        );
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    for technique in Technique::ALL {
        assert_eq!(technique.name().parse::<Technique>().unwrap(), technique);
    }
    for experiment in Experiment::ALL {
        assert_eq!(experiment.name().parse::<Experiment>().unwrap(), experiment);
    }
    for keys in Keys::ALL {
        assert_eq!(keys.name().parse::<Keys>().unwrap(), keys);
    }
    let error = "magic".parse::<Technique>().unwrap_err().to_string();
    assert!(
        error.contains("`magic`") && error.contains("amac"),
        "{error}"
    );
}

#[test]
fn queries_say_what_encoding_and_scanning_take() {
    let results = measured(&Settings {
        experiments: vec![Experiment::InPredicate],
        lists: vec![100, 300],
        ..settings()
    });
    // Two parts, two sizes, two lists, three techniques.
    assert_eq!(results.len(), 24);
    for one in &results {
        let encode = one.encode_nanoseconds_per_lookup.unwrap();
        let scan = one.scan_nanoseconds_per_lookup.unwrap();
        assert!(encode.median > 0.0 && scan.median > 0.0, "{one:?}");
        assert_eq!(one.rows, Some(5000));
        assert_eq!(one.growth_beyond_logarithm, None);
    }
    assert!(
        results
            .iter()
            .any(|one| one.structure == "Delta" && one.list == 300)
    );
}
