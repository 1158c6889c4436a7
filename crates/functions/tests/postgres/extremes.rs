//! Calls with extreme arguments end, and soon: with an answer, or with an error of PostgreSQL or of a
//! bound of our own. Some calls ran for minutes, or would have.

use std::time::{Duration, Instant};

use crate::support::{Session, answer};

/// Calls, and their ends: with some value, or with an error.
const CASES: &[(&str, Option<&str>)] = &[
    ("length(repeat('x', 1073741824))", Some("54000")),
    ("length(lpad('x', 1073741820))", Some("54000")),
    ("length(lpad('x', 10000000, 'ab'))", None),
    (
        "length(replace(repeat('a', 100000), 'a', repeat('b', 100000)))",
        Some("54000"),
    ),
    (
        "length(regexp_replace(repeat('a', 1000), 'a', repeat('b', 10000), 'g'))",
        None,
    ),
    ("length(format('%10000000s', 'x'))", None),
    ("length(format('%2000000000s', 'x'))", Some("54000")),
    // The tree of a pattern, its automaton and its matches are bounded.
    ("repeat('a', 100000) ~ '(a*)*b'", None),
    ("regexp_match(repeat('a', 20000), '(a|aa)+$')", None),
    ("regexp_count(repeat('a', 10000), 'a.*z|a')", Some("54000")),
    ("regexp_count(repeat('a', 1000), 'a.*z|a')", None),
    ("regexp_match(repeat('a', 100), repeat('(a*)', 100))", None),
    (
        "regexp_match('a', repeat('(', 100) || repeat(')', 100))",
        None,
    ),
    (
        "regexp_match('a', repeat('(', 10000) || repeat(')', 10000))",
        Some("2201B"),
    ),
    ("regexp_match('a', '((a{255}){255}){255}')", Some("2201B")),
    ("regexp_match(repeat('a', 100), '(((((a*)*)*)*)*)*b')", None),
    (
        "regexp_replace(repeat('a', 50000), '(?=b)', 'x', 'g') = 'a'",
        None,
    ),
    (
        "regexp_replace(repeat('ab ', 20000), '(\\w)(\\w)', '\\2\\1', 'g') = 'a'",
        None,
    ),
    (
        "length(regexp_replace(repeat('ab ', 20000), '(?<=a)b(?= )', 'x', 'g'))",
        None,
    ),
    // Numbers.
    ("length('1e131071'::numeric::text)", None),
    ("'1e131072'::numeric", Some("22003")),
    (
        "power('1.000001'::numeric, '1000000000'::numeric) > '0'::numeric",
        None,
    ),
    ("power('10'::numeric, '131072'::numeric)", Some("22003")),
    ("power('3'::numeric, '-2147483648'::numeric)", None),
    ("power('2'::numeric, '100000.5'::numeric)", Some("22003")),
    ("exp('6000'::numeric)", Some("22003")),
    ("exp('5000'::numeric) > '0'::numeric", None),
    ("ln('1e131071'::numeric) > '0'::numeric", None),
    ("ln('1e-16383'::numeric) > '0'::numeric", None),
    ("sqrt('1e131071'::numeric) > '0'::numeric", None),
    ("'1e131071'::numeric / '3e-16383'::numeric", Some("22003")),
    (
        "'1e131071'::numeric % '3.7e-16000'::numeric > '0'::numeric",
        None,
    ),
    ("gcd('1e131071'::numeric, '123456789'::numeric)", None),
    (
        "'1e100000'::numeric * '1e31000'::numeric > '0'::numeric",
        None,
    ),
    (
        "length(to_char('1e131071'::numeric, repeat('9', 8000)))",
        None,
    ),
    ("length(to_char('1'::numeric, repeat('9', 200000)))", None),
    (
        "to_number(repeat('1', 100000), repeat('9', 100000)) > '0'::numeric",
        None,
    ),
    (
        "length(to_char('2024-01-01'::timestamp, repeat('Month ', 100000)))",
        None,
    ),
    ("to_date(repeat('1 ', 100000), repeat('DD ', 100000))", None),
    // Documents and arrays.
    (
        "length((repeat('[', 1000) || repeat(']', 1000))::json::text)",
        None,
    ),
    (
        "length((('[' || repeat('1,', 200000)) || '1]')::jsonb::text)",
        None,
    ),
    (
        "(('{' || repeat('\"a\":1,', 100000)) || '\"a\":2}')::jsonb",
        None,
    ),
    ("array_fill(1, '{1000000000}'::int4[])", Some("54000")),
    (
        "array_length(string_to_array(repeat('a,', 500000), ','), 1)",
        None,
    ),
    (
        "length(translate(repeat('a', 1000000), repeat('bcd', 10000) || 'a', 'b'))",
        None,
    ),
    ("length(quote_literal(repeat('''', 1000000)))", None),
    ("repeat('a', 100000) ~~ (repeat('%a', 1000) || 'b')", None),
    (
        "repeat('a', 10000) ~~ (('%' || repeat('a', 5000)) || 'b%')",
        None,
    ),
    (
        "strpos(repeat('a', 1000000), (repeat('a', 500000) || 'b'))",
        None,
    ),
    // Two long arguments, each part of one of which was looked up in the whole other.
    (
        "length(btrim(repeat('a', 1000000), (repeat('bcdé', 250000) || 'a')))",
        None,
    ),
    (
        "length(ltrim(repeat('ä', 500000), (repeat('bcdé', 250000) || 'ä')))",
        None,
    ),
    (
        "length(rtrim(convert_to(repeat('a', 1000000), 'UTF8'), \
         convert_to((repeat('b', 1000000) || 'a'), 'UTF8')))",
        None,
    ),
    (
        "position(convert_to(repeat('a', 2000000), 'UTF8'), \
         convert_to((repeat('a', 1000000) || 'b'), 'UTF8'))",
        None,
    ),
    (
        "array_fill('1.0'::numeric, '{300000}'::int4[]) && array_fill('2.0'::numeric, '{300000}'::int4[])",
        None,
    ),
    (
        "(array_fill(1, '{300000}'::int4[]) || 2) @> array_fill(2, '{300000}'::int4[])",
        None,
    ),
    (
        "array_fill(2, '{300000}'::int4[]) <@ (array_fill(1, '{300000}'::int4[]) || 2)",
        None,
    ),
    (
        "to_jsonb(array_fill('a'::text, '{300000}'::int4[])) ?| array_fill('b'::text, '{300000}'::int4[])",
        None,
    ),
    (
        "to_jsonb((array_fill('a'::text, '{300000}'::int4[]) || 'b'::text)) \
         ?& array_fill('b'::text, '{300000}'::int4[])",
        None,
    ),
    (
        "length((to_jsonb(array_fill('a'::text, '{300000}'::int4[])) \
         - array_fill('b'::text, '{300000}'::int4[]))::text)",
        None,
    ),
    (
        "(('[' || repeat('1,', 300000)) || '2]')::jsonb @> (('[' || repeat('2,', 300000)) || '1]')::jsonb",
        None,
    ),
    (
        "(('[' || repeat('[1],', 100000)) || '[2]]')::jsonb \
         @> (('[' || repeat('[2],', 100000)) || '[2]]')::jsonb",
        None,
    ),
    (
        "(('[' || repeat('{\"a\":[{\"b\":2}]},', 50000)) || '1]')::jsonb \
         <@ (('[' || repeat('{\"a\":[{\"b\":1}]},', 50000)) || '{\"a\":[{\"b\":2}]},1]')::jsonb",
        None,
    ),
    (
        "jsonb_build_array((('[' || repeat('1,', 100000)) || '2]')::jsonb)          @> jsonb_build_array((('[' || repeat('2,', 100000)) || '1]')::jsonb)",
        None,
    ),
    (
        "jsonb_build_array((('[' || repeat('[1],', 100000)) || '[2]]')::jsonb)          @> jsonb_build_array((('[' || repeat('[2],', 100000)) || '[1]]')::jsonb)",
        None,
    ),
    // Many short parts of one long array.
    (
        "jsonb_build_array((('[' || repeat('1,', 100000)) || '1]')::jsonb) \
         @> (('[' || repeat(('[' || (repeat('1,', 16) || '1],')), 20000)) || '[1]]')::jsonb",
        None,
    ),
    // Few parts, each of which is looked for in long arrays within a long array.
    (
        "(('[' || repeat(('[' || (repeat('0,', 2000) || '1],')), 99)) || (('[' || repeat('0,', 2000)) || ('7],' || (repeat('1,', 300000) || '1]'))))::jsonb \
         @> (('[' || repeat('[7],', 4000)) || '[[7]]]')::jsonb",
        None,
    ),
    // Long strings that differ in the last letter.
    (
        "to_jsonb(array_fill(repeat('a', 4000), '{24000}'::int4[]) || (repeat('a', 3999) || 'b')) \
         @> to_jsonb(array_fill((repeat('a', 3999) || 'b'), '{24000}'::int4[]))",
        None,
    ),
    // One line, or one match, for each letter.
    (
        "length(regexp_replace(repeat('a', 6000000), 'a', 'b', 'g'))",
        None,
    ),
    (
        "length(regexp_replace(repeat('ab', 1000000), '[ab]b?', '<\\&>', 'g'))",
        None,
    ),
    (
        "length(jsonb_pretty(((repeat('[', 900) || ('[' || (repeat('1,', 5000) || '1]'))) || repeat(']', 900))::jsonb))",
        None,
    ),
    (
        "length(jsonb_pretty(((repeat('[', 900) || ('[' || (repeat('1,', 310000) || '1]'))) || repeat(']', 900))::jsonb))",
        Some("54000"),
    ),
    ("similar_to_escape(repeat('%', 100000), '\\') = 'a'", None),
];

/// Far more time than any call needs, in a build without optimisation on a busy machine.
const ENOUGH: Duration = Duration::from_secs(60);

#[test]
#[allow(
    clippy::print_stdout,
    reason = "how long each takes is looked at by hand"
)]
fn calls_with_extreme_arguments_end() {
    let session = Session::default();
    for (case, error) in CASES {
        let begun = Instant::now();
        let found = answer(&session, case);
        let taken = begun.elapsed();
        println!("{taken:>12.1?} {case}");
        let is_expected = match error {
            Some(state) => found == format!("error {state}"),
            None => !found.starts_with("error"),
        };
        let shown: String = found.chars().take(60).collect();
        assert!(is_expected, "{case}: {shown}");
        assert!(taken < ENOUGH, "{case}: {taken:?}");
    }
}
