//! The registry is consistent, and every experiment runs, small, to the end.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::run::run_on;
use super::*;
use bench::machine::Description;
use bench::plan::Plan;
use bench::report::Format;
use bench::subject::{RawRun, Run, Subject};
use commands::progress::{Progress, Step};

fn tiny() -> Settings {
    Settings {
        scale: 2e-4,
        seconds: 0.01,
        repeats: 2,
        seed: 7,
    }
}

#[test]
fn ids_are_unique_and_name_their_paper() {
    let mut ids = HashSet::new();
    for experiment in all() {
        assert!(ids.insert(experiment.id), "{} stands twice", experiment.id);
        assert!(experiment.id.starts_with(experiment.paper.number()));
    }
    for paper in Paper::ALL {
        assert!(all().any(|experiment| experiment.paper == paper));
        assert!(!paper.left_out().is_empty());
    }
}

#[test]
fn every_experiment_says_where_it_is_from_and_what_differs() {
    for experiment in all() {
        let id = experiment.id;
        for text in [experiment.section, experiment.figure, experiment.title] {
            assert!(!text.is_empty(), "{id}");
        }
        for sentence in [experiment.finding, experiment.differences] {
            assert!(sentence.ends_with('.') && !sentence.contains("  "), "{id}");
        }
        for published in experiment.published {
            for series in [&published.of, &published.by] {
                assert!(experiment.series.contains(series), "{id}: {series:?}");
                assert!(series.paper.is_some(), "{id}: {series:?}");
            }
            assert!(!published.setting.is_empty(), "{id}");
            let numbers = match published.value {
                Value::Between(low, high) => vec![low, high],
                Value::About(one) | Value::UpTo(one) => vec![one],
                Value::Above(one) | Value::Below(one) => vec![one],
            };
            assert!(numbers.is_sorted() && numbers[0] > 0.0, "{id}");
        }
    }
}

/// At the default settings and at a small scale, the plans compare exactly the series.
#[test]
fn plans_have_all_series_at_all_values() {
    for settings in [Settings::default(), tiny()] {
        for experiment in all() {
            let id = experiment.id;
            let plans = experiment.plans(&settings).unwrap();
            let points: Vec<_> = plans.iter().map(|(x, _)| *x).collect();
            assert_eq!(points, experiment.x.points(settings.scale), "{id}");
            assert!(points.len() > 1 && points.is_sorted(), "{id}");
            for (x, plans) in plans {
                let mut measured = Vec::new();
                for plan in plans {
                    assert!(plan.notes().is_empty(), "{id}: {:?}", plan.notes());
                    let comparison = plan.comparison();
                    let variants = comparison.variants().into_iter();
                    let run = variants.map(|variant| Series {
                        paper: None,
                        mode: variant.mode,
                        isolation: variant.isolation,
                        flusher: variant.flusher,
                        in_flight: match comparison.in_flight {
                            InFlight::Fixed(n) if variant.mode.is_interleaved() => Some(n),
                            _ => None,
                        },
                    });
                    measured.extend(run);
                }
                for series in experiment.series {
                    let own = |one: &Series| {
                        one.mode == series.mode
                            && one.isolation == series.isolation
                            && one.flusher == series.flusher
                            && series
                                .in_flight
                                .is_none_or(|own| one.in_flight == Some(own))
                    };
                    assert!(measured.iter().any(own), "{id} at {x}: {}", series.name());
                    measured.retain(|one| !own(one));
                }
                assert!(measured.is_empty(), "{id} at {x}: {measured:?}");
            }
        }
    }
}

#[test]
fn by_default_all_of_them_take_at_most_forty_minutes() {
    let settings = Settings::default();
    let times = all().map(|experiment| settings.duration(experiment).unwrap());
    let all: Duration = times.sum();
    assert!(all < Duration::from_secs(40 * 60), "{all:?}");
}

#[test]
fn an_unknown_id_lists_the_known_ones() {
    let error = named(&["000-9.9".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("000-9.9"), "{error}");
    for experiment in all() {
        assert!(error.contains(experiment.id), "{error}");
    }
    let ids = ["001-12", "000-5.2", "001-12"].map(str::to_owned);
    let found: Vec<_> = named(&ids).unwrap().iter().map(|one| one.id).collect();
    assert_eq!(found, ["000-5.2", "001-12"]);
    let found = named(&["all".to_owned()]).unwrap();
    assert_eq!(found.len(), all().count());
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let wrong = [
        (
            Settings {
                scale: 0.0,
                ..tiny()
            },
            "--scale 0",
        ),
        (
            Settings {
                scale: f64::NAN,
                ..tiny()
            },
            "--scale NaN",
        ),
        (
            Settings {
                seconds: -1.0,
                ..tiny()
            },
            "--seconds -1",
        ),
        (
            Settings {
                repeats: 0,
                ..tiny()
            },
            "--repeats 0",
        ),
    ];
    for (settings, word) in wrong {
        let experiment = all().next().unwrap();
        let error = experiment.plans(&settings).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// Each experiment runs on the engine itself, to the last file.
#[test]
fn every_experiment_runs_and_reports_all_series_at_all_values() {
    let mut findings = Vec::new();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("place");
    for experiment in all() {
        let found = run(experiment, &tiny(), &place, &Progress::hidden()).unwrap();
        let id = experiment.id;
        assert!(found.verified(), "{id}");
        assert!(!place.exists(), "{id} has left files behind");
        assert_eq!(found.points.len(), experiment.x.points(tiny().scale).len());
        for point in &found.points {
            for series in experiment.series {
                let quantity = experiment.quantity;
                assert!(point.value(quantity, series).unwrap().min > 0.0, "{id}");
                let ratio = point.ratio(quantity, series, &experiment.series[0]);
                assert!(ratio.unwrap().min > 0.0, "{id}: {}", series.name());
            }
        }
        for published in experiment.published {
            assert_ne!(published.found(&found), "-", "{id}");
        }
        findings.push(found);
    }
    let rows: usize = findings
        .iter()
        .map(|one| one.points.len() * one.experiment.series.len())
        .sum();
    rows_are_complete(&findings, rows);
    reports_are_complete(&findings);
}

fn rows_are_complete(findings: &[Findings], rows: usize) {
    let json = output::results(Format::Json, findings).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let objects = json.as_array().unwrap();
    assert_eq!(objects.len(), rows);
    for object in objects {
        for field in [
            "experiment",
            "x_name",
            "x",
            "series",
            "mode",
            "operations_per_second",
            "latency_ns",
            "verified",
        ] {
            assert!(!object[field].is_null(), "{field}: {object}");
        }
    }
    let csv = output::results(Format::Csv, findings).unwrap();
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    let header: Vec<_> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(header[..3], ["experiment", "x_name", "x"]);
    assert!(header.iter().any(|column| column == "mode"));
    // The output has a line per repeat.
    assert!(reader.records().map(std::result::Result::unwrap).count() >= rows * 2);
    let table = output::results(Format::Table, findings).unwrap();
    for one in findings {
        assert!(table.contains(one.experiment.id) && table.contains("published"));
    }
}

fn reports_are_complete(findings: &[Findings]) {
    let machine = Description {
        processor: Some("Fast | 3 GHz".to_owned()),
        cores: 2,
        memory_bytes: Some(24 << 30),
        ..Description::default()
    };
    let files = report::files(findings, &tiny(), &machine).unwrap();
    assert_eq!(files.len(), 1 + Paper::ALL.len() + findings.len());
    let text = |name: &str| {
        let file = files.iter().find(|file| file.name == name);
        &file.unwrap_or_else(|| panic!("no file {name}")).text
    };
    let index = text("README.md");
    for word in ["Fast \\| 3 GHz", "24.0 GiB", "not known", "scale 0.0002"] {
        assert!(index.contains(word), "{word}:\n{index}");
    }
    for one in findings {
        let experiment = one.experiment;
        let chart = text(&format!("{}.svg", experiment.id));
        let document = roxmltree::Document::parse(chart).unwrap();
        let words: HashSet<_> = document
            .descendants()
            .filter_map(|node| Some(node.text()?.trim().to_owned()))
            .collect();
        let names = experiment.series.iter().map(Series::name);
        for word in names.chain(one.labels()) {
            assert!(words.contains(&word), "{}: {word}", experiment.id);
        }
        let page = format!("{}.md", experiment.paper.name().to_lowercase());
        assert!(index.contains(&format!("[{}]({page}#", experiment.id)));
        let page = text(&page);
        for word in [experiment.id, experiment.finding, experiment.differences] {
            assert!(page.contains(word), "{word}");
        }
        for published in experiment.published {
            assert!(page.contains(&published.what()), "{}", published.what());
            assert!(page.contains(&published.value.to_string()));
        }
    }
    for file in &files {
        // Absolute paths would tell where the report was made.
        assert!(!file.text.contains("/tmp/") && !file.text.contains("/home/"));
    }
}

/// A subject that commits one transaction a millisecond, with right answers or wrong ones.
struct Model<'a> {
    loads: &'a Cell<u32>,
    right: bool,
}

impl Subject for Model<'_> {
    fn load(&mut self, _: &Step) -> Result<()> {
        self.loads.set(self.loads.get() + 1);
        Ok(())
    }

    fn run(&mut self, _: &Run) -> Result<RawRun> {
        let mut raw = RawRun {
            transactions: 1,
            operations: 1,
            elapsed: Duration::from_millis(1),
            ..RawRun::default()
        };
        if !self.right {
            raw.verifier.missing();
        }
        Ok(raw)
    }

    fn restore(&mut self, _: Range<u64>) -> Result<()> {
        Ok(())
    }
}

fn model(id: &str, right: bool) -> (u32, Findings) {
    let loads = Cell::new(0);
    let experiment = named(&[id.to_owned()]).unwrap()[0];
    let open = |_: &Plan| {
        Ok(Model {
            loads: &loads,
            right,
        })
    };
    let directory = Path::new("not needed: nothing has a log");
    let found = run_on(experiment, &tiny(), directory, &Progress::hidden(), open).unwrap();
    (loads.get(), found)
}

#[test]
fn a_table_serves_all_points_that_want_the_same() {
    // Reads per transaction vary: one table is loaded. Its size or the workers vary: one table for
    // each value.
    assert_eq!(model("000-5.3", true).0, 1);
    let (loads, found) = model("000-5.7", true);
    assert_eq!(loads as usize, found.points.len());
    // Two numbers in flight at each of two numbers of workers.
    assert_eq!(model("001-12", true).0, 2);
}

#[test]
fn wrong_answers_stand_out() {
    assert!(model("000-5.3", true).1.verified());
    let (_, wrong) = model("000-5.3", false);
    assert!(!wrong.verified());
    let wrong = [wrong];
    let table = output::results(Format::Table, &wrong).unwrap();
    assert!(table.contains("WRONG"), "{table}");
    let files = report::files(&wrong, &tiny(), &Description::default()).unwrap();
    for file in files.iter().filter(|file| file.name.ends_with(".md")) {
        assert!(file.text.contains("WRONG"), "{}", file.text);
    }
}
