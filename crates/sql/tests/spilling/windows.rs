//! Functions over windows whose rows are on the device.

use super::{Device, number};

/// Settings under which the queries below have no room.
const SETTINGS: &[&str] = &[
    "weft.statement_memory = '3MB'",
    "work_mem = '1MB'",
    "work_mem = '64kB'",
];

/// Functions that need a row's place or its peers alone, over all rows and over partitions.
const PLACES: &[&str] = &[
    "select id, row_number() over (order by name, id), rank() over (order by name, id) from mixed",
    "select id, rank() over (partition by few order by number), dense_rank() over (partition by few order by number),
            count(*) over (partition by few order by number), sum(id) over (partition by few order by number)
     from mixed",
    "select id, sum(number) over (order by id), max(name) over (order by at, id rows unbounded preceding),
            min(id) filter (where id % 3 = 0) over (partition by few order by id) from mixed",
    // All rows are peers.
    "select id, name, count(*) over (), sum(id) over () from mixed",
    "select id, count(name) over (partition by few), max(at) over (partition by few) from mixed",
];

/// Functions that need a partition.
const PARTITIONS: &[&str] = &[
    "select id, lag(id) over w, lead(name, 2) over w, first_value(id) over w, ntile(7) over w, cume_dist() over w
     from mixed window w as (partition by few order by number, id)",
    "select id, sum(id) over (partition by id % 1000 order by at, id rows between 2 preceding and 1 following),
            max(name) over (partition by id % 1000 order by id range between 5000 preceding and 3000 following)
     from mixed",
    // Three orders, whose calls come mixed up, with functions of both kinds.
    "select id, row_number() over (order by id), lag(id) over (partition by few order by id),
            count(*) over (partition by name), rank() over (order by id), nth_value(id, 3) over (partition by name
            order by id desc rows between unbounded preceding and unbounded following)
     from mixed where name is not null and few is not null",
];

#[test]
fn windows_on_the_device_have_the_values_of_those_in_memory() {
    let mut device = Device::mixed(25_000);
    let all = [PLACES, PARTITIONS].concat();
    for lines in device.check_alike(&all, SETTINGS) {
        let disk = number(&lines, "Storage: Disk  Maximum Storage: ");
        assert!((512..200 << 10).contains(&disk), "{lines:#?}");
    }
    let lines = device.measured(PLACES[0]).concat();
    assert!(!lines.contains("Storage"), "{lines}");
}

/// Rows that no window puts in an order stay in that of the input: merges of several passes once mixed them up.
#[test]
fn rows_without_an_order_are_numbered_as_they_come() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set work_mem = '64kB'").unwrap();
    let moved = "select count(*) from
                 (select id, row_number() over () as n from
                  (select id, name from mixed where id <= 20000 order by id offset 0) s) t
                 where id <> n";
    assert_eq!(device.rows(moved), [["0"]]);
}

/// A partition larger than memory ends the statement if its function looks at rows far from its own.
#[test]
fn a_partition_without_room_fails_as_before() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set weft.statement_memory = '4MB'").unwrap();
    let query = "select id, name, ntile(5) over (order by name) from mixed";
    let error = device.bed.run(query).unwrap_err();
    assert_eq!(error.state().code(), "53200");
    assert_eq!(device.files(), Vec::<String>::new());
    assert_eq!(device.rows("select count(*) from mixed"), [["100000"]]);
}

/// A window that is begun again, one whose rows are not all asked for, and one over groups.
#[test]
fn windows_on_the_device_are_whole_however_they_are_asked_for() {
    let mut device = Device::mixed(100_000);
    let queries = [
        "select o.i, s.n, s.total from generate_series(1, 3) o(i), lateral
         (select count(*) as n, sum(r) as total from
          (select rank() over (order by id / o.i) as r from mixed offset 0) t) s",
        "select * from (select id, row_number() over (order by name desc, id) as n from mixed) s where n < 40",
        "select name, sum(count(*)) over (order by name, few) from mixed group by name, few",
    ];
    device.check_alike(&queries, &["work_mem = '256kB'"]);
}

/// A measurement told of the last of several loops, and of the larger of two files that are there at once.
#[test]
fn a_measurement_tells_of_all_that_was_on_the_device() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set work_mem = '256kB'").unwrap();
    let mut disk = |loops: &str, call: &str| {
        let lines = device.measured(&format!(
            "select s.n from (values {loops}) o(i), lateral
             (select sum(r) as n from
              (select {call} over (order by name is null or true) as r, name from mixed where id % o.i = 0 offset 0) t) s"
        ));
        number(&lines, "Storage: Disk  Maximum Storage: ")
    };
    let once = disk("(1)", "row_number()");
    assert!(disk("(1), (9)", "row_number()") > once * 3 / 4);
    // All rows are peers, and are kept in a second file.
    let twice = disk("(1)", "sum(id)");
    assert!(twice > once * 3 / 2, "{once} and {twice}");
}

#[test]
fn windows_on_the_device_end_as_others() {
    let mut device = Device::mixed(100_000);
    device.check_ends("select id, name, sum(id) over (partition by few) from mixed");
    device.check_ends("select id, name, lag(id) over (partition by few order by id) from mixed");
    device.bed.run("set work_mem = '256kB'").unwrap();
    let error = device
        .bed
        .run("select id, sum(10 / (id - 77777)) over (order by name, id) from mixed");
    assert_eq!(error.unwrap_err().state().code(), "22012");
    assert_eq!(device.files(), Vec::<String>::new());
}
