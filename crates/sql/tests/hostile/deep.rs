//! Constructs within constructs: they are bounded by a stated depth, and refused beyond it.

use super::construct::{Construct, bounded, nested};

/// Error of a construct that is nested too deeply.
const DEPTH: &[&str] = &["54001"];
/// Errors of a construct that is nested too deeply, or cannot be nested at all.
const DEPTH_OR_WRONG: &[&str] = &[
    "54001", "0A000", "42601", "42883", "42803", "42804", "42846", "42P01",
];

pub(crate) fn constructs() -> Vec<Construct> {
    let mut all = expressions();
    all.extend(queries());
    all
}

fn in_values(expression: &str) -> String {
    format!("select {expression} from (values (1, 'q')) v(x, s)")
}

fn expressions() -> Vec<Construct> {
    let shapes: [(&'static str, &'static str, &'static str, &'static str); 19] = [
        ("parentheses", "(", "x", ")"),
        ("not", "not ", "x > 0", ""),
        ("minus", "- ", "x", ""),
        ("case", "case when x > 0 then ", "x", " end"),
        (
            "case in its condition",
            "case when ",
            "x > 0",
            " then true else false end",
        ),
        (
            "case in its operand",
            "case ",
            "x",
            " when 1 then 2 when 3 then 4 else 5 end",
        ),
        ("coalesce", "coalesce(", "x", ", 1)"),
        ("nullif", "nullif(", "x", ", 2)"),
        ("greatest", "greatest(", "x", ", 1)"),
        ("replace", "replace(", "s", ", 'a', 'b')"),
        ("calls in the last argument", "greatest(1, ", "x", ")"),
        ("cast", "cast(", "x", " as int)"),
        ("substring", "substring(", "s", " from 1)"),
        ("trim", "trim(", "s", ")"),
        ("scalar subqueries", "(select ", "x", ")"),
        ("sums in parentheses", "(1 + ", "x", ")"),
        ("between", "(", "x > 0", ") between false and true"),
        ("in", "(", "x > 0", ") in (true, x = 1)"),
        ("is distinct from", "(", "x > 0", ") is distinct from true"),
    ];
    let plain = shapes.into_iter().map(|(name, open, inner, close)| {
        bounded(name, 10, DEPTH, move |n| {
            in_values(&nested(open, inner, close, n))
        })
    });
    let odd: [(&'static str, &'static str, &'static str, &'static str); 9] = [
        ("arrays", "array[", "x", "]"),
        ("rows", "row(", "x", ")"),
        ("position", "position(", "s", ")"),
        ("position in", "position('a' in ", "s", "::text)"),
        ("overlay", "overlay(", "s", ")"),
        ("subscripts", "x[", "x", "]"),
        ("aggregates", "sum(", "x", ")"),
        ("calls without end", "replace(", "s", ""),
        ("casts without end", "cast(", "x", ""),
    ];
    let odd = odd.into_iter().map(|(name, open, inner, close)| {
        bounded(name, 0, DEPTH_OR_WRONG, move |n| {
            in_values(&nested(open, inner, close, n))
        })
    });
    plain.chain(odd).collect()
}

fn queries() -> Vec<Construct> {
    vec![
        bounded("subqueries in from", 40, DEPTH, |n| {
            nested("select * from (", "select 1", ") s", n)
        }),
        bounded("sums of subqueries in from", 40, DEPTH, |n| {
            format!(
                "{} where a > 0",
                nested("select a + a as a from (", "select 0 as a", ") s", n)
            )
        }),
        bounded("exists", 10, DEPTH, |n| {
            let query = nested("select 1 where exists (", "select 1", ")", n);
            format!("select exists ({query})")
        }),
        bounded("in a subquery", 10, DEPTH, |n| {
            nested("select 1 where 1 in (", "select 1", ")", n)
        }),
        bounded("arrays of subqueries", 0, DEPTH_OR_WRONG, |n| {
            format!("select {}", nested("array(select ", "1", ")", n))
        }),
        bounded("unions to the right", 40, DEPTH, |n| {
            nested("select 1 union all (", "select 1", ")", n)
        }),
        // The first query of each clause was once bound twice, to give its literals types.
        bounded("recursive clauses without a recursion", 10, DEPTH, |n| {
            let open = "with recursive t as (select 'a' as c, s.* from (";
            let other = "select x, x from (values ('q'::text)) v (x)";
            let close = format!(") s (d) union all {other}) select c from t");
            nested(open, "select 'a'", &close, n.max(24))
        }),
        bounded("common tables, each of the one before", 100, DEPTH, |n| {
            let mut text = "with c0 as (select 1 as a)".to_owned();
            for at in 1..n {
                text += &format!(", c{at} as (select a from c{})", at - 1);
            }
            format!("{text} select * from c{}", n.saturating_sub(1))
        }),
        bounded(
            "common tables, each of the one before twice",
            10,
            DEPTH,
            |n| {
                let mut text = "with c0 as (select 1 as a)".to_owned();
                for at in 1..n.min(5_000) {
                    let before = at - 1;
                    text += &format!(
                        ", c{at} as (select x.a from c{before} x join c{before} y on x.a = y.a)"
                    );
                }
                format!("{text} select * from c{}", n.min(5_000).saturating_sub(1))
            },
        ),
        bounded("with within with", 10, DEPTH, |n| {
            nested("with c as (", "select 1 as a", ") select a from c", n)
        }),
        bounded("joins in parentheses", 10, DEPTH, |n| {
            let open = "(".repeat(n);
            let mut text = format!("select count(*) from {open}(values (1)) v");
            for at in 0..n {
                text += &format!(" cross join (values (1)) v{at})");
            }
            text
        }),
        bounded("lateral", 10, DEPTH, |n| {
            nested(
                "select * from (values (1)) v(a), lateral (",
                "select 1",
                ") s",
                n,
            )
        }),
    ]
}
