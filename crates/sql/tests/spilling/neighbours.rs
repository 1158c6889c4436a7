//! Statements beside others that have the database's memory.

use super::{Device, joins::SIDES};

/// A statement may hold more than the database has left: a join was refused memory where it could put rows by.
#[test]
fn statements_use_the_device_when_the_database_has_less_than_their_share() {
    let mut device = Device::within(48 << 20, SIDES);
    let sorted = |device: &mut Device, query: &str| {
        let mut rows = device.rows(query);
        rows.sort_unstable();
        rows
    };
    let queries = [
        "select a.id, b.id, a.name, b.name from one a full join two b on a.k = b.k",
        "select name, k, count(*) from one group by name, k, id",
        "select name || id, id from one order by 1, 2",
    ];
    let mut roomy = Device::new(SIDES);
    let expected = queries.map(|query| sorted(&mut roomy, query));
    device
        .bed
        .run("set weft.statement_memory = '48MB'")
        .unwrap();
    for (query, expected) in queries.iter().zip(&expected) {
        assert!(sorted(&mut device, query) == *expected, "{query}");
        assert_eq!(device.files(), Vec::<String>::new());
    }
}
