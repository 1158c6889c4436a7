//! Indexes beside other sessions: built concurrently, newer than a snapshot, made in the
//! transaction that reads.

use crate::bed::{Bed, Client};

fn one(bed: &mut Bed, text: &str) -> String {
    let answer = bed.run(text).unwrap();
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    rows.join(";")
}

fn one_in(bed: &mut Bed, client: &Client, text: &str) -> String {
    let answer = bed.run_in(client, text).unwrap();
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    rows.join(";")
}

fn state(bed: &mut Bed, text: &str) -> String {
    bed.run(text).unwrap_err().state().code().to_owned()
}

fn table() -> Bed {
    let mut bed = Bed::new();
    bed.run("create table t (a int primary key, b int, c text)")
        .unwrap();
    bed.run("insert into t select g, g % 10, 'Row ' || g from generate_series(1, 1000) g")
        .unwrap();
    bed
}

#[test]
fn concurrent_building_is_outside_of_transaction_blocks() {
    let mut bed = table();
    bed.run("begin").unwrap();
    assert_eq!(
        state(&mut bed, "create index concurrently i on t (b)"),
        "25001"
    );
    bed.run("rollback").unwrap();
    let tags = bed
        .run("create unique index concurrently if not exists i on t (lower(c)) where b > 0")
        .unwrap()
        .tags;
    assert_eq!(tags, ["CREATE INDEX"]);
    bed.run("create unique index concurrently if not exists i on t (c)")
        .unwrap();
    assert_eq!(
        state(&mut bed, "insert into t values (1001, 3, 'ROW 3')"),
        "23505"
    );
    bed.run("insert into t values (1001, 0, 'ROW 3')").unwrap();
    assert_eq!(
        one(
            &mut bed,
            "select a from t where lower(c) = 'row 3' and b > 0"
        ),
        "3"
    );
    bed.run("begin").unwrap();
    assert_eq!(state(&mut bed, "drop index concurrently i"), "25001");
    bed.run("rollback").unwrap();
    bed.run("drop index concurrently i").unwrap();
    bed.run("insert into t values (1002, 3, 'ROW 3')").unwrap();
}

#[test]
fn a_concurrent_index_has_what_others_write_meanwhile() {
    let mut bed = table();
    let (writer, builder) = (bed.client(), bed.client());
    bed.run_in(&writer, "begin; update t set b = 77 where a = 5")
        .unwrap();
    bed.send_to(&builder, "create index concurrently i on t (b desc, a)");
    // The builder waits for the writer, and others write on.
    assert!(bed.is_waiting(&builder));
    bed.run("insert into t values (2000, 77, 'late')").unwrap();
    bed.run_in(&writer, "commit").unwrap();
    bed.reply_of(&builder).unwrap();
    assert_eq!(
        one(&mut bed, "select a from t where b = 77 order by a"),
        "5;2000"
    );
}

#[test]
fn a_concurrent_index_that_fails_is_not_valid_and_can_be_dropped() {
    let mut bed = table();
    assert_eq!(
        state(&mut bed, "create unique index concurrently i on t (b)"),
        "23505"
    );
    assert_eq!(
        state(&mut bed, "create index concurrently i on t (b)"),
        "42P07"
    );
    // No statement reads by the index, and it forbids no row that was there.
    assert_eq!(one(&mut bed, "select count(*) from t where b = 3"), "100");
    bed.run("drop index i").unwrap();
    bed.run("create index i on t (b)").unwrap();
    assert_eq!(one(&mut bed, "select count(*) from t where b = 3"), "100");
}

#[test]
fn a_snapshot_that_is_older_than_an_index_does_not_read_by_it() {
    let mut bed = table();
    let reader = bed.client();
    bed.run_in(&reader, "begin isolation level repeatable read")
        .unwrap();
    assert_eq!(
        one_in(&mut bed, &reader, "select count(*) from t where b = 3"),
        "100"
    );
    bed.run("delete from t where b = 3").unwrap();
    bed.run("create index i on t (b)").unwrap();
    let later = bed.client();
    assert_eq!(
        one_in(&mut bed, &reader, "select count(*) from t where b = 3"),
        "100"
    );
    bed.run_in(&reader, "commit").unwrap();
    assert_eq!(
        one_in(&mut bed, &later, "select count(*) from t where b = 3"),
        "0"
    );
}

#[test]
fn a_transaction_reads_by_the_index_that_it_has_made() {
    let mut bed = table();
    bed.run("begin; create index i on t ((b + 1)) where a > 10; update t set b = 41 where a = 500")
        .unwrap();
    assert_eq!(
        one(&mut bed, "select a from t where b + 1 = 42 and a > 10"),
        "500"
    );
    bed.run("rollback").unwrap();
    assert_eq!(
        one(
            &mut bed,
            "select count(*) from t where b + 1 = 42 and a > 10"
        ),
        "0"
    );
}

#[test]
fn an_expression_that_fails_is_the_statements_error() {
    let mut bed = table();
    assert_eq!(state(&mut bed, "create index i on t ((100 / b))"), "22012");
    bed.run("create index i on t ((100 / b)) where b > 0")
        .unwrap();
    bed.run("insert into t values (1001, 0, 'none')").unwrap();
    bed.run("create index j on t ((10 / (a - 2000)))").unwrap();
    assert_eq!(state(&mut bed, "insert into t values (2000, 1)"), "22012");
    assert_eq!(
        state(&mut bed, "update t set a = 2000 where a = 1"),
        "22012"
    );
    assert_eq!(one(&mut bed, "select count(*) from t"), "1001");
}

#[test]
fn the_second_row_of_a_partial_key_waits_for_the_first() {
    let mut bed = table();
    bed.run("create unique index i on t (b) where c = 'main'")
        .unwrap();
    let (one_side, other) = (bed.client(), bed.client());
    bed.run_in(&one_side, "begin; update t set c = 'main' where a = 3")
        .unwrap();
    bed.send_to(&other, "update t set c = 'main' where a = 13");
    assert!(bed.is_waiting(&other));
    bed.run_in(&one_side, "rollback").unwrap();
    bed.reply_of(&other).unwrap();
    let failed = bed.run_in(&one_side, "update t set c = 'main' where a = 3");
    assert_eq!(failed.unwrap_err().state().code(), "23505");
}

/// The statement does nothing, and the client is told why.
#[test]
fn an_index_that_is_there_is_told_of() {
    let mut bed = Bed::new();
    bed.run("create table t (a int, b int); create index i on t (a)")
        .unwrap();
    let told = ["42P07 relation \"i\" already exists, skipping"];
    for kind in ["index", "unique index", "index concurrently"] {
        let created = bed.run(&format!("create {kind} if not exists i on t (b)"));
        assert_eq!(created.unwrap().notices, told, "{kind}");
    }
    let created = bed.run("create schema if not exists public");
    let told = ["42P06 schema \"public\" already exists, skipping"];
    assert_eq!(created.unwrap().notices, told);
}
