use super::*;
use crate::results::tests::example;

#[test]
fn a_table_has_the_best_of_each_engine_the_ratio_and_the_device() {
    let text = text(Format::Table, &[example()]).unwrap();
    let rows = |engine: &str| {
        let is_row = |line: &&str| line.trim_start().starts_with(engine) && line.contains("yes");
        text.lines().filter(is_row).count()
    };
    assert_eq!((rows("weft"), rows("redb"), rows("lmdb")), (1, 1, 1));
    assert!(text.contains("lmdb with 8 threads: 2.67 x"), "{text}");
    assert!(text.contains("1100 writes of 4 KiB"), "{text}");
    assert!(text.contains("lmdb as it is"), "{text}");
}

#[test]
fn csv_has_a_line_per_run_under_one_flat_header() {
    let text = text(Format::Csv, &[example(), example()]).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let position = |name| header.iter().position(|column| column == name).unwrap();
    let lines: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(lines.len(), 16);
    assert_eq!(&lines[0][position("workload")], "a");
    assert_eq!(&lines[3][position("engine")], "redb");
    assert_eq!(&lines[5][position("weft_times")], "3.2");
    assert_eq!(&lines[5][position("device_syncs_per_second")], "1200.0");
}

#[test]
fn json_has_an_object_per_workload_with_all_engines() {
    let text = text(Format::Json, &[example()]).unwrap();
    let objects: serde_json::Value = serde_json::from_str(&text).unwrap();
    let engines = objects[0]["engines"].as_array().unwrap();
    assert_eq!(objects[0]["workload"], "a");
    assert_eq!(objects[0]["device_syncs_per_second"]["median"], 1100.0);
    assert_eq!(engines.len(), 4);
    assert_eq!(engines[3]["best"], true);
    assert_eq!(engines[3]["operations_per_second"]["median"], 85.0);
}
