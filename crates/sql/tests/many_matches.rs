//! Joins whose rows have more matches than are found at once: the portions of one row's matches
//! show nowhere in the answer, and other tasks have turns between them.
//!
//! A hash join once found all matches of a row at once, as did a join by an index. A statement
//! over one frequent key held its worker for as long, and kept all of these pairs.

use crate::bed::Bed;

/// Number of matches that are found at once.
const PORTION: i32 = 4096;

/// Units of a turn on a clock that stands still.
const UNITS: u64 = 4096;

/// Makes a table whose rows have one key, as an integer and as text, with and without an index.
fn table(bed: &mut Bed, rows: i32) {
    bed.run(&format!(
        "create table many (a int primary key, b int, c text, d int);
         create index many_d on many (d);
         insert into many select i, 7, 'seven', 7 from generate_series(1, {rows}) i;
         create table few (a int primary key, b int, c text);
         insert into few values (1, 7, 'seven'), (2, 8, 'eight'), (3, 7, 'seven'), (4, null, null)"
    ))
    .unwrap();
}

fn answer(bed: &mut Bed, statement: &str) -> String {
    let answer = bed.run(statement);
    let answer = answer.unwrap_or_else(|error| panic!("{statement}: {error}"));
    answer.rows[0].join(" ")
}

/// Each kind of join is tried over integers, over text, and by an index; other conditions hold for
/// no match, the first, the last, those of one portion, or all.
#[test]
fn every_kind_of_join_has_each_match_once() {
    for rows in [
        1,
        PORTION - 1,
        PORTION,
        PORTION + 1,
        2 * PORTION,
        2 * PORTION + 1,
        20_000,
    ] {
        let mut bed = Bed::new();
        table(&mut bed, rows);
        for key in ["f.b = m.b", "f.c = m.c", "f.b = m.d"] {
            for (condition, matches) in [
                ("m.a < 0", 0),
                ("m.a = 1", 1),
                (&*format!("m.a = {rows}"), 1),
                ("m.a > 4096", (rows - PORTION).max(0)),
                ("true", rows),
            ] {
                // A condition that needs both sides is tested after the keys.
                let on = format!("{key} and ({condition}) is distinct from (f.a < 0)");
                let any = i32::from(matches > 0);
                let join = |kind: &str| {
                    format!(
                        "select count(*), count(distinct m.a) from few f {kind} join many m on {on}"
                    )
                };
                let inner = format!("{} {matches}", 2 * matches);
                assert_eq!(answer(&mut bed, &join("inner")), inner, "{rows} {on}");
                let alone = 4 - 2 * any;
                let left = format!("{} {matches}", 2 * matches + alone);
                assert_eq!(answer(&mut bed, &join("left")), left, "{rows} {on}");
                let full = format!("{} {rows}", 2 * matches + alone + rows - matches);
                assert_eq!(answer(&mut bed, &join("full")), full, "{rows} {on}");
                let semi = format!(
                    "select count(*) from few f where exists (select from many m where {on})"
                );
                assert_eq!(
                    answer(&mut bed, &semi),
                    (2 * any).to_string(),
                    "{rows} {on}"
                );
                let anti = semi.replace("exists", "not exists");
                assert_eq!(answer(&mut bed, &anti), alone.to_string(), "{rows} {on}");
            }
        }
    }
}

/// Looking at 20,000 matches of one row takes turns, besides those that reading them takes.
#[test]
fn others_have_turns_among_the_matches_of_one_row() {
    let rows = 20_000;
    let mut bed = Bed::timeless();
    table(&mut bed, rows);
    let mut turns = |key: i32, on: &str| {
        let statement = format!(
            "select count(*) from (select * from few where a = {key}) f full join many m on {on} and m.a + f.a < 0"
        );
        // Statistics of the tables are found, and the statement is planned.
        bed.run(&statement).unwrap();
        let before = bed.turns();
        assert_eq!(answer(&mut bed, &statement), (rows + 1).to_string());
        bed.turns() - before
    };
    for on in ["f.b = m.b", "f.c = m.c", "f.b = m.d"] {
        let (without, with) = (turns(2, on), turns(1, on));
        let expected = without + rows as u64 / UNITS;
        assert!(with >= expected, "{on}: {with} turns, {without} without");
    }
}

/// Rows of a marked side that are marked already are left out, and that took no turns. The row with another key keeps
/// the join from being over when the others are marked.
#[test]
fn others_have_turns_among_matches_that_are_left_out() {
    let rows = 40_000;
    let mut bed = Bed::timeless();
    table(&mut bed, rows);
    let mut turns = |keys: &str, on: &str, expected: &str| {
        let statement = format!(
            "select count(*) from few f where f.a in ({keys}) and exists (select from many m where {on})"
        );
        let plan = bed.run(&format!("explain {statement}")).unwrap().rows;
        let is_turned = plan.iter().any(|line| line[0].contains("Right Semi Join"));
        assert!(is_turned, "{plan:#?}");
        bed.run(&statement).unwrap();
        let before = bed.turns();
        assert_eq!(answer(&mut bed, &statement), expected);
        bed.turns() - before
    };
    for on in ["f.b = m.b", "f.c = m.c"] {
        let (without, with) = (turns("2, 4", on, "0"), turns("1, 2, 3", on, "2"));
        // Four candidates by columns count as a row.
        let expected = without + 2 * rows as u64 / 4 / UNITS;
        assert!(with >= expected, "{on}: {with} turns, {without} without");
    }
}

/// There are 25 million pairs of 5,000 rows of one key with each other: the first is there at once,
/// and no more than a portion of them is kept.
#[test]
fn pairs_of_one_key_are_not_kept() {
    let mut bed = Bed::with_memory(64 << 20);
    table(&mut bed, 5000);
    let mut run = |statement: &str| bed.run(statement).unwrap();
    run("set work_mem = '4MB'");
    let first = "select m.a from many m join many n on m.b = n.b and m.a + n.a > 0 limit 1";
    assert_eq!(run(first).rows.len(), 1);
    // Texts are long: portions are bounded by bytes.
    run("update many set c = repeat('x', 1000)");
    let first = "select m.c, n.c from many m join many n on m.b = n.b limit 3";
    assert_eq!(run(first).rows.len(), 3);
}
