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
    for (rows, group, limit) in [(20_000, 10, 10), (20_000, 1_100, 1), (20_000, 1_100, 10)] {
        let (mut bed, _) = grouped(rows, group);
        let text = format!(
            "explain (analyze, costs off, timing off, summary off)
             select i from grouped order by a, i desc limit {limit}"
        );
        let lines = bed.run(&text).unwrap().rows.concat();
        let scan = lines.iter().find(|line| line.contains("Scan on")).unwrap();
        let rows = scan.split("rows=").nth(1).unwrap();
        let rows: usize = rows.split(' ').next().unwrap().parse().unwrap();
        // A scan gives whole batches.
        assert!(rows <= group as usize + 512, "groups of {group}: {lines:?}");
    }
}

/// Each portion had a limit of its own: the rows of a limit that is another one each time were no prefix.
#[test]
fn a_limit_is_computed_once() {
    let (mut bed, _) = grouped(5_000, 10);
    for _ in 0..10 {
        let text = "select count(*), max(a) from
             (select a from grouped order by a, i desc limit (random() * 600)::int) first";
        let rows = bed.run(text).unwrap().rows;
        let [count, last] = &rows[0][..] else {
            panic!("{rows:?}")
        };
        let Ok(last) = last.parse::<u64>() else {
            continue;
        };
        let count: u64 = count.parse().unwrap();
        assert!(count.div_ceil(10).abs_diff(last) <= 1, "{count} {last}");
    }
}
