//! Statements that compute for long without a wait end soon after their time is over; the time covers all of a
//! statement, from its text to the last row that its client takes.
//!
//! Each of the long ones would take minutes. A join whose rows have no matches, or thousands each, once
//! went through all pairs before it looked at the clock; `NOT IN`, windows and functions that
//! return sets did the same.

use std::{
    cell::Cell,
    rc::Rc,
    task,
    time::{Duration, Instant},
};

use crate::bed::Bed;
use interleave::Clock;
use sql::{Interrupt, ResultRow, Session, Sink};
use types::{Result, SqlError, SqlState};

/// Time limit of the test: far more than a statement should take, and far less than it would take
/// unlimited.
const LIMIT: Duration = Duration::from_secs(10);

const TABLES: &str = "
    create table item (id int primary key, kind int, value int);
    create index item_kind on item (kind);
    insert into item select i, i % 2, i from generate_series(1, 30000) i;
    analyze item";

const STATEMENTS: &[&str] = &[
    // Pairs; pairs of which none counts.
    "select count(*) from generate_series(1, 200000) a, generate_series(1, 200000) b",
    "select count(*) from generate_series(1, 200000) a, generate_series(1, 200000) b where a + b < 0",
    "select count(*) from generate_series(1, 200000) a left join generate_series(1, 200000) b on a + b < 0",
    "select count(*) from generate_series(1, 200000) a full join generate_series(1, 200000) b on a + b < 0",
    "select count(*) from generate_series(1, 200000) a
     where not exists (select from generate_series(1, 200000) b where a + b < 0)",
    "select count(*) from item a, item b, item c where a.value + b.value + c.value < 0",
    // Joins with thousands of matches for each row.
    "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b on a % 2 = b % 2",
    "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b
     on a % 2 = b % 2 and a + b < 0",
    "select count(*) from item a join item b on b.kind = a.kind join item c on c.kind = b.kind
     where a.value + b.value + c.value < 0",
    // Subqueries.
    "select count(*) from generate_series(1, 200000) a
     where a not in (select -b from generate_series(1, 200000) b)",
    "select sum((select count(*) from generate_series(1, a) b)) from generate_series(1, 200000) a",
    "select count(*) from generate_series(1, 200000) a, lateral (select from generate_series(1, a) b
     where b < 0) c",
    "select sum((select count(*) from item b where b.value < -a.value)) from item a, item c",
    // Statements without an end, or nearly so.
    "with recursive r(i) as (select 1 union all select i + 1 from r) select count(*) from r",
    "with recursive r(i) as (select 1::bigint union select i + 1 from r) select count(*) from r",
    "with recursive r(i) as (select 1 union all select 1 - i from r) select count(*) from r where i > 1",
    "select count(*) from generate_series(1, 1000000000000)",
    "select count(i) from (select generate_series(1, 1000000000000) i) s",
    // Windows and groups.
    "select sum(i) over (order by i rows between 200000 preceding and current row)
     from generate_series(1, 400000) i",
    "select count(*) from (select a.kind from item a, item b, item c group by a.kind) s",
    "select count(distinct a.value) from item a, item b, item c",
    "explain analyze select from generate_series(1, 200000) a, generate_series(1, 200000) b",
    // The statement's writes are undone.
    "insert into item select a, b, a + b from generate_series(1, 200000) a, generate_series(1, 200000) b
     where a + b < 0",
];

#[test]
fn a_statement_that_computes_ends_soon_after_its_time() {
    // The memory that the statements keep until then is less than a share of this.
    let mut bed = Bed::with_memory(8 << 30);
    bed.run(TABLES).unwrap();
    bed.run("set statement_timeout = '50ms'").unwrap();
    for text in STATEMENTS {
        let begun = Instant::now();
        let error = bed.run(text).expect_err(text);
        assert_eq!(error.state().code(), "57014", "{text}: {error}");
        let taken = begun.elapsed();
        assert!(taken < LIMIT, "{taken:?}: {text}");
    }
    // A machine that has much else to do may take longer for this.
    bed.run("set statement_timeout = 0").unwrap();
    let count = bed.run("select count(*) from item where kind > 1").unwrap();
    assert_eq!(count.rows, [["0"]]);
}

async fn run(session: &mut Session, text: &str) {
    session.execute(text, &mut ()).await.unwrap();
}

/// A sink whose client takes its rows late.
struct Late;

impl Sink for Late {
    fn row(&mut self, _: &ResultRow<'_>) -> Result<()> {
        Ok(())
    }

    async fn drain(&mut self) -> Result<()> {
        interleave::sleep(Duration::from_secs(5)).await;
        Ok(())
    }
}

/// FETCH had a limit for reading it and one for computing rows, and none for handing them over.
#[test]
fn one_time_limit_covers_all_of_a_fetch() {
    Bed::new().within(async |session| {
        run(
            session,
            "begin; declare c cursor for select 1; savepoint s; set statement_timeout = 50",
        )
        .await;
        let error = session.execute("fetch c", &mut Late).await.unwrap_err();
        assert_eq!(error.state(), SqlState::QUERY_CANCELED);
        run(session, "rollback to s").await;
        // The cursor is there still, and cannot be run on.
        let error = session.execute("fetch c", &mut ()).await.unwrap_err();
        let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
        assert_eq!(error.state(), state);
    });
}

/// Rows that a statement which writes has left for its client were handed over without a limit.
#[test]
fn a_time_limit_covers_the_rows_that_a_portal_has_kept() {
    Bed::new().within(async |session| {
        run(
            session,
            "create table t (a int); set statement_timeout = 50",
        )
        .await;
        let text = "insert into t values (1), (2), (3) returning a";
        let prepared = Rc::new(session.prepare(text, &[]).await.unwrap());
        let mut portal = session.bind(&prepared, [].into_iter()).unwrap();
        let run = session.run_portal(&mut portal, Some(2), &mut Late).await;
        let error = run.unwrap_err();
        assert_eq!(error.state(), SqlState::QUERY_CANCELED);
    });
}

/// A client that takes a second for the tokens of its text, and another one for its rows.
#[derive(Clone, Default)]
struct Slow {
    now: Rc<Cell<Duration>>,
    polls: Rc<Cell<u32>>,
}

impl Slow {
    fn pass_a_second(&self) {
        self.now.set(self.now.get() + Duration::from_secs(1));
    }
}

impl Interrupt for Slow {
    fn poll(&self, _: &mut task::Context<'_>) -> task::Poll<SqlError> {
        // The time of a statement begins where the statement waits for the first time.
        self.polls.set(self.polls.get() + 1);
        if self.polls.get() == 2 {
            self.pass_a_second();
        }
        task::Poll::Pending
    }
}

impl Sink for Slow {
    fn row(&mut self, _: &ResultRow<'_>) -> Result<()> {
        Ok(())
    }

    async fn drain(&mut self) -> Result<()> {
        self.pass_a_second();
        interleave::yield_now().await;
        Ok(())
    }
}

/// The time of a text's first statement began anew when the text had been cut into statements, and that of a utility
/// statement once more when it had been read.
#[test]
fn the_time_of_the_first_statement_begins_with_its_text() {
    thread_local! {
        static NOW: Rc<Cell<Duration>> = Rc::default();
    }
    let clock = Clock::Manual(NOW.with(Rc::clone));
    Bed::on_clock(clock).within(async |session| {
        let mut slow = Slow {
            now: NOW.with(Rc::clone),
            ..Slow::default()
        };
        run(session, "set statement_timeout = 1500").await;
        let long = "/**/ ".repeat(100_000);
        session.set_interrupt(Rc::new(slow.clone()));
        for text in ["select 1", "explain analyze select 1"] {
            slow.polls.set(0);
            let text = format!("{long} {text}");
            let error = session.execute(&text, &mut slow).await.unwrap_err();
            assert!(slow.polls.get() > 2);
            assert_eq!(error.state(), SqlState::QUERY_CANCELED);
        }
        // Each statement has its own time.
        let text = "select 1; select 2; select 3";
        session.execute(text, &mut slow).await.unwrap();
    });
}
