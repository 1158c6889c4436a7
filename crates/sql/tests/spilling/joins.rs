//! Joins by hash that put rows by on the device.

use io::Faults;

use super::{Device, number};
use crate::bed::Bed;

/// Two tables with keys that match many times, once, and never, and with NULLs.
pub(super) const SIDES: &str = "
    create table one (id int, k int, n numeric, name text);
    create table two (id int, k int, n numeric, name text);
    insert into one select i, case when i % 11 > 0 then i % 30011 end, (i % 20011) / 100.0, 'name ' || i % 40009
        from generate_series(1, 60000) i;
    insert into two select i, case when i % 7 > 0 then i % 25013 + 9000 end, (i % 30011) / 100.0, 'name ' || i % 50021
        from generate_series(1, 50000) i";

/// Joins by hash of all kinds, over one integer, several keys, texts and computed keys, with other conditions.
const JOINS: &[&str] = &[
    "select a.id, b.id, a.name, b.name from one a join two b on a.k = b.k",
    "select a.id, b.id, a.name, b.n from one a left join two b on a.k = b.k and a.id < b.id",
    "select a.id, b.id, a.n, b.name from one a right join two b on a.name = b.name",
    "select a.id, b.id, a.name, b.name from one a full join two b on a.k = b.k and a.n = b.n",
    "select a.id, b.id, a.name, b.name from one a full join two b on a.name = b.name",
    "select a.id, a.name from one a where exists (select from two b where b.n = a.n and b.id <> a.id)",
    "select a.id, a.name from one a where not exists (select from two b where b.k = a.k and b.name > a.name)",
    "select a.id, b.id, a.name from one a join two b on upper(a.name) = upper(b.name) || ''",
    "select a.id, b.id, a.name, b.n from one a left join two b on a.k = b.k and a.id < b.id where a.id <= 24000",
    "select a.id, a.name from one a where a.id <= 24000 and exists (select from two b where b.n = a.n and b.id <> a.id)",
    "select a.id, a.name from one a where a.id <= 24000
        and not exists (select from two b where b.k = a.k and b.name > a.name)",
];

/// Number of the last of these whose build side is the left one.
const TURNED: usize = 3;

#[test]
fn joins_on_the_device_are_those_in_memory() {
    let mut device = Device::new(SIDES);
    let expected: Vec<_> = { JOINS.iter() }.map(|query| device.sorted(query)).collect();
    assert!(expected.iter().all(|rows| rows.len() > 10_000));
    for (setting, step) in [
        ("set weft.statement_memory = '5MB'", 1),
        ("reset weft.statement_memory; set work_mem = '1MB'", 2),
        ("set work_mem = '64kB'", 3),
    ] {
        device.bed.run(setting).unwrap();
        for (query, expected) in JOINS.iter().zip(&expected).step_by(step) {
            let found = device.sorted(query);
            assert!(found == *expected, "{setting}: {query} has another answer");
            assert_eq!(device.files(), Vec::<String>::new());
        }
        for query in JOINS.iter().step_by(3 * step) {
            let lines = device.measured(query);
            let batches = number(&lines, "Batches: ");
            assert!((3..50_000).contains(&batches), "{query}: {lines:#?}");
            let is_turned = lines.iter().any(|line| line.contains("Hash Right"));
            assert_eq!(
                is_turned,
                JOINS[JOINS.len() - TURNED..].contains(query),
                "{lines:#?}"
            );
        }
    }
}

/// Rows without a key were put into one partition, however many they were, and had no room there.
#[test]
fn rows_without_a_key_have_no_partition_of_their_own() {
    let mut device = Device::new(
        "create table few (id int, k int, t text);
         insert into few select i, case when i % 100 = 0 then i end, repeat('x', 100) || i
            from generate_series(1, 40000) i;
         create table many (id int, k int);
         insert into many select i, i from generate_series(1, 100000) i;
         analyze few; analyze many",
    );
    device.bed.run("set weft.statement_memory = '2MB'").unwrap();
    for (query, join, expected) in [
        (
            "select count(*), count(m.id), max(f.t) from few f left join many m on m.k = f.k",
            "Hash Right Join",
            ["40000", "400"],
        ),
        (
            "select count(*), count(f.k), max(f.t) from few f where not exists (select from many m where m.k = f.k)",
            "Hash Anti Join",
            ["39600", "0"],
        ),
    ] {
        let lines = device.measured(query);
        assert!(lines.iter().any(|line| line.contains(join)), "{lines:#?}");
        assert!(number(&lines, "Batches: ") > 1, "{lines:#?}");
        assert_eq!(device.rows(query)[0][..2], expected);
    }
}

/// A join that is begun again, one that many rows with one key keep from being partitioned, one that is given up, and
/// errors of the device.
#[test]
fn joins_on_the_device_end_as_others() {
    let mut device = Device::new(SIDES);
    let again = "select o.i, s.n from generate_series(1, 3) o(i), lateral
                 (select count(*) as n from (select a.name, b.name from one a full join two b
                  on a.name = b.name and a.k % o.i = 0 offset 0) j) s";
    let expected = device.rows(again);
    device.bed.run("set work_mem = '256kB'").unwrap();
    assert_eq!(device.rows(again), expected);
    let join = "select a.id, a.name, b.name from one a left join two b on a.k = b.k";
    device.rows(join);
    device.rows("select 1");
    let before = device.bed.statement_bytes();
    for turns in [0, 10, 100, 400, 1000] {
        device.give_up(join, turns, before);
    }
    device.disk.set_faults(Faults {
        read_error_per_mille: 100,
        ..Faults::default()
    });
    let error = device.bed.run(join).unwrap_err();
    assert_eq!(error.state().code(), "58030");
    device.disk.set_faults(Faults::default());
    assert_eq!(device.files(), Vec::<String>::new());
    device
        .bed
        .run("set weft.statement_memory = '2MB'; reset work_mem")
        .unwrap();
    let error = device.bed.run("select count(*) from one a full join two b on a.id * 0 = b.id * 0 and a.id = -b.id + 0 * a.k");
    assert_eq!(error.unwrap_err().state().code(), "53200");
    assert_eq!(device.files(), Vec::<String>::new());
    assert_eq!(device.rows("select count(*) from one"), [["60000"]]);
}

/// A row that is put by is looked at again, so a key that would have another value then is no key.
#[test]
fn keys_that_differ_each_time_join_no_rows_by_hash() {
    let mut bed = Bed::new();
    bed.run("create table a (x int); insert into a select generate_series(1, 1000); create table b (k int);
             insert into b select generate_series(1, 1000); analyze a; analyze b")
        .unwrap();
    let mut plan = |key: &str| {
        let explain = format!("explain (costs off) select * from a left join b on {key} = b.k");
        bed.run(&explain).unwrap().rows.concat().concat()
    };
    assert!(plan("a.x + 1").contains("Hash"));
    let plan = plan("a.x + (random() * 100)::int");
    assert!(!plan.contains("Hash"), "{plan}");
}
