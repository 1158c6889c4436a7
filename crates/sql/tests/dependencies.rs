//! Errors of drops about expressions and views that are in the way, in PostgreSQL's words.

use crate::bed::Bed;

const HINT: &str = "Use DROP ... CASCADE to drop the dependent objects too.";

/// Returns the error of a statement: its SQLSTATE, message and lines of detail.
fn refused(bed: &mut Bed, text: &str) -> (String, String, Vec<String>) {
    let error = bed.run(text).unwrap_err();
    let detail = error.detail_text().unwrap_or_default();
    assert_eq!(error.hint_text(), Some(HINT), "{text}");
    (
        error.state().code().to_owned(),
        error.message().to_owned(),
        detail.lines().map(str::to_owned).collect(),
    )
}

fn in_the_way(bed: &mut Bed, dropped: &str, what: &str, lines: &[&str]) {
    let (state, message, detail) = refused(bed, dropped);
    let expected = format!("cannot drop {what} because other objects depend on it");
    assert_eq!((state.as_str(), message), ("2BP01", expected));
    assert_eq!(detail, lines, "{dropped}");
}

/// An expression depends on a type if it names it in a cast, or has a literal of it.
#[test]
fn a_type_is_kept_by_what_names_it() {
    let mut bed = Bed::new();
    bed.run("create type mood as enum ('sad', 'happy')")
        .unwrap();
    bed.run("create table t (a text default 'sad'::mood::text, check (a::mood > 'sad'))")
        .unwrap();
    bed.run("create table u (m mood default 'sad')").unwrap();
    bed.run("create view v as select 1 as one where 'sad'::mood < 'happy'")
        .unwrap();
    bed.run("create view w as select one from v").unwrap();
    let lines = [
        "default value for column a of table t depends on type mood",
        "constraint t_a_check on table t depends on type mood",
        "column m of table u depends on type mood",
        "view v depends on type mood",
        "view w depends on view v",
    ];
    in_the_way(&mut bed, "drop type mood", "type mood", &lines);
    bed.run("drop type mood cascade").unwrap();
    let rows = bed.run("insert into t (a) values (default), ('x') returning a");
    assert_eq!(rows.unwrap().rows, [["NULL"], ["x"]]);
}

#[test]
fn a_sequence_is_kept_by_what_names_it() {
    let mut bed = Bed::new();
    bed.run("create sequence s").unwrap();
    bed.run("create view v as select nextval('s') as n")
        .unwrap();
    bed.run("create table t (a int default nextval('s'), b text default 's'::regclass::text)")
        .unwrap();
    let lines = [
        "view v depends on sequence s",
        "default value for column a of table t depends on sequence s",
        "default value for column b of table t depends on sequence s",
    ];
    in_the_way(&mut bed, "drop sequence s", "sequence s", &lines);
}

#[test]
fn a_column_is_kept_by_views_that_name_it() {
    let mut bed = Bed::new();
    bed.run("create table t (a int, b int, c int)").unwrap();
    bed.run("create view v as select a from t where b > 0")
        .unwrap();
    let lines = ["view v depends on column b of table t"];
    let dropped = "alter table t drop column b";
    in_the_way(&mut bed, dropped, "column b of table t", &lines);
    bed.run("alter table t drop column c").unwrap();
    let retyped = bed.run("alter table t alter b type text").unwrap_err();
    let detail = "rule _RETURN on view v depends on column \"b\"";
    assert_eq!(retyped.detail_text(), Some(detail));
}
