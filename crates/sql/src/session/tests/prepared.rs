//! Prepared statements and queries within other statements: their plans.

use std::cell::Cell;

use super::*;
use syntax::statement::InnerStatement;

/// The plan of an idle prepared statement kept the version of the catalog that it was made from: a session with many of
/// them kept as many versions, which nothing was charged for.
#[test]
fn idle_statements_do_not_keep_old_catalogs() {
    with_sessions(async |[one, other]| {
        one.count("create table t (a int primary key)").await;
        let text = "select a from t where a = $1";
        let prepared = Rc::new(one.prepare(text, &[]).await.unwrap());
        one.keep_prepared("kept", prepared.clone()).unwrap();
        let charged = one.memory().used();
        other.count("create table u (a int)").await;
        one.count("select 1").await;
        assert!(prepared.plan().is_none());
        assert!(one.memory().used() < charged);
        one.count("execute kept (1)").await;
        assert!(prepared.plan().is_some());
        assert_eq!(one.memory().used(), charged);
        // Plans of a transaction's own version go with it, also when it changes nothing in the end.
        one.count("begin; savepoint s; create table v (a int)")
            .await;
        one.count("execute kept (1)").await;
        assert!(prepared.plan().unwrap().catalog.is_private());
        one.count("rollback to s; commit; select 1").await;
        assert!(prepared.plan().is_none());
        one.count("execute kept (1)").await;
        assert!(prepared.plan().is_some());
    });
}

/// A plan that was made anew was asked for with the types of all parameters, and so was kept a second time under
/// another key; its statement was charged for the first one. A heavy plan was not found while there was a light one, of
/// an older version of the catalog, under its key.
#[test]
fn a_plan_that_is_made_anew_is_shared_and_charged() {
    with_sessions(async |[one, other]| {
        one.count("create table t (a int primary key); create view v as select a from t")
            .await;
        let text = "select a from v where a = $1";
        let prepared = Rc::new(one.prepare(text, &[]).await.unwrap());
        one.keep_prepared("kept", prepared.clone()).unwrap();
        let charged = one.memory().used();
        let members: Vec<_> = (0..12).map(|_| "select a from t").collect();
        let wider = format!(
            "drop view v; create view v as {}",
            members.join(" union all ")
        );
        other.count(&wider).await;
        one.count("execute kept (1)").await;
        let shared = other.prepared_plan(text, &[]).await;
        assert!(Arc::ptr_eq(&prepared.plan().unwrap(), &shared));
        let grown = one.memory().used();
        assert!(grown > charged + 5_000, "{charged} to {grown} bytes");
    });
}

/// A plan that was made anew was not among the bytes that a session may have in named statements.
#[test]
fn a_plan_that_grows_is_counted_among_the_named_statements() {
    with_session(async |session| {
        session
            .count("create table t (a int); create view v as select a from t")
            .await;
        let prepared = Rc::new(session.prepare("select a from v", &[]).await.unwrap());
        session.keep_prepared("kept", prepared.clone()).unwrap();
        let few = session.prepared_statements.named_bytes();
        assert_eq!(few, prepared.bytes());
        session
            .count("drop view v; create view v as select a from t union all select a from t")
            .await;
        session.count("execute kept").await;
        let many = session.prepared_statements.named_bytes();
        assert_eq!(many, prepared.bytes());
        assert!(many > few, "{few} to {many} bytes");
        session.count("deallocate kept").await;
        assert_eq!(session.prepared_statements.named_bytes(), 0);
        session.keep_prepared("kept", prepared.clone()).unwrap();
        session.count("deallocate all").await;
        assert_eq!(session.prepared_statements.named_bytes(), 0);
    });
}

/// The first transaction after a change of the catalog looked at all prepared statements, 10,000 at most, and dropped
/// their plans in one slice.
#[test]
fn old_plans_are_dropped_a_few_at_a_time() {
    const STATEMENTS: usize = 200;
    with_sessions(async |[one, other]| {
        let mut all = Vec::new();
        for at in 0..STATEMENTS {
            let text = format!("select $1::int + {at}");
            let prepared = Rc::new(one.prepare(&text, &[]).await.unwrap());
            one.keep_prepared(&format!("kept{at}"), prepared.clone())
                .unwrap();
            all.push(prepared);
        }
        let left = || {
            all.iter()
                .filter(|prepared| prepared.plan().is_some())
                .count()
        };
        one.count("select 1").await;
        assert_eq!(left(), STATEMENTS);
        other.count("create table u (a int)").await;
        let mut before = STATEMENTS;
        while before > 0 {
            one.count("select 1").await;
            let now = left();
            assert!(
                (1..=STATEMENTS / 4).contains(&(before - now)),
                "{before} to {now}"
            );
            before = now;
        }
    });
}

/// The parameters keep the types that the client was told.
#[test]
fn a_plan_that_is_made_anew_has_the_parameters_that_the_client_was_told() {
    with_session(async |session| {
        session.count("create table t (a int, b int)").await;
        let text = "select b from t where a = $1";
        let prepared = Rc::new(session.prepare(text, &[]).await.unwrap());
        session.keep_prepared("kept", prepared.clone()).unwrap();
        session
            .count("alter table t alter column a type bigint; insert into t values (1, 2)")
            .await;
        assert_eq!(session.count("execute kept (1)").await, 1.0);
        let int = Type::Scalar(Scalar::Int4);
        assert_eq!(*prepared.plan().unwrap().parameters, [int]);
        assert_eq!(prepared.parameter_types(), [int]);
    });
}

/// COPY and CREATE TABLE AS planned their query by themselves each time. The query of SELECT INTO, which begins as
/// other queries do, must not be taken for the whole statement.
#[test]
fn queries_within_other_statements_are_planned_once() {
    with_session(async |session| {
        session.count("create table t (a int)").await;
        for text in [
            "copy (select a from t) to stdout",
            "create table if not exists t as select a from t",
        ] {
            let sources = syntax::split(text).unwrap();
            let statement = sources[0].statement().unwrap();
            let within = match &*statement {
                Statement::Copy(copy) => match &copy.relation {
                    syntax::copy::Copied::Query(Some(query)) => query,
                    _ => panic!("{text} has no query"),
                },
                Statement::CreateTableAs(new) => match &new.query {
                    InnerStatement::Rows(query) => query,
                    InnerStatement::Execute(_) => panic!("{text} has no query"),
                },
                _ => panic!("{text} is another statement"),
            };
            let first = session.plan_within(&sources[0], within).await.unwrap();
            let again = session.plan_within(&sources[0], within).await.unwrap();
            assert!(Arc::ptr_eq(&first, &again), "{text}");
        }
        let into = "select 1 as a into u";
        for _ in 0..2 {
            assert_eq!(session.count(into).await, 0.0);
            assert_eq!(session.count("select * from u").await, 1.0);
            session.count("drop table u").await;
        }
    });
}

/// A prepared statement kept the plan of a transaction that could not read by a newer index, and ran it ever after.
#[test]
fn a_plan_without_a_newer_index_lasts_as_long_as_its_transaction() {
    with_sessions(async |[old, new]| {
        new.count(
            "create table t (a int, b int);
             insert into t select i, i from generate_series(1, 2000) i;
             analyze t",
        )
        .await;
        old.count("begin isolation level repeatable read; select count(*) from t")
            .await;
        new.count("create index on t (b)").await;
        let text = "select a from t where b = $1";
        let prepared = Rc::new(old.prepare(text, &[]).await.unwrap());
        old.keep_prepared("kept", prepared.clone()).unwrap();
        assert_eq!(old.count("execute kept (7)").await, 1.0);
        let cached_plan = prepared.plan().unwrap();
        assert!(cached_plan.reads_by_no_index());
        assert_eq!(old.count("execute kept (8)").await, 1.0);
        assert!(Arc::ptr_eq(&cached_plan, &prepared.plan().unwrap()));
        old.count("commit").await;
        assert_eq!(old.count("execute kept (7)").await, 1.0);
        assert!(!prepared.plan().unwrap().reads_by_no_index());
    });
}

/// A plan was asked for again and again where no transaction had begun.
#[test]
fn a_plan_is_not_asked_for_again_without_a_transaction() {
    with_session(async |session| {
        let sources = syntax::split("select 1").unwrap();
        let asked = Cell::new(0);
        let find = async || {
            asked.set(asked.get() + 1);
            assert_eq!(asked.get(), 1);
            session.plan(&sources[0], None).await
        };
        let error = session.runnable(find).await.err().unwrap();
        assert_eq!(error.state(), types::SqlState::INTERNAL_ERROR);
    });
}
