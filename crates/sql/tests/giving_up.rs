//! Statements that compute for long without a wait end soon after their time is over.
//!
//! Each of these would take minutes. A join whose rows have no matches, or thousands each, once
//! went through all pairs before it looked at the clock; `NOT IN`, windows and functions that
//! return sets did the same.

use std::time::{Duration, Instant};

use crate::bed::Bed;

/// Time limit of the test: far more than a statement should take, and far less than it would take
/// unlimited.
const LIMIT: Duration = Duration::from_secs(10);

const TABLES: &str = "
    create table item (id int primary key, kind int, value int);
    create index item_kind on item (kind);
    insert into item select i, i % 2, i from generate_series(1, 30000) i;
    analyze item";

const STATEMENTS: &[&str] = &[
    // Pairs; pairs of which none counts.
    "select count(*) from generate_series(1, 200000) a, generate_series(1, 200000) b",
    "select count(*) from generate_series(1, 200000) a, generate_series(1, 200000) b where a + b < 0",
    "select count(*) from generate_series(1, 200000) a left join generate_series(1, 200000) b on a + b < 0",
    "select count(*) from generate_series(1, 200000) a full join generate_series(1, 200000) b on a + b < 0",
    "select count(*) from generate_series(1, 200000) a
     where not exists (select from generate_series(1, 200000) b where a + b < 0)",
    "select count(*) from item a, item b, item c where a.value + b.value + c.value < 0",
    // Joins with thousands of matches for each row.
    "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b on a % 2 = b % 2",
    "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b
     on a % 2 = b % 2 and a + b < 0",
    "select count(*) from item a join item b on b.kind = a.kind join item c on c.kind = b.kind
     where a.value + b.value + c.value < 0",
    // Subqueries.
    "select count(*) from generate_series(1, 200000) a
     where a not in (select -b from generate_series(1, 200000) b)",
    "select sum((select count(*) from generate_series(1, a) b)) from generate_series(1, 200000) a",
    "select count(*) from generate_series(1, 200000) a, lateral (select from generate_series(1, a) b
     where b < 0) c",
    "select sum((select count(*) from item b where b.value < -a.value)) from item a, item c",
    // Statements without an end, or nearly so.
    "with recursive r(i) as (select 1 union all select i + 1 from r) select count(*) from r",
    "with recursive r(i) as (select 1::bigint union select i + 1 from r) select count(*) from r",
    "with recursive r(i) as (select 1 union all select 1 - i from r) select count(*) from r where i > 1",
    "select count(*) from generate_series(1, 1000000000000)",
    "select count(i) from (select generate_series(1, 1000000000000) i) s",
    // Windows and groups.
    "select sum(i) over (order by i rows between 200000 preceding and current row)
     from generate_series(1, 400000) i",
    "select count(*) from (select a.kind from item a, item b, item c group by a.kind) s",
    "select count(distinct a.value) from item a, item b, item c",
    "explain analyze select from generate_series(1, 200000) a, generate_series(1, 200000) b",
    // The statement's writes are undone.
    "insert into item select a, b, a + b from generate_series(1, 200000) a, generate_series(1, 200000) b
     where a + b < 0",
];

#[test]
fn a_statement_that_computes_ends_soon_after_its_time() {
    // The memory that the statements keep until then is less than a share of this.
    let mut bed = Bed::with_memory(8 << 30);
    bed.run(TABLES).unwrap();
    bed.run("set statement_timeout = '50ms'").unwrap();
    for text in STATEMENTS {
        let begun = Instant::now();
        let error = bed.run(text).expect_err(text);
        assert_eq!(error.state().code(), "57014", "{text}: {error}");
        let taken = begun.elapsed();
        assert!(taken < LIMIT, "{taken:?}: {text}");
    }
    // A machine that has much else to do may take longer for this.
    bed.run("set statement_timeout = 0").unwrap();
    let count = bed.run("select count(*) from item where kind > 1").unwrap();
    assert_eq!(count.rows, [["0"]]);
}
