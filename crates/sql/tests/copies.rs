//! Copies of texts on their way from a record to a client, by the bytes that are copied.
//!
//! Counted are copies between the version of the record that a statement reads and the values that the session hands to
//! its client's side (`Sink::row`), which are references. The copy into the client's message, in the form that it
//! wants, comes on top. Builds with debug assertions count the bytes of each value that is copied from one arena into
//! another (`types::copied_bytes`). Values get into rows of operators by such a copy or with their arena; programs hand
//! on texts of their operands without a copy.

#![cfg(debug_assertions)]

use sql::{CommandTag, Field, ResultRow, Session, Sink};
use types::{Result, Value, copied_bytes};

use crate::bed::Bed;

const ROWS: u64 = 1000;

/// Length of each text.
const TEXT_BYTES: u64 = 500;

/// A query with a condition that is no scan's: LIMIT and OFFSET keep it above them.
const FILTERED: &str =
    "select content from (select content, number from texts offset 0) t where number > 0";

/// A client's side that counts the bytes of the texts that it is handed.
#[derive(Default)]
struct Texts {
    bytes: u64,
}

impl Sink for Texts {
    fn fields(&mut self, _: &[Field]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        for value in row.values {
            if let Value::Text(text) = value {
                self.bytes += text.len() as u64;
            }
        }
        Ok(())
    }

    fn complete(&mut self, _: CommandTag) -> Result<()> {
        Ok(())
    }
}

/// Returns how often each text of a query's answer, which are as many as the rows of a table, is copied on average.
async fn copies(session: &mut Session, query: &str) -> f64 {
    // The second execution finds the plan.
    let mut copied = 0;
    for _ in 0..2 {
        let mut texts = Texts::default();
        let before = copied_bytes();
        session.execute(query, &mut texts).await.unwrap();
        copied = copied_bytes() - before;
        assert_eq!(texts.bytes, ROWS * TEXT_BYTES, "{query}");
    }
    copied as f64 / (ROWS * TEXT_BYTES) as f64
}

/// A hash join once copied the texts of its smaller side a third time, from the batches of that side's scan into the
/// rows that it keeps. An operator that computes a column above another, or leaves out rows of it, copied the columns
/// that it hands on once more; so did limits, windows and the readers of a WITH query. No text gets out of its record
/// without a copy: a counter that does not count fails as well.
#[test]
fn texts_are_copied_once_in_a_scan_and_twice_in_a_hash_join() {
    let mut bed = Bed::new();
    bed.run(&format!(
        "create table texts (id int primary key, number int, content text);
         create table numbers (id int primary key, number int);
         insert into texts select i, i, repeat('x', {TEXT_BYTES}) from generate_series(1, {ROWS}) i;
         insert into numbers select i, i from generate_series(1, {ROWS}) i;
         insert into numbers select i, i from generate_series({ROWS} + 1, 20 * {ROWS}) i;
         analyze texts, numbers"
    ))
    .unwrap();
    let plan = |bed: &mut Bed, query: &str| {
        let answer = bed.run(&format!("explain {query}")).unwrap();
        answer.rows.concat().join("\n")
    };
    let joined = "select content from numbers join texts on texts.number = numbers.number";
    let join = plan(&mut bed, joined);
    assert!(join.contains("Hash Join"), "{join}");
    let filter = plan(&mut bed, FILTERED);
    let lines: Vec<_> = filter.lines().map(str::trim).collect();
    assert!(
        !lines[0].contains("Seq Scan") && filter.contains("Filter"),
        "{filter}"
    );
    bed.within(async |session| {
        for (query, most) in [
            ("select content from texts", 1.0),
            ("select content, id from texts where number > 0", 1.0),
            ("select content from texts where id between 1 and 1000", 1.0),
            ("select content, id + 1 from texts", 1.0),
            (FILTERED, 1.0),
            ("select content from texts limit 1000", 1.0),
            ("select distinct on (id) content from texts", 1.0),
            ("select content, row_number() over () from texts", 2.0),
            ("select content || '' from texts", 2.0),
            (
                "with t as materialized (select content from texts) select content from t",
                2.0,
            ),
            (joined, 2.0),
        ] {
            let copies = copies(session, query).await;
            assert!((1.0..=most).contains(&copies), "{copies} copies in {query}");
        }
    });
}
