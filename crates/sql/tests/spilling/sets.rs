//! Rows of which the first of equal ones counts, and set operations, whose rows are on the device.

use super::{Device, number};

/// Settings under which the queries below have no room.
const SETTINGS: &[&str] = &[
    "weft.statement_memory = '2MB'",
    "work_mem = '1MB'",
    "work_mem = '64kB'",
];

/// Lists of different rows: of columns of all types, of computed keys, and of keys beside other columns.
const DISTINCT: &[&str] = &[
    "select distinct id % 35001 from mixed",
    "select distinct few, name, at, list from mixed",
    "select distinct (few, name) as pair, at from mixed",
    "select name, at from mixed where id % 2 = 0 union select name, at from mixed where id % 3 = 0",
    "select id from mixed union select id % 2500 - 100 from mixed union select few from mixed",
    // The first row of those with equal keys, as they come.
    "select distinct on (number, upper(name)) number, id, name from mixed",
    "select count(*), min(name), max(id) from (select distinct on (id / 2) id, name from mixed) s",
];

#[test]
fn different_rows_on_the_device_are_those_in_memory() {
    let mut device = Device::mixed(50_000);
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
    let mut device = Device::mixed(50_000);
    let queries = [
        "select distinct on (few, name) few, name, id from mixed order by few, name desc, id",
        "select distinct on (name, number) name, number, id from mixed order by number desc, name, id desc limit 30000",
        // Keys that the order does not name come behind it.
        "select distinct on (name, few) name, few from mixed order by name, few",
        "select distinct on (few, name) few from mixed order by few",
        "select distinct name, id % 7 from mixed order by name, 2",
    ];
    let expected: Vec<_> = queries.iter().map(|query| device.rows(query)).collect();
    assert!(expected.iter().all(|rows| rows.len() > 20_000));
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

/// A key that differs each time that it is computed is computed once for a row: the order that it gives once got lost
/// with rows that were put by. Keys that come again once kept rows from being compared with the one before alone.
#[test]
fn different_rows_in_an_order_stay_in_it_whatever_their_keys() {
    let mut device = Device::mixed(30_000);
    device.bed.run("set work_mem = '64kB'").unwrap();
    let volatile = "select distinct on (random() * 0 + id) id from mixed order by random() * 0 + id desc offset 0";
    let rows = device.rows(&format!(
        "select count(*), count(*) filter (where id > before) from
         (select id, lag(id) over () as before from ({volatile}) s) t"
    ));
    assert_eq!(rows, [["30000", "0"]]);
    let again = "select distinct on (few, few, name) few, name from mixed order by few, few desc, name, few, id";
    let lines = device.measured(again).concat();
    assert!(!lines.contains("Batches"), "{lines}");
    let error = device
        .bed
        .run("select distinct on (few, name) few from mixed order by few, few, id");
    assert_eq!(error.unwrap_err().state().code(), "42P10");
}

/// Keys that differ each time they are computed; a LIMIT that few rows fulfil; an operator that is begun again.
#[test]
fn different_rows_are_whole_however_they_are_asked_for() {
    let mut device = Device::mixed(100_000);
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
    "select id % 20000 from mixed intersect all select id % 15013 from mixed where id > 5",
    "select name, at from mixed except select name, at from mixed where id % 3 = 0",
    "select id % 30000 from mixed except all select id % 45007 from mixed",
    "select number, name from mixed where id % 5 < 3 except all select number, name from mixed where id % 5 > 1",
];

#[test]
fn sets_on_the_device_are_those_in_memory() {
    let mut device = Device::mixed(50_000);
    for lines in device.check_alike(SETS, SETTINGS) {
        assert!(number(&lines, "Batches: ") > 3, "{lines:#?}");
    }
    device.bed.run("set work_mem = '128kB'").unwrap();
    let again = "select o.i, s.n from generate_series(1, 3) o(i), lateral
                 (select count(*) as n from (select id / o.i from mixed except select id from mixed where id > 20000
                  offset 0) t) s";
    assert_eq!(
        device.rows(again),
        [["1", "20000"], ["2", "20001"], ["3", "16667"]]
    );
}

/// A measurement that ended before all rows were put by told of none.
#[test]
fn a_measurement_tells_of_rows_that_were_put_by_in_vain() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set work_mem = '128kB'").unwrap();
    let lines = device.measured("select id from mixed intersect select id from mixed limit 10");
    assert!(number(&lines, "Disk Usage: ") > 100, "{lines:#?}");
}

#[test]
fn sets_on_the_device_end_as_others() {
    let mut device = Device::mixed(100_000);
    device.check_ends("select distinct name, id from mixed");
    device.check_ends("select name, id from mixed except select name, few from mixed");
}
