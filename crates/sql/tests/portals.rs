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

/// Rows of an INSERT that was undone were once handed over to a client that took them bit by bit.
#[test]
fn rows_of_an_undone_statement_are_not_handed_over() {
    const INSERT: &str = "insert into item select i, 0 from generate_series(10, 14) i returning id";
    Bed::new().within(async |session| {
        items(session).await;
        for undo in [
            "rollback to s",
            "rollback and chain",
            "commit and chain",
            "rollback; begin",
            "rollback to s; release s",
        ] {
            run(session, "begin; savepoint s").await;
            let mut inserted = portal(session, INSERT, &[]).await;
            let some = take(session, &mut inserted, Some(2)).await;
            assert_eq!(some.unwrap(), more("10;11"));
            run(session, undo).await;
            let refused = take(session, &mut inserted, Some(2)).await.unwrap_err();
            assert_eq!(refused.state().code(), "55000", "{undo}");
            run(session, "rollback; delete from item where id > 9").await;
        }
        // A savepoint that is released takes nothing with it.
        run(session, "begin; savepoint s").await;
        let mut inserted = portal(session, INSERT, &[]).await;
        let some = take(session, &mut inserted, Some(2)).await;
        assert_eq!(some.unwrap(), more("10;11"));
        run(session, "release s").await;
        let rest = take(session, &mut inserted, None).await;
        assert_eq!(rest.unwrap(), last("12;13;14"));
        run(session, "rollback").await;
    });
}

/// Rows of an INSERT .. RETURNING were handed over in a block that had failed, which undoes the INSERT.
#[test]
fn rows_are_not_handed_over_in_a_failed_block() {
    Bed::new().within(async |session| {
        items(session).await;
        run(session, "begin").await;
        let text = "insert into item values (6, 0), (7, 0), (8, 0) returning id";
        let mut inserted = portal(session, text, &[]).await;
        let some = take(session, &mut inserted, Some(1)).await;
        assert_eq!(some.unwrap(), more("6"));
        let mut fails = portal(session, "select 1 / ($1::int - 5)", &["5"]).await;
        take(session, &mut fails, None).await.unwrap_err();
        let refused = take(session, &mut inserted, Some(1)).await.unwrap_err();
        assert_eq!(refused.state().code(), "25P02");
        run(session, "rollback").await;
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

/// Prepares a statement under a name, as the protocol does.
async fn keep(session: &mut Session, name: &str, text: &str) {
    let prepared = session.prepare(text, &[]).await.unwrap();
    session.keep_prepared(name, Rc::new(prepared)).unwrap();
}

async fn begin_portal(session: &mut Session, name: &str) -> Portal {
    let prepared = session.prepared(name).unwrap().clone();
    session.bind(&prepared, [].into_iter()).unwrap()
}

/// An EXECUTE that was prepared under the name that it executes called itself until the worker's stack, and with it
/// the server, ended.
#[test]
fn an_execute_of_an_execute_is_refused() {
    Bed::new().within(async |session| {
        keep(session, "itself", "execute itself").await;
        keep(session, "one", "execute two").await;
        keep(session, "two", "execute one").await;
        for name in ["itself", "one", "two"] {
            let mut portal = begin_portal(session, name).await;
            let refused = take(session, &mut portal, None).await.unwrap_err();
            assert_eq!(refused.state().code(), "0A000", "{name}");
        }
        let text = "execute one";
        let refused = session.execute(text, &mut ()).await.unwrap_err();
        session.failed().await;
        assert_eq!(refused.state().code(), "0A000");
        run(session, "prepare three as select 3").await;
        keep(session, "four", "execute three").await;
        let mut portal = begin_portal(session, "four").await;
        assert_eq!(take(session, &mut portal, None).await.unwrap(), last("3"));
    });
}

/// The statement under a name, or the cursor, may be another one than when an EXECUTE or a FETCH was prepared: rows of
/// other columns than the client was told went to it, or ended the connection.
#[test]
fn rows_have_the_columns_that_the_client_was_told() {
    Bed::new().within(async |session| {
        run(session, "prepare s as select 'a'::text as x").await;
        keep(session, "execute", "execute s").await;
        run(session, "begin; declare c cursor for select 1 as x").await;
        keep(session, "fetch", "fetch 2 from c").await;
        for columns in ["7 as x", "'a'::text as x, 2 as y, 3 as z"] {
            let others = format!(
                "deallocate s; prepare s as select {columns}; \
                 close c; declare c cursor for select {columns}, 4 as more"
            );
            run(session, &others).await;
            for (name, rows) in [
                ("execute", Some(1)),
                ("execute", None),
                ("fetch", Some(1)),
                ("fetch", None),
            ] {
                run(session, "savepoint p").await;
                let mut portal = begin_portal(session, name).await;
                let refused = take(session, &mut portal, rows).await.unwrap_err();
                assert_eq!(refused.state().code(), "0A000", "{name} {rows:?}");
                run(session, "rollback to p").await;
            }
        }
        run(session, "deallocate s; prepare s as select 'b'::text as x").await;
        run(session, "close c; declare c cursor for select 5 as x").await;
        for (name, row) in [("execute", "b"), ("fetch", "5")] {
            let mut portal = begin_portal(session, name).await;
            assert_eq!(take(session, &mut portal, None).await.unwrap(), last(row));
        }
    });
}

/// A portal was charged 2 KB, whatever its statement was, which only a name charged for; a cursor nothing. Clients held
/// any amount of memory with them.
#[test]
fn statements_are_charged_for_as_long_as_something_holds_them() {
    const LARGE: usize = 1 << 20;
    Bed::new().within(async |session| {
        let memory = session.memory();
        let before = memory.used();
        let used = || memory.used() - before;
        for text in [
            format!("select /* {} */ 1", "x".repeat(LARGE)),
            format!("select length('{}')", "x".repeat(LARGE)),
            format!("explain select '{}'", "x".repeat(LARGE)),
        ] {
            keep(session, "large", &text).await;
            let portal = session
                .prepared("large")
                .map(|prepared| session.bind(prepared, [].into_iter()).unwrap());
            assert!(used() >= LARGE, "{}", used());
            session.forget_prepared("large");
            assert!(used() >= LARGE, "{}", used());
            drop(portal);
            assert_eq!(used(), 0);
        }
        // The name is charged beside the statement.
        keep(session, "n", "select 1").await;
        let short = used();
        keep(session, &"n".repeat(1000), "select 1").await;
        assert!(used() >= 2 * short + 999, "{short}, {}", used());
        run(session, "deallocate all").await;
        assert_eq!(used(), 0);
        let types = vec![Some(types::Type::Scalar(types::Scalar::Int4)); 65_535];
        let prepared = session.prepare("select $1 + 1", &types).await.unwrap();
        assert!(used() >= size_of_val(&*types), "{}", used());
        drop(prepared);
        let columns: Vec<_> = (0..1600).map(|at| format!("1 as column{at}")).collect();
        let select = format!("select {} where false", columns.join(", "));
        run(session, &format!("declare c cursor with hold for {select}")).await;
        let held = used();
        assert!(held >= 1600 * size_of::<sql::Field>(), "{held}");
        run(session, "close c").await;
        assert_eq!(used(), 0);
    });
}

/// A portal that had failed was run again without its parameters, whose first use ended the connection.
#[test]
fn a_portal_that_has_failed_is_not_run_again() {
    Bed::new().within(async |session| {
        items(session).await;
        for rows in [None, Some(5)] {
            run(session, "begin; savepoint s").await;
            let mut fails = portal(session, "insert into item values ($1, 0)", &["5"]).await;
            let mut divides = portal(session, "select 1 / ($1::int - 5)", &["5"]).await;
            let mut waits = portal(session, "insert into item values ($1, 0)", &["6"]).await;
            for (portal, state) in [(&mut fails, "23505"), (&mut divides, "22012")] {
                let failed = take(session, portal, rows).await.unwrap_err();
                assert_eq!(failed.state().code(), state);
                // The transaction has failed: the portal that was not run yet is not begun, and the one that was is
                // refused for that first.
                for portal in [&mut waits, &mut *portal] {
                    let refused = take(session, portal, rows).await.unwrap_err();
                    assert_eq!(refused.state().code(), "25P02");
                }
                run(session, "rollback to s").await;
                let refused = take(session, portal, rows).await.unwrap_err();
                assert_eq!(refused.state().code(), "55000");
                run(session, "rollback to s").await;
            }
            assert_eq!(take(session, &mut waits, rows).await.unwrap(), last(""));
            run(session, "rollback").await;
        }
    });
}

/// A notice of a statement whose portal was run to its end was dropped.
#[test]
fn notices_of_portals_reach_the_client() {
    Bed::new().within(async |session| {
        items(session).await;
        for text in [
            "select pg_advisory_unlock(77)",
            "create table if not exists item (id int)",
        ] {
            for rows in [None, Some(5)] {
                let mut portal = portal(session, text, &[]).await;
                let mut answer = Answer::default();
                session
                    .run_portal(&mut portal, rows, &mut answer)
                    .await
                    .unwrap();
                assert_eq!(answer.notices.len(), 1, "{text} {rows:?}");
                session.end_implicit().await.unwrap();
            }
        }
    });
}

/// Runs a portal on; returns the tag with which it ends, or the error's code.
async fn tag(session: &mut Session, portal: &mut Portal, rows: Option<usize>) -> String {
    match session.run_portal(portal, rows, &mut ()).await {
        Ok(Progress::Complete(tag)) => tag.to_string(),
        Ok(Progress::Suspended) => "suspended".to_owned(),
        Ok(Progress::Empty) => "empty".to_owned(),
        Err(error) => {
            session.failed().await;
            error.state().code().to_owned()
        }
    }
}

/// A portal that had run said once more what it had done, and a utility statement did it once more. As PostgreSQL 15
/// answers.
#[test]
fn a_portal_without_rows_runs_once() {
    Bed::new().within(async |session| {
        items(session).await;
        keep(session, "e", "").await;
        run(session, "prepare change as update item set price = 0").await;
        for (text, told) in [
            ("insert into item values (7, 1)", "INSERT 0 1"),
            ("execute change", "UPDATE 5"),
            ("execute e", "EXECUTE"),
            ("prepare other as select 1", "PREPARE"),
            ("set x.y = 1", "SET"),
            ("create table other (a int)", "CREATE TABLE"),
            ("declare d cursor for select 1", "DECLARE CURSOR"),
            ("move 2 from c", "MOVE 2"),
            ("execute nothing", "26000"),
            ("rollback to nothing", "3B001"),
            ("lock table nothing", "42P01"),
            ("create table item (a int)", "42P07"),
        ] {
            for rows in [None, Some(1)] {
                let declare = "begin; declare c cursor for select id from item; savepoint s";
                run(session, declare).await;
                let mut portal = portal(session, text, &[]).await;
                assert_eq!(tag(session, &mut portal, rows).await, told, "{text}");
                run(session, "rollback to s").await;
                assert_eq!(tag(session, &mut portal, rows).await, "55000", "{text}");
                run(session, "rollback; deallocate all").await;
                run(session, "prepare change as update item set price = 0").await;
                keep(session, "e", "").await;
            }
        }
    });
}

/// A tag has the rows that were handed over since the last one, as in PostgreSQL 15.
#[test]
fn a_portal_with_rows_tells_those_that_are_left() {
    Bed::new().within(async |session| {
        items(session).await;
        run(session, "prepare three as select generate_series(1, 3)").await;
        for (text, word) in [
            (
                "insert into item values (7, 1), (8, 1), (9, 1) returning id",
                "INSERT 0",
            ),
            ("select generate_series(1, 3)", "SELECT"),
            ("execute three", "SELECT"),
            ("fetch 3 from c", "FETCH"),
        ] {
            run(session, "begin; declare c cursor for select id from item").await;
            let mut all = portal(session, text, &[]).await;
            assert_eq!(tag(session, &mut all, None).await, format!("{word} 3"));
            assert_eq!(tag(session, &mut all, None).await, format!("{word} 0"));
            run(
                session,
                "rollback; begin; declare c cursor for select id from item",
            )
            .await;
            let mut some = portal(session, text, &[]).await;
            assert_eq!(tag(session, &mut some, Some(2)).await, "suspended");
            assert_eq!(tag(session, &mut some, Some(2)).await, format!("{word} 1"));
            assert_eq!(tag(session, &mut some, Some(2)).await, format!("{word} 0"));
            run(session, "rollback").await;
        }
        let mut shown = portal(session, "show timezone", &[]).await;
        assert_eq!(tag(session, &mut shown, None).await, "SHOW");
        assert_eq!(tag(session, &mut shown, None).await, "SHOW");
    });
}

/// A portal that a failed transaction refuses has not been begun.
#[test]
fn a_refused_portal_runs_after_the_return_to_a_savepoint() {
    Bed::new().within(async |session| {
        run(session, "prepare one as select 1").await;
        run(session, "begin; savepoint s").await;
        let mut portals = Vec::new();
        for text in ["create table other (a int)", "execute one", "select 1"] {
            portals.push(portal(session, text, &[]).await);
        }
        let mut fails = portal(session, "lock table nothing", &[]).await;
        assert_eq!(tag(session, &mut fails, None).await, "42P01");
        for portal in &mut portals {
            assert_eq!(tag(session, portal, None).await, "25P02");
        }
        run(session, "rollback to s").await;
        for (portal, told) in portals
            .iter_mut()
            .zip(["CREATE TABLE", "SELECT 1", "SELECT 1"])
        {
            assert_eq!(tag(session, portal, None).await, told);
        }
    });
}

/// EXECUTE of a statement that was prepared from an empty text sent nothing: neither a tag nor an empty answer.
#[test]
fn an_execute_of_an_empty_statement_has_a_tag() {
    Bed::new().within(async |session| {
        keep(session, "e", "").await;
        let mut answer = Answer::default();
        let text = "select 1; execute e; select 2";
        session.execute(text, &mut answer).await.unwrap();
        assert_eq!(answer.tags, ["SELECT 1", "EXECUTE", "SELECT 1"]);
        let mut empty = begin_portal(session, "e").await;
        assert_eq!(tag(session, &mut empty, None).await, "empty");
        assert_eq!(tag(session, &mut empty, None).await, "empty");
    });
}
