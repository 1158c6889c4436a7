//! Chains and lists: they are as long as the text, and no deeper than a short one.

use super::construct::{Construct, answers, bounded, joined};

/// Errors for too many of a kind, as in PostgreSQL, or too many relations upon each other.
const LIMITS: &[&str] = &["54000", "54001", "54011", "54023"];

/// Errors of forms that may be no statement: they are written with other tokens.
const FORMS: &[&str] = &[
    "42601", "42P01", "42701", "0A000", "54000", "54001", "54011",
];

pub(crate) fn constructs() -> Vec<Construct> {
    let from = " from (values (1)) v(x)";
    let mut all = operators(from);
    all.extend(lists(from));
    all.extend(relations(from));
    all
}

fn operators(from: &'static str) -> Vec<Construct> {
    vec![
        answers("sum of literals", |n| {
            format!("select {}", joined("1", "+", n))
        }),
        answers("sum of columns", move |n| {
            format!("select {}{from}", joined("x", " + ", n))
        }),
        // 64 rows are computed together, instruction by instruction.
        answers("sum of columns of many rows", |n| {
            let sum = joined("x", " + ", n);
            format!("select sum({sum}) from generate_series(1, 64) x")
        }),
        answers("cases of many rows", |n| {
            let cases: Vec<String> = (0..n).map(|at| format!("when {at} then x")).collect();
            let cases = cases.join(" ");
            format!("select sum(case x {cases} end) from generate_series(1, 64) x")
        }),
        answers("alternatives of many rows", |n| {
            let parts = joined("x + 1 > 64", " or ", n);
            format!("select count({parts}) from generate_series(1, 64) x")
        }),
        answers("difference", move |n| {
            format!("select {}{from}", joined("x", " - ", n))
        }),
        answers("product", move |n| {
            format!("select {}{from}", joined("x", " * ", n))
        }),
        // Each link once kept the text up to it: 50,000 of them took more than a gigabyte.
        answers("concatenation", move |n| {
            format!("select length({}){from}", joined("'a'", "||", n))
        }),
        answers("concatenation of columns", move |n| {
            format!("select length({}){from}", joined("x || 'ab'", "||", n))
        }),
        answers("concatenation of bytes", move |n| {
            format!("select length({}){from}", joined("'\\x00'::bytea", "||", n))
        }),
        answers("elements put behind an array", move |n| {
            format!(
                "select cardinality(array[x] || {}){from}",
                joined("x", "||", n)
            )
        }),
        answers("or", move |n| {
            let terms: Vec<String> = (0..n).map(|at| format!("x = {at}")).collect();
            format!("select count(*){from} where {}", terms.join(" or "))
        }),
        // Conditions in common are looked for in all alternatives.
        bounded(
            "alternatives with a common condition",
            10_000,
            &["54001"],
            move |n| {
                let terms: Vec<String> = (0..n).map(|at| format!("x = 1 and x < {at}")).collect();
                format!("select count(*){from} where {}", terms.join(" or "))
            },
        ),
        bounded(
            "alternatives over two tables",
            10_000,
            &["54001"],
            move |n| {
                let terms: Vec<String> =
                    (0..n).map(|at| format!("x = {at} and y = {at}")).collect();
                let terms = terms.join(" or ");
                format!("select count(*){from}, (values (1)) w(y), (values (2)) u(z) where {terms}")
            },
        ),
        answers("conditions of an alternative", move |n| {
            let terms: Vec<String> = (0..n).map(|at| format!("x < {at}")).collect();
            let terms = terms.join(" and ");
            format!("select count(*){from} where ({terms}) or ({terms})")
        }),
        bounded("or of different columns", 50_000, &["54001"], move |n| {
            format!(
                "select count(*){from} where {}",
                joined("x + 1 > x", " or ", n)
            )
        }),
        answers("and", move |n| {
            format!(
                "select count(*){from} where {}",
                joined("x > 0", " and ", n)
            )
        }),
        bounded("and, or", 50_000, &["54001"], move |n| {
            format!(
                "select count(*){from} where {}",
                joined("x > 0 and x < 5", " or ", n)
            )
        }),
        answers("casts", |n| format!("select 1{}", "::int".repeat(n))),
        answers("casts there and back", |n| {
            format!("select 1{}", "::text::int".repeat(n))
        }),
        answers("is null", move |n| {
            format!("select x{}{from}", " is null".repeat(n))
        }),
        answers("is true", move |n| {
            format!("select (x > 0){}{from}", " is true".repeat(n))
        }),
        bounded("collate", 1, &["42601"], |n| {
            format!("select 'a'{}", " collate \"C\"".repeat(n))
        }),
        answers("like", |n| {
            format!("select 'a' like {}", joined("'a'", " || ", n))
        }),
        bounded("subscripts", 6, &["54000", "42804"], |n| {
            format!("select (array[1]){}", "[1]".repeat(n))
        }),
        bounded(
            "dimensions of a type",
            0,
            &["0A000", "54000", "54001"],
            |n| format!("select null::int{}", "[]".repeat(n)),
        ),
        bounded("at time zone", 1, &["42883"], |n| {
            format!("select now(){}", " at time zone 'UTC'".repeat(n))
        }),
        bounded("between", 0, &["42883", "42804", "42601"], move |n| {
            format!("select x{}{from}", " between 0 and 1".repeat(n))
        }),
    ]
}

fn lists(from: &'static str) -> Vec<Construct> {
    vec![
        // Each list moved all tokens behind it, and looked at all keys twice: 100,000 held a worker for minutes.
        bounded("lists of columns behind set null", 0, &["0A000"], |n| {
            let key = "foreign key (a) references t on delete set null (a)";
            format!("create table wide (a int, {})", joined(key, ", ", n))
        }),
        answers("in a list", move |n| {
            format!("select count(*){from} where x in ({})", joined("1", ",", n))
        }),
        answers("in a list of expressions", move |n| {
            format!(
                "select count(*){from} where x in ({})",
                joined("x + 1", ",", n)
            )
        }),
        answers("rows of values", |n| {
            format!(
                "select count(*) from (values {}) v",
                joined("(1, 'a')", ",", n)
            )
        }),
        answers("elements of an array", |n| {
            format!("select cardinality(array[{}])", joined("1", ",", n))
        }),
        answers("branches of case", move |n| {
            format!(
                "select case {} end{from}",
                joined("when x = 2 then 'a'", " ", n)
            )
        }),
        answers("branches of case with an operand", move |n| {
            format!(
                "select case x {} end{from}",
                joined("when 2 then 'a'", " ", n)
            )
        }),
        answers("items of coalesce", move |n| {
            format!(
                "select coalesce({}, x){from}",
                joined("nullif(x, 1)", ",", n)
            )
        }),
        answers("items of greatest", move |n| {
            format!("select greatest({}){from}", joined("x", ",", n))
        }),
        bounded("arguments", 99, LIMITS, |n| {
            format!("select length(concat({}))", joined("'a'", ",", n))
        }),
        bounded("outputs", 1_000, LIMITS, move |n| {
            format!("select {}{from}", joined("x", ",", n))
        }),
        bounded("keys of order by", 1_000, LIMITS, move |n| {
            format!("select x{from} order by {}", joined("x", ",", n))
        }),
        bounded("keys of group by", 1_000, LIMITS, move |n| {
            format!("select x{from} group by {}", joined("x", ",", n))
        }),
        bounded("items of a row", 1_000, LIMITS, move |n| {
            let items = joined("x", ",", n);
            format!("select count(*){from} where ({items}) < ({items})")
        }),
        answers("statements", |n| joined("select 1", ";", n)),
        answers("comments within comments", |n| {
            format!("select 1 {}{}", "/*".repeat(n), "*/".repeat(n))
        }),
    ]
}

fn relations(from: &'static str) -> Vec<Construct> {
    vec![
        answers("union all", |n| {
            format!(
                "select count(*) from ({}) u",
                joined("select 1", " union all ", n)
            )
        }),
        answers("union", |n| joined("select 1", " union ", n)),
        answers("intersect", |n| joined("select 1", " intersect ", n)),
        answers("except", |n| joined("select 1", " except ", n)),
        answers("except all", |n| joined("select 1", " except all ", n)),
        bounded("set operations in turn", 100, LIMITS, |n| {
            format!(
                "select 1{}",
                " union all select 2 except select 3".repeat(n / 2)
            )
        }),
        bounded("cross join", 50, LIMITS, |n| {
            let items: Vec<String> = (0..n).map(|at| format!("(select 1) s{at}")).collect();
            format!("select count(*) from {}", items.join(", "))
        }),
        bounded("join on", 50, LIMITS, |n| {
            let items: Vec<String> = (0..n)
                .map(|at| format!("join (values (1)) v{at}(a) on v{at}.a = x"))
                .collect();
            format!("select count(*) from (values (1)) v(x) {}", items.join(" "))
        }),
        bounded("common tables", 1_000, LIMITS, |n| {
            let tables: Vec<String> = (0..n).map(|at| format!("c{at} as (select {at})")).collect();
            format!("with {} select * from c0", tables.join(", "))
        }),
        // The parser once searched for each of these forms, or moved the rest of the tokens, as
        // often as the form is there.
        bounded("locks of keys", 0, FORMS, move |n| {
            format!("select x{from} {}", "for key share ".repeat(n))
        }),
        bounded("only within only", 0, FORMS, |n| {
            format!("select 1 from {}", "only (".repeat(n))
        }),
        bounded("names after as", 0, FORMS, |n| {
            format!("create table t as {}", "as only ".repeat(n))
        }),
        bounded("tables like others between columns", 0, FORMS, |n| {
            format!("create table t ({} z int)", "like x, c int, ".repeat(n))
        }),
        // A list of the later names was once searched for each name.
        bounded("common tables of a recursive clause", 1_000, LIMITS, |n| {
            let tables: Vec<String> = (0..n).map(|at| format!("c{at} as (select {at})")).collect();
            format!("with recursive {} select * from c0", tables.join(", "))
        }),
        bounded("scalar subqueries", 100, LIMITS, move |n| {
            format!(
                "select {}{from}",
                joined(
                    "(select y from generate_series(1, 1) y where y = x)",
                    "+",
                    n
                )
            )
        }),
        bounded("exists and exists", 100, LIMITS, move |n| {
            let term = "exists (select from generate_series(1, 2) y where y = x)";
            format!("select count(*){from} where {}", joined(term, " and ", n))
        }),
    ]
}
