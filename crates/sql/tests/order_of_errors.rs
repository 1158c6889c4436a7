//! The order in which errors are raised, as in PostgreSQL: those of grammar first, in all statements of a text; then
//! that of a failed transaction, of one that only reads, and of a transaction block; then what is or is not there; and
//! clauses that there are not last.
//!
//! Such clauses were once refused where a statement was read, and thus before all of it.

use crate::bed::Bed;

fn bed() -> Bed {
    let mut bed = Bed::new();
    bed.run(
        "create table there (a int not null); create index i on there (a); create schema s;
         create sequence q",
    )
    .unwrap();
    bed
}

#[track_caller]
fn fails(bed: &mut Bed, text: &str, expected: &str) {
    let error = bed.run(text).expect_err(text);
    assert_eq!(error.state().code(), expected, "{text}: {error}");
}

/// IF [NOT] EXISTS makes these statements do nothing; those that create something tell a notice.
#[test]
fn what_is_there_already_needs_no_clause_that_there_is_not() {
    let mut bed = bed();
    for text in [
        "create table if not exists there (a int unique deferrable)",
        "create table if not exists there (a int, primary key (a) deferrable)",
        "create table if not exists there (a int references there match partial)",
        "create table if not exists there (a int generated always as identity, a int) inherits (x)",
        "create table if not exists there (a int) on commit drop",
        "create schema if not exists s authorization weft",
        "create sequence if not exists q start 1 start 2",
    ] {
        let answer = bed.run(text).unwrap();
        let [notice] = &*answer.notices else {
            panic!("{text}: {:?}", answer.notices);
        };
        assert!(
            notice.contains("already exists, skipping"),
            "{text}: {notice}"
        );
    }
    for text in [
        "alter table if exists missing add unique (a) deferrable",
        "alter table there add column if not exists a int unique deferrable",
        "alter sequence if exists missing start 1 start 2",
    ] {
        bed.run(text).unwrap();
    }
    // A temporary one would be beside it.
    fails(
        &mut bed,
        "create temp table if not exists there (a int)",
        "0A000",
    );
    fails(
        &mut bed,
        "create temp table if not exists there as select 1",
        "0A000",
    );
    fails(&mut bed, "create temp sequence if not exists q", "0A000");
}

#[test]
fn what_is_missing_is_told_before_a_clause_that_there_is_not() {
    let mut bed = bed();
    for text in [
        "create index on missing using foo (a)",
        "create index on missing (a) with (bogus = 1)",
        "alter table missing add unique (a) deferrable",
        "alter sequence missing start 1 start 2",
    ] {
        fails(&mut bed, text, "42P01");
    }
    // The name of an index is looked for later than its method.
    fails(
        &mut bed,
        "create index if not exists i on there using foo (a)",
        "42704",
    );
    fails(&mut bed, "create index on there using foo (nope)", "42704");
    fails(
        &mut bed,
        "create index on there (nope) with (bogus = 1)",
        "22023",
    );
}

#[test]
fn the_transaction_is_told_of_before_a_clause_that_there_is_not() {
    let mut bed = bed();
    let refused = [
        ("create temp table t (a int)", "0A000"),
        ("create table t (a int unique deferrable)", "0A000"),
        ("create index on there using foo (a)", "42704"),
        ("create materialized view v as select 1", "0A000"),
        ("create schema authorization weft", "0A000"),
        ("create type pair as (a int, b int)", "0A000"),
        ("create sequence t start 1 start 2", "42601"),
        ("alter table there add unique (a) deferrable", "0A000"),
        (
            "alter table there alter a add generated always as identity (cycle no cycle)",
            "42601",
        ),
    ];
    for (text, state) in refused {
        fails(&mut bed, &format!("begin read only; {text}"), "25006");
        fails(&mut bed, text, "25P02");
        bed.run("rollback").unwrap();
        fails(&mut bed, text, state);
    }
    for text in ["vacuum (bogus)", "vacuum (parallel)", "analyze (full)"] {
        fails(&mut bed, "begin; select 1 / 0", "22012");
        fails(&mut bed, text, "25P02");
        bed.run("rollback").unwrap();
        // An option is looked at before the block.
        fails(&mut bed, &format!("begin; {text}"), "42601");
        bed.run("rollback").unwrap();
    }
    fails(
        &mut bed,
        "begin; create index concurrently on there using foo (a)",
        "25001",
    );
    bed.run("rollback").unwrap();
}

/// A clause that was refused hid an error of grammar behind it, and the statements before it were carried out.
#[test]
fn an_error_of_grammar_is_told_before_all_others() {
    let mut bed = bed();
    for text in [
        "alter table there add unique (a) deferrable, add b",
        "alter table there add b int unique deferrable, bogus",
        "alter table missing add b int unique deferrable bogus",
        "vacuum (bogus) there there",
        "create table t (a int, unique (a) deferrable, primary key (a desc))",
        "create table t (a int unique deferrable, foreign key (a) references there not deferrable
         initially deferred)",
    ] {
        fails(
            &mut bed,
            &format!("insert into there values (1); commit; {text}"),
            "42601",
        );
        fails(&mut bed, "begin; select 1 / 0", "22012");
        fails(&mut bed, text, "42601");
        bed.run("rollback").unwrap();
    }
    let count = bed.run("select count(*) from there").unwrap();
    assert_eq!(count.rows, [["0"]]);
}

/// A statement that was given up while it was read was told that its transaction had failed.
#[test]
fn a_failed_transaction_tells_that_a_statement_was_given_up() {
    let mut bed = Bed::new();
    let columns: Vec<String> = (0..100_000).map(|at| format!("c{at} int")).collect();
    let text = format!("create table t ({})", columns.join(", "));
    bed.run("set statement_timeout = '2ms'; begin").unwrap();
    bed.run("select 1 / 0").unwrap_err();
    fails(&mut bed, &text, "57014");
}
