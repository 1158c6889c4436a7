//! Clients beside a statement that computes for long: they are let in and answered, and the statement ends when its own
//! client is gone. Times are bounds for a busy machine; before, a client waited for as long as the statement took,
//! which is for ever here.

#[path = "common/served.rs"]
mod served;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use postgres::{Client, NoTls};
use served::Served;

/// Longest wait for a step that does not depend on an endless statement.
const PATIENCE: Duration = Duration::from_secs(60);

/// A query that counts for days, and keeps nothing.
const ENDLESS: &str =
    "select count(*) from generate_series(1, 2000000) a, generate_series(1, 2000000) b";

/// A client that sends only the necessary messages, and can go away in the middle.
struct Raw(TcpStream);

impl Raw {
    fn connect(served: &Served) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", served.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut raw = Raw(stream);
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        startup.extend(b"user\0weft\0database\0weft\0\0");
        raw.send(&[], &startup);
        raw.until_ready();
        raw
    }

    fn send(&mut self, tag: &[u8], body: &[u8]) {
        let mut message = tag.to_vec();
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        self.0.write_all(&message).unwrap();
    }

    /// Sends a statement, and does not wait for the answer.
    fn ask(&mut self, statement: &str) {
        let mut text = statement.as_bytes().to_vec();
        text.push(0);
        self.send(b"Q", &text);
    }

    fn until_ready(&mut self) {
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
            let mut body = vec![0; length - 4];
            self.0.read_exact(&mut body).unwrap();
            assert_ne!(head[0], b'E', "{}", String::from_utf8_lossy(&body));
            if head[0] == b'Z' {
                return;
            }
        }
    }

    fn run(&mut self, statement: &str) {
        self.ask(statement);
        self.until_ready();
    }
}

fn patient(served: &Served) -> Client {
    let limit = format!(
        "{} connect_timeout=60 options='-c statement_timeout=60s'",
        served.connection()
    );
    Client::connect(&limit, NoTls).unwrap()
}

/// pgbench, started beside two such statements, processed nothing in six seconds: a worker with one
/// statement had its only place taken, and began no connection.
#[test]
fn clients_are_let_in_and_answered_beside_statements_that_compute() {
    let served = Served::start_with(1, &["--in-memory"]);
    let mut first = patient(&served);
    first
        .batch_execute("create table t (a int primary key); insert into t values (1), (2)")
        .unwrap();
    let mut hogs = [Raw::connect(&served), Raw::connect(&served)];
    hogs.iter_mut().for_each(|hog| hog.ask(ENDLESS));
    let begun = Instant::now();
    for _ in 0..20 {
        let mut client = patient(&served);
        for a in [1_i32, 2] {
            let row = client
                .query_one("select a from t where a = $1", &[&a])
                .unwrap();
            assert_eq!(row.get::<_, i32>(0), a);
        }
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// An endless statement whose client had been killed went on for minutes, and grew.
#[test]
fn a_statement_ends_when_its_client_is_gone() {
    // The statement computes, or waits for a lock.
    for waits in [false, true] {
        // The socket is closed, or reset, which throws unread data away.
        for is_reset in [false, true] {
            let served = Served::start_with(1, &["--in-memory"]);
            let mut holder = patient(&served);
            holder
                .batch_execute(
                    "create table t (a int primary key, b int);
                     insert into t values (1, 0), (2, 0)",
                )
                .unwrap();
            // The string begins with BEGIN: statements before it would be a part of its transaction.
            holder
                .batch_execute("begin; update t set b = 1 where a = 1")
                .unwrap();
            let mut gone = Raw::connect(&served);
            gone.run("begin");
            gone.run("update t set b = 1 where a = 2");
            if is_reset {
                // No reader takes this answer.
                gone.ask("select 1");
                std::thread::yield_now();
            }
            gone.ask(match waits {
                true => "update t set b = 2 where a = 1",
                false => ENDLESS,
            });
            drop(gone);
            // The rows that it has written are free when its transaction has ended.
            let mut other = patient(&served);
            let count = other
                .execute("update t set b = 3 where a = 2", &[])
                .unwrap();
            assert_eq!(count, 1, "waits: {waits}, reset: {is_reset}");
        }
    }
}

/// A client that sends a statement, closes its sending half and waits for the answer, as `printf .. | nc` does, lost
/// its statement when the statement's task next gave other tasks a turn: the connection was taken for one whose client
/// is gone. PostgreSQL finishes the statement, and so does `weft serve` for a second; a longer statement may as well be
/// a killed client's, and ends.
#[test]
fn a_client_that_sends_no_more_has_its_answer() {
    let served = Served::start_with(1, &["--in-memory"]);
    let mut other = patient(&served);
    other
        .batch_execute("create table t (a int primary key)")
        .unwrap();
    // Another statement computes, so the connection's task yields.
    let mut hog = Raw::connect(&served);
    hog.ask(ENDLESS);
    let mut half = Raw::connect(&served);
    half.ask("insert into t select i from generate_series(1, 2000) i");
    half.ask("select count(*) from t");
    half.0.shutdown(std::net::Shutdown::Write).unwrap();
    half.until_ready();
    half.until_ready();
    let row = other.query_one("select count(*) from t", &[]).unwrap();
    assert_eq!(row.get::<_, i64>(0), 2000);

    let mut endless = Raw::connect(&served);
    endless.run("begin");
    endless.run("delete from t where a = 7");
    endless.ask(ENDLESS);
    endless.0.shutdown(std::net::Shutdown::Write).unwrap();
    // The row is free when the transaction has ended.
    assert_eq!(other.execute("delete from t where a = 7", &[]).unwrap(), 1);
    // The server may send an error before it closes the connection.
    let mut rest = Vec::new();
    endless.0.read_to_end(&mut rest).unwrap();
    assert!(!rest.contains(&b'C'), "{}", String::from_utf8_lossy(&rest));
}

/// A hash join over one key obeyed a time limit of 150 ms after 14 seconds; a scan by index read all
/// 200,000 records of the key at which a piece ended.
#[test]
fn time_limits_are_heard_in_any_execution() {
    let served = Served::start_with(1, &["--in-memory"]);
    let mut client = patient(&served);
    client
        .batch_execute(
            "create table t (a int primary key, b int);
             create index t_b on t (b);
             insert into t select i, 7 from generate_series(1, 20000) i;
             set statement_timeout = '100ms'",
        )
        .unwrap();
    for statement in [
        ENDLESS,
        "select count(*) from t x join t y using (b) join t z using (b)",
        "select count(*) from t x left join t y on x.b = y.b and x.a + y.a < 0",
        "with recursive r(x) as (select 1 union all select x from r) select count(*) from r",
        "with recursive r(x) as (select 1 union all select x + 1 from r where x < 0 or x > 0) \
         select count(*) from r",
        "select count(*) over (order by x.a) from t x, t y",
        "select count(*) from (select x.a from t x, t y order by 1 desc) s",
        "select count(distinct x.a + y.a) from t x, t y",
        "select string_agg(x.a::text, ',' order by y.a) from t x, t y",
        "select count(*) from generate_series(1, 1000000000000) i",
        "select x.a from t x, t y except select 1",
        "insert into t select 20000 * x.a + y.a, 1 from t x, t y",
    ] {
        let begun = Instant::now();
        let error = client.simple_query(statement).unwrap_err();
        let code = error.code().map(|code| code.code().to_owned());
        // The statement may run out of memory before it runs out of time.
        assert!(
            matches!(code.as_deref(), Some("57014" | "53200")),
            "{statement}: {error:?}"
        );
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(10), "{statement}: {took:?}");
    }
}
