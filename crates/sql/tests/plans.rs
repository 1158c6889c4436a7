//! A statement that finds a plan answers as it would with a plan made for it.
//!
//! Plans were once found by a text put together from tokens without escapes: `x = E'a\' or x =
//! E\'c'` and `x = E'a' or x = E'c'` had one text, and so had `"a"" , ""b"` and `"a" , "b"`, and
//! the second statement was given the first's rows. Here pairs of statements that are a few quotes,
//! backslashes or blanks apart run in one session; the second one's answer has to be that of a plan
//! made anew, which a search path that no statement had before ensures.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::bed::{Answer, Bed};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestRunner},
};
use types::Result;

/// The notations of a string.
#[derive(Debug, Clone, Copy)]
enum Notation {
    Plain,
    Escaped,
    Unicode,
    Dollars,
    Cast,
}

fn literal((content, notation): &(String, Notation)) -> String {
    let doubled = content.replace('\'', "''");
    match notation {
        Notation::Plain => format!("'{doubled}'"),
        Notation::Escaped => {
            let escaped = content.replace('\\', "\\\\").replace('\'', "\\'");
            format!("E'{escaped}'")
        }
        Notation::Unicode => format!("U&'{}'", doubled.replace('\\', "\\\\")),
        Notation::Dollars => format!("$w${content}$w$"),
        Notation::Cast => format!("text '{doubled}'"),
    }
}

fn identifier(content: &str) -> String {
    format!("\"{}\"", content.replace('"', "\"\""))
}

fn contents() -> impl Strategy<Value = String> {
    let pieces = [
        "a", "c", "x", "'", "\"", "\\", " ", ",", "=", " or ", "E", "é", "$", "$w", "--", "/*",
        "*/", "\n", ";", "1", "\u{0}s", "::",
    ];
    // A string cannot have the character with the number zero; a text for it takes its place.
    vec(
        select(pieces.map(|piece| piece.replace('\u{0}', "\\0")).to_vec()),
        0..5,
    )
    .prop_map(|pieces| pieces.concat())
}

fn literals() -> impl Strategy<Value = (String, Notation)> {
    use Notation::{Cast, Dollars, Escaped, Plain, Unicode};
    (
        contents(),
        select(vec![Plain, Plain, Escaped, Unicode, Dollars, Cast]),
    )
}

fn statements() -> impl Strategy<Value = String> {
    let outputs = vec((literals(), contents()), 1..4);
    let conditions = vec(literals(), 1..4);
    let comment = select(vec!["", " -- ' or\n", " /* \" /* ' */ */ ", "\t"]);
    let number = select(vec!["1", "2147483648", "1.0", "-1", "'1'"]);
    (outputs, conditions, comment, number).prop_map(|(outputs, conditions, comment, number)| {
        let outputs = outputs.iter().map(|(value, name)| {
            let name = format!("n{name}");
            format!("{} as {}", literal(value), identifier(&name))
        });
        let outputs: Vec<String> = outputs.collect();
        let conditions = conditions
            .iter()
            .map(|value| format!("x = {}", literal(value)));
        let conditions: Vec<String> = conditions.collect();
        format!(
            "select x, {},{comment}{number} + 1 from quoting where {} or y > {number} order by y",
            outputs.join(" , "),
            conditions.join(" or ")
        )
    })
}

/// Returns a statement and another one that is a few characters away from it.
fn pairs() -> impl Strategy<Value = (String, String)> {
    let edits = vec((any::<Index>(), any::<Index>(), any::<bool>()), 1..4);
    (statements(), edits).prop_map(|(first, edits)| {
        let symbols = ['\'', '"', '\\', ' ', ',', 'E', '$'];
        let mut second: Vec<char> = first.chars().collect();
        for (at, symbol, inserts) in edits {
            let symbol = symbols[symbol.index(symbols.len())];
            let places = (0..second.len()).filter(|at| symbols.contains(&second[*at]));
            let places: Vec<usize> = places.collect();
            let place = places[at.index(places.len())];
            match inserts {
                true => second.insert(place, symbol),
                false => second[place] = symbol,
            }
        }
        (first, second.into_iter().collect())
    })
}

/// Returns the answer that a client sees: names, types and rows, or the error.
fn told(answer: Result<Answer>) -> String {
    match answer {
        Ok(answer) => {
            let fields = answer.fields.iter();
            let fields: Vec<_> = fields.map(|field| (&field.name, field.ty)).collect();
            format!("{fields:?} {:?} {:?}", answer.rows, answer.tags)
        }
        Err(error) => format!("{}: {}", error.state().code(), error.message()),
    }
}

fn quoting() -> Bed {
    let mut bed = Bed::new();
    bed.run("create table quoting (x text, y int)").unwrap();
    let rows = r"insert into quoting values ('a', 1), ('c', 2), ('''', 3), ('a'' or x = E''c', 4), ('a\', 5), ('', 6)";
    bed.run(rows).unwrap();
    bed
}

/// Makes statements find no plan that was made before.
fn forget_plans(bed: &mut Bed) {
    static PATHS: AtomicU64 = AtomicU64::new(0);
    let path = PATHS.fetch_add(1, Ordering::Relaxed);
    bed.run(&format!("rollback; set search_path = public, path_{path}"))
        .unwrap();
}

#[test]
fn a_plan_that_is_found_is_the_one_that_would_be_made() {
    let bed = RefCell::new(quoting());
    let mut runner = TestRunner::new(Config::with_cases(300));
    let outcome = runner.run(&pairs(), |(first, second)| {
        let mut bed = bed.borrow_mut();
        for (before, after) in [(&first, &second), (&second, &first)] {
            forget_plans(&mut bed);
            let fresh = told(bed.run(after));
            forget_plans(&mut bed);
            told(bed.run(before));
            let found = told(bed.run(after));
            bed.run("rollback").unwrap();
            prop_assert_eq!(&fresh, &found, "after {}\nof {}", before, after);
            // The statement has its own plan, this time.
            prop_assert_eq!(&fresh, &told(bed.run(after)), "of {}", after);
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn all_inputs_of_binding_decide_about_plans() {
    let mut bed = quoting();
    bed.run("create schema other; create table other.quoting (x text, y int)")
        .unwrap();
    let asked = "select count(*), date '01/02/2000', timestamptz '2000-01-01' from quoting";
    let ask = |bed: &mut Bed| bed.run(asked).unwrap().rows.concat();
    let shown = |count: &str, date: &str, time: &str| {
        vec![count.to_owned(), date.to_owned(), time.to_owned()]
    };
    let usual = shown("6", "2000-01-02", "2000-01-01 00:00:00+00");
    assert_eq!(ask(&mut bed), usual);
    bed.run("set search_path = other").unwrap();
    assert_eq!(ask(&mut bed)[0], "0");
    bed.run("reset search_path; set datestyle = 'ISO, DMY'")
        .unwrap();
    assert_eq!(ask(&mut bed)[1], "2000-02-01");
    bed.run("reset datestyle; set timezone = 'Europe/Stockholm'")
        .unwrap();
    assert_eq!(ask(&mut bed)[2], "2000-01-01 00:00:00+01");
    bed.run("reset timezone").unwrap();
    assert_eq!(ask(&mut bed), usual);
    // A catalog that was rolled back, and one that was committed.
    bed.run("begin; drop table quoting; create table quoting (x text)")
        .unwrap();
    assert_eq!(ask(&mut bed)[0], "0");
    bed.run("rollback").unwrap();
    assert_eq!(ask(&mut bed), usual);
    bed.run("alter table quoting rename to quoted").unwrap();
    assert!(bed.run(asked).is_err());
}
