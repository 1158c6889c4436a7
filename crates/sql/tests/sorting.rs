//! Sorts of more rows than are sorted at once: they are merged, and equal rows stay in their order.

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
