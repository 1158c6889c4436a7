//! Places of errors in the client's text, as PostgreSQL tells them: a bar in a text stands before the place.

use crate::bed::Bed;

/// Checks that texts fail with an error at their bar.
#[track_caller]
fn fail_at_bar(marked: &[&str], state: &str) {
    let mut bed = Bed::new();
    bed.run("create table t (a int, b int); create table u (a int)")
        .unwrap();
    for marked in marked {
        let text = marked.replacen('|', "", 1);
        let place = marked.chars().position(|c| c == '|').unwrap();
        let error = bed.run(&text).expect_err(marked);
        assert_eq!(error.state().code(), state, "{marked}: {error}");
        let position = error.position().map(|position| position as usize);
        assert_eq!(position, Some(place + 1), "{marked}: {error}");
    }
}

/// The place of an operator was that of the first sign behind the words of its left operand, as the star of `count(*)`;
/// and that of an operator before its operand was the operand's.
#[test]
fn an_operator_without_operands_is_told_at_its_own_place() {
    let marked = [
        "select count(*) |+ '\\x'::bytea from t",
        "select count(*) |* '\\x'::bytea from t",
        "select sum(a) over () |+ '\\x'::bytea from t",
        "select sum(a) over (order by b) |+ '\\x'::bytea from t",
        "select a::numeric(10, 2) |+ '\\x'::bytea from t",
        "select a::int /* + /* + */ - */ |+ '\\x'::bytea from t",
        "select a::int -- a + b\n |+ '\\x'::bytea from t",
        "select a::\"char\" |+ '\\x'::bytea from t",
        "select (array[1])[1] |+ '\\x'::bytea",
        "select (a is null) |= '\\x'::bytea from t",
        "select 1 |operator(pg_catalog.+) '\\x'::bytea",
        "select 1 |= any (array['\\x'::bytea])",
        "select 1 |like any (array['\\x'::bytea])",
        "select (a + 1) |not ilike any (array['\\x'::bytea]) from t",
        "select |-'\\x'::bytea",
        "select - (|-'\\x'::bytea)",
        "select 1 - |-'\\x'::bytea",
        "select |@ ('\\x'::bytea)",
        "select 1 |in ('\\x'::bytea)",
        "select (a is null) |in ('\\x'::bytea) from t",
        "select (a is not null) |not in ('\\x'::bytea) from t",
        "select 1 |not like '\\x'::bytea",
        "select 1 |between '\\x'::bytea and 2",
        "select 1 |is not distinct from '\\x'::bytea",
    ];
    fail_at_bar(&marked, "42883");
}

/// A join without a condition was taken for a product of its sides; with LEFT for one that keeps rows.
#[test]
fn a_join_needs_a_condition() {
    let marked = [
        "select * from t left join u|",
        "select * from t join u |where true",
        "select * from t x left join (select 1 as z) y |group by 1",
        "select (select 1 from t full join u|)",
        "select * from t right join generate_series(1, 2) |order by 1",
        "select * from t join (select 1) |where true",
        "select * from t left join ((select ''::text)) |where true",
        "select * from t left join unnest(array[1]) |where true",
        "select * from (t join (select 1)|)",
        "update t set a = 1 from t x join u |where true",
        "explain select * from t left join u|",
        "create view v as select 1 from t left join u|",
        "create table k as select 1 from t left join u|",
        "copy (select 1 from t left join u|) to stdout",
        "select 1 as x union all |by name select 2",
        "select 1 as x except |by name select 2",
    ];
    fail_at_bar(&marked, "42601");
    let mut bed = Bed::new();
    for text in [
        "select * from (values (1)) t(a) cross join (values (2)) u(b)",
        "select * from (values (1)) t(a) natural join (values (1)) u(a)",
        "select distinct by name from (select 1 as by) s",
        "select all by name from (select 1 as by) s",
    ] {
        assert_eq!(bed.run(text).unwrap().rows.len(), 1, "{text}");
    }
}

/// A form that the grammar does not have was passed over in the expressions of definitions and in EXECUTE's arguments.
#[test]
fn expressions_of_definitions_are_of_the_grammar() {
    let marked = [
        "create table k (a numeric, check (ceil(a |to day) > 0))",
        "create table k (a numeric check (ceil(a |to day) > 0))",
        "create table k (a numeric default ceil(1.5 |to day))",
        "create table k (a numeric, b numeric generated always as (ceil(a |to day)) stored)",
        "create table k (like t, c numeric default ceil(1.5 |to day))",
        "create index on t (ceil(a |to day))",
        "create index on t (a) where ceil(a |to day) > 0",
        "alter table t add check (ceil(a |to day) > 0)",
        "alter table t add c numeric default ceil(1.5 |to day)",
        "alter table t alter a set default ceil(1.5 |to day)",
        "alter table t alter a type int using ceil(a |to day)",
        "execute p (ceil(1.5 |to day))",
        "explain execute p (ceil(1.5 |to day))",
        "create table k as execute p (ceil(1.5 |to day))",
    ];
    fail_at_bar(&marked, "42601");
}

/// A form of another system had no place if it was long: the whole of it was written, and its place looked for in it,
/// whether it was bound or not.
#[test]
fn long_forms_of_other_systems_have_places() {
    let long = " || 'x'".repeat(1000);
    for marked in [
        format!("select |'a'{long} rlike 'b'"),
        format!("select 1, |'a' rlike 'b'{long}"),
        format!("select (|'a'{long}) is nfc normalized"),
    ] {
        fail_at_bar(&[&marked], "0A000");
    }
}

#[test]
fn a_name_in_another_database_is_told_at_its_place() {
    let marked = [
        "select |other.public.t.a from t",
        "select |other.public.t.* from t",
        "select * from |other.public.t",
    ];
    fail_at_bar(&marked, "0A000");
    fail_at_bar(&["select |a.b.c.d.e from t"], "42601");
    fail_at_bar(&["select |tableoid from t, u"], "42702");
    fail_at_bar(&["select |tableoid from (select 1) s"], "42703");
}

/// The number of the one table below a JOIN was found by its name alone, though no column of the JOIN has that name.
#[test]
fn a_name_alone_reaches_no_system_column_below_a_join() {
    let marked = [
        "select |tableoid from (values (1)) v(a) left join u on false",
        "select |tableoid from t join u on true",
        "select |tableoid from (t join (select 1) s on true) cross join (select 2) z",
        "select |tableoid from (t join u on true) j",
        "select 1 from t join (select 1) s on true join (select 2) z on |tableoid is null",
    ];
    fail_at_bar(&marked, "42703");
    let mut bed = Bed::new();
    bed.run("create table t (a int); insert into t values (1)")
        .unwrap();
    for text in [
        "select 1 from t, (t s join (select 1) z on true) where tableoid is not null",
        "select 1 from t where (select tableoid from t s join (select 1) z on true) is not null",
        "select 1 from t join (select 1) z on tableoid is not null",
        "select 1 from t join lateral (select tableoid) z on true",
        "update t set a = 1 from t s join (select 1) z on true where tableoid is not null returning 1",
    ] {
        assert_eq!(bed.run(text).unwrap().rows.len(), 1, "{text}");
    }
}

/// Errors about the values of options had the places of their options, of which PostgreSQL tells those of names alone.
#[test]
fn options_of_copy_are_told_at_their_names() {
    let marked = [
        "copy t to stdout (|encoding 'nosuch')",
        "copy t to stdout (|format xml)",
        "copy t to stdout (format csv, |force_quote 1)",
    ];
    fail_at_bar(&marked, "22023");
    let marked = [
        "copy t to stdout (header, |nonsense 1)",
        "copy t to stdout (header, |header)",
        "copy t to stdout (freeze, |freeze)",
    ];
    fail_at_bar(&marked, "42601");
    let mut bed = Bed::new();
    bed.run("create table t (a int)").unwrap();
    for option in ["null", "format", "header 2", "freeze 2"] {
        let text = format!("copy t to stdout ({option})");
        let error = bed.run(&text).unwrap_err();
        assert_eq!(error.state().code(), "42601", "{text}: {error}");
        assert_eq!(error.position(), None, "{text}: {error}");
    }
}
