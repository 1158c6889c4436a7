//! Statements beside others that have the database's memory.

use super::{Device, joins::SIDES, mixed};

/// A statement may hold more than the database has left: a join was refused memory where it could put rows by.
#[test]
fn statements_use_the_device_when_the_database_has_less_than_their_share() {
    let mut device = Device::within(48 << 20, SIDES);
    let queries = [
        "select a.id, b.id, a.name, b.name from one a full join two b on a.k = b.k",
        "select name, k, count(*) from one group by name, k, id",
        "select name || id, id from one order by 1, 2",
    ];
    let mut roomy = Device::new(SIDES);
    let expected = queries.map(|query| roomy.sorted(query));
    device
        .bed
        .run("set weft.statement_memory = '48MB'")
        .unwrap();
    for (query, expected) in queries.iter().zip(&expected) {
        assert!(device.sorted(query) == *expected, "{query}");
        assert_eq!(device.files(), Vec::<String>::new());
    }
}

/// A statement that may hold much more than the database has left goes on on the device, whatever keeps its rows.
#[test]
fn statements_use_the_device_beside_a_neighbour_that_holds_memory() {
    let mut device = Device::within(40 << 20, &mixed(50_000));
    let queries = [
        "select distinct name, at, list, wide, number, few, id from mixed",
        "select * from mixed except select * from mixed where id % 3 = 0",
        "with kept as (select * from mixed) select * from kept union all select * from kept",
        "select *, rank() over (order by name, id) from mixed",
        "select *, lag(id) over (partition by few order by id) from mixed",
    ];
    let mut roomy = Device::mixed(50_000);
    let neighbour = device.bed.client();
    // A nested loop keeps one of its sides.
    let held = "set weft.statement_memory = '40MB'; begin; declare c cursor for
                select a.id, b.name, b.at, b.number from mixed a, mixed b; fetch 1 from c";
    device.bed.run_in(&neighbour, held).unwrap();
    device
        .bed
        .run("set weft.statement_memory = '40MB'")
        .unwrap();
    for query in queries {
        assert!(device.sorted(query) == roomy.sorted(query), "{query}");
        assert_eq!(device.files(), Vec::<String>::new());
        let lines = device.measured(query).concat();
        assert!(
            lines.contains("Disk"),
            "{query} keeps all in memory: {lines}"
        );
    }
}
