//! Rows of which the first of equal ones counts, and set operations, whose rows are on the device.

use super::{Device, MIXED, number};

/// Settings under which the queries below have no room.
const SETTINGS: &[&str] = &[
    "weft.statement_memory = '4MB'",
    "work_mem = '1MB'",
    "work_mem = '64kB'",
];

/// Lists of different rows: of columns of all types, of computed keys, and of keys beside other columns.
const DISTINCT: &[&str] = &[
    "select distinct id % 70001 from mixed",
    "select distinct few, name, at, list from mixed",
    "select distinct (few, name) as pair, at from mixed",
    "select name, at from mixed where id % 2 = 0 union select name, at from mixed where id % 3 = 0",
    "select id from mixed union select id % 5000 - 100 from mixed union select few from mixed",
    // The first row of those with equal keys, as they come.
    "select distinct on (number, upper(name)) number, id, name from mixed",
    "select count(*), min(name), max(id) from (select distinct on (id / 2) id, name from mixed) s",
];

#[test]
fn different_rows_on_the_device_are_those_in_memory() {
    let mut device = Device::new(MIXED);
    for lines in device.check_alike(DISTINCT, SETTINGS) {
        assert!(number(&lines, "Batches: ") > 3, "{lines:#?}");
        assert!(number(&lines, "Disk Usage: ") > 100, "{lines:#?}");
    }
    let lines = device.measured(DISTINCT[0]).concat();
    assert!(!lines.contains("Batches"), "{lines}");
}

/// Rows that come in an order of their keys stay in this order, and are compared with the one before alone.
#[test]
fn different_rows_in_an_order_need_no_table() {
    let mut device = Device::new(MIXED);
    let queries = [
        "select distinct on (few, name) few, name, id from mixed order by few, name desc, id",
        "select distinct on (name, number) name, number, id from mixed order by number desc, name, id desc limit 60000",
        // Keys that the order does not name come behind it.
        "select distinct on (name, few) name, few from mixed order by name, few",
        "select distinct on (few, name) few from mixed order by few",
        "select distinct name, id % 7 from mixed order by name, 2",
    ];
    let expected: Vec<_> = queries.iter().map(|query| device.rows(query)).collect();
    assert!(expected.iter().all(|rows| rows.len() > 40_000));
    let counted = device.rows("select count(*) from (select distinct few, name from mixed) s");
    assert_eq!(counted[0][0], expected[0].len().to_string());
    assert_eq!(expected[0].len(), expected[3].len());
    device.bed.run("set work_mem = '256kB'").unwrap();
    for (query, expected) in queries.iter().zip(&expected) {
        assert!(
            device.rows(query) == *expected,
            "{query} has another answer"
        );
        assert_eq!(device.files(), Vec::<String>::new());
    }
    let lines = device.measured(queries[0]);
    number(&lines, "Sort Method: external merge  Disk: ");
    assert!(!lines.concat().contains("Batches"), "{lines:#?}");
}

/// Keys that differ each time they are computed; a LIMIT that few rows fulfil; an operator that is begun again.
#[test]
fn different_rows_are_whole_however_they_are_asked_for() {
    let mut device = Device::new(MIXED);
    device.bed.run("set work_mem = '128kB'").unwrap();
    let counted = device.rows(
        "select count(*), count(distinct k) from (select distinct (random() * 50000)::int as k from mixed offset 0) s",
    );
    assert_eq!(counted[0][0], counted[0][1]);
    assert_eq!(
        device.rows("select distinct name from mixed limit 5").len(),
        5
    );
    let again = "select o.i, s.n from generate_series(1, 3) o(i), lateral
                 (select count(*) as n from (select distinct id / o.i from mixed offset 0) t) s";
    assert_eq!(
        device.rows(again),
        [["1", "100000"], ["2", "50001"], ["3", "33334"]]
    );
}

/// Set operations over rows that are on both sides many times, once and never, and NULLs.
const SETS: &[&str] = &[
    "select few, name from mixed where id % 2 = 0 intersect select few, name from mixed where id % 3 = 0",
    "select id % 40000 from mixed intersect all select id % 30011 from mixed where id > 5",
    "select name, at from mixed except select name, at from mixed where id % 3 = 0",
    "select id % 60000 from mixed except all select id % 90011 from mixed",
    "select number, name from mixed where id % 5 < 3 except all select number, name from mixed where id % 5 > 1",
];

#[test]
fn sets_on_the_device_are_those_in_memory() {
    let mut device = Device::new(MIXED);
    for lines in device.check_alike(SETS, SETTINGS) {
        assert!(number(&lines, "Batches: ") > 3, "{lines:#?}");
    }
    device.bed.run("set work_mem = '128kB'").unwrap();
    let again = "select o.i, s.n from generate_series(1, 3) o(i), lateral
                 (select count(*) as n from (select id / o.i from mixed except select id from mixed where id > 20000
                  offset 0) t) s";
    assert_eq!(
        device.rows(again),
        [["1", "20000"], ["2", "20001"], ["3", "20001"]]
    );
}

#[test]
fn sets_on_the_device_end_as_others() {
    let mut device = Device::new(MIXED);
    device.check_ends("select distinct name, id from mixed");
    device.check_ends("select name, id from mixed except select name, few from mixed");
}
