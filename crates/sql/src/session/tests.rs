//! The choice of plans, and the accuracy of estimates.

mod prepared;
mod statistics;

use std::{rc::Rc, sync::Arc};

use engine::DatabaseConfig;
use interleave::{Clock, Worker, WorkerConfig};
use types::{Result, Scalar, Type};

use super::{ResultRow, Session, Sink};
use logical::bind::{Binder, Bound, Parameters};
use planner::plan::{estimated_rows, plan_to_explain, shown};
use syntax::{Source, Statement, statement::RowStatement};

/// Runs a test within a session of a new database.
fn with_session(test: impl AsyncFnOnce(&mut Session) + Send + 'static) {
    with_sessions(async |[session, _]| test(session).await);
}

/// Runs a test within two sessions of a new database.
fn with_sessions(test: impl AsyncFnOnce([&mut Session; 2]) + Send + 'static) {
    let database = engine::Database::new(DatabaseConfig::with_memory(256 << 20)).unwrap();
    let session = engine::Session::new(&database).unwrap();
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    let task = worker.handle().submit(|engine: &Rc<engine::Session>| {
        let engine = engine.clone();
        async move {
            let database = crate::Database::open(&engine, "weft", "weft")
                .await
                .unwrap();
            let database: Arc<crate::Database> = database;
            let session = || Session::new(&database, &engine, "weft");
            test([&mut session(), &mut session()]).await;
        }
    });
    worker.run_until(task).unwrap();
}

/// A sink that counts rows.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn row(&mut self, _: &ResultRow<'_>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

impl Session {
    async fn count(&mut self, text: &str) -> f64 {
        let mut count = Count::default();
        self.execute(text, &mut count).await.unwrap();
        count.0 as f64
    }

    fn estimated(&mut self, text: &str) -> f64 {
        let sources = syntax::split(text).unwrap();
        let statement = sources[0].statement().unwrap();
        let Statement::Rows(statement) = &*statement else {
            panic!("{text} does not read rows");
        };
        estimated_rows(self.newly_bound(&sources[0], statement).relation)
    }

    fn newly_bound(&self, source: &Source<'_>, statement: &RowStatement) -> Bound {
        let catalog = self.transaction.catalog();
        let mut parameters = Parameters::default();
        let bind_context = self.bind_context(&catalog);
        Binder::bind(&bind_context, source.lines(), statement, &mut parameters).unwrap()
    }

    fn plan_of(&mut self, text: &str) -> String {
        let sources = syntax::split(text).unwrap();
        let statement = sources[0].statement().unwrap();
        let Statement::Rows(statement) = &*statement else {
            panic!("{text} does not read rows");
        };
        let catalog = self.transaction.catalog();
        let mut parameters = Parameters::default();
        let cached_plan = self.bound(&sources[0], statement, &mut parameters, &catalog);
        let shown_plan = shown(&cached_plan.unwrap().statement.plan);
        // EXPLAIN explains the plan that is carried out: planning looks through the operators that
        // it adds.
        let bound = self.newly_bound(&sources[0], statement);
        let outputs: Vec<_> = bound.outputs.iter().map(|output| output.column).collect();
        let explained = plan_to_explain(bound.relation, &outputs, 0).unwrap();
        assert_eq!(shown(&explained.plan), shown_plan, "{text}");
        shown_plan
    }
}

/// A factory's orders: a few parts are ordered very often, while days are even.
const ORDERS: &str = "
    create table part (id int primary key, name text not null, weight int);
    create table customer (id int primary key, country text not null);
    create table orders (id int primary key, part int not null, customer int not null, day date,
                         amount numeric(8, 2), note text);
    create index orders_part on orders (part);
    create index orders_day on orders (day);
    insert into part select i, 'part ' || i, i % 50 from generate_series(1, 1000) i;
    insert into customer select i, case when i % 100 = 0 then 'Malta' else 'Italy' end
        from generate_series(1, 2000) i;
    insert into orders select i, case when i % 2 = 0 then 1 else 1 + i % 1000 end, 1 + i % 2000,
        case when i % 10 = 0 then null else date '2020-01-01' + i % 1000 end, i / 7.0,
        case when i % 4 = 0 then null else 'note ' || i % 300 end
        from generate_series(1, 20000) i;
    analyze";

/// Checks that the rows of a query are estimated within a factor of their true number.
async fn expect_near(session: &mut Session, text: &str, factor: f64) {
    let (guess, truth) = (session.estimated(text), session.count(text).await);
    let error = (guess / truth).max(truth / guess);
    assert!(error <= factor, "{text}: {guess} instead of {truth}");
}

#[test]
fn estimates_are_near_the_truth() {
    with_session(async |session| {
        session.count(ORDERS).await;
        let within = [
            ("select * from orders", 1.1),
            ("select * from orders where id = 77", 1.1),
            ("select * from orders where part = 1", 1.2),
            ("select * from orders where part = 500", 2.0),
            ("select * from orders where part <> 1", 1.2),
            ("select * from orders where part in (1, 2, 3)", 1.3),
            ("select * from orders where day is null", 1.2),
            ("select * from orders where day is not null", 1.2),
            ("select * from orders where day < date '2020-02-01'", 1.5),
            (
                "select * from orders where day >= '2020-03-01' and day < '2020-04-01'",
                1.5,
            ),
            (
                "select * from orders where day >= date '2020-03-01' + 0
              and day < date '2020-03-01' + interval '1 month'",
                1.5,
            ),
            (
                "select * from orders where day >= timestamp '2022-01-01'",
                1.5,
            ),
            ("select * from orders where not day < '2022-01-01'", 1.5),
            ("select * from orders where amount between 100 and 200", 1.3),
            ("select * from orders where note like 'note 1%'", 1.5),
            ("select * from orders where id < 1000 or id > 19000", 1.3),
            ("select * from orders where id <= 10000 and part = 1", 1.5),
            ("select * from orders o join part p on p.id = o.part", 1.2),
            (
                "select * from orders o join customer c on c.id = o.customer",
                1.2,
            ),
            (
                "select * from orders o join customer c on c.id = o.customer
              where c.country = 'Malta'",
                1.5,
            ),
            (
                "select * from orders o left join part p on p.id = o.part and p.weight = 3",
                1.2,
            ),
            (
                "select * from customer c where exists
              (select from orders o where o.customer = c.id)",
                1.3,
            ),
            // The conditions that a disjunction implies for one side have left rows out before the join.
            (
                "select * from part p, part q
              where (p.weight = 1 and q.weight = 2) or (p.weight = 2 and q.weight = 1)",
                1.3,
            ),
            (
                "select * from part p join orders o on o.part = p.id, customer c
              where c.id = o.customer and (p.weight = 2 and c.country = 'Italy' and o.id < 10000
                or p.weight = 4 and c.country = 'Italy' and o.id >= 10000)",
                1.5,
            ),
            ("select part, count(*) from orders group by part", 1.3),
            ("select distinct customer from orders", 1.2),
            ("select country from customer group by country", 1.1),
            ("select * from orders union all select * from orders", 1.1),
        ];
        for (text, factor) in within {
            expect_near(session, text, factor).await;
        }
    });
}

#[test]
fn the_cheapest_way_to_a_table_is_chosen() {
    with_session(async |session| {
        session.count(ORDERS).await;
        for (text, plan) in [
            ("select * from orders where id = 5", "orders by key"),
            ("select * from orders where id < 100", "orders by key"),
            (
                "select * from orders where part = 500",
                "orders by orders_part",
            ),
            // Half of all orders are for this part.
            ("select * from orders where part = 1", "orders"),
            (
                "select * from orders where day = '2020-05-05'",
                "orders by orders_day",
            ),
            ("select * from orders where day > '2020-02-01'", "orders"),
            // A few orders have both, and fewer have the part.
            (
                "select * from orders where part = 500 and day < '2020-03-01'",
                "orders by orders_part",
            ),
        ] {
            assert_eq!(session.plan_of(text), plan, "{text}");
        }
    });
}

#[test]
fn joins_begin_where_there_is_least() {
    with_session(async |session| {
        session.count(ORDERS).await;
        for (text, plan) in [
            // The order of the tables in FROM does not matter.
            (
                "select * from orders o, part p, customer c
                 where o.part = p.id and o.customer = c.id and p.name = 'part 500'",
                "lookup(lookup(part, orders by orders_part), customer by key)",
            ),
            (
                "select * from customer c join orders o on o.customer = c.id
                 join part p on p.id = o.part where p.id = 500",
                "lookup(lookup(part by key, orders by orders_part), customer by key)",
            ),
            // Parts and customers are joined by what is equal to both, though the query compares
            // them with orders alone.
            (
                "select * from part p, customer c, orders o
                 where o.customer = c.id and o.customer = p.id and p.name = 'part 500'",
                "hash(orders, lookup(part, customer by key))",
            ),
            // A list of keys is looked up.
            (
                "select * from part where id in (7, 9, 11)",
                "lookup(rows, part by key)",
            ),
            (
                "select * from part where id = any (string_to_array('7,9', ',')::int[])",
                "lookup(functions, part by key)",
            ),
            (
                "delete from orders where part in (600, 700)",
                "lookup(rows, orders by orders_part)",
            ),
            // The query asks for all rows of both tables: each is read once.
            (
                "select * from customer c join orders o on o.customer = c.id",
                "hash(orders, customer)",
            ),
            (
                "select * from part p left join orders o on o.part = p.id where p.id < 10",
                "lookup(part by key, orders by orders_part)",
            ),
            (
                "select * from part p where p.id < 10
                 and exists (select from orders o where o.part = p.id)",
                "lookup(part by key, orders by orders_part)",
            ),
        ] {
            assert_eq!(session.plan_of(text), plan, "{text}");
        }
    });
}

#[test]
fn plans_are_made_again_when_tables_grow() {
    with_session(async |session| {
        session
            .count(
                "create table grown (id int primary key, kind int); create index on grown (kind)",
            )
            .await;
        let text = "select * from grown where kind = 1";
        assert_eq!(session.plan_of(text), "grown by grown_kind_idx");
        assert_eq!(session.count(text).await, 0.0);
        session
            .count("insert into grown select i, i % 2 from generate_series(1, 20000) i")
            .await;
        // The statement looks at the table before it is planned, and finds two kinds.
        assert_eq!(session.count(text).await, 10_000.0);
        assert_eq!(session.plan_of(text), "grown");
        let known = session.estimated(text);
        assert!((9_000.0..11_000.0).contains(&known), "{known}");
    });
}

impl Session {
    /// Returns the plan that a statement is given, as the simple protocol asks for it.
    async fn given(&mut self, text: &str) -> Arc<super::query::CachedPlan> {
        let sources = syntax::split(text).unwrap();
        self.plan(&sources[0], None).await.unwrap().unwrap().0
    }

    /// Returns the plan that a prepared statement is given.
    async fn prepared_plan(
        &mut self,
        text: &str,
        types: &[Option<Type>],
    ) -> Arc<super::query::CachedPlan> {
        let prepared = self.prepare(text, types).await.unwrap();
        prepared.plan().unwrap()
    }
}

#[test]
fn sessions_share_plans() {
    with_sessions(async |[one, other]| {
        one.count("create table t (a int primary key, b text)")
            .await;
        let plan = one.given("select b from t where a = 1").await;
        let normalised = other.given("select b from t where a = 2").await;
        assert!(Arc::ptr_eq(&plan, &normalised));
        let plan = one.prepared_plan("select b from t where a = $1", &[]).await;
        for text in [
            "select b from t where a = $1",
            "\n select b from t where a = $1 ; ",
        ] {
            let found = other.prepared_plan(text, &[]).await;
            assert!(Arc::ptr_eq(&plan, &found), "{text}");
        }
        // No part of a comment is taken for the end of the statement.
        let commented = other
            .prepared_plan("select b from t where a = $1 -- ;", &[])
            .await;
        assert!(Arc::ptr_eq(&plan, &commented));
        let bigint = Some(Type::Scalar(Scalar::Int8));
        let declared = other
            .prepared_plan("select b from t where a = $1", &[bigint])
            .await;
        assert!(!Arc::ptr_eq(&plan, &declared));
        other.count("set timezone = 'Asia/Tokyo'").await;
        let elsewhere = other
            .prepared_plan("select b from t where a = $1", &[])
            .await;
        assert!(!Arc::ptr_eq(&plan, &elsewhere));
        other.count("reset timezone").await;
        let again = other
            .prepared_plan("select b from t where a = $1", &[])
            .await;
        assert!(Arc::ptr_eq(&plan, &again));
        // A new version of the catalog has plans of its own.
        one.count("create index on t (b)").await;
        let newer = other
            .prepared_plan("select b from t where a = $1", &[])
            .await;
        assert!(!Arc::ptr_eq(&plan, &newer));
    });
}

/// A plan for any literals knew of a long statement neither how many rows its literals left nor that some were equal:
/// tables were joined in an order that multiplied their rows, and scanned for a join without what all alternatives say.
#[test]
fn statements_with_much_to_choose_have_plans_for_their_literals() {
    with_session(async |session| {
        session.count(ORDERS).await;
        let long = "select count(*) from orders o, customer c where o.part + c.id = 17
            and (c.country = 'Malta' and o.id > 5 or c.country = 'Malta' and o.part > 6)";
        let guessed = "select * from orders o, part p, customer c
            where o.part = p.id and o.customer = c.id and p.weight between 17 and 20";
        for text in [long, guessed] {
            let plan = session.given(text).await;
            assert!(plan.parameters.is_empty(), "{text}");
            assert!(Arc::ptr_eq(&plan, &session.given(text).await), "{text}");
            let other = session.given(&text.replace("17", "18")).await;
            assert!(!Arc::ptr_eq(&plan, &other), "{text}");
        }
        // A limit ends a statement early. A short one, or one whose rows need no guess, is planned
        // once for all literals.
        for text in [
            "select * from orders o, customer c where o.part + c.id = 17 limit 1",
            "select * from orders where amount > 17",
            "select * from orders o, part p, customer c
             where o.part = p.id and o.customer = c.id and p.weight = 17",
        ] {
            let plan = session.given(text).await;
            let other = session.given(&text.replace("17", "18")).await;
            assert!(Arc::ptr_eq(&plan, &other), "{text}");
        }
    });
}

#[test]
fn plans_of_uncommitted_definitions_are_their_transactions_own() {
    with_sessions(async |[one, other]| {
        one.count("create table t (a int)").await;
        let text = "select a from t where a = 1";
        let shared = other.given(text).await;
        one.count("begin; alter table t alter column a type bigint")
            .await;
        let own = one.given(text).await;
        assert!(Arc::ptr_eq(&own, &one.given(text).await));
        assert!(Arc::ptr_eq(&shared, &other.given(text).await));
        assert_eq!(own.fields[0].ty, Type::Scalar(Scalar::Int8));
        one.count("rollback").await;
        assert!(Arc::ptr_eq(&shared, &one.given(text).await));
    });
}

/// One session made an index and a plan that reads by it; another one's snapshot was older, found
/// that plan, and would have read by an index that lacks rows of its snapshot.
#[test]
fn an_older_snapshot_does_not_read_by_a_newer_index() {
    with_sessions(async |[old, new]| {
        new.count("create table t (a int, b int)").await;
        new.count("insert into t select i, i from generate_series(1, 2000) i")
            .await;
        old.count("begin isolation level repeatable read; select count(*) from t")
            .await;
        new.count("update t set b = b + 5000").await;
        new.count("create index on t (b); analyze t").await;
        let text = "select a from t where b = 7";
        let cached_plan = new.given(text).await;
        assert!(!cached_plan.reads_by_no_index(), "the index is not used");
        assert_eq!(new.count(text).await, 0.0);
        assert_eq!(old.count(text).await, 1.0);
        assert_eq!(old.count(text).await, 1.0);
        old.count("commit").await;
        assert!(Arc::ptr_eq(&cached_plan, &old.given(text).await));
    });
}

/// A session that sends nothing but new statements does not make others plan again.
#[test]
fn plans_that_are_used_outlive_a_flood_of_others() {
    with_sessions(async |[one, flood]| {
        one.count("create table t (a int primary key, b text)")
            .await;
        let text = "select b from t where a = 1";
        let plan = one.given(text).await;
        for statement in 0..100_000 {
            flood
                .given(&format!("select {statement} as c{statement}"))
                .await;
            if statement % 100 == 0 {
                assert!(Arc::ptr_eq(&plan, &one.given(text).await), "{statement}");
            }
        }
        let (weight, most) = flood.database.plan_cache.weight();
        assert!(weight <= most, "{weight} of {most} bytes");
    });
}

/// The types that a client declares belong to the key, also where the statement has no parameters.
#[test]
fn declared_types_tell_statements_apart() {
    with_sessions(async |[one, other]| {
        let int = Some(Type::Scalar(Scalar::Int4));
        for text in ["values (1)", "select 1"] {
            let declared = one.prepare(text, &[int]).await.unwrap();
            assert_eq!(declared.parameter_types().len(), 1, "{text}");
            assert_eq!(other.count(text).await, 1.0, "{text}");
            let plain = other.prepare(text, &[]).await.unwrap();
            assert_eq!(plain.parameter_types().len(), 0, "{text}");
        }
    });
}

/// An insertion evicts as much as it weighs; heavy plans compete among themselves.
#[test]
fn heavy_plans_do_not_drive_out_light_ones() {
    with_sessions(async |[one, flood]| {
        let text = "select 1 as light";
        let plan = one.given(text).await;
        let mut last = None;
        for statement in 0..60 {
            let values = vec![format!("({statement})"); 300].join(", ");
            last = Some(format!("values {values}"));
            flood.given(last.as_deref().unwrap()).await;
        }
        assert!(Arc::ptr_eq(&plan, &one.given(text).await));
        // The newest heavy plan is there, too.
        let last = last.unwrap();
        let heavy = flood.given(&last).await;
        assert!(Arc::ptr_eq(&heavy, &one.given(&last).await));
        let (weight, most) = flood.database.plan_cache.weight();
        assert!(weight <= most, "{weight} of {most} bytes");
    });
}

/// Comments are part of the text that a plan is kept under.
#[test]
fn plans_of_very_long_texts_are_not_kept() {
    with_session(async |session| {
        let text = format!("select $1::int /* {} */ + 1", "x".repeat(300_000));
        let first = session.prepared_plan(&text, &[]).await;
        let second = session.prepared_plan(&text, &[]).await;
        assert!(!Arc::ptr_eq(&first, &second));
        let shorter = format!("select $1::int /* {} */ + 1", "x".repeat(100_000));
        let first = session.prepared_plan(&shorter, &[]).await;
        let second = session.prepared_plan(&shorter, &[]).await;
        assert!(Arc::ptr_eq(&first, &second));
        let (weight, _) = session.database.plan_cache.weight();
        assert!(weight > 100_000, "{weight}");
    });
}

/// The rows of an open transaction are no ground for a plan, and sessions that plan meanwhile look
/// again later.
#[test]
fn tables_are_looked_at_again_while_too_little_is_known() {
    with_sessions(async |[loader, reader]| {
        loader
            .count(
                "create table loaded (id int primary key, kind int); create index on loaded (kind)",
            )
            .await;
        loader
            .count("begin; insert into loaded select i, 1 from generate_series(1, 20000) i")
            .await;
        let text = "select * from loaded where kind = 1";
        assert_eq!(reader.count(text).await, 0.0);
        loader.count("commit").await;
        interleave::sleep(std::time::Duration::from_millis(1100)).await;
        assert_eq!(reader.count(text).await, 20_000.0);
        assert_eq!(reader.plan_of(text), "loaded");
    });
}
