//! Portals of the protocol: statements whose rows are taken bit by bit, between other statements.

use std::rc::Rc;

use crate::bed::{Answer, Bed};
use sql::{Portal, Progress, Session};
use types::Result;

async fn portal(session: &mut Session, text: &str, parameters: &[&str]) -> Portal {
    let prepared = Rc::new(session.prepare(text, &[]).await.unwrap());
    let values = parameters.iter().map(|text| (false, Some(text.as_bytes())));
    session.bind(&prepared, values).unwrap()
}

/// Takes a number of rows; returns them, and whether there may be more.
async fn take(
    session: &mut Session,
    portal: &mut Portal,
    rows: Option<usize>,
) -> Result<(String, bool)> {
    let mut answer = Answer::default();
    let done = session.run_portal(portal, rows, &mut answer).await;
    if done.is_err() {
        session.failed().await;
    }
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    Ok((rows.join(";"), done? == Progress::Suspended))
}

async fn run(session: &mut Session, text: &str) {
    let mut answer = Answer::default();
    session.execute(text, &mut answer).await.unwrap();
}

async fn items(session: &mut Session) {
    let text = "create table item (id int primary key, price int); \
                insert into item select i, i * 10 from generate_series(1, 5) i";
    run(session, text).await;
}

fn more(rows: &str) -> (String, bool) {
    (rows.to_owned(), true)
}

fn last(rows: &str) -> (String, bool) {
    (rows.to_owned(), false)
}

/// A portal once went on with its scan and saw rows that its transaction had written meanwhile.
#[test]
fn a_portal_does_not_see_what_is_written_after_it_was_opened() {
    Bed::new().within(async |session| {
        items(session).await;
        run(session, "begin").await;
        let text = "select id, price from item where id > $1 order by id";
        let mut open = portal(session, text, &["1"]).await;
        let first = take(session, &mut open, Some(2)).await;
        assert_eq!(first.unwrap(), more("2,20;3,30"));
        run(session, "insert into item values (6, 60)").await;
        run(session, "update item set price = 0 where id = 4").await;
        let mut deleting = portal(session, "delete from item where id = $1", &["5"]).await;
        assert_eq!(take(session, &mut deleting, None).await.unwrap(), last(""));
        let second = take(session, &mut open, Some(1)).await;
        assert_eq!(second.unwrap(), more("4,40"));
        assert_eq!(
            take(session, &mut open, Some(1)).await.unwrap(),
            more("5,50")
        );
        assert_eq!(take(session, &mut open, Some(1)).await.unwrap(), last(""));
        let mut now = portal(session, "select sum(price) from item", &[]).await;
        assert_eq!(take(session, &mut now, None).await.unwrap(), last("120"));
    });
}

#[test]
fn a_statement_that_writes_has_happened_before_its_rows_are_taken() {
    Bed::new().within(async |session| {
        items(session).await;
        run(session, "begin").await;
        let mut read = portal(session, "select count(*) over (), id from item", &[]).await;
        assert_eq!(
            take(session, &mut read, Some(1)).await.unwrap(),
            more("5,1")
        );
        let text = "insert into item select id + 10, 1 from item returning id";
        let mut write = portal(session, text, &[]).await;
        let first = take(session, &mut write, Some(2)).await;
        assert_eq!(first.unwrap(), more("11;12"));
        run(session, "delete from item where id > 10").await;
        let rest = take(session, &mut write, None).await;
        assert_eq!(rest.unwrap(), last("13;14;15"));
        let rest = take(session, &mut read, None).await;
        assert_eq!(rest.unwrap(), last("5,2;5,3;5,4;5,5"));
    });
}

#[test]
fn a_return_to_a_savepoint_ends_the_portals_from_after_it() {
    Bed::new().within(async |session| {
        items(session).await;
        run(session, "begin").await;
        let mut before = portal(session, "select id from item order by id", &[]).await;
        assert_eq!(
            take(session, &mut before, Some(1)).await.unwrap(),
            more("1")
        );
        run(session, "savepoint s; delete from item where id < 4").await;
        let mut after = portal(session, "select id from item order by id", &[]).await;
        assert_eq!(take(session, &mut after, Some(1)).await.unwrap(), more("4"));
        run(session, "rollback to s; insert into item values (6, 60)").await;
        let refused = take(session, &mut after, Some(1)).await.unwrap_err();
        assert_eq!(refused.state().code(), "55000");
        run(session, "rollback to s").await;
        let rest = take(session, &mut before, None).await;
        assert_eq!(rest.unwrap(), last("2;3;4;5"));
    });
}

#[test]
fn a_portal_does_not_outlive_its_transaction() {
    Bed::new().within(async |session| {
        items(session).await;
        for (end, written) in [("commit", "6"), ("rollback", "7")] {
            run(session, "begin").await;
            let mut open = portal(session, "select id from item order by id", &[]).await;
            assert_eq!(take(session, &mut open, Some(1)).await.unwrap(), more("1"));
            run(session, &format!("insert into item values ({written}, 0)")).await;
            run(session, end).await;
            run(session, "begin").await;
            let refused = take(session, &mut open, Some(1)).await.unwrap_err();
            assert_eq!(refused.state().code(), "55000");
            run(session, "rollback").await;
        }
    });
}
