use bench::report::Format;

use super::*;
use crate::in_predicate::results::Sample;
use crate::in_predicate::{Taken, ours};

/// Returns a comparison of two repeats: Weft took 2 and 4 ms; the other engine 8 and 12 with the
/// list in its text, 4 and 4 with a list that was ready.
fn example() -> Comparison {
    let identity = |engine, form, list| Identity {
        engine,
        form,
        list,
        threads: 1,
        answer: Answer::Rows,
    };
    let sample = |contender, repeat, milliseconds| Sample {
        contender,
        repeat,
        milliseconds,
        verified: true,
    };
    Comparison {
        facts: Facts {
            benchmark: "in-predicate",
            values: 1000,
            rows: 2000,
            list_length: 100,
            is_sorted: false,
            absent_percent: 0.0,
            batches: 1,
            rows_found: 190,
            checksum: 0xC0FFEE,
            is_agreed: true,
            seed: 1,
            commit: None,
        },
        configurations: vec![("other", "as it is".into())],
        identities: vec![
            identity(ours::ENGINE, ours::AUTO, Taken::Ready),
            identity("other", "text", Taken::Parsed),
            identity("other", "filled", Taken::Ready),
        ],
        samples: vec![
            sample(0, 0, 2.0),
            sample(1, 0, 8.0),
            sample(2, 0, 4.0),
            sample(0, 1, 4.0),
            sample(1, 1, 12.0),
            sample(2, 1, 4.0),
        ],
    }
}

#[test]
fn a_table_compares_with_lists_that_are_taken_and_with_all() {
    let text = text(Format::Table, &example()).unwrap();
    assert!(text.contains("text *"), "{text}");
    assert!(
        text.contains("best taking the list, text with 1 thread, rows: 3.50 x"),
        "{text}"
    );
    assert!(
        text.contains("best at all, filled with 1 thread, rows: 1.50 x"),
        "{text}"
    );
    assert!(
        text.contains("all found its 190 rows, checksum 0000000000c0ffee"),
        "{text}"
    );
    assert!(text.contains("other: as it is."), "{text}");
    let mut wrong = example();
    wrong.samples[1].verified = false;
    assert!(!wrong.verified());
    assert!(
        super::text(Format::Table, &wrong)
            .unwrap()
            .contains("WRONG")
    );
}

#[test]
fn csv_has_a_line_for_each_repeat_of_each_contender() {
    let text = text(Format::Csv, &example()).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let position = |name| header.iter().position(|column| column == name).unwrap();
    let lines: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(lines.len(), 6);
    assert_eq!(&lines[4][position("form")], "text");
    assert_eq!(&lines[4][position("list")], "parsed");
    assert_eq!(&lines[4][position("weft_times")], "3.0");
    assert_eq!(&lines[4][position("list_length")], "100");
}

#[test]
fn json_has_all_contenders_with_their_ratios() {
    let text = text(Format::Json, &example()).unwrap();
    let objects: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(objects[0]["benchmark"], "in-predicate");
    assert_eq!(objects[0]["verified"], true);
    let contenders = objects[0]["contenders"].as_array().unwrap();
    assert_eq!(contenders[1]["weft_times"]["median"], 3.5);
    assert_eq!(contenders[1]["nanoseconds_per_value"], 100_000.0);
    assert_eq!(contenders[2]["list"], "ready");
}
