//! What statements keep is within the database's memory limit: at its share, or where the limit
//! leaves no more, a statement ends with 53200. Others go on, and all it had is given back.
//!
//! Once nothing counted what operators keep: an endless recursion whose client was gone grew to
//! 5.9 GB, and the system ended the process.

#[path = "common/bed.rs"]
mod bed;

use bed::Bed;

const MEMORY: usize = 64 << 20;

const TABLES: &str = "
    create table item (id int primary key, kind int, name text);
    insert into item select i, i % 10, 'item ' || i from generate_series(1, 2000) i";

/// Statements that keep more than there is.
const HUNGRY: &[&str] = &[
    "with recursive r(i) as (select 1 union all select i + 1 from r) select count(*) from r",
    "with recursive r(i) as (select 1::bigint union select i + 1 from r) select count(*) from r",
];

#[test]
fn a_statement_that_keeps_too_much_ends_and_gives_everything_back() {
    let mut bed = Bed::with_memory(MEMORY);
    bed.run(TABLES).unwrap();
    let other = bed.client();
    let before = bed.statement_bytes();
    for text in HUNGRY {
        let error = bed.run(text).expect_err(text);
        assert_eq!(error.state().code(), "53200", "{text}: {error}");
        assert_eq!(error.message(), "out of memory", "{text}");
        assert!(error.detail_text().is_some(), "{text}");
        assert!(error.hint_text().is_some(), "{text}");
        assert_eq!(bed.statement_bytes(), before, "{text}");
        let answer = bed.run_in(&other, "select name from item where id = 7");
        assert_eq!(answer.unwrap().rows, [["item 7"]], "{text}");
    }
}

#[test]
fn the_limit_and_the_share_are_told_and_the_share_can_be_set() {
    let mut bed = Bed::with_memory(MEMORY);
    let shown = |bed: &mut Bed, text: &str| bed.run(text).map(|answer| answer.rows);
    assert_eq!(shown(&mut bed, "show weft.memory").unwrap(), [["64MB"]]);
    let share = "show weft.statement_memory";
    assert_eq!(shown(&mut bed, share).unwrap(), [["16MB"]]);
    bed.run("set weft.statement_memory = '2MB'").unwrap();
    assert_eq!(shown(&mut bed, share).unwrap(), [["2MB"]]);
    let error = bed.run(HUNGRY[0]).unwrap_err();
    let detail = error.detail_text().unwrap();
    assert!(
        detail.ends_with("a statement may hold 2048 KiB."),
        "{detail}"
    );
    for (value, state) in [("'65MB'", "22023"), ("'much'", "22023")] {
        let error = bed.run(&format!("set weft.statement_memory = {value}"));
        assert_eq!(error.unwrap_err().state().code(), state, "{value}");
    }
    let error = bed.run("set weft.memory = '1GB'").unwrap_err();
    assert_eq!(error.state().code(), "55P02");
    bed.run("reset weft.statement_memory").unwrap();
    assert_eq!(shown(&mut bed, share).unwrap(), [["16MB"]]);
}
