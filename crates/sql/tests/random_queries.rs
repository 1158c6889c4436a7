//! Generated statements over generated tables.
//!
//! With `WEFT_ASK_POSTGRES` set to a connection string of a database of PostgreSQL 15 that may be
//! thrown away, each statement is answered by both, and the answers must be equal: rows in order
//! where the statement orders them, else as multisets, errors by SQLSTATE. `WEFT_RANDOM_QUERIES` is
//! the number of statements (default 200), `WEFT_RANDOM_SEED` the first seed.
//!
//! Without PostgreSQL, four things are asked of Weft alone: that no statement panics or ends in an
//! internal error; that a statement answers the same a second time, when its plan is kept; and that
//! rows for which a condition is true, false and unknown are together all rows (`partition.rs`); that
//! rows by columns have the answers of rows one by one (`columns.rs`).
//!
//! A statement that fails is made small (`choices.rs`) and reported with its seed, which gives it
//! again. Errors that depend on which rows are computed first (class 22, 21000), and statements
//! that Weft says it does not support, are not compared; the latter are counted.

mod choices;
mod columns;
mod expression;
mod outcome;
mod partition;
mod query;
mod tables;

use choices::{Choices, smallest};
use outcome::{Difference, Outcome, Postgres, Weft, compare};
use query::Statement;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn generated_statements_are_answered_alike() {
    let (first, count) = (
        number("WEFT_RANDOM_SEED", 1),
        number("WEFT_RANDOM_QUERIES", 200),
    );
    let mut weft = Weft::new();
    let mut postgres = std::env::var("WEFT_ASK_POSTGRES")
        .ok()
        .map(|connection| Postgres::new(&connection));
    let (mut failed, mut unsupported, mut rows) = (Vec::new(), 0, 0);
    for seed in first..first + count {
        let mut choices = Choices::drawn(seed);
        let statement = query::statement(&mut choices);
        let mut difference = |statement: &Statement| match &mut postgres {
            Some(postgres) => {
                let answers = (weft.run(&statement.text), postgres.run(&statement.text));
                rows += usize::from(matches!(&answers.0, Outcome::Rows(rows) if !rows.is_empty()));
                compare(&answers.0, &answers.1, statement.is_ordered)
            }
            None => {
                let answers = (weft.run(&statement.text), weft.run(&statement.text));
                rows += usize::from(matches!(&answers.0, Outcome::Rows(rows) if !rows.is_empty()));
                compare(&answers.0, &answers.1, statement.is_ordered)
            }
        };
        match difference(&statement) {
            None => {}
            Some(Difference::Unsupported) => unsupported += 1,
            Some(found) => {
                let small = smallest(choices, |choices| {
                    difference(&query::statement(choices)) == Some(found)
                });
                let small = query::statement(&mut small.again());
                let weft = weft.run(&small.text);
                let postgres = postgres.as_mut().map(|postgres| postgres.run(&small.text));
                failed.push(format!(
                    "seed {seed}, {found:?}: {}\n  weft: {weft:?}\n  other: {postgres:?}",
                    small.text
                ));
            }
        }
    }
    assert!(
        rows as u64 * 4 > count,
        "of {count} statements {rows} have rows: too few to prove anything"
    );
    assert!(
        failed.is_empty(),
        "{} failed, {unsupported} of {count} are not supported\n\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

#[test]
fn true_false_and_unknown_are_together_all() {
    let mut weft = Weft::new();
    let mut failed = Vec::new();
    let first = number("WEFT_RANDOM_SEED", 1);
    for seed in first..first + number("WEFT_RANDOM_QUERIES", 200) / 2 {
        let mut choices = Choices::drawn(seed);
        if !partition::holds(&mut choices, &mut weft) {
            let small = smallest(choices, |choices| !partition::holds(choices, &mut weft));
            let (all, parts) = partition::statements(&mut small.again());
            failed.push(format!("seed {seed}:\n  {all}\n  {parts}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Returns whether a difference between two of Weft's own answers is a fault.
fn is_wrong(difference: Difference) -> bool {
    difference != Difference::Unsupported
}

#[test]
fn rows_by_columns_are_answered_as_rows_are() {
    let mut weft = Weft::new();
    assert!(matches!(weft.run(columns::SETUP), Outcome::Rows(_)));
    let (mut failed, mut rows) = (Vec::new(), 0);
    let first = number("WEFT_RANDOM_SEED", 1);
    let count = number("WEFT_RANDOM_QUERIES", 200);
    for seed in first..first + count {
        let mut choices = Choices::drawn(seed);
        let mut differ = |choices: &mut Choices| {
            let answers = columns::statements(choices).map(|statement| weft.run(&statement));
            rows += u64::from(matches!(&answers[0], Outcome::Rows(_)));
            compare(&answers[0], &answers[1], true).is_some_and(is_wrong)
        };
        if differ(&mut choices) {
            let small = smallest(choices, differ);
            let [one, two] = columns::statements(&mut small.again());
            let answers = [weft.run(&one), weft.run(&two)];
            failed.push(format!("seed {seed}:\n  {one}\n  {two}\n  {answers:?}"));
        }
    }
    assert!(2 * rows > count, "of {count} statements {rows} have rows");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
