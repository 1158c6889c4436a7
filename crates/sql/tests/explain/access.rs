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
        "select o.n, (select min(at) from reading i where i.place = o.n) from generate_series(1, 3) o(n)",
        titles,
    );
    assert_eq!(
        found,
        [
            "Key Scan on reading",
            "Key Cond: (place = generate_series(1, 3))"
        ]
    );
    // An equality with a part behind the value, or none, leaves rows that are not in order.
    for condition in ["value = 3", "at > 3 and place > 1"] {
        let text = format!("select max(note) from reading where {condition}");
        assert_eq!(lines(&mut bed, &text, titles)[0], "Aggregate", "{text}");
    }
}
