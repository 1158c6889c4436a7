//! Measures clients beside one long statement: the latency of their answers, and the statement's share of the worker.
//!
//! A server with one worker runs a statement over a large table: an aggregate, a sort, a hash join, a recursive query,
//! COPY, an index build, one after another. Beside each, a client reads single rows by their keys and another connects,
//! again and again. Then readers without a pause compete with the statement, several times, and each time both are
//! measured alone before: the median of the ratios is the share that each leaves the other. All answers are checked.
//!
//! The server reports the longest slice in which a statement held its worker meanwhile (`SHOW weft.longest_slice`);
//! other servers do not.

mod report;

use std::{
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use postgres::Client;
use serde::Serialize;

pub use self::report::report;
use bench::measure::{Latencies, LatencyNs, Spread};
use commands::progress::Progress;
use commands::{Error, Result};
use servers::{Server, failed};

/// Rows that are read by their keys.
const ACCOUNTS: u32 = 10_000;

/// Number of times that statement and readers are measured alone and beside each other.
const ROUNDS: usize = 3;

/// Longest time for which readers are measured alone.
const ALONE_MAX: Duration = Duration::from_secs(2);

/// Rows of the large table that one statement inserts.
const ROWS_AT_ONCE: u32 = 100_000;

/// Distinct values of its second column.
const GROUPS: u32 = 1000;

/// Settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rows of the large table.
    pub rows: u32,
    /// Shortest time for which point reads and connections are measured beside each statement.
    pub duration: Duration,
    /// Number of readers that compete with the statement without a pause.
    pub readers: u16,
}

/// Results for one statement and the clients beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Always `"fairness"`.
    pub benchmark: &'static str,
    /// Name of the statement.
    pub operator: &'static str,
    /// Rows of the large table.
    pub rows: u32,
    /// Latency of reads of single rows, one after another, beside the statement.
    pub read_ns: LatencyNs,
    /// Latency of connecting, until the first answer, beside the statement.
    pub connect_ns: LatencyNs,
    /// Number of connections made beside the statement.
    pub connections: u64,
    /// Median time of the statement alone, in seconds.
    pub alone_s: f64,
    /// Median of the statement's speed beside readers without a pause, as a share of its speed alone.
    pub statement_ratio: f64,
    /// Median of the readers' throughput beside the statement, as a share of their throughput alone.
    pub readers_ratio: f64,
    /// Longest slice of the server's worker meanwhile, as the server reports it; empty if no slice was over its bound,
    /// or if the server reports none.
    pub longest_slice: String,
    /// Whether all answers were right.
    pub verified: bool,
}

/// A statement that takes long, and how to check and undo it.
struct Operator {
    name: &'static str,
    statement: String,
    /// Statements that undo the effect of the statement.
    undo: &'static str,
    /// The only value of its only row; `None` for a command.
    answer: Option<String>,
    /// Rows of COPY's data; 0 for other statements.
    copied: u32,
}

fn operators(rows: u32) -> Vec<Operator> {
    let (count, sum) = (u64::from(rows), u64::from(rows) * (u64::from(rows) + 1) / 2);
    let query = |name, statement: String, answer: String| Operator {
        name,
        statement,
        undo: "",
        answer: Some(answer),
        copied: 0,
    };
    let groups = count.min(u64::from(GROUPS));
    vec![
        query(
            "aggregate",
            "select sum(n)::text from (select b, count(*) as n from fair_row group by b) s".into(),
            count.to_string(),
        ),
        query(
            "sort",
            "select max(a)::text from (select a from fair_row order by c, a offset 1) s".into(),
            count.to_string(),
        ),
        query(
            "hash join",
            "select sum(x.a)::text from fair_row x join fair_row y on x.a = y.c + y.a - y.c".into(),
            sum.to_string(),
        ),
        query(
            "hash join on few keys",
            format!(
                "select count(*)::text from fair_row x join (select b from fair_row where a <= {groups}) y \
                 on x.b = y.b + 0"
            ),
            count.to_string(),
        ),
        query(
            "recursive query",
            format!(
                "with recursive r(x) as (select 1 union all select x + 1 from r where x < {}) \
                 select count(*)::text from r",
                rows / 10
            ),
            (count / 10).to_string(),
        ),
        Operator {
            name: "copy in",
            statement: "copy fair_copied from stdin".into(),
            undo: "truncate fair_copied",
            answer: None,
            copied: rows,
        },
        Operator {
            name: "index build",
            statement: "create index fair_row_c on fair_row (c)".into(),
            undo: "drop index fair_row_c",
            answer: None,
            copied: 0,
        },
    ]
}

impl Operator {
    /// Runs the statement once, and returns its time and whether the answer was right.
    fn run(&self, client: &mut Client) -> Result<(Duration, bool)> {
        let ran = self.carry_out(client)?;
        self.undo(client)?;
        Ok(ran)
    }

    fn undo(&self, client: &mut Client) -> Result<()> {
        match self.undo {
            "" => Ok(()),
            undo => client.batch_execute(undo).map_err(failed),
        }
    }

    fn carry_out(&self, client: &mut Client) -> Result<(Duration, bool)> {
        let begun = Instant::now();
        let is_right = match &self.answer {
            Some(answer) => {
                let row = client.query_one(&self.statement, &[]).map_err(failed)?;
                row.get::<_, &str>(0) == answer
            }
            None if self.copied > 0 => {
                let mut data = client.copy_in(&self.statement).map_err(failed)?;
                let mut text = Vec::new();
                for row in 1..=self.copied {
                    // Writing to a vector cannot fail.
                    let _ = writeln!(text, "{row}\t{}\tcopied {row}", row % GROUPS);
                    if text.len() > 1 << 16 || row == self.copied {
                        data.write_all(&text)
                            .map_err(|error| Error::run(format!("COPY: {error}")))?;
                        text.clear();
                    }
                }
                data.finish().map_err(failed)? == u64::from(self.copied)
            }
            None => {
                client.batch_execute(&self.statement).map_err(failed)?;
                true
            }
        };
        Ok((begun.elapsed(), is_right))
    }
}

/// Loads the tables, measures each operator, and drops them.
///
/// # Errors
/// [`Error::Run`] when the server refuses a statement or goes away. A wrong answer is no error: the summary then has
/// `verified` unset.
pub fn measure(settings: &Settings, server: &Server, progress: &Progress) -> Result<Vec<Summary>> {
    let mut client = server.connect()?;
    let step = progress.step("loading".to_owned(), u64::from(settings.rows));
    client
        .batch_execute(
            "create table fair_account (id int primary key, balance int);
             create table fair_copied (a int primary key, b int, c text);
             create table fair_row (a int primary key, b int, c int)",
        )
        .map_err(failed)?;
    let accounts =
        format!("insert into fair_account select i, i * 7 from generate_series(1, {ACCOUNTS}) i");
    client.batch_execute(&accounts).map_err(failed)?;
    let mut first = 1;
    while first <= settings.rows {
        let last = settings.rows.min(first + ROWS_AT_ONCE - 1);
        // The third column has an order unrelated to the first's.
        let rows = format!(
            "insert into fair_row select i, i % {GROUPS}, (i::bigint * 7919 % 1000003)::int \
             from generate_series({first}, {last}) i"
        );
        client.batch_execute(&rows).map_err(failed)?;
        step.advance(u64::from(last - first + 1));
        first = last + 1;
    }
    client.batch_execute("analyze").map_err(failed)?;
    drop(step);
    let operators = operators(settings.rows);
    let step = progress.step("operators".to_owned(), operators.len() as u64);
    let mut summaries = Vec::new();
    for operator in &operators {
        summaries.push(measure_one(settings, server, &mut client, operator)?);
        step.advance(1);
    }
    let drops = "drop table fair_account, fair_copied, fair_row";
    client.batch_execute(drops).map_err(failed)?;
    Ok(summaries)
}

fn measure_one(
    settings: &Settings,
    server: &Server,
    client: &mut Client,
    operator: &Operator,
) -> Result<Summary> {
    let shares = compete(settings, server, client, operator)?;
    // From here on a statement runs nearly always: without one, clients keep the worker from its processor, and that
    // would count. The undoing of statements and readers' connections fall into this time too. Other servers do not
    // know the setting.
    let tells = client.batch_execute("set weft.longest_slice = ''").is_ok();
    let is_over = AtomicBool::new(false);
    let (mut reads, connects) = thread::scope(|scope| -> Result<_> {
        let reads = scope.spawn(|| probe(server, &is_over));
        let connects = scope.spawn(|| connect(server, &is_over));
        let over = Over(&is_over);
        let until = Instant::now() + settings.duration;
        let mut outcome = Ok(true);
        while outcome.as_ref().is_ok_and(|right| *right) {
            outcome = operator.run(client).map(|(_, right)| right);
            if Instant::now() >= until {
                break;
            }
        }
        drop(over);
        let is_right = outcome?;
        let (latencies, were_right) = joined(reads.join())?;
        Ok((
            (latencies, is_right && were_right),
            joined(connects.join())?,
        ))
    })?;
    let both = beside_readers(server, settings.readers, || operator.carry_out(client))?;
    operator.undo(client)?;
    reads.1 &= both.right && both.of_other.1;
    let longest_slice = match tells {
        true => {
            let row = client.query_one("show weft.longest_slice", &[]);
            row.map_err(failed)?.get(0)
        }
        false => String::new(),
    };
    Ok(Summary {
        benchmark: "fairness",
        operator: operator.name,
        rows: settings.rows,
        read_ns: reads.0.percentiles(),
        connect_ns: connects.percentiles(),
        connections: connects.count(),
        alone_s: shares.alone_s,
        statement_ratio: shares.statement,
        readers_ratio: shares.readers,
        longest_slice,
        verified: shares.verified && reads.1,
    })
}

/// Medians of the shares that a statement and readers without a pause have of the worker.
struct Shares {
    alone_s: f64,
    statement: f64,
    readers: f64,
    verified: bool,
}

fn compete(
    settings: &Settings,
    server: &Server,
    client: &mut Client,
    operator: &Operator,
) -> Result<Shares> {
    let (mut alone_s, mut statement, mut readers) = (vec![], vec![], vec![]);
    let mut verified = true;
    for _ in 0..ROUNDS {
        let (alone, is_right) = operator.run(client)?;
        let pause = || {
            thread::sleep(settings.duration.min(ALONE_MAX));
            Ok(())
        };
        let readers_alone = beside_readers(server, settings.readers, pause)?;
        let both = beside_readers(server, settings.readers, || operator.carry_out(client))?;
        operator.undo(client)?;
        let (beside, was_right) = both.of_other;
        alone_s.push(alone.as_secs_f64());
        statement.push(alone.as_secs_f64() / beside.as_secs_f64());
        readers.push(both.per_second / readers_alone.per_second);
        verified &= is_right && was_right && readers_alone.right && both.right;
    }
    Ok(Shares {
        alone_s: Spread::of(&alone_s).median,
        statement: Spread::of(&statement).median,
        readers: Spread::of(&readers).median,
        verified,
    })
}

fn joined<T>(joined: thread::Result<Result<T>>) -> Result<T> {
    joined.unwrap_or_else(|_| Err(Error::run("a client has panicked")))
}

/// Reads single rows, some milliseconds apart, until `is_over`; returns their latencies, and whether all rows were
/// right.
fn probe(server: &Server, is_over: &AtomicBool) -> Result<(Latencies, bool)> {
    let mut client = server.connect()?;
    let (mut latencies, mut right, mut id) = (Latencies::new(), true, 1);
    let statement = client
        .prepare("select balance from fair_account where id = $1")
        .map_err(failed)?;
    while !is_over.load(Ordering::Relaxed) || latencies.count() == 0 {
        let begun = Instant::now();
        let row = client.query_one(&statement, &[&id]).map_err(failed)?;
        latencies.record_since(begun);
        right &= row.get::<_, i32>(0) == id * 7;
        id = id % ACCOUNTS as i32 + 1;
        thread::sleep(Duration::from_millis(1));
    }
    Ok((latencies, right))
}

/// Connects and asks for one value, some milliseconds apart, until `is_over`; returns the latencies.
fn connect(server: &Server, is_over: &AtomicBool) -> Result<Latencies> {
    let mut latencies = Latencies::new();
    while !is_over.load(Ordering::Relaxed) || latencies.count() == 0 {
        let begun = Instant::now();
        let mut client = server.connect()?;
        client.simple_query("select 1").map_err(failed)?;
        latencies.record_since(begun);
        thread::sleep(Duration::from_millis(5));
    }
    Ok(latencies)
}

/// Sets its flag when dropped, also after a panic: other threads wait for the flag.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Results of readers, and of the action beside them.
struct Read<R> {
    per_second: f64,
    /// Whether all rows were right.
    right: bool,
    of_other: R,
}

/// Has `readers` readers read single rows without a pause while `other` runs.
fn beside_readers<R>(
    server: &Server,
    readers: u16,
    other: impl FnOnce() -> Result<R>,
) -> Result<Read<R>> {
    // Connecting is no reading, so the clients connect before the clock starts.
    let clients = (0..readers).map(|_| {
        let mut client = server.connect()?;
        let statement = client
            .prepare("select balance from fair_account where id = $1")
            .map_err(failed)?;
        Ok((client, statement))
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let begun = Instant::now();
        let mut reading = Vec::with_capacity(clients.len());
        for (number, (mut client, statement)) in (0..).zip(clients) {
            reading.push(scope.spawn(move || -> Result<(u64, bool)> {
                let (mut count, mut right, mut id) = (0, true, number % ACCOUNTS as i32 + 1);
                while !is_over.load(Ordering::Relaxed) {
                    let row = client.query_one(&statement, &[&id]).map_err(failed)?;
                    right &= row.get::<_, i32>(0) == id * 7;
                    id = (id + 131) % ACCOUNTS as i32 + 1;
                    // A read that ends later does not belong to the measured time.
                    count += u64::from(!is_over.load(Ordering::Relaxed));
                }
                Ok((count, right))
            }));
        }
        let over = Over(is_over);
        let done = other();
        let elapsed = begun.elapsed();
        drop(over);
        let (mut count, mut right) = (0, true);
        for reader in reading {
            let (own, own_right) = joined(reader.join())?;
            count += own;
            right &= own_right;
        }
        Ok(Read {
            per_second: count as f64 / elapsed.as_secs_f64(),
            right,
            of_other: done?,
        })
    })
}
