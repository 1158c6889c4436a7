//! Joins by hash whose build side is the left one, with fewer rows: outer joins, semijoins and antijoins give its rows
//! by marks. The tests compute the answers that they expect.

use std::collections::HashMap;

use crate::bed::Bed;

const FEW: i64 = 2_000;
const MANY: i64 = 30_000;

/// Keys that match many times, once, and never, and NULLs.
fn key_of_few(id: i64) -> Option<i64> {
    (id % 7 > 0).then_some(id % 1_900 * 3)
}

fn key_of_many(id: i64) -> Option<i64> {
    (id % 11 > 0).then_some(if id % 2 == 0 { id % 40 } else { id % 9_000 })
}

fn tables() -> Bed {
    let mut bed = Bed::new();
    bed.run(&format!(
        "create table few (id int primary key, k int, k2 bigint, t text);
         create table many (id int primary key, k int, k2 smallint, t text);
         insert into few select i, k, k % 5, 'text ' || k from
            (select i, case when i % 7 > 0 then i % 1900 * 3 end k from generate_series(1, {FEW}) i) s;
         insert into many select i, k, k % 5, 'text ' || k from
            (select i, case when i % 11 > 0 then case when i % 2 = 0 then i % 40 else i % 9000 end end k
             from generate_series(1, {MANY}) i) s;
         analyze few; analyze many"
    ))
    .unwrap();
    bed
}

/// Returns, for each row of the few, the ids of the many that match it: with the same key, and `holds` for both ids.
fn matches(holds: impl Fn(i64, i64) -> bool) -> Vec<(i64, Vec<i64>)> {
    let mut by_key: HashMap<i64, Vec<i64>> = HashMap::new();
    for id in 1..=MANY {
        if let Some(key) = key_of_many(id) {
            by_key.entry(key).or_default().push(id);
        }
    }
    let of = |id: i64| {
        let found = key_of_few(id).and_then(|key| by_key.get(&key));
        let found = found.into_iter().flatten().copied();
        found.filter(|other| holds(id, *other)).collect()
    };
    (1..=FEW).map(|id| (id, of(id))).collect()
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort_unstable();
    rows
}

/// Returns the rows of a query, in an order of their own, after a look at its plan.
fn rows(bed: &mut Bed, query: &str, operator: &str) -> Vec<Vec<String>> {
    let plan = bed.run(&format!("explain (costs off) {query}")).unwrap();
    let has_operator = plan.rows.iter().any(|line| line[0].contains(operator));
    assert!(has_operator, "{query}: {:#?}", plan.rows);
    sorted(bed.run(query).unwrap().rows)
}

/// Integers go by columns or by rows, according to the reader; texts, several keys and computed keys are of other
/// tables.
const KEYS: [&str; 4] = [
    "m.k = f.k",
    "m.t = f.t",
    "m.k = f.k and m.k2 = f.k2",
    "m.k + 1 = f.k + 1",
];

/// Whether a row of the few and one of the many with its key match, by their ids.
type Holds = fn(i64, i64) -> bool;

/// Conditions beside the keys, the last of which cannot be computed by columns.
const CONDITIONS: [(&str, Holds); 4] = [
    ("true", |_, _| true),
    ("m.id > f.id * 2", |few, many| many > few * 2),
    ("m.id % 3 between f.id % 3 and f.id % 3", |few, many| {
        many % 3 == few % 3
    }),
    (
        "length(repeat('x', m.id % 5)) between f.id % 5 and f.id % 5",
        |few, many| many % 5 == few % 5,
    ),
];

#[test]
fn rows_of_the_left_come_by_their_marks() {
    let mut bed = tables();
    for (number, (condition, holds)) in CONDITIONS.iter().enumerate() {
        let expected = matches(holds);
        let text = |id: i64| id.to_string();
        let ids = |has_match: bool| {
            let ids = expected.iter();
            let ids = ids.filter(|(_, found)| found.is_empty() != has_match);
            sorted(ids.map(|(id, _)| vec![text(*id)]).collect())
        };
        let mut pairs = Vec::new();
        for (id, found) in &expected {
            pairs.extend(found.iter().map(|other| vec![text(*id), text(*other)]));
            if found.is_empty() {
                pairs.push(vec![text(*id), "NULL".to_owned()]);
            }
        }
        let pairs = sorted(pairs);
        assert!(ids(true).len() > 100 && ids(false).len() > 100 && pairs.len() > 2_000);
        // All keys with one condition, and one of them with each other.
        let keys = if number == 0 {
            &KEYS[..]
        } else {
            &KEYS[number..]
        };
        for key in keys {
            let on = format!("{key} and {condition}");
            // It is not known how many rows have one computed key.
            let (semi_join, anti_join) = match key.contains('+') {
                true => ("Hash Semi Join", "Hash Anti Join"),
                false => ("Hash Right Semi Join", "Hash Right Anti Join"),
            };
            let semi =
                format!("select f.id from few f where exists (select from many m where {on})");
            assert!(rows(&mut bed, &semi, semi_join) == ids(true), "{on}");
            let anti =
                format!("select f.id from few f where not exists (select from many m where {on})");
            assert!(rows(&mut bed, &anti, anti_join) == ids(false), "{on}");
            let left = format!("select f.id, m.id from few f left join many m on {on}");
            assert!(rows(&mut bed, &left, "Hash Right Join") == pairs, "{on}");
            let count = format!(
                "select count(*), count(m.id), count(distinct f.id) from few f left join many m on {on}"
            );
            let all = ids(true).len() + ids(false).len();
            let matched = pairs.len() - ids(false).len();
            let expected = vec![vec![
                pairs.len().to_string(),
                matched.to_string(),
                all.to_string(),
            ]];
            assert!(
                rows(&mut bed, &count, "Hash Right Join") == expected,
                "{on}"
            );
        }
    }
}

/// A right side that is the same whenever the join begins again is kept: it was read each time (38 s in place of 2).
/// Rows that are alike are no side to be marked: each row of the right would be tried with all of them.
#[test]
fn some_joins_keep_their_sides() {
    let mut bed = tables();
    bed.run("create table alike as select i % 20 k, i id from generate_series(1, 2000) i; analyze alike")
        .unwrap();
    for query in [
        "select count(*) from generate_series(1, 9) o(i), lateral (select count(m.k) c from few f
            left join (select k, t from many) m on m.t = f.t where f.id % 200 = o.i offset 0) s",
        "select count(*) from alike f where exists (select from many m where m.k = f.k)",
        "select count(*) from few f where exists (select from many m where m.k = f.id % 21)",
        "select count(*) from alike f where not exists (select from many m where m.k = f.k and m.id > f.id)",
    ] {
        let plan = bed.run(&format!("explain (costs off) {query}")).unwrap();
        let is_turned = plan.rows.iter().any(|line| line[0].contains("Right"));
        assert!(!is_turned, "{query}: {:#?}", plan.rows);
    }
}

/// Sides without rows, joins that are begun again, and a limit that ends one early.
#[test]
fn a_join_by_marks_begins_again() {
    let mut bed = tables();
    for (query, expected) in [
        (
            "select count(*), count(m.id) from few f left join (select * from many where id < 0 offset 0) m on m.k = f.k",
            ["2000", "0"],
        ),
        (
            "select count(*), count(m.id) from (select * from few where id < 0) f left join many m on m.k = f.k",
            ["0", "0"],
        ),
        (
            "select count(*), sum(n) from generate_series(1, 3) i, lateral (select count(*) n from few f
                where f.id % 4 <> i and not exists (select from many m where m.t = f.t and m.id % 2 = i % 2) offset 0) s",
            ["3", ""],
        ),
        (
            "select count(*), min(1) from (select from few f where exists (select from many m where m.k = f.k) limit 7) s",
            ["7", "1"],
        ),
    ] {
        let found = bed.run(query).unwrap().rows.remove(0);
        assert_eq!(found[0], expected[0], "{query}");
        if !expected[1].is_empty() {
            assert_eq!(found[1], expected[1], "{query}");
            continue;
        }
        let sum: usize = (1..=3)
            .map(|i| {
                let expected = matches(|few, many| few % 4 != i && many % 2 == i % 2);
                let ids = expected.iter();
                ids.filter(|(id, found)| id % 4 != i && found.is_empty()).count()
            })
            .sum();
        assert_eq!(found[1], sum.to_string(), "{query}");
    }
}
