//! ALTER TABLE beside other sessions.

use crate::bed::Bed;

/// A session that waits for a table that is rewritten goes on with the rows in their new place.
#[test]
fn writers_wait_for_a_rewriting_and_find_the_new_rows() {
    let mut bed = Bed::new();
    let (writer, reader) = (bed.client(), bed.client());
    bed.run("create table t (a int, b text)").unwrap();
    bed.run("insert into t values (1, '1'), (2, '2')").unwrap();
    bed.run("begin; alter table t add primary key (a), alter b type int using b::int")
        .unwrap();
    bed.send_to(&writer, "insert into t values (3, 3)");
    bed.send_to(&reader, "select count(*) from t");
    assert!(bed.is_waiting(&writer) && bed.is_waiting(&reader));
    bed.run("commit").unwrap();
    bed.reply_of(&writer).unwrap();
    let count = bed.reply_of(&reader).unwrap().rows;
    assert!(count == [["2"]] || count == [["3"]], "{count:?}");
    let rows = bed.run("select a, b from t order by a").unwrap().rows;
    assert_eq!(rows, [["1", "1"], ["2", "2"], ["3", "3"]]);
    let twice = bed.run_in(&writer, "insert into t values (3, 3)");
    assert_eq!(twice.unwrap_err().state().code(), "23505");
}

#[test]
fn a_rewriting_that_is_rolled_back_leaves_the_rows_as_they_were() {
    let mut bed = Bed::new();
    let writer = bed.client();
    bed.run("create table t (a int, b text); create index t_b on t (b)")
        .unwrap();
    bed.run("insert into t values (1, 'x')").unwrap();
    bed.run("begin; alter table t alter a type text; insert into t values ('y', 'y'); rollback")
        .unwrap();
    bed.run_in(&writer, "insert into t values (2, 'z')")
        .unwrap();
    let rows = bed.run("select a from t where b = 'z' or b = 'x' or b = 'y' order by a");
    assert_eq!(rows.unwrap().rows, [["1"], ["2"]]);
}

/// A snapshot would miss later commits, and the copy would, too.
#[test]
fn on_a_snapshot_rows_are_not_copied() {
    let mut bed = Bed::new();
    bed.run("create table t (a int)").unwrap();
    let altered =
        bed.run("begin isolation level repeatable read; alter table t add primary key (a)");
    assert_eq!(altered.unwrap_err().state().code(), "0A000");
    bed.run("rollback").unwrap();
}
