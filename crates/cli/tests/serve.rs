//! `weft serve`, asked by a client of another implementation.

#[path = "common/served.rs"]
mod served;

use std::{
    iter,
    time::{Duration, Instant},
};

use postgres::{
    SimpleQueryMessage,
    error::SqlState,
    fallible_iterator::FallibleIterator,
    types::{IsNull, Kind, ToSql, Type},
};
use served::Served;

fn code(error: &postgres::Error) -> &SqlState {
    error.code().expect("the server's error")
}

#[test]
fn statements_are_prepared_and_values_travel_in_binary_form() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client
        .batch_execute(
            "create table item (id int primary key, name text, price float8, seen timestamp)",
        )
        .unwrap();
    let put = client
        .prepare("insert into item values ($1, $2, $3, now()::timestamp)")
        .unwrap();
    for id in 0..100_i32 {
        let name = (id % 3 > 0).then(|| format!("item {id}"));
        let count = client.execute(&put, &[&id, &name, &f64::from(id)]).unwrap();
        assert_eq!(count, 1);
    }
    let rows = client
        .query(
            "select id, name, price from item where id >= $1 order by id",
            &[&97_i32],
        )
        .unwrap();
    let found: Vec<(i32, Option<String>, f64)> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    assert_eq!(
        found,
        [
            (97, Some("item 97".to_owned()), 97.0),
            (98, Some("item 98".to_owned()), 98.0),
            (99, None, 99.0)
        ]
    );
    let count: i64 = client
        .query_one("select count(*) from item", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 100);
    let error = client.execute(&put, &[&1_i32, &"again", &0.0]).unwrap_err();
    assert_eq!(code(&error), &SqlState::UNIQUE_VIOLATION);
    let error = client.query("select nope from item", &[]).unwrap_err();
    assert_eq!(code(&error), &SqlState::UNDEFINED_COLUMN);
}

#[test]
fn transactions_end_as_the_client_says() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client.batch_execute("create table t (a int)").unwrap();
    let mut transaction = client.transaction().unwrap();
    transaction
        .execute("insert into t values (1)", &[])
        .unwrap();
    let mut inner = transaction.savepoint("within").unwrap();
    inner.execute("insert into t values (2)", &[]).unwrap();
    inner.rollback().unwrap();
    transaction.commit().unwrap();
    let mut dropped = client.transaction().unwrap();
    dropped.execute("insert into t values (3)", &[]).unwrap();
    drop(dropped);
    let answers = client
        .simple_query("select a from t; select 1 / 0")
        .unwrap_err();
    assert_eq!(code(&answers), &SqlState::DIVISION_BY_ZERO);
    let answers = client.simple_query("select a from t order by a").unwrap();
    let rows: Vec<&str> = answers
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    assert_eq!(rows, ["1"]);
}

/// WITH before a statement that writes made it a query for the client: SELECT n for its tag, rows
/// without columns. Drivers' row counts were wrong, or they failed.
#[test]
fn statements_that_write_say_so_after_with() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client
        .batch_execute("create table t (a int, b int)")
        .unwrap();
    for (text, count) in [
        (
            "with x as (select generate_series(1, 3) a) insert into t select a from x",
            3,
        ),
        (
            "with x as (select 1 a) update t set b = 2 from x where x.a = t.a",
            1,
        ),
        (
            "with x as (select 4 a) merge into t using x on x.a = t.a \
             when not matched then insert values (x.a, 9)",
            1,
        ),
        (
            "with x as (select 1 a) delete from t using x where t.a > x.a",
            3,
        ),
    ] {
        let statement = client.prepare(text).unwrap();
        assert!(statement.columns().is_empty(), "{text}");
        assert_eq!(client.execute(&statement, &[]).unwrap(), count, "{text}");
    }
    let text = "with x as (select 7 a) insert into t select a from x returning a";
    let rows = client.query(text, &[]).unwrap();
    assert_eq!(rows[0].get::<_, i32>(0), 7);
}

/// A label of an enum, as a parameter.
#[derive(Debug)]
struct Label(&'static str);

impl ToSql for Label {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Enum(_))
    }

    postgres::types::to_sql_checked!();
}

/// Clients that look an enum up declare parameters by its number, and by that of its arrays: the
/// server answered 42704.
#[test]
fn parameters_are_declared_by_the_number_of_an_enum() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client
        .batch_execute(
            "create type mood as enum ('low', 'high'); create table m (a mood, b mood[])",
        )
        .unwrap();
    let asked = client.prepare("select $1::mood, $2::mood[]").unwrap();
    let types = asked.params().to_vec();
    let put = client
        .prepare_typed("insert into m values ($1, $2)", &types)
        .unwrap();
    assert_eq!(put.params(), &types);
    client
        .execute(&put, &[&Label("high"), &vec![Label("low"), Label("high")]])
        .unwrap();
    let row = client
        .query_one("select a::text, b::text from m", &[])
        .unwrap();
    assert_eq!(row.get::<_, &str>(0), "high");
    assert_eq!(row.get::<_, &str>(1), "{low,high}");
    let unknown = Type::new("none".to_owned(), 4_000_000, Kind::Simple, String::new());
    let error = client.prepare_typed("select $1", &[unknown]).unwrap_err();
    assert_eq!(code(&error), &SqlState::UNDEFINED_OBJECT);
}

/// The header of the binary format was a message of its own: readers take the first message for
/// the header and a row.
#[test]
fn binary_rows_come_with_their_header() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    for count in [0, 3] {
        let text =
            format!("copy (select g from generate_series(1, {count}) g) to stdout (format binary)");
        let reader = client.copy_out(&*text).unwrap();
        let types = [Type::INT4];
        let mut rows = postgres::binary_copy::BinaryCopyOutIter::new(reader, &types);
        let mut found: Vec<i32> = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            found.push(row.get(0));
        }
        assert_eq!(found, (1..=count).collect::<Vec<i32>>());
    }
}

/// A pool for several tenants sets the search path, and goes on with the statements that it has
/// prepared: the statements read the first tenant's rows.
#[test]
fn prepared_statements_follow_the_search_path() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client
        .batch_execute(
            "create schema a; create schema b; create table a.secrets (v text); \
             create table b.secrets (v text, w int); create table b.other (v text); \
             insert into a.secrets values ('of a'); insert into b.secrets values ('of b')",
        )
        .unwrap();
    client.batch_execute("set search_path = a").unwrap();
    let asked = client
        .prepare("select v from secrets where v like $1")
        .unwrap();
    let all = client.prepare("select * from secrets").unwrap();
    let mut ask = |path: &str| {
        client
            .batch_execute(&format!("set search_path = {path}"))
            .unwrap();
        let rows = client.query(&asked, &[&"of%"]);
        rows.map(|rows| {
            rows.iter()
                .map(|row| row.get::<_, String>(0))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(ask("a").unwrap(), ["of a"]);
    assert_eq!(ask("b").unwrap(), ["of b"]);
    assert_eq!(ask("a").unwrap(), ["of a"]);
    assert_eq!(
        code(&ask("public").unwrap_err()),
        &SqlState::UNDEFINED_TABLE
    );
    client.batch_execute("set search_path = b").unwrap();
    let error = client.query(&all, &[]).unwrap_err();
    assert_eq!(code(&error), &SqlState::FEATURE_NOT_SUPPORTED);
    client.batch_execute("set search_path = a").unwrap();
    assert_eq!(client.query(&all, &[]).unwrap().len(), 1);
}

#[test]
fn rows_are_taken_some_at_a_time() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client
        .batch_execute("create table t (a int primary key)")
        .unwrap();
    for a in 0..25_i32 {
        client.execute("insert into t values ($1)", &[&a]).unwrap();
    }
    let mut transaction = client.transaction().unwrap();
    let portal = transaction.bind("select a from t order by a", &[]).unwrap();
    let mut sizes = Vec::new();
    let mut sum = 0;
    loop {
        let rows = transaction.query_portal(&portal, 10).unwrap();
        sizes.push(rows.len());
        sum += rows.iter().map(|row| row.get::<_, i32>(0)).sum::<i32>();
        if rows.len() < 10 {
            break;
        }
    }
    assert_eq!((sizes, sum), (vec![10, 10, 5], 300));
}

/// Each statement sees one moment, however late its rows are fetched; the next statement sees
/// commits that others made meanwhile.
#[test]
fn a_portal_that_is_open_goes_on_seeing_what_it_has_begun_with() {
    let served = Served::start(&["--in-memory"]);
    let (mut client, mut other) = (served.connect(), served.connect());
    client
        .batch_execute(
            "create table t (a int primary key, b int);
             insert into t select i, 0 from generate_series(1, 5000) i",
        )
        .unwrap();
    let mut transaction = client.transaction().unwrap();
    let portal = transaction.bind("select b from t order by a", &[]).unwrap();
    let first = transaction.query_portal(&portal, 10).unwrap();
    assert_eq!(first.len(), 10);
    other
        .batch_execute(
            "update t set b = 1; delete from t where a > 4000; insert into t values (0, 1)",
        )
        .unwrap();
    let seen = transaction
        .query_one("select count(*), sum(b) from t", &[])
        .unwrap();
    assert_eq!((seen.get(0), seen.get(1)), (4001_i64, 4001_i64));
    let rest = transaction.query_portal(&portal, 0).unwrap();
    assert_eq!(rest.len(), 4990);
    assert!(rest.iter().all(|row| row.get::<_, i32>(0) == 0));
}

/// A statement that writes runs to its end, however many of its rows are fetched.
#[test]
fn a_portal_that_writes_runs_to_its_end() {
    let served = Served::start(&["--in-memory"]);
    let mut client = served.connect();
    client
        .batch_execute("create table t (a int primary key)")
        .unwrap();
    let mut transaction = client.transaction().unwrap();
    let insert = "insert into t select generate_series(1, 1000) returning a";
    let portal = transaction.bind(insert, &[]).unwrap();
    assert_eq!(transaction.query_portal(&portal, 3).unwrap().len(), 3);
    transaction.commit().unwrap();
    let count = client.query_one("select count(*) from t", &[]).unwrap();
    assert_eq!(count.get::<_, i64>(0), 1000);
}

#[test]
fn acknowledged_rows_are_there_after_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("data");
    let arguments = ["--data-dir", directory.to_str().unwrap()];
    let served = Served::start(&arguments);
    let mut client = served.connect();
    client
        .batch_execute(
            "create table account (id int primary key, owner text unique, balance numeric not null);
             create index rich on account (balance);
             insert into account values (1, 'ann', 10), (2, 'bob', 20.5)",
        )
        .unwrap();
    client
        .batch_execute("begin; update account set balance = 0")
        .unwrap();
    served.kill();
    let served = Served::start(&arguments);
    let mut client = served.connect();
    let rows = client
        .simple_query("select owner, balance from account where balance > 5 order by balance")
        .unwrap();
    let rows: Vec<(&str, &str)> = rows
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((row.get(0)?, row.get(1)?)),
            _ => None,
        })
        .collect();
    assert_eq!(rows, [("ann", "10"), ("bob", "20.5")]);
    let error = client
        .execute("insert into account values (3, 'bob', 1)", &[])
        .unwrap_err();
    assert_eq!(code(&error), &SqlState::UNIQUE_VIOLATION);
}

#[test]
fn unknown_users_and_databases_are_refused() {
    let served = Served::start(&["--in-memory"]);
    for (user, database, expected) in [
        (
            "nobody",
            "weft",
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        ),
        ("weft", "nowhere", SqlState::INVALID_CATALOG_NAME),
    ] {
        let error = served.connect_as(user, database).err().unwrap();
        assert_eq!(code(&error), &expected);
    }
    let mut client = served.connect();
    let error = client.batch_execute("listen channel").unwrap_err();
    assert_eq!(code(&error), &SqlState::FEATURE_NOT_SUPPORTED);
}

/// One call of a function is one slice, whatever the size of its result.
#[test]
fn a_task_that_held_its_worker_is_logged_at_debug_level() {
    let (served, told) = Served::start_heard(&["--in-memory", "--log-level", "debug"]);
    let mut client = served.connect();
    let row = client.query_one("select length(repeat('x', 100000000))", &[]);
    assert_eq!(row.unwrap().get::<_, i32>(0), 100_000_000);
    // Messages of the tasks that open the server may come first.
    let names =
        |line: String| line.contains("a task held its worker for") && line.contains("client ");
    let until = Instant::now() + Duration::from_secs(60);
    let left = || until.saturating_duration_since(Instant::now());
    let mut lines = iter::from_fn(|| told.recv_timeout(left()).ok());
    assert!(lines.any(names));
}

/// The sample is made once, as a whole, and later changes of its users stay.
#[test]
fn the_sample_database_is_made_once_and_its_queries_run() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("data");
    let arguments = ["--sample", "--data-dir", directory.to_str().unwrap()];
    let served = Served::start(&arguments);
    let mut client = served.connect();
    let counts = "select (select count(*) from shop.customers), (select count(*) from shop.products),
                         (select count(*) from shop.stock), (select count(*) from shop.orders),
                         (select count(*) from shop.order_lines), (select count(*) from shop.order_totals)";
    let count = |client: &mut postgres::Client| {
        let row = client.query_one(counts, &[]).unwrap();
        (0..row.len())
            .map(|at| row.get::<_, i64>(at))
            .collect::<Vec<_>>()
    };
    let made = [10_000, 1_000, 3_000, 50_000, 150_000, 50_000];
    assert_eq!(count(&mut client), made);
    let queries = include_str!("../src/serve/sample/queries.sql");
    for query in queries.split_terminator(";\n") {
        let rows = client.simple_query(query).unwrap();
        let is_row = |message: &&SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(_));
        assert!(rows.iter().filter(is_row).count() > 3, "{query}");
    }
    // The sample's sequences go on where its rows end.
    let order = client
        .query_one(
            "insert into shop.orders (customer_id) values (17) returning id, status::text",
            &[],
        )
        .unwrap();
    assert_eq!((order.get(0), order.get(1)), (50_001, "placed"));
    let refused = client.batch_execute(
        "insert into shop.customers (name, email, country, joined)
         select name, upper(email), country, joined from shop.customers where id = 1",
    );
    assert_eq!(code(&refused.unwrap_err()), &SqlState::UNIQUE_VIOLATION);
    served.kill();
    let served = Served::start(&arguments);
    let mut client = served.connect();
    let mut changed = made;
    changed[3] += 1;
    assert_eq!(count(&mut client), changed);
}

/// Statements that want more memory than there is, again and again on several connections: once the
/// process grew until the system ended it.
#[test]
fn hostile_statements_do_not_take_more_than_the_server_was_given() {
    const MEMORY: usize = 64 << 20;
    let served = Served::start(&["--in-memory", "--memory", "64MiB"]);
    let mut client = served.connect();
    let shown: String = client.query_one("show weft.memory", &[]).unwrap().get(0);
    assert_eq!(shown, "64MB");
    client
        .batch_execute(
            "create table item (id int primary key, name text);
             insert into item select i, 'item ' || i from generate_series(1, 1000) i",
        )
        .unwrap();
    let hostile = [
        // The query refers to `r` twice, so its rows are kept: referred to once, two steps of them
        // are kept, and the query goes on.
        "with recursive r(i) as (select 1 union all select i + 1 from r)
         select count(*) from r one, r other",
        "select a.id from item a, item b, item c order by a.id + b.id",
        "select string_agg(a.name, ',') from item a, item b, item c",
        "select count(*) from (select distinct a.id, b.id from item a, item b) s, item c
         group by c.name || s",
        "select repeat('x', 500000000)",
    ];
    std::thread::scope(|scope| {
        for first in 0..3 {
            let mut other = served.connect();
            scope.spawn(move || {
                for text in hostile.iter().cycle().skip(first).take(hostile.len()) {
                    let error = other.batch_execute(text).unwrap_err();
                    assert_eq!(code(&error), &SqlState::OUT_OF_MEMORY, "{text}: {error}");
                }
            });
        }
        for id in 0..200_i32 {
            let row = client.query_one("select name from item where id = $1", &[&(id + 1)]);
            assert_eq!(row.unwrap().get::<_, String>(0), format!("item {}", id + 1));
            let name = format!("new {id}");
            let inserted =
                client.execute("insert into item values ($1, $2)", &[&(10_000 + id), &name]);
            assert_eq!(inserted.unwrap(), 1);
        }
    });
    if let Some(peak) = served.peak_bytes() {
        assert!(peak < 3 * MEMORY, "the process has had {} MiB", peak >> 20);
    }
}

/// A message was kept as it arrived, up to a gigabyte of it, whatever memory the server was given.
#[test]
fn a_long_message_is_within_what_the_server_was_given() {
    const MEMORY: usize = 64 << 20;
    let served = Served::start(&["--in-memory", "--memory", "64MiB"]);
    let (mut client, mut other) = (served.connect(), served.connect());
    let long = "x".repeat(200 << 20);
    let text = format!("select length('{long}')");
    for _ in 0..2 {
        let errors = [
            client.batch_execute(&text).unwrap_err(),
            client
                .query("select length($1::text)", &[&long])
                .unwrap_err(),
        ];
        for error in errors {
            assert_eq!(code(&error), &SqlState::OUT_OF_MEMORY, "{error}");
            assert!(error.as_db_error().unwrap().hint().is_some());
        }
        for client in [&mut client, &mut other] {
            let length = client.query_one("select length($1::text)", &[&&long[..1 << 20]]);
            assert_eq!(length.unwrap().get::<_, i32>(0), 1 << 20);
        }
    }
    if let Some(peak) = served.peak_bytes() {
        assert!(peak < 3 * MEMORY, "the process has had {} MiB", peak >> 20);
    }
}
