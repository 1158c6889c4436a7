//! Numbers of rows that EXPLAIN shows, beside the true ones.

use io::{Faults, SimulatedDisk};

use super::told;
use crate::bed::Bed;

/// Returns the number of rows that the plan of a query is thought to give.
fn estimated(bed: &mut Bed, query: &str) -> f64 {
    let lines = told(bed, &format!("explain {query}"));
    let (_, rows) = lines[0].split_once(" rows=").unwrap();
    rows.split(' ').next().unwrap().parse().unwrap()
}

/// Patterns are tried on the values of statistics. `forest%` lies within one step of a histogram, and was once thought
/// to leave one row of all, by the distance of its ends as numbers; query 20 of TPC-H then asked a subquery of
/// thousands of rows one by one.
#[test]
fn patterns_are_tried_on_samples() {
    let mut bed = Bed::new();
    bed.run("create table words (id int primary key, word text, kind text)")
        .unwrap();
    bed.run(
        "insert into words select i, chr(97 + i % 26) || 'orest ' || chr(97 + i / 26 % 26) || i,
            case when i % 4 = 0 then 'common ' || i % 8 end from generate_series(1, 5200) i",
    )
    .unwrap();
    bed.run("analyze words").unwrap();
    for (pattern, truth) in [
        ("word like 'forest%'", 200.0),
        ("word like '%orest k%'", 200.0),
        ("word not like '%orest%'", 0.0),
        ("word like '%orest%'", 5200.0),
        ("kind like 'common %'", 1300.0),
        ("kind like '%4'", 650.0),
        ("kind like 'nothing%'", 0.0),
        ("kind not like 'common %'", 0.0),
    ] {
        let rows = estimated(&mut bed, &format!("select * from words where {pattern}"));
        let (least, most) = (truth / 3.0, truth * 3.0 + 60.0);
        assert!(
            least <= rows && rows <= most,
            "{pattern}: {rows} of {truth}"
        );
    }
}

/// Conditions that a disjunction implies for the sides of a join have left rows of these out already, and are counted
/// once.
#[test]
fn implied_conditions_are_counted_once() {
    let mut bed = Bed::new();
    bed.run("create table n (k int primary key, name char(25))")
        .unwrap();
    bed.run("insert into n select i, 'nation ' || i from generate_series(1, 25) i; analyze n")
        .unwrap();
    let pairs = "(n1.name = 'nation 1' and n2.name = 'nation 2') or (n1.name = 'nation 2' and n2.name = 'nation 1')";
    let rows = estimated(&mut bed, &format!("select * from n n1, n n2 where {pairs}"));
    assert!(rows > 1.5, "{rows} of 2");
}

/// Findings of ANALYZE for a statistics object are used by EXPLAIN, and are there when the database is opened again.
#[test]
fn statistics_objects_last() {
    let disk = SimulatedDisk::new(3, Faults::default());
    let mut bed = Bed::on(&disk, 256 << 20);
    bed.run(
        "create table places (id int primary key, zip int, city int);
         insert into places select i, i % 200, i % 200 / 10 from generate_series(1, 10000) i;
         create statistics of_zip on zip, city from places",
    )
    .unwrap();
    let query = "select * from places where zip = 15 and city = 1";
    bed.run("analyze places").unwrap();
    assert_eq!(estimated(&mut bed, query), 50.0);
    drop(bed);
    let mut bed = Bed::on(&disk, 256 << 20);
    assert_eq!(estimated(&mut bed, query), 50.0);
    bed.run("drop statistics of_zip").unwrap();
    assert!(estimated(&mut bed, query) < 5.0);
}

/// Statistics are found in records that are in memory. Where most have left it, the others, which were changed lately,
/// are not like them: what was known of the columns stays.
#[test]
fn records_that_have_left_memory_are_not_taken_for_those_that_have_not() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut bed = Bed::on(&disk, 64 << 20);
    bed.run("create table t (id int primary key, a int)")
        .unwrap();
    bed.run("insert into t select i, i % 10 from generate_series(1, 2000) i")
        .unwrap();
    bed.run("analyze t").unwrap();
    bed.run("insert into t select i, i % 10 from generate_series(2001, 6000) i")
        .unwrap();
    bed.demote();
    bed.run("insert into t select i, 99 from generate_series(6001, 6500) i")
        .unwrap();
    let rows = estimated(&mut bed, "select * from t where a = 5");
    assert!((500.0..800.0).contains(&rows), "{rows} of 600");
}
