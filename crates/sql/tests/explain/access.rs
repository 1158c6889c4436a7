//! EXPLAIN: access paths of statements whose conditions or orders a key has in another form.

use super::told;
use crate::bed::Bed;

/// A table with keys of several columns, and enough rows for the choice between them.
fn readings() -> Bed {
    let mut bed = Bed::new();
    bed.run(
        "create table reading (place int, at int, value int, note text, primary key (place, at));
         create index reading_value on reading (place, value desc);
         create index reading_note on reading (upper(note));
         insert into reading select i % 4, i, i * 7 % 500, 'n' || i from generate_series(1, 4000) i;
         analyze reading",
    )
    .unwrap();
    bed
}

/// Returns the lines of a statement's plan that begin with one of `titles`.
fn lines(bed: &mut Bed, text: &str, titles: &[&str]) -> Vec<String> {
    let lines = told(bed, &format!("explain (costs off) {text}")).into_iter();
    let lines = lines.map(|line| line.trim_start_matches([' ', '-', '>']).to_owned());
    lines
        .filter(|line| titles.iter().any(|title| line.starts_with(title)))
        .collect()
}

/// Extremes behind equalities, of expressions, and of derived tables once read all rows that their conditions left.
#[test]
fn extremes_are_ends_of_keys() {
    let mut bed = readings();
    let titles = &["Aggregate", "Sort", "Key", "Index", "Scan"];
    let found = lines(
        &mut bed,
        "select max(at), min(at) from reading where place = 2",
        titles,
    );
    let backward = ["Key Scan Backward on reading", "Key Cond: (place = 2)"];
    let forward = ["Key Scan on reading", "Key Cond: (place = 2)"];
    assert_eq!(found, [backward, forward].concat());
    let found = lines(
        &mut bed,
        "select max(n), min(p) from (select upper(note) as n, place as p from reading) s",
        titles,
    );
    assert_eq!(found, ["Aggregate", "Scan on reading"]);
    let found = lines(
        &mut bed,
        "select max(upper(n)), min(p) from (select note as n, place as p from reading) s",
        titles,
    );
    let by_note = "Index Scan Backward using reading_note on reading";
    assert_eq!(found, [by_note, "Scan on reading"]);
    let found = lines(
        &mut bed,
        "select o.n, (select min(at) from reading i where i.place = o.n) from (values (1), (2), (3)) o(n)",
        titles,
    );
    assert_eq!(
        found,
        ["Key Scan on reading", "Key Cond: (place = column0)"]
    );
    // An equality with a part behind the value, or none, leaves rows that are not in order.
    for condition in ["value = 3", "at > 3 and place > 1"] {
        let text = format!("select max(note) from reading where {condition}");
        assert_eq!(lines(&mut bed, &text, titles)[0], "Aggregate", "{text}");
    }
}

/// The first rows in an order were sorted where two keys lead to as many rows, and the one without the order was found
/// first.
#[test]
fn first_rows_come_by_the_key_with_their_order() {
    let mut bed = readings();
    bed.run("create index reading_at on reading (value); create index reading_both on reading (value, at)")
        .unwrap();
    let titles = &["Sort", "Key", "Index", "Scan"];
    for (text, expected) in [
        (
            "select note from reading where place = 2 order by value desc limit 3",
            [
                "Index Scan using reading_value on reading",
                "Index Cond: (place = 2)",
            ]
            .as_slice(),
        ),
        (
            "select max(value) from reading where place = 2",
            &[
                "Index Scan using reading_value on reading",
                "Index Cond: (place = 2)",
                "Filter: (value IS NOT NULL)",
            ][..2],
        ),
        (
            "select note from reading where value = 7 order by at desc limit 3",
            &[
                "Index Scan Backward using reading_both on reading",
                "Index Cond: (value = 7)",
            ],
        ),
        (
            "select note from reading where place = 2 order by at limit 3",
            &["Key Scan on reading", "Key Cond: (place = 2)"],
        ),
        // All rows are wanted, or another range is smaller.
        (
            "select note from reading where place = 2 order by value",
            &[
                "Sort",
                "Sort Key: value",
                "Key Scan on reading",
                "Key Cond: (place = 2)",
            ],
        ),
        (
            "select note from reading where place = 2 and value = 7 and at < 9 order by upper(note) limit 3",
            &[
                "Sort",
                "Sort Key: upper(note)",
                "Index Scan using reading_both on reading",
                "Index Cond: (value = 7) AND (at < 9)",
            ],
        ),
    ] {
        assert_eq!(lines(&mut bed, text, titles), expected, "{text}");
    }
}

/// A page behind a row was read by the row's first column alone, from the beginning of all rows that are equal in it.
#[test]
fn comparisons_of_rows_are_ranges() {
    let mut bed = readings();
    let page = |condition: &str, order: &str| {
        format!("select at from reading where {condition} order by {order} limit 5")
    };
    let titles = &["Key", "Index", "Scan"];
    let mut check = |text: String, expected: [&str; 2]| {
        assert_eq!(lines(&mut bed, &text, titles), expected, "{text}");
    };
    let key = "Key Scan on reading";
    check(
        page("(place, at) > (2, 3000)", "place, at"),
        [key, "Key Cond: (ROW(place, at) > ROW(2, 3000))"],
    );
    check(
        page("place > 2 or place = 2 and at >= 3000", "place, at"),
        [key, "Key Cond: (ROW(place, at) >= ROW(2, 3000))"],
    );
    check(
        page("(place, at, note) <= (2, 3000, 'n')", "place desc, at desc"),
        [
            "Key Scan Backward on reading",
            "Key Cond: (ROW(place, at) <= ROW(2, 3000))",
        ],
    );
    check(
        page(
            "(place, at) > (0, 10) and (place, at) < (0, 90)",
            "place, at",
        ),
        [
            key,
            "Key Cond: (ROW(place, at) > ROW(0, 10)) AND (ROW(place, at) < ROW(0, 90))",
        ],
    );
    // An index sorts the second column in the other direction, and the key has another column there.
    check(
        page("(place, value) > (2, 30)", "place, value desc"),
        [
            "Index Scan using reading_value on reading",
            "Index Cond: (place >= 2)",
        ],
    );
}

/// The parts of a row are compared with the parts of keys one by one, however many there are.
#[test]
fn long_rows_are_compared() {
    let mut bed = readings();
    let (columns, values) = ("place, ".repeat(1_600), "2, ".repeat(1_600));
    let text = format!("select count(*) from reading where ({columns} at) > ({values} 3000)");
    assert_eq!(told(&mut bed, &text), ["1250"]);
    for times in [10, 100_000] {
        let nested = "place > 2 or (place = 2 and (".repeat(times);
        let text = format!(
            "select count(*) from reading where {nested} at > 3000 {}",
            "))".repeat(times)
        );
        match bed.run(&text) {
            Ok(answer) => assert_eq!(answer.rows, [["1250"]], "{times}"),
            Err(error) => assert_eq!((times, error.state().code()), (100_000, "54001")),
        }
    }
}
