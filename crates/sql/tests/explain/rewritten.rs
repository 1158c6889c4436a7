//! Plans of statements that the planner rewrites: disjunctions (`planner/plan/disjunction.rs`), correlated aggregates
//! (`planner/plan/grouped.rs`), WITH queries (`planner/plan/inlined.rs`), and outer joins
//! (`planner/plan/outer_joins.rs`). The answers are in `logic/disjunctions.slt`, `logic/correlated_aggregates.slt`,
//! `logic/with_queries.slt` and `logic/outer_joins.slt`.

use super::told;
use crate::bed::Bed;

fn tables() -> Bed {
    let mut bed = Bed::new();
    bed.run(
        "create table o (id int primary key, k int, b bigint, n numeric(8, 2), t text);
         create table i (id int primary key, k int, b bigint, n numeric(8, 2), q numeric, f float8);
         insert into o select g, g % 50, g % 20, g % 9, 't' || g from generate_series(1, 400) g;
         insert into i select g, g % 45, g % 17, g % 8, g, g from generate_series(1, 1000) g;
         analyze o; analyze i",
    )
    .unwrap();
    bed
}

/// Returns the plan of a query below its output.
fn plan(bed: &mut Bed, query: &str) -> Vec<String> {
    let lines = told(bed, &format!("explain (costs off) {query}"));
    let below = lines.iter().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        Some(
            line.strip_prefix("->  ")
                .or(line.strip_prefix("    "))?
                .to_owned(),
        )
    });
    match lines.first().is_some_and(|line| line == "Project") {
        true => below.collect(),
        false => lines,
    }
}

#[test]
fn common_conditions_of_alternatives_join() {
    let mut bed = tables();
    let text = "select 1 from o, i where (o.k = i.k and o.n = 1) or (o.k = i.k and i.n = 2)";
    assert_eq!(
        plan(&mut bed, text),
        [
            "Hash Join",
            "  Hash Cond: (i.k = o.k)",
            "  Join Filter: ((o.n = (1)::numeric) OR (i.n = (2)::numeric))",
            "  ->  Scan on i",
            "        Runtime Filter: k",
            "  Hashed:",
            "  ->  Scan on o",
        ]
    );
}

#[test]
fn common_conditions_of_alternatives_choose_an_index() {
    let mut bed = tables();
    bed.run("create index on o (k)").unwrap();
    let lines = plan(
        &mut bed,
        "select 1 from o where (k = 7 and n = 2) or (k = 7 and b = 3)",
    );
    assert_eq!(
        lines,
        [
            "Index Scan using o_k_idx on o",
            "  Index Cond: (k = 7)",
            "  Filter: ((n = (2)::numeric) OR (b = 3))",
        ]
    );
}

#[test]
fn conditions_that_cost_least_are_asked_first() {
    let mut bed = tables();
    let filter = |bed: &mut Bed, condition: &str| {
        let text = format!("select 1 from o where {condition}");
        let lines = plan(bed, &text);
        let mut filters = lines
            .iter()
            .filter_map(|line| line.trim().strip_prefix("Filter: "));
        filters.next().unwrap().to_owned()
    };
    assert_eq!(
        filter(
            &mut bed,
            "(n = 2 or n = 3 or t = 'x') and t in ('a', 'b') and t > 'c'"
        ),
        "((t > 'c'::text) AND (t = ANY (ARRAY['a'::text, 'b'::text])) AND ((n = (2)::numeric) OR (n = (3)::numeric) OR (t = 'x'::text)))"
    );
    // A condition that may raise an error stays behind those that guard it.
    assert_eq!(
        filter(&mut bed, "(n <> 0 or t = 'x') and 1 / n > 1"),
        "(((n <> (0)::numeric) OR (t = 'x'::text)) AND (((1)::numeric / n) > (1)::numeric))"
    );
}

#[test]
fn what_alternatives_say_of_one_table_is_asked_of_it_first() {
    let mut bed = tables();
    let lines = plan(
        &mut bed,
        "select 1 from o, i where (o.k = 4 and i.b = 1) or (o.k = 5 and i.b = 2 and i.n = 1)",
    );
    let filter = |condition: &str| lines.iter().any(|line| line.trim() == condition);
    assert!(filter("Filter: ((o.k = 4) OR (o.k = 5))"), "{lines:#?}");
    let other = "Filter: ((i.b = 1) OR ((i.b = 2) AND (i.n = (1)::numeric)))";
    assert!(filter(other), "{lines:#?}");
}

/// PostgreSQL draws `10 / (o.k - o.k) = 1` out of its alternative and raises 22012, though no row of `i` has the other
/// condition of the alternative.
#[test]
fn conditions_that_may_raise_stay_in_their_alternative() {
    let mut bed = tables();
    let text = "select count(*) from o, i \
        where (i.k = -1 and 10 / (o.k - o.k) = 1 and o.b = 3) or (i.k = 2 and o.b = 1)";
    let lines = plan(&mut bed, text);
    let scan = "Filter: ((o.b = 3) OR (o.b = 1))";
    assert!(lines.iter().any(|line| line.trim() == scan), "{lines:#?}");
    assert_eq!(bed.run(text).unwrap().rows, [["460"]]);
    let one_table =
        "select count(*) from o where (k > 99 and 1 / (b - b) = 1) or (n > 99 and 1 / (b - b) = 1)";
    assert_eq!(bed.run(one_table).unwrap().rows, [["0"]]);
}

#[test]
fn an_aggregate_for_each_row_is_computed_by_groups() {
    let mut bed = tables();
    let text =
        "select 1 from o where n < (select 0.5 * avg(i.n) from i where i.k = o.k and i.b > 3)";
    assert_eq!(
        plan(&mut bed, text),
        [
            "Filter",
            "  Filter: (o.n < (0.5 * avg(i.n)))",
            "  ->  Project",
            "        ->  Hash Left Join",
            "              Hash Cond: (o.k = i.k)",
            "              ->  Scan on o",
            "              Hashed:",
            "              ->  Hash Aggregate",
            "                    Group Key: i.k",
            "                    ->  Scan on i",
            "                          Filter: (b > 3)",
        ]
    );
    let lines = plan(
        &mut bed,
        "select id, (select count(*) from i where i.k = o.k) c from o order by c",
    );
    assert_eq!(lines[..2], ["Sort", "  Sort Key: count(*)"]);
}

#[test]
fn groups_answer_what_can_be_asked_of_all_rows() {
    let mut bed = tables();
    for (query, is_grouped) in [
        ("count(*) from i where i.k = o.k", true),
        ("sum(i.n * (1 - i.n)) from i where i.k = o.k", true),
        (
            "count(distinct i.b) from i where i.k = o.k and i.b = o.b",
            true,
        ),
        (
            "sum(i.b) from i join o x on x.id = i.id where i.k = o.k and x.n in (1, 2)",
            true,
        ),
        ("max(i.b) from i where i.b = o.k", true),
        // The number of digits has no bound, and a sum of large numbers may overflow.
        ("sum(i.q) from i where i.k = o.k", false),
        ("sum(i.f) from i where i.k = o.k", false),
        ("sum(i.n / i.n) from i where i.k = o.k", false),
        ("max(i.b + 1) from i where i.k = o.k", false),
        ("string_agg(i.b::text, ',') from i where i.k = o.k", false),
        ("count(*) from i where i.k = o.k and 1 / i.k = 1", false),
        ("count(*) from i where i.k / 2 = o.k", false),
        ("count(*) from i where i.k = o.k / 2", false),
        ("count(*) from i where i.k = o.k and random() < 2", false),
        ("count(*) from i where i.k > o.k", false),
        ("count(*) from i where i.k = o.k and i.b > o.b", false),
        ("count(*) from i where i.k = o.k having count(*) > 1", false),
        ("count(*) from i where i.k = o.k group by i.k", false),
        ("distinct count(*) from i where i.k = o.k", false),
        ("count(*) from i where i.k = o.k limit 1", false),
        (
            "count(*) from (select k from i where i.k = o.k limit 5) s",
            false,
        ),
        (
            "count(*) filter (where i.b > 5) from i where i.k = o.k",
            false,
        ),
        ("sum(i.b + o.b) from i where i.k = o.k", false),
        ("count(*) from i where i.k = o.k and i.id = 5", true),
    ] {
        let lines = plan(&mut bed, &format!("select (select {query}) from o"));
        let found = lines.iter().any(|line| line.contains("Left Join"));
        assert_eq!(found, is_grouped, "{query}: {lines:#?}");
    }
}

#[test]
fn few_rows_are_asked_one_by_one() {
    let mut bed = tables();
    for (text, is_grouped) in [
        (
            "select (select count(*) from i where i.k = o.k) from o limit 3",
            false,
        ),
        (
            "select (select count(*) from i where i.k = o.k) from o where id = 5",
            false,
        ),
        (
            "select (select count(*) from i where i.id = o.k) from o",
            false,
        ),
        // All rows are asked before the first comes out.
        (
            "select (select count(*) from i where i.k = o.k) c from o order by c limit 3",
            true,
        ),
        (
            "select sum((select count(*) from i where i.k = o.k)) from o limit 1",
            true,
        ),
    ] {
        let lines = plan(&mut bed, text);
        let found = lines.iter().any(|line| line.contains("Left Join"));
        assert_eq!(found, is_grouped, "{text}: {lines:#?}");
    }
}

/// Each subquery that groups answer has three operators upon each other in place of one, and 300 operators of any kind
/// once had no room on a worker's stack while they were opened.
#[test]
fn a_statement_may_have_many_aggregates_for_each_row() {
    crate::hostile::on_a_workers_stack(|| {
        let mut bed = tables();
        bed.run("create table few as select k, n from i where id <= 60; analyze few")
            .unwrap();
        let text = |count: usize| {
            let one = "(select count(*) + max(few.n) from few where few.k = o.k)";
            format!("select {} from o where b < 1", vec![one; count].join(", "))
        };
        let lines = plan(&mut bed, &text(2));
        let joins = lines.iter().filter(|line| line.contains("Hash Right Join"));
        assert_eq!(joins.count(), 2, "{lines:#?}");
        let answer = bed.run(&text(340)).unwrap();
        assert_eq!((answer.rows.len(), answer.rows[0].len()), (20, 340));
        for row in &answer.rows {
            assert!(row.iter().all(|value| *value == row[0]), "{row:?}");
        }
        let error = bed.run(&text(1_000)).unwrap_err();
        assert_eq!(error.state().code(), "54001");
    });
}

#[test]
fn aggregates_of_with_queries_are_grouped_if_their_digits_are_known() {
    let mut bed = tables();
    for (value, is_grouped) in [
        ("sum(n)", true),
        ("avg(b) + max(n)", true),
        ("sum(n) * sum(n * n)", true),
        ("sum(q)", false),
        ("sum(n) / sum(n)", false),
    ] {
        let query = format!(
            "with w as (select k, b, {value} v from i group by k, b)
             select 1 from w x where v > (select 2 * avg(v) from w y where y.k = x.k)"
        );
        let lines = plan(&mut bed, &query);
        let joins = lines.iter().any(|line| line.contains("Hash Left Join"));
        assert_eq!(joins, is_grouped, "{value}: {lines:#?}");
    }
}

#[test]
fn with_queries_take_the_place_of_their_only_use() {
    let mut bed = tables();
    assert_eq!(
        plan(
            &mut bed,
            "with w as (select k, count(*) n from i group by k), unused as (select 1 / k from i)
             select o.id, w.n from o join w on w.k = o.k where o.id = 7 and w.k = 7"
        ),
        [
            "Hash Join",
            "  Hash Cond: (i.k = o.k)",
            "  ->  Hash Aggregate",
            "        Group Key: i.k",
            "        ->  Scan on i",
            "              Filter: (k = 7)",
            "              Runtime Filter: k",
            "  Hashed:",
            "  ->  Lookup on o",
            "        Key Cond: (id = 7)",
        ]
    );
    for query in [
        "with w as materialized (select k from i) select * from w",
        "with w as (select k from i) select * from w x, w y where x.k = y.k",
        "with w as (select random() r from i) select * from w",
        "with w as (select k, b from i) select (select max(b) from w where w.k < o.k) from o",
    ] {
        let lines = plan(&mut bed, query);
        assert_eq!(lines[0], "With", "{query}: {lines:#?}");
    }
}

#[test]
fn outer_joins_become_simpler_ones() {
    let mut bed = tables();
    for (query, join) in [
        ("o left join i on i.k = o.k where i.b > 3", "Hash Join"),
        (
            "o left join i on i.k = o.k where i.k is null",
            "Hash Anti Join",
        ),
        (
            "o left join i on i.k = o.k where i.b is null",
            "Hash Right Join",
        ),
        (
            "o left join i on i.k = o.k where i.b <> all (array[]::int8[])",
            "Hash Right Join",
        ),
        (
            "o full join i on i.k = o.k where o.b > 3",
            "Hash Right Join",
        ),
        (
            "o full join i on i.k = o.k where i.b > 3 and o.b > 3",
            "Hash Join",
        ),
        (
            "(o left join i on i.k = o.k) join o p on p.b = i.b",
            "Hash Join",
        ),
    ] {
        let lines = plan(&mut bed, &format!("select 1 from {query}"));
        let joins = lines.iter().filter(|line| line.contains(" Join"));
        let joins: Vec<&str> = joins
            .map(|line| line.trim().trim_start_matches("->  "))
            .collect();
        assert!(
            joins.iter().all(|found| *found == join),
            "{query}: {lines:#?}"
        );
    }
}
