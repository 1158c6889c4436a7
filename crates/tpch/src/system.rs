//! Systems that answer the queries: servers, and DuckDB's program.

use std::{
    fmt::Display,
    fs::{self, File},
    time::{Duration, Instant},
};

use commands::{
    Error, Result,
    progress::{Progress, Step},
};
use postgres::{Client, error::SqlState};
use serde::Serialize;
use servers::{Answer, DuckDb, Server, failed};

use crate::{
    queries,
    tables::{self, Sink},
};

/// Settings of a system's reads from the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reading {
    /// Percentage of the blocks of columns that is in memory; `None` for as many as there is room for.
    pub cached_percent: Option<f64>,
    /// Maximum number of blocks that a scan reads ahead, 0 for one transfer after the other; `None` for the system's
    /// own choice.
    pub read_ahead: Option<u16>,
}

/// A system with the tables.
pub trait System {
    /// Returns the name in results.
    fn name(&self) -> &str;

    /// Returns the settings of its reads.
    fn reading(&self) -> Reading {
        Reading::default()
    }

    /// Makes the tables, all of them or none.
    ///
    /// # Errors
    /// Errors of the system: the tables must not exist.
    fn create(&mut self) -> Result<()>;

    /// Fills the tables, and lets the system look at them.
    ///
    /// # Errors
    /// Errors of the system.
    fn fill(&mut self, scale: f64, step: &Step) -> Result<()>;

    /// Drops the tables.
    ///
    /// # Errors
    /// Errors of the system.
    fn unload(&mut self) -> Result<()>;

    /// Runs a query once, which may take as long as `limit`.
    ///
    /// # Errors
    /// Errors of the system, except for one that says that the query took too long.
    fn run(&mut self, query: &str, limit: Duration) -> Result<Run>;
}

/// One run of a query.
#[derive(Clone, Debug)]
pub struct Run {
    /// Time from the query's message to its last row.
    pub(crate) time: Duration,
    /// Processor time of the system, where it can be looked at.
    pub(crate) cpu: Option<Duration>,
    /// Answer; `None` if the query did not end in time.
    pub(crate) answer: Option<Answer>,
}

/// A server that speaks PostgreSQL's protocol. Each run has a connection of its own.
#[derive(Debug)]
pub struct OnServer {
    /// The server.
    pub server: Server,
    /// Statements that each connection begins with, such as settings.
    pub begin: Vec<String>,
    /// Whether another system with the same server makes, fills and drops the tables.
    pub shares_tables: bool,
    /// Settings of its reads. Each connection sets the number of blocks to read ahead.
    pub reading: Reading,
}

impl OnServer {
    fn says<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.server.says(&error))
    }

    fn execute(&self, statements: &str) -> Result<()> {
        let done = self.server.connect()?.batch_execute(statements);
        self.says(done.map_err(failed))
    }

    fn connect(&self, limit: Duration) -> Result<Client> {
        let mut client = self.server.connect()?;
        let limit = limit.as_millis();
        let limit = format!("set statement_timeout = {limit}");
        let ahead = self.reading.read_ahead;
        let ahead = ahead.map(|blocks| format!("set effective_io_concurrency = {blocks}"));
        for statement in [&limit].into_iter().chain(&ahead).chain(&self.begin) {
            client.batch_execute(statement).map_err(failed)?;
        }
        Ok(client)
    }
}

/// Number of runs of a query after which a server has blocks of the columns of all tables that the query scans: the
/// first scan of a table builds none if its rows are not read by columns.
const RUNS_TO_BUILD: usize = 2;

/// Returns the bytes of the blocks of columns that Weft makes of the tables that some queries scan. The tables are made
/// for that, and dropped again.
///
/// # Errors
/// Errors of the server, which is a Weft.
pub fn block_bytes(
    server: &Server,
    scale: f64,
    queries: &[u8],
    limit: Duration,
    progress: &Progress,
) -> Result<u64> {
    let mut system = OnServer {
        server: server.clone(),
        begin: Vec::new(),
        shares_tables: false,
        reading: Reading::default(),
    };
    let step = progress.step(
        "loading to learn the size of blocks",
        tables::rows_about(scale),
    );
    system.create()?;
    system.fill(scale, &step)?;
    for query in queries {
        let text = queries::text(*query, scale);
        for _ in 0..RUNS_TO_BUILD {
            system.run(&text, limit)?;
        }
    }
    let shown = system
        .connect(limit)?
        .query_one("show weft.block_memory", &[]);
    let shown: String = system.says(shown.map_err(failed))?.get(0);
    system.unload()?;
    let all = shown.rsplit(' ').next().and_then(|all| all.parse().ok());
    all.ok_or_else(|| Error::run(format!("weft.block_memory is `{shown}`")))
}

impl System for OnServer {
    fn name(&self) -> &str {
        self.server.name()
    }

    fn reading(&self) -> Reading {
        self.reading
    }

    fn create(&mut self) -> Result<()> {
        match self.shares_tables {
            true => Ok(()),
            false => self.execute(tables::TABLES),
        }
    }

    fn fill(&mut self, scale: f64, step: &Step) -> Result<()> {
        if self.shares_tables {
            return Ok(());
        }
        let mut client = self.server.connect()?;
        let mut sink = Copied {
            client: &mut client,
            step,
        };
        self.says(tables::fill(&mut sink, scale))?;
        // Vacuumed as well, as a table that has been there for a while.
        self.execute("vacuum analyze")
    }

    fn unload(&mut self) -> Result<()> {
        match self.shares_tables {
            true => Ok(()),
            false => self.execute(tables::DROPS),
        }
    }

    fn run(&mut self, query: &str, limit: Duration) -> Result<Run> {
        let mut client = self.says(self.connect(limit))?;
        let cpu = self.server.cpu_taken();
        let begin = Instant::now();
        let messages = client.simple_query(query);
        let time = begin.elapsed();
        let cpu = between(cpu, self.server.cpu_taken());
        let answer = match messages {
            Ok(messages) => Some(Answer::of(&messages)),
            Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => None,
            Err(error) => return self.says(Err(failed(error))),
        };
        Ok(Run { time, cpu, answer })
    }
}

/// Rows of a COPY: a table comes by several, so that a server with little memory need not hold all rows of a
/// transaction at once.
const ROWS_OF_COPY: usize = 200_000;

/// Rows on their way to a server.
struct Copied<'l> {
    client: &'l mut Client,
    step: &'l Step,
}

impl Sink for Copied<'_> {
    fn table(&mut self, table: &str, rows: impl Iterator<Item = impl Display>) -> Result<()> {
        let copy = format!("copy {table} from stdin (format csv)");
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            // The client library takes a COPY for done before its own transaction has ended.
            let mut transaction = self.client.transaction().map_err(failed)?;
            let mut writer = transaction.copy_in(&copy).map_err(failed)?;
            tables::write(&mut writer, rows.by_ref().take(ROWS_OF_COPY), self.step)?;
            writer.finish().map_err(failed)?;
            transaction.commit().map_err(failed)?;
        }
        Ok(())
    }
}

/// DuckDB's program, with one session for all runs.
#[derive(Debug)]
pub struct OnDuckDb(
    /// The program.
    pub DuckDb,
);

impl OnDuckDb {
    fn says<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| Error::run(format!("{}: {error}", self.0.name())))
    }

    fn execute(&mut self, statements: &str) -> Result<()> {
        let done = self.0.execute(statements);
        self.says(done)
    }
}

impl System for OnDuckDb {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn create(&mut self) -> Result<()> {
        self.execute(tables::TABLES)
    }

    fn fill(&mut self, scale: f64, step: &Step) -> Result<()> {
        let mut sink = Filed {
            duckdb: &mut self.0,
            step,
        };
        let filled = tables::fill(&mut sink, scale);
        self.says(filled)?;
        // The rows are to be found in the file if the program is started again.
        self.execute("analyze; checkpoint")
    }

    fn unload(&mut self) -> Result<()> {
        // The tables go with the program's directory.
        Ok(())
    }

    fn run(&mut self, query: &str, limit: Duration) -> Result<Run> {
        let duckdb = &mut self.0;
        duckdb.wake()?;
        let cpu = duckdb.cpu_taken();
        let begin = Instant::now();
        let output = duckdb.ask(query, limit);
        let time = begin.elapsed();
        let cpu = between(cpu, duckdb.cpu_taken());
        let output = self.says(output)?;
        let answer = output.map(|output| output.answer());
        Ok(Run { time, cpu, answer })
    }
}

/// Format of the files, which DuckDB would guess otherwise.
const FORMAT: &str =
    r#"format csv, header false, auto_detect false, delimiter ',', quote '"', escape '"'"#;

/// Rows on their way to DuckDB, by a file for each table.
struct Filed<'l> {
    duckdb: &'l mut DuckDb,
    step: &'l Step,
}

impl Sink for Filed<'_> {
    fn table(&mut self, table: &str, rows: impl Iterator<Item = impl Display>) -> Result<()> {
        let path = self.duckdb.directory().join(format!("{table}.csv"));
        let failed = |error| Error::run(format!("{}: {error}", path.display()));
        let mut file = File::create(&path).map_err(failed)?;
        tables::write(&mut file, rows, self.step)?;
        let name = path.display().to_string().replace('\'', "''");
        let copied = format!("copy {table} from '{name}' ({FORMAT})");
        self.duckdb.execute(&copied)?;
        fs::remove_file(&path).map_err(failed)
    }
}

/// Returns the time between two readings.
fn between(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    Some(after?.saturating_sub(before?))
}
