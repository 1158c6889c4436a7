//! A program that uses typed tables, statements and a server on one database.

use std::{
    net::TcpListener,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pgserver::{
    CommandTag, Config, Field, Parameter, ResultRow, Serving, Sink, Sockets, Sql, SqlState, USER,
};
use postgres::NoTls;
use weft::{Database, Options, Table, Transaction};

const WORKERS: usize = 2;

fn opened() -> (Database, Sockets, Sql) {
    let sockets = Sockets::new(WORKERS).unwrap();
    let options = Options::default();
    let database = Database::open_beside(options, sockets.outsides(), |_| {}).unwrap();
    let sql = Sql::open(&database).unwrap();
    (database, sockets, sql)
}

fn serving(sql: &Sql, sockets: Sockets) -> Serving {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    sql.serve(&sockets, vec![listener], Config::default())
        .unwrap()
}

#[test]
fn typed_tables_statements_and_clients_share_one_database() {
    let (database, sockets, sql) = opened();
    let visits: Table<u64, i64> = database.create_table("visits").unwrap();
    sql.execute("create table city (name text primary key, people bigint)")
        .unwrap();
    sql.execute("insert into city values ('Osaka', 2750000), ('Atlantis', null)")
        .unwrap();

    let server = serving(&sql, sockets);
    let port = server.addresses()[0].port();
    let address = format!("host=127.0.0.1 port={port} user={USER} dbname={USER}");
    let mut client = postgres::Client::connect(&address, NoTls).unwrap();
    let changed = client
        .execute("update city set people = 7 where name = $1", &[&"Atlantis"])
        .unwrap();
    assert_eq!(changed, 1);

    let own = visits.clone();
    database
        .run_blocking(async move |txn: &Transaction| txn.upsert(&own, &1, &41).await)
        .unwrap();
    let seen = database
        .run_blocking(async move |txn: &Transaction| txn.get(&visits, &1).await)
        .unwrap();
    assert_eq!(seen, Some(41));

    let answer = sql
        .query("select 1; select name, people, null from city order by name")
        .unwrap();
    assert_eq!(answer.columns, ["name", "people", "?column?"]);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        answer.rows,
        [
            [text("Atlantis"), text("7"), None],
            [text("Osaka"), text("2750000"), None],
        ]
    );
    drop(client);
    assert_eq!(server.stop(Duration::from_secs(10)).unwrap(), 0);
    // The program's own statements need no server.
    assert_eq!(
        sql.query("select count(*) from city").unwrap().rows.len(),
        1
    );
}

#[test]
fn a_text_that_fails_leaves_nothing_and_names_its_error() {
    let (_database, _sockets, sql) = opened();
    let failed = sql.execute("create table t (a int); insert into t values (1 / 0)");
    assert_eq!(failed.unwrap_err().state(), SqlState::DIVISION_BY_ZERO);
    let gone = sql.query("select * from t").unwrap_err();
    assert_eq!(gone.state(), SqlState::UNDEFINED_TABLE);
}

/// A text that was kept as it was let nobody in: the client proves that it knows the password by the
/// verifier.
#[test]
fn passwords_are_kept_as_verifiers() {
    let (_database, sockets, sql) = opened();
    assert!(!sql.has_password());
    sql.execute("alter role weft password 'secret'").unwrap();
    assert!(sql.has_password());
    let verifier = pgserver::verifier_of("secret").unwrap();
    assert!(verifier.starts_with("SCRAM-SHA-256$"));
    assert_eq!(pgserver::verifier_of(&verifier).unwrap(), verifier);
    let server = serving(&sql, sockets);
    let port = server.addresses()[0].port();
    for (password, is_let_in) in [("secret", true), ("SCRAM-SHA-256$", false)] {
        let address =
            format!("host=127.0.0.1 port={port} user={USER} dbname={USER} password={password}");
        let connected = postgres::Client::connect(&address, NoTls);
        assert_eq!(connected.is_ok(), is_let_in, "{password}");
    }
}

/// The number of sockets alone was compared: clients of sockets that no worker listens to waited for ever.
#[test]
fn sockets_that_the_database_was_not_opened_beside_are_refused() {
    let (_database, _sockets, sql) = opened();
    let without = Sql::open(&Database::open(Options::default()).unwrap()).unwrap();
    for (sql, workers) in [(&sql, WORKERS), (&sql, WORKERS + 1), (&without, WORKERS)] {
        let others = Sockets::new(workers).unwrap();
        let refused = sql.serve(&others, Vec::new(), Config::default()).err();
        let refused = refused.unwrap().to_string();
        assert!(refused.contains("Database::open_beside"), "{refused}");
    }
}

#[test]
fn a_closed_database_says_so() {
    let (database, _sockets, sql) = opened();
    database.close();
    let closed = sql.query("select 1").unwrap_err();
    assert_eq!(closed.state(), SqlState::ADMIN_SHUTDOWN);
}

#[test]
fn a_worker_is_told_that_it_would_wait_for_itself() {
    let (database, _sockets, sql) = opened();
    let (answer, answers) = std::sync::mpsc::channel();
    database.workers()[0].spawn(move |_| async move {
        answer
            .send(sql.query("select 1").unwrap_err().state())
            .unwrap();
    });
    let state = answers.recv().unwrap();
    assert_eq!(state, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
}

#[test]
fn a_text_that_leaves_a_transaction_open_is_refused_and_leaves_nothing() {
    let (_database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    for text in [
        "begin; insert into t values (1)",
        "begin; insert into t values (1); select 1 / 0",
    ] {
        let refused = sql.execute(text).unwrap_err().state();
        let expected = match text.ends_with("/ 0") {
            true => SqlState::DIVISION_BY_ZERO,
            false => SqlState::ACTIVE_SQL_TRANSACTION,
        };
        assert_eq!(refused, expected, "{text}");
        // Nothing holds a lock either.
        sql.execute("set lock_timeout = '1s'; insert into t values (1); delete from t")
            .unwrap();
    }
    sql.execute("begin; insert into t values (1); commit")
        .unwrap();
    assert_eq!(sql.query("table t").unwrap().rows.len(), 1);
}

struct Panics;

impl Sink for Panics {
    fn fields(&mut self, _: &[Field]) -> types::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &ResultRow<'_>) -> types::Result<()> {
        panic!("the sink's own")
    }

    fn complete(&mut self, _: CommandTag) -> types::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_panics_ends_its_own_call_alone() {
    let (_database, _sockets, sql) = opened();
    let failed = sql.execute_into("create table t (a int); select 1", Panics);
    assert_eq!(failed.err().unwrap().state(), SqlState::INTERNAL_ERROR);
    let gone = sql.query("table t").unwrap_err();
    assert_eq!(gone.state(), SqlState::UNDEFINED_TABLE);
}

/// Rows without columns take memory too.
#[test]
fn an_answer_is_bounded() {
    let (_database, _sockets, sql) = opened();
    for text in [
        "select from generate_series(1, 10000000)",
        "select i from generate_series(1, 10000000) i",
    ] {
        let refused = sql.query(text).unwrap_err();
        assert_eq!(refused.state(), SqlState::PROGRAM_LIMIT_EXCEEDED, "{text}");
    }
}

#[test]
fn a_closed_database_is_not_served() {
    let (database, sockets, sql) = opened();
    database.close();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(
        sql.serve(&sockets, vec![listener], Config::default())
            .is_err()
    );
}

fn count(sql: &Sql, table: &str) -> String {
    let answer = sql.query(&format!("select count(*) from {table}"));
    answer.unwrap().rows[0][0].clone().unwrap()
}

/// A part of a program that had only the database could not get at its SQL: another `open` failed with
/// 55000, also after every `Sql` was gone.
#[test]
fn a_database_that_is_opened_again_has_the_same_side() {
    let (database, _sockets, sql) = opened();
    let again = Sql::open(&database).unwrap();
    let holder = sql.begin().unwrap();
    holder.query("select pg_advisory_xact_lock(7)").unwrap();
    let free = || {
        let asked = again.query("select pg_try_advisory_xact_lock(7)");
        asked.unwrap().rows[0][0].as_deref() == Some("t")
    };
    assert!(!free());
    holder.rollback().unwrap();
    assert!(free());
    // The side outlasts its handles.
    sql.execute("create table t (a int)").unwrap();
    drop((sql, again));
    assert_eq!(count(&Sql::open(&database).unwrap(), "t"), "0");
}

#[test]
fn parameters_are_texts_or_bytes() {
    let (_database, _sockets, sql) = opened();
    sql.execute("create table t (a bigint, b text, c bytea, d float8, e boolean)")
        .unwrap();
    let insert = "insert into t values ($1, $2, $3, $4, $5)";
    let all = [
        5_i64.into(),
        "it's".into(),
        vec![0, 255].into(),
        f64::INFINITY.into(),
        true.into(),
    ];
    assert_eq!(sql.execute_with(insert, &all).unwrap(), 1);
    let none = [const { Parameter::Null }; 5];
    assert_eq!(sql.execute_with(insert, &none).unwrap(), 1);
    let found = sql.query_with("select * from t where a = $1", &[5.into()]);
    let found = found.unwrap();
    assert_eq!(found.columns, ["a", "b", "c", "d", "e"]);
    let row = ["5", "it's", "\\x00ff", "Infinity", "t"].map(|text| Some(text.to_owned()));
    assert_eq!(found.rows, [row]);
    let changed = sql.execute_with("delete from t where a is not null or $1", &[true.into()]);
    assert_eq!(changed.unwrap(), 2);
    for (text, parameters, state) in [
        (insert, &none[..4], SqlState::PROTOCOL_VIOLATION),
        ("select 1; select 2", &[], SqlState::SYNTAX_ERROR),
        (
            "select $1::int",
            &["x".into()],
            SqlState::INVALID_TEXT_REPRESENTATION,
        ),
        ("begin", &[], SqlState::ACTIVE_SQL_TRANSACTION),
    ] {
        let refused = sql.execute_with(text, parameters).unwrap_err();
        assert_eq!(refused.state(), state, "{text}");
    }
}

#[test]
fn a_transaction_has_several_calls() {
    let (_database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    let txn = sql.begin().unwrap();
    txn.execute("insert into t values (1)").unwrap();
    let inserted = txn.execute_with("insert into t values ($1)", &[2.into()]);
    assert_eq!(inserted.unwrap(), 1);
    assert_eq!(txn.query("table t").unwrap().rows.len(), 2);
    assert_eq!(count(&sql, "t"), "0", "nothing is committed");
    txn.commit().unwrap();
    assert_eq!(count(&sql, "t"), "2");
    // A transaction that is dropped, or rolled back, leaves nothing.
    let dropped = sql.begin().unwrap();
    dropped.execute("insert into t values (3)").unwrap();
    drop(dropped);
    let rolled_back = sql.begin().unwrap();
    rolled_back.execute("insert into t values (3)").unwrap();
    rolled_back.rollback().unwrap();
    assert_eq!(count(&sql, "t"), "2");
}

#[test]
fn a_transaction_that_has_failed_or_ended_says_so() {
    let (_database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    let failed = sql.begin().unwrap();
    failed.execute("insert into t values (1)").unwrap();
    let error = failed.query("select 1 / 0").unwrap_err();
    assert_eq!(error.state(), SqlState::DIVISION_BY_ZERO);
    let error = failed.query("select 1").unwrap_err();
    assert_eq!(error.state(), SqlState::IN_FAILED_SQL_TRANSACTION);
    let error = failed.commit().unwrap_err();
    assert_eq!(error.state(), SqlState::IN_FAILED_SQL_TRANSACTION);
    assert_eq!(count(&sql, "t"), "0");
    // A savepoint heals it, and a sink that panics fails it.
    let healed = sql.begin().unwrap();
    healed.execute("savepoint s").unwrap();
    let error = healed.execute_into("select 1", Panics).err().unwrap();
    assert_eq!(error.state(), SqlState::INTERNAL_ERROR);
    assert!(error.message().ends_with("its transaction has failed"));
    healed.execute("rollback to s").unwrap();
    healed.execute("insert into t values (1)").unwrap();
    healed.commit().unwrap();
    assert_eq!(count(&sql, "t"), "1");
}

/// The program could not tell a transaction that its text had committed from one that had been rolled back, and
/// went on in the next one unawares.
#[test]
fn a_statement_cannot_end_the_transaction_of_the_program() {
    let (_database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    let texts = [
        "commit",
        "commit; begin",
        "commit and chain",
        "end; insert into t values (2)",
        "rollback; insert into t values (3)",
        "abort",
    ];
    for text in texts {
        let open = sql.begin().unwrap();
        open.execute("insert into t values (1)").unwrap();
        open.execute("savepoint s").unwrap();
        let error = open.execute(text).unwrap_err();
        let state = SqlState::INVALID_TRANSACTION_TERMINATION;
        assert_eq!(error.state(), state, "{text}");
        // The error has failed the transaction, as others do.
        let error = open.execute_with("rollback", &[]).unwrap_err();
        assert_eq!(error.state(), state, "{text}");
        assert_eq!(count(&sql, "t"), "0", "{text}");
        open.execute("rollback to s").unwrap();
        open.commit().unwrap();
        assert_eq!(count(&sql, "t"), "1", "{text}");
        sql.execute("delete from t").unwrap();
    }
}

/// The end of the database waits for its tasks: one that waits for calls of the program, on the thread
/// that closes the database, would never end.
#[test]
fn closing_the_database_ends_its_transactions() {
    let (database, _sockets, sql) = opened();
    let open = sql.begin().unwrap();
    open.query("select 1").unwrap();
    close(&database);
    let closed = open.query("select 1").unwrap_err();
    assert_eq!(closed.state(), SqlState::ADMIN_SHUTDOWN);
    let closed = sql.begin().err().unwrap();
    assert_eq!(closed.state(), SqlState::ADMIN_SHUTDOWN);
    // An open succeeded if the side was there already.
    let closed = Sql::open(&database).err().unwrap();
    assert_eq!(closed.state(), SqlState::ADMIN_SHUTDOWN);
}

/// Maximum time that a thread of a test waits for another one.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Closes the database, and fails if that waits.
fn close(database: &Database) {
    let (closed, closes) = mpsc::channel();
    let ours = database.clone();
    thread::spawn(move || {
        ours.close();
        closed.send(()).unwrap();
    });
    closes.recv_timeout(WAIT_MAX).unwrap();
}

/// A sink that says when it has a row, and keeps its worker until it is told to go on.
struct Blocks(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Sink for Blocks {
    fn fields(&mut self, _: &[Field]) -> types::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &ResultRow<'_>) -> types::Result<()> {
        self.0.send(()).unwrap();
        self.1.recv_timeout(WAIT_MAX).unwrap();
        Ok(())
    }
}

/// Runs `call` in a thread while a transaction holds the lock that it needs, on the other worker, and closes the
/// database while the call waits. The lock's holder ends after the call: it has a sink that waits for that. Returns the
/// answers of the call.
fn closed_while_waiting<T: Send + 'static>(
    database: &Database,
    sql: &Sql,
    call: impl FnOnce(&str) -> T + Send + 'static,
) -> T {
    let insert = "insert into t values (1)";
    let holder = sql.begin().unwrap();
    holder.execute(insert).unwrap();
    let waits = database.stats().lock_waits;
    let (answer, answers) = mpsc::channel();
    thread::spawn(move || answer.send(call(insert)));
    let deadline = Instant::now() + WAIT_MAX;
    while database.stats().lock_waits == waits {
        assert!(Instant::now() < deadline, "the call waits for no lock");
        thread::yield_now();
    }
    let (go_on, goes_on) = mpsc::channel();
    let (blocked, blocks) = mpsc::channel();
    let holding = thread::spawn(move || {
        let blocks = Blocks(blocked, goes_on);
        holder.execute_into("select 1", blocks).map(drop)
    });
    blocks.recv_timeout(WAIT_MAX).unwrap();
    let ours = database.clone();
    let closing = thread::spawn(move || ours.close());
    let answer = answers.recv_timeout(WAIT_MAX).unwrap();
    go_on.send(()).unwrap();
    // The holder's call is given up too where it waits next, if it does.
    let _ = holding.join().unwrap();
    closing.join().unwrap();
    answer
}

/// The closing waited for the lock that a call waits for.
#[test]
fn a_call_that_waits_for_a_lock_is_given_up_when_the_database_closes() {
    let (database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    let waiter = sql.begin().unwrap();
    let (inserted, after) = closed_while_waiting(&database, &sql, move |insert| {
        (waiter.execute_with(insert, &[]), waiter.query("select 1"))
    });
    assert_eq!(inserted.unwrap_err().state(), SqlState::ADMIN_SHUTDOWN);
    assert_eq!(after.unwrap_err().state(), SqlState::ADMIN_SHUTDOWN);
}

#[test]
fn a_call_of_its_own_that_waits_for_a_lock_is_given_up_when_the_database_closes() {
    let (database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    let ours = sql.clone();
    let inserted = closed_while_waiting(&database, &sql, move |insert| ours.execute(insert));
    assert_eq!(inserted.unwrap_err().state(), SqlState::ADMIN_SHUTDOWN);
}

/// The closing waited for hours of computation, and for a timer of any length.
#[test]
fn a_call_that_takes_long_is_given_up_when_the_database_closes() {
    for text in [
        "select pg_sleep(1000000)",
        "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b",
    ] {
        let (database, _sockets, sql) = opened();
        let (answer, answers) = mpsc::channel();
        thread::spawn(move || answer.send(sql.execute(text)));
        // Enough for the statement to begin, most often; before that, it is refused.
        thread::sleep(Duration::from_millis(50));
        close(&database);
        let error = answers.recv_timeout(WAIT_MAX).unwrap().unwrap_err();
        assert_eq!(error.state(), SqlState::ADMIN_SHUTDOWN, "{text}");
    }
}

/// A transaction may begin at any moment of the closing: its calls are carried out or told of the end, and its task
/// ends.
#[test]
fn transactions_that_begin_while_the_database_closes_end() {
    for _ in 0..20 {
        let (database, _sockets, sql) = opened();
        let (began, begins) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let called = sql.begin().and_then(|txn| txn.execute("select 1"));
                // The channel is closed: its reader needs the first message alone.
                let _ = began.send(());
                if let Err(error) = called {
                    ended.send(error).unwrap();
                    return;
                }
            }
        });
        begins.recv_timeout(WAIT_MAX).unwrap();
        close(&database);
        let error = ends.recv_timeout(WAIT_MAX).unwrap();
        assert_eq!(error.state(), SqlState::ADMIN_SHUTDOWN, "{error:?}");
    }
}

/// The limit held for clients of the server alone: a transaction that the program forgot kept its locks,
/// and old versions from being collected, for ever.
#[test]
fn a_transaction_without_calls_ends_after_its_limit() {
    let (_database, _sockets, sql) = opened();
    sql.execute("create table t (a int primary key)").unwrap();
    let forgotten = sql.begin().unwrap();
    let text = "insert into t values (1); set idle_in_transaction_session_timeout = '10ms'";
    forgotten.execute(text).unwrap();
    sql.execute("set lock_timeout = '60s'; insert into t values (1)")
        .unwrap();
    for text in ["select 1", "rollback"] {
        let error = forgotten.execute(text).unwrap_err();
        let state = SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT;
        assert_eq!(error.state(), state, "{text}");
    }
    assert!(forgotten.commit().is_err());
    assert_eq!(count(&sql, "t"), "1");
}

/// Each handle began with the first worker: a program that opened one per request used no other.
#[test]
fn calls_of_all_handles_take_turns_on_the_workers() {
    let (database, _sockets, _sql) = opened();
    const CALLS: u64 = 1_000;
    let on = |worker: usize| database.workers()[worker].stats().tasks_finished;
    let before = [0, 1].map(on);
    for _ in 0..2 * CALLS {
        Sql::open(&database).unwrap().execute("select 1").unwrap();
    }
    // A worker publishes its counters after some milliseconds. Few of the tasks are not calls.
    let deadline = Instant::now() + WAIT_MAX;
    while [0, 1]
        .iter()
        .any(|worker| on(*worker) < before[*worker] + CALLS)
    {
        assert!(Instant::now() < deadline, "a worker has too few calls");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Aggregates over a large table are carried out by all workers, on their threads: they have the answers of one worker,
/// also among statements that are given up.
#[test]
fn workers_carry_out_statements_together() {
    let (_database, _sockets, sql) = opened();
    sql.execute(
        "create table t (a int primary key, b int, n numeric);
         insert into t select i, i % 20, i * 0.25 from generate_series(1, 70000) i",
    )
    .unwrap();
    let alone = "set local max_parallel_workers_per_gather = 0; ";
    let aggregates = [
        "select b, count(*), sum(n), avg(a) from t group by b order by b",
        "select count(*), sum(s) from (select a, sum(n) as s from t group by a) g",
    ];
    let expected = aggregates.map(|text| sql.query(&format!("{alone}{text}")).unwrap().rows);
    let mut given_up = 0;
    for round in 0..20 {
        let limit = format!("set local statement_timeout = '{}ms'; ", 1 + round % 10);
        for (text, expected) in aggregates.iter().zip(&expected) {
            assert_eq!(&sql.query(text).unwrap().rows, expected, "{text}");
            match sql.query(&format!("{limit}{text}")) {
                Ok(answer) => assert_eq!(&answer.rows, expected, "{text}"),
                Err(error) => {
                    assert_eq!(error.state(), SqlState::QUERY_CANCELED);
                    given_up += 1;
                }
            }
        }
    }
    assert!(given_up > 0, "no statement was given up");
    let failing = sql.query("select sum(1 / (a - 35000)) from t").unwrap_err();
    assert_eq!(failing.state(), SqlState::DIVISION_BY_ZERO);
}
