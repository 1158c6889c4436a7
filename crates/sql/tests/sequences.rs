//! Sequences between sessions and transactions: values are given once, rollbacks give none back.

use crate::bed::Bed;

fn rows(bed: &mut Bed, text: &str) -> Vec<Vec<String>> {
    bed.run(text).unwrap().rows
}

#[test]
fn a_session_knows_what_it_got_itself() {
    let mut bed = Bed::new();
    let other = bed.client();
    bed.run("create sequence s").unwrap();
    let error = bed.run("select currval('s')").unwrap_err();
    assert_eq!(error.state().code(), "55000");
    assert_eq!(rows(&mut bed, "select nextval('s')"), [["1"]]);
    let theirs = bed
        .run_in(&other, "select nextval('s'), currval('s')")
        .unwrap();
    assert_eq!(theirs.rows, [["2", "2"]]);
    assert_eq!(
        rows(&mut bed, "select currval('s'), lastval()"),
        [["1", "1"]]
    );
}

#[test]
fn rollbacks_give_no_value_back() {
    let mut bed = Bed::new();
    bed.run("create table t (id serial, v int)").unwrap();
    bed.run("begin; insert into t (v) values (1), (2); rollback")
        .unwrap();
    let after = rows(&mut bed, "insert into t (v) values (3) returning id");
    assert_eq!(after, [["3"]]);
    // A restart is part of its transaction.
    bed.run("begin; alter sequence t_id_seq restart; rollback")
        .unwrap();
    let after = rows(&mut bed, "insert into t (v) values (3) returning id");
    assert_eq!(after, [["4"]]);
    bed.run("begin; truncate t restart identity; rollback")
        .unwrap();
    assert_eq!(rows(&mut bed, "select nextval('t_id_seq')"), [["5"]]);
}

#[test]
fn many_rows_have_values_without_gaps() {
    let mut bed = Bed::new();
    bed.run("create table t (id bigserial primary key, v int)")
        .unwrap();
    bed.run("insert into t (v) select x from generate_series(1, 2000) x")
        .unwrap();
    let found = rows(
        &mut bed,
        "select count(*), min(id), max(id), sum(id - v) from t",
    );
    assert_eq!(found, [["2000", "1", "2000", "0"]]);
    assert_eq!(rows(&mut bed, "select nextval('t_id_seq')"), [["2001"]]);
}

#[test]
fn a_sequence_counts_on_in_another_way() {
    let mut bed = Bed::new();
    let other = bed.client();
    bed.run("create sequence s").unwrap();
    assert_eq!(rows(&mut bed, "select nextval('s')"), [["1"]]);
    bed.run("alter sequence s increment 1000").unwrap();
    let next = bed
        .run_in(&other, "select nextval('s'), nextval('s')")
        .unwrap();
    assert_eq!(next.rows, [["1001", "2001"]]);
}
