//! Statements in a database whose records have filled the memory.

use std::time::{Duration, Instant};

use io::{Faults, SimulatedDisk};

use super::MEMORY;
use crate::bed::Bed;

/// Where records had filled the memory, a statement had a 32nd of the limit to itself, and no record left for it: here
/// a window that keeps 2 MB, of 32.
#[test]
fn records_leave_memory_for_statements() {
    let disk = SimulatedDisk::new(3, Faults::default());
    let mut bed = Bed::on(&disk, MEMORY);
    bed.begin_upkeep();
    bed.run("create table full_of (id int primary key, note text)")
        .unwrap();
    for begin in (1..100_000).step_by(1000) {
        bed.run(&format!(
            "insert into full_of select i, repeat('x', 500) from generate_series({begin}, {begin} + 999) i"
        ))
        .unwrap();
    }
    let before = bed.statement_bytes();
    let numbered = "select count(*), max(n) from (select row_number() over (order by -id) as n from full_of where id <= 20000) s";
    assert_eq!(bed.run(numbered).unwrap().rows, [["20000", "20000"]]);
    assert_eq!(bed.statement_bytes(), before);
}

/// Each statement waited to be planned, for ten seconds, where no record could leave: what was found about its table
/// found no room. Here nobody demotes records.
#[test]
fn statements_are_planned_where_there_is_no_room() {
    let disk = SimulatedDisk::new(3, Faults::default());
    let mut bed = Bed::on(&disk, MEMORY);
    bed.run("create table full_of (id int primary key, note text)")
        .unwrap();
    let mut begins = (1..).step_by(500);
    let fill = |begin| {
        format!(
            "insert into full_of select i, repeat('x', 500) from generate_series({begin}, {begin} + 499) i"
        )
    };
    while bed.run(&fill(begins.next().unwrap())).is_ok() {}
    let began = Instant::now();
    for _ in 0..6 {
        bed.run("select count(*) from full_of where id < 10 and note > 'a'")
            .unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(40));
}
