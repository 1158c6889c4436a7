//! Scans that leave rows out by the keys of joins above them: no answer is another one for it.

use crate::bed::Bed;

const TABLES: &str = "
    create table facts (id int primary key, k int, k2 bigint, g int, n numeric(12, 2), t text);
    insert into facts select i, case when i % 13 > 0 then i % 5000 end, i % 50, i % 5000, i / 4.0, 'text ' || i % 100
        from generate_series(1, 60000) i;
    create table parts (k int primary key, k2 int, name text, w int);
    insert into parts select i, i % 50, 'part ' || i % 500, i % 3 from generate_series(1, 5000) i;
    create table spread (k bigint, name text);
    insert into spread select i::bigint * 1000000007, 'part ' || i from generate_series(1, 3000) i;
    create table far (id int, k bigint);
    insert into far select i, (i % 20000)::bigint * 1000000007 from generate_series(1, 50000) i;
    analyze facts; analyze parts; analyze spread; analyze far";

/// Statements, each with the number of scans that leave rows out.
const STATEMENTS: &[(&str, usize)] = &[
    ("select f.id, p.w from facts f join parts p on p.k = f.k where p.name = 'part 7'", 1),
    ("select count(*), sum(f.n) from facts f join parts p on p.k = f.k and p.k2 = f.k2 where p.name < 'part 2'", 2),
    ("select f.id from facts f where exists (select from parts p where p.k = f.k and p.name = 'part 3')", 1),
    // Groups by the key, as of an aggregate for each row.
    (
        "select p.k, (select sum(f.n) from facts f where f.k = p.k) from parts p where p.name = 'part 11'",
        1,
    ),
    (
        "select p.k, s.c from parts p join (select g, k2, count(*) c from facts group by g, k2) s on s.g = p.k
            where p.name = 'part 12'",
        1,
    ),
    (
        "select p.k, s.c from parts p join (select g, count(*) c from facts group by grouping sets ((g), (k2))) s
            on s.g = p.k where p.name = 'part 12'",
        0,
    ),
    // Through projections and filters, and to both sides of a join by the same key.
    (
        "select count(*) from parts p join (select f.k as x, f.id + 1 as y, g.id from facts f join facts g on g.k = f.k
            where f.t = 'text 5' and g.t = 'text 5' offset 0) s on s.x = p.k where p.name = 'part 5'",
        1,
    ),
    (
        "select count(*), sum(f.id), sum(g.id) from facts f, facts g, parts p where f.k = g.k and g.k = p.k
            and p.name = 'part 5' and f.t = 'text 5'",
        2,
    ),
    // Sides that keep rows without a match.
    (
        "select f.id, q.name from facts f join parts p on p.k = f.k left join parts q on q.k = f.g and q.w = 1
            where p.name = 'part 9'",
        1,
    ),
    (
        "select p.k from parts p where p.name = 'part 9' and not exists (select from facts f where f.k = p.k and f.id between 58000 and 60000)",
        1,
    ),
    ("select p.k, f.id from parts p left join facts f on f.k = p.k where p.name = 'part 21'", 1),
    ("select f.id, p.k from facts f left join parts p on p.k = f.k where f.id < 30000", 0),
    ("select f.id, p.k from facts f full join parts p on p.k = f.k and p.name = 'part 1'", 0),
    // Keys far apart, and none at all.
    ("select f.id, s.name from far f join spread s on s.k = f.k", 1),
    ("select f.id, s.name from far f join spread s on s.k = f.k where s.name = 'nothing'", 1),
    // Keys of other types, and computed ones.
    ("select f.id from facts f join parts p on p.name = f.t where p.w = 9", 0),
    ("select f.id from facts f join parts p on p.k = f.k + 1 where p.name = 'part 7'", 0),
];

fn sorted(bed: &mut Bed, text: &str) -> Vec<Vec<String>> {
    let mut rows = bed
        .run(text)
        .unwrap_or_else(|error| panic!("{text}: {error:?}"))
        .rows;
    rows.sort_unstable();
    rows
}

/// Returns the statement over computed columns: no scan of the large tables leaves rows out for a join.
fn unfiltered(text: &str) -> String {
    let text = text.replace(
        "facts ",
        "(select id, k + 0 as k, k2 + 0 as k2, g + 0 as g, n, t from facts offset 0) ",
    );
    text.replace("far f", "(select id, k + 0 as k from far offset 0) f")
}

fn filters(bed: &mut Bed, text: &str) -> usize {
    let plan = sorted(bed, &format!("explain (costs off) {text}"));
    let lines = plan
        .iter()
        .filter(|line| line[0].contains("Runtime Filter: "));
    lines.map(|line| line[0].matches(", ").count() + 1).sum()
}

fn check(bed: &mut Bed, statements: impl Iterator<Item = &'static (&'static str, usize)>) {
    for (text, expected) in statements {
        let plain = unfiltered(text);
        assert_eq!(
            filters(bed, text),
            *expected,
            "{text}: {:#?}",
            bed.run(&format!("explain (costs off) {text}"))
                .unwrap()
                .rows
        );
        let rows = sorted(bed, &plain);
        let found = sorted(bed, text);
        assert!(
            found == rows,
            "{text}: {} rows, {} without filters",
            found.len(),
            rows.len()
        );
        assert!(
            rows.len() > 1
                || text.contains("count")
                || text.contains("nothing")
                || text.contains("w = 9"),
            "{text}"
        );
    }
}

#[test]
fn answers_are_those_of_joins_that_see_all_rows() {
    let mut bed = Bed::new();
    bed.run(TABLES).unwrap();
    check(&mut bed, STATEMENTS.iter());
    // Rows that blocks do not show, and a column that is younger than the blocks.
    bed.run(
        "update facts set k = k + 1 where id % 5 = 0; delete from facts where id % 17 = 0;
         insert into facts select i, i % 5000, 1, i % 5000, 1, 'text 5' from generate_series(60001, 63000) i;
         alter table facts add column late int default 21",
    )
    .unwrap();
    check(&mut bed, STATEMENTS.iter());
    let late = "select count(*) from facts f join parts p on p.k = f.late where p.name = 'part 21'";
    assert_eq!(filters(&mut bed, late), 1);
    let all = sorted(&mut bed, "select count(*) from facts");
    assert_eq!(sorted(&mut bed, late), all);
    assert_eq!(
        sorted(
            &mut bed,
            "select count(*) from facts f join parts p on p.k = f.late where p.name = 'part 22'"
        ),
        [["0"]]
    );
}

/// A build side that was put by has no filter: its table has some of the keys.
#[test]
fn sides_that_are_put_by_have_no_filter() {
    let disk = io::SimulatedDisk::new(3, io::Faults::default());
    let mut bed = Bed::on(&disk, 256 << 20);
    bed.run(TABLES).unwrap();
    bed.run("set work_mem = '64kB'").unwrap();
    let put_by =
        "explain (analyze, costs off) select f.id, s.name from far f join spread s on s.k = f.k";
    let lines = sorted(&mut bed, put_by);
    assert!(
        lines.iter().any(|line| line[0].contains("Batches: ")),
        "{lines:#?}"
    );
    check(&mut bed, STATEMENTS.iter().step_by(2));
}

/// A join that is begun again with other keys: the filter is that of the new keys, and rows that a join below it keeps
/// were read without it.
#[test]
fn a_filter_changes_with_its_join() {
    let mut bed = Bed::new();
    bed.run(TABLES).unwrap();
    let counted = |bed: &mut Bed, from: &str| {
        let text = format!(
            "select o.i, s.c, s.n from generate_series(1, 3) o(i), lateral (select count(*) c, sum(f.id) n from {from}
                where p.k % 20 = o.i and p.name > 'part 3' offset 0) s"
        );
        (
            sorted(bed, &text),
            sorted(bed, &unfiltered(&text)),
            filters(bed, &text),
        )
    };
    for (from, expected_filters) in [
        ("parts p join facts f on f.k = p.k", 1),
        (
            "parts p join (select f.k, count(g.id) as id from facts f left join facts g
                on g.k = f.k and g.g = f.g and g.id = f.id + 0 group by f.k) f on f.k = p.k",
            1,
        ),
    ] {
        let (found, expected, filters) = counted(&mut bed, from);
        assert!(found == expected, "{from}: {found:?}, {expected:?}");
        assert_eq!((filters, found.len()), (expected_filters, 3), "{from}");
    }
}

/// Few rows come out of a scan whose join has few keys, and none of its blocks beyond the keys is looked at.
#[test]
fn rows_are_left_out_before_they_are_decoded() {
    let mut bed = Bed::new();
    bed.run(TABLES).unwrap();
    let text = "select count(f.k) from far f join parts p on p.k = f.id where p.name = 'part 7' and p.k < 4000";
    // Blocks are built by the first scan whose snapshot sees all rows.
    while bed.stats().blocks_built < 12 {
        bed.run("select count(k) from far").unwrap();
    }
    let before = bed.stats();
    assert_eq!(sorted(&mut bed, text), [["8"]]);
    let after = bed.stats();
    assert_eq!(after.blocks_skipped - before.blocks_skipped, 11);
    let lines = sorted(
        &mut bed,
        &format!("explain (analyze, costs off, timing off) {text}"),
    );
    let scan = lines.iter().find(|line| line[0].contains("Scan on far"));
    assert!(scan.unwrap()[0].contains("rows=8 "), "{lines:#?}");
}

/// Helpers leave rows out, too, by filters that joins above the aggregate have made.
#[test]
fn parts_of_a_statement_filter_alike() {
    let mut bed = Bed::crew(3);
    bed.run(TABLES).unwrap();
    bed.run("insert into facts select i, i % 5000, 1, i % 5000, 1, 'text 5' from generate_series(60001, 90000) i")
        .unwrap();
    let client = bed.client_on(0);
    let mut dice = fastrand::Rng::with_seed(7);
    for (text, _) in STATEMENTS
        .iter()
        .filter(|(text, _)| text.contains("sum") || text.contains("count"))
    {
        let mut ask = |text: &str| {
            bed.send_to(&client, text);
            let mut rows = bed.reply_after(&client, || dice.usize(..3)).unwrap().rows;
            rows.sort_unstable();
            rows
        };
        let expected = ask(&unfiltered(text));
        for _ in 0..3 {
            assert!(ask(text) == expected, "{text}");
        }
    }
    let explained = format!(
        "explain (analyze, costs off, timing off) {}",
        STATEMENTS[1].0
    );
    let is_helped = (0..20).any(|_| {
        bed.send_to(&client, &explained);
        let lines = bed.reply_after(&client, || dice.usize(..3)).unwrap().rows;
        lines
            .iter()
            .any(|line| line[0].contains("Workers Launched: "))
    });
    assert!(is_helped);
}
