//! Relations of WITH that are read several times, and have no room in memory.

use super::{Device, number};

const RELATIONS: &[&str] = &[
    // Two readers, one after the other, and one for each row of the other.
    "with kept as (select id, name, number from mixed)
     select a.id, b.name from kept a join kept b on a.id = b.id + 1 where a.number > 10",
    "with kept as (select id, few, name, list, wide from mixed)
     select 1, * from kept union all select 2, * from kept where id % 2 = 0",
    // A reader that ends early, beside one that goes on.
    "with kept as (select id, name from mixed offset 0)
     select * from (select id, name from kept limit 5000) a union all select id, name from kept where id > 40000",
    // A reader that begins again for each row.
    "with kept as (select id, name from mixed where id % 2 = 0)
     select o.i, (select count(name) from kept where id % o.i = 0) from generate_series(1, 5) o(i)",
    // A relation over another one, and one that reads itself.
    "with one as (select id, name from mixed), two as (select id, name from one where id % 3 > 0)
     select a.id, b.id from two a join two b on a.name = b.name and a.id < b.id join one c on c.id = a.id",
    "with recursive n as (select 1 as i, repeat('x', 20) as t union all select i + 1, t from n where i < 30000)
     select a.i, b.t from n a join n b on a.i = b.i - 1",
];

#[test]
fn relations_on_the_device_are_those_in_memory() {
    let mut device = Device::mixed(50_000);
    let settings = [
        "weft.statement_memory = '3MB'",
        "work_mem = '1MB'",
        "work_mem = '64kB'",
    ];
    for lines in device.check_alike(RELATIONS, &settings) {
        let disk = number(&lines, "Storage: Disk  Maximum Storage: ");
        assert!((300..100 << 10).contains(&disk), "{lines:#?}");
    }
    let lines = device.measured(RELATIONS[0]).concat();
    assert!(!lines.contains("Storage"), "{lines}");
}

/// Two readers that take turns, one of which lies behind while rows are written.
#[test]
fn readers_that_lie_behind_find_their_place() {
    let mut device = Device::mixed(100_000);
    let query = "with kept as materialized (select id, name from mixed)
                 select a.id, b.id, a.name = b.name from (select id, name, row_number() over () as n from kept) a
                 join lateral (select id, name from kept where id = a.id limit 1) b on true
                 where a.id % 20000 = 7 order by a.id";
    let expected = device.rows(query);
    assert_eq!(expected.len(), 5);
    device.bed.run("set work_mem = '256kB'").unwrap();
    assert_eq!(device.rows(query), expected);
    assert_eq!(device.files(), Vec::<String>::new());
}

#[test]
fn relations_on_the_device_end_as_others() {
    let mut device = Device::mixed(100_000);
    device.check_ends(
        "with kept as (select id, name from mixed) select id, name from kept union all select id, name from kept",
    );
    device
        .bed
        .run("begin; set work_mem = '256kB'; declare c cursor for
              with kept as (select id, name from mixed) select id from kept union all select id from kept")
        .unwrap();
    assert_eq!(device.rows("fetch 150000 from c").len(), 150_000);
    assert_eq!(device.files().len(), 1);
    assert_eq!(device.rows("fetch all from c").len(), 50_000);
    device.bed.run("commit").unwrap();
    assert_eq!(device.files(), Vec::<String>::new());
}
