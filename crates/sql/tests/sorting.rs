//! Sorts of more rows than are sorted at once: they are merged, and equal rows stay in their order. Groups of rows that
//! come in the order of the first keys are sorted one after the other.

use crate::bed::Bed;

fn sorted(bed: &mut Bed, text: &str) -> Vec<i64> {
    let rows = bed.run(text).unwrap().rows;
    rows.iter().map(|row| row[0].parse().unwrap()).collect()
}

#[test]
fn long_and_short_sorts_are_stable() {
    let mut bed = Bed::new();
    for rows in [0, 1, 2, 4095, 4096, 4097, 8192, 8193, 20_000] {
        // Few values, in a mixed order; in order; in the opposite order.
        for key in ["i * 7919 % 100", "i", "-i", "i / 1000 % 2"] {
            let key_of = |i: i64| match key {
                "i * 7919 % 100" => i * 7919 % 100,
                "i" => i,
                "-i" => -i,
                _ => i / 1000 % 2,
            };
            let mut expected: Vec<i64> = (1..=rows).collect();
            expected.sort_by_key(|i| key_of(*i));
            let series = format!("generate_series(1::bigint, {rows}) i");
            let text = format!("select i from {series} order by {key}");
            assert_eq!(sorted(&mut bed, &text), expected, "{text}");
            let text = format!("select unnest(array_agg(i order by {key})) from {series}");
            assert_eq!(sorted(&mut bed, &text), expected, "{text}");
            let text = format!("select i from {series} order by {key} limit 5000");
            expected.truncate(5000);
            assert_eq!(sorted(&mut bed, &text), expected, "{text}");
        }
    }
}

/// Returns a table of rows `i` with the key `(i / group, i)`, and the rows in the order of `i / group` and `-i`.
fn grouped(rows: i64, group: i64) -> (Bed, Vec<i64>) {
    let mut bed = Bed::new();
    bed.run(&format!(
        "create table grouped (a int, i int, primary key (a, i));
         insert into grouped select i / {group}, i from generate_series(1, {rows}) i"
    ))
    .unwrap();
    let mut rows: Vec<i64> = (1..=rows).collect();
    rows.sort_by_key(|i| (i / group, -i));
    (bed, rows)
}

#[test]
fn groups_of_all_sizes_are_sorted() {
    for (rows, group) in [
        (2000, 1),
        (2000, 3),
        (2000, 255),
        (2000, 256),
        (2000, 257),
        (2000, 1500),
        (100_000, 7),
        (100_000, 60_000),
    ] {
        let (mut bed, expected) = grouped(rows, group);
        let text = "select i from grouped order by a, i desc";
        assert_eq!(sorted(&mut bed, text), expected, "groups of {group}");
        for limit in [0, 1, 300, 1500] {
            let text = format!("{text} limit {limit}");
            let first = &expected[..limit];
            assert_eq!(sorted(&mut bed, &text), first, "groups of {group}: {text}");
        }
        let text = "select i from grouped order by a desc, i limit 1500";
        let last: Vec<i64> = expected.iter().rev().take(1500).copied().collect();
        assert_eq!(sorted(&mut bed, text), last, "groups of {group}");
    }
}

#[test]
fn a_limit_reads_no_more_groups_than_it_needs() {
    let (mut bed, _) = grouped(20_000, 10);
    let text = "explain (analyze, costs off, timing off, summary off)
        select i from grouped order by a, i desc limit 10";
    let lines = bed.run(text).unwrap().rows.concat();
    let scan = lines.iter().find(|line| line.contains("Scan on")).unwrap();
    let rows = scan.split("rows=").nth(1).unwrap();
    let rows: u64 = rows.split(' ').next().unwrap().parse().unwrap();
    assert!(rows <= 1024, "{lines:?}");
}
