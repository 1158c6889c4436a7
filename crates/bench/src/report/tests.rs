use serde_json::Value;

use super::*;
use crate::measure::Spread;

fn limits() -> Vec<Limit> {
    vec![Limit {
        benchmark: "limits",
        measure: "random independent cache lines".to_owned(),
        unit: "lines/s",
        workers: 1,
        bytes: 512 << 20,
        spread: Spread {
            median: 60e6,
            min: 55e6,
            max: 61e6,
        },
    }]
}

#[test]
fn json_is_one_array_with_the_promised_fields() {
    let text = Format::Json.outcome(&example::outcome()).unwrap();
    let array: Value = serde_json::from_str(&text).unwrap();
    let objects = array.as_array().unwrap();
    assert_eq!(objects.len(), 2);
    for object in objects {
        for field in [
            "benchmark",
            "workload",
            "mode",
            "workers",
            "in_flight",
            "records",
            "transactions_per_second",
            "operations_per_second",
            "aborts",
            "verified",
            "limit_lines_per_second",
        ] {
            assert!(!object[field].is_null(), "{field}: {object}");
        }
        for percentile in ["p50", "p99", "p999"] {
            assert!(object["latency_ns"][percentile].is_u64());
        }
        assert_eq!(object["repeats"].as_array().unwrap().len(), 3);
        assert!(object["repeats"][0]["operations_per_second"].is_f64());
    }
    assert_eq!(objects[1]["mode"], "interleaved");
    assert_eq!(objects[1]["in_flight"], "auto");
    assert_eq!(objects[1]["isolation"], "snapshot");
    assert_eq!(objects[1]["operations_per_second"], 4.0e6);
    assert_eq!(objects[1]["operations_per_second_spread"]["max"], 4.2e6);
}

#[test]
fn csv_has_a_line_per_mode_and_repeat() {
    let text = Format::Csv.outcome(&example::outcome()).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name| header.iter().position(|column| column == name).unwrap();
    let (mode, repeat) = (column("mode"), column("repeat"));
    let median = column("operations_per_second_median");
    let lines: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 6);
    assert_eq!((&lines[0][mode], &lines[0][repeat]), ("sequential", "1"));
    assert_eq!((&lines[5][mode], &lines[5][repeat]), ("interleaved", "3"));
    assert_eq!(lines[5][median].parse::<f64>().unwrap(), 4.0e6);
}

#[test]
fn the_table_shows_each_mode_and_explains_itself() {
    let text = Format::Table.outcome(&example::outcome()).unwrap();
    for word in [
        "sequential",
        "interleaved",
        "4.000",
        "4.00",
        "53 %",
        "500",
        "yes",
        "60.0 million",
    ] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn a_wrong_answer_stands_out() {
    let mut outcome = example::outcome();
    outcome.summaries[0].median.verified = false;
    assert!(Format::Table.outcome(&outcome).unwrap().contains("WRONG"));
}

#[test]
fn limits_have_all_three_forms() {
    let table = Format::Table.limits(&limits()).unwrap();
    assert!(
        table.contains("60.0 M lines/s") && table.contains("512 MiB"),
        "{table}"
    );
    let csv = Format::Csv.limits(&limits()).unwrap();
    assert!(
        csv.starts_with("benchmark,measure,unit,workers,bytes,median,min,max\n"),
        "{csv}"
    );
    let json: Value = serde_json::from_str(&Format::Json.limits(&limits()).unwrap()).unwrap();
    assert_eq!(json[0]["median"], 60e6);
}

#[test]
fn the_chart_is_well_formed_svg_with_every_mode() {
    let svg = chart("YCSB <read-only> & more", &example::outcome().summaries).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(
        svg.contains("interleaved") && svg.contains("4.00 (4.00x)"),
        "{svg}"
    );
    assert!(svg.contains("&lt;read-only&gt;"), "{svg}");
    // Two bars over the white ground.
    assert_eq!(svg.matches("<rect").count(), 3);
    let document = roxmltree::Document::parse(&svg).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "svg");
}

#[test]
fn the_line_chart_has_a_path_per_series_and_leaves_gaps() {
    let line = |name: &str, values: &[Option<f64>]| Line {
        name: name.to_owned(),
        values: values
            .iter()
            .map(|value| value.map(|value| Spread::of(&[value, value * 2.0])))
            .collect(),
    };
    let svg = line_chart(&LineChart {
        title: "size <of> tables".to_owned(),
        x_title: "records".to_owned(),
        x_labels: vec!["10k".to_owned(), "1M".to_owned()],
        y_title: "speed".to_owned(),
        lines: vec![
            line("first", &[Some(1.0), Some(2.0)]),
            line("second", &[Some(3.0), None]),
        ],
    })
    .unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<_> = document
        .descendants()
        .filter_map(|node| node.text())
        .map(str::trim)
        .collect();
    for word in [
        "size <of> tables",
        "records",
        "10k",
        "1M",
        "speed",
        "first",
        "second",
    ] {
        assert!(texts.contains(&word), "{word}: {texts:?}");
    }
    // A dot for each value and for each name.
    assert_eq!(svg.matches("<circle").count(), 3 + 2);
}

#[test]
fn an_empty_chart_is_an_error() {
    let nothing = LineChart {
        title: String::new(),
        x_title: String::new(),
        x_labels: Vec::new(),
        y_title: String::new(),
        lines: Vec::new(),
    };
    assert!(line_chart(&nothing).is_err());
    assert!(chart("nothing", &[]).is_err());
}

#[test]
fn unknown_formats_are_refused() {
    let error = "xml".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("xml") && error.contains("json"), "{error}");
}
