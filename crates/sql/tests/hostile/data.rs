//! Data that is read by functions: its nesting and its length are chosen by the client as well.

use super::construct::{Construct, answers, bounded, nested};

/// Errors of data that is malformed, too large, too deep, or not supported.
const REFUSED: &[&str] = &[
    "0A000", "22003", "22007", "22008", "22023", "22025", "22026", "22030", "2201B", "22P02",
    "53200", "54000", "54001", "54023",
];

pub(crate) fn constructs() -> Vec<Construct> {
    let mut all = json();
    all.extend(texts());
    all.extend(patterns());
    all
}

fn json() -> Vec<Construct> {
    vec![
        bounded("json arrays", 100, REFUSED, |n| {
            format!(
                "select length(('{}'::json)::text) > 0",
                nested("[", "1", "]", n)
            )
        }),
        bounded("jsonb arrays", 100, REFUSED, |n| {
            format!(
                "select length(('{}'::jsonb)::text) > 0",
                nested("[", "1", "]", n)
            )
        }),
        bounded("jsonb objects", 100, REFUSED, |n| {
            format!(
                "select jsonb_pretty('{}'::jsonb) <> ''",
                nested("{\"a\":", "1", "}", n)
            )
        }),
        bounded("jsonb that is stripped", 100, REFUSED, |n| {
            format!(
                "select jsonb_strip_nulls('{}'::jsonb) is null",
                nested("[", "1", "]", n)
            )
        }),
        bounded("jsonb that contains", 100, REFUSED, |n| {
            let value = nested("[", "1", "]", n);
            format!("select '{value}'::jsonb @> '{value}'::jsonb")
        }),
        bounded("json without end", 0, REFUSED, |n| {
            format!("select '{}'::json", "[".repeat(n))
        }),
        bounded("paths of json", 10, REFUSED, |n| {
            let path = vec!["a"; n].join(",");
            format!("select '{{\"a\": 1}}'::jsonb #> '{{{path}}}' is null")
        }),
        answers("elements of json", |n| {
            format!(
                "select jsonb_array_length('[{}]'::jsonb)",
                vec!["1"; n].join(",")
            )
        }),
    ]
}

fn texts() -> Vec<Construct> {
    vec![
        bounded("array literals", 0, REFUSED, |n| {
            format!("select '{}'::int[] is null", nested("{", "1", "}", n))
        }),
        bounded("array literals without end", 0, REFUSED, |n| {
            format!("select '{}'::int[]", "{".repeat(n))
        }),
        answers("elements of array literals", |n| {
            format!(
                "select cardinality('{{{}}}'::int[])",
                vec!["1"; n].join(",")
            )
        }),
        bounded("digits", 1_000, REFUSED, |n| {
            format!("select length(({}::numeric)::text) > 0", "9".repeat(n))
        }),
        bounded("exponents", 1_000, REFUSED, |n| {
            format!("select length(('1e{n}'::numeric)::text) > 0")
        }),
        bounded("powers", 10, REFUSED, |n| {
            format!("select length((2::numeric ^ {n})::text) > 0")
        }),
        bounded("intervals", 0, REFUSED, |n| {
            format!("select '{}'::interval", "1 day ".repeat(n))
        }),
        bounded("dates", 0, REFUSED, |n| {
            format!("select '{}'::date", "1-".repeat(n))
        }),
        bounded("pictures of times", 100, REFUSED, |n| {
            format!("select length(to_char(now(), '{}')) > 0", "YYYY ".repeat(n))
        }),
        bounded("pictures of numbers", 10, REFUSED, |n| {
            format!("select length(to_char(1, '{}')) > 0", "9".repeat(n))
        }),
        bounded("pictures that are read", 0, REFUSED, |n| {
            format!(
                "select to_date('{}', '{}')",
                "1 ".repeat(n),
                "DD ".repeat(n)
            )
        }),
        bounded("formats", 0, REFUSED, |n| {
            format!("select format('{}', 1)", "%1$s".repeat(n))
        }),
        bounded("repetitions", 1_000, REFUSED, |n| {
            format!("select length(repeat(repeat('a', {n}), {n})) > 0")
        }),
    ]
}

fn patterns() -> Vec<Construct> {
    vec![
        bounded("groups of regular expressions", 10, REFUSED, |n| {
            format!("select 'a' ~ '{}'", nested("(", "a", ")", n))
        }),
        bounded("groups without end", 0, REFUSED, |n| {
            format!("select 'a' ~ '{}'", "(".repeat(n))
        }),
        bounded("alternatives", 100, REFUSED, |n| {
            format!("select 'a' ~ '{}'", vec!["a"; n].join("|"))
        }),
        bounded("repetitions of repetitions", 0, REFUSED, |n| {
            format!("select 'a' ~ '{}'", nested("(", "a", "{1,9}){1,9}", n))
        }),
        bounded("what matches nothing", 10, REFUSED, |n| {
            format!(
                "select repeat('a', {n}) ~ '^{}{}$'",
                "a?".repeat(n),
                "a".repeat(n)
            )
        }),
        bounded("classes", 10, REFUSED, |n| {
            format!("select 'a' ~ '[{}]'", "a-z".repeat(n))
        }),
        bounded("wildcards", 100, REFUSED, |n| {
            format!("select repeat('a', {n}) like '{}b'", "%a".repeat(n))
        }),
        bounded("escapes", 0, REFUSED, |n| {
            format!("select 'a' like '{}'", "\\".repeat(n))
        }),
        bounded("similar to", 10, REFUSED, |n| {
            format!("select 'a' similar to '{}'", nested("(", "a", ")", n))
        }),
    ]
}
