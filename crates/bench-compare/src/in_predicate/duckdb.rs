//! DuckDB: one table in memory, asked in each of its forms for a list of values.
//!
//! Tables in memory are not compressed by default, and a compressed one of 4 million rows was not
//! faster to scan. Rows are loaded in order by one thread, so row identifiers are row numbers;
//! afterwards the order of results is left to DuckDB, which saves it work.

use std::cell::Cell;
use std::time::Duration;

use commands::progress::Progress;
use commands::{Error, Result};
use duckdb::arrow::array::{Array, Int64Array};
use duckdb::types::Value;
use duckdb::{Config, Connection, Params, Statement};
use experiments::join::{Population, sorted_value};

use super::{Answer, Contender, Identity, Request, Taken, timed};

mod form;

pub(crate) use form::Form;

pub(super) const ENGINE: &str = "duckdb";

/// Rows appended between two reports of progress.
const PROGRESS_ROWS: usize = 1 << 16;

fn failed(error: duckdb::Error) -> Error {
    Error::run(format!("DuckDB says: {error}"))
}

/// A loaded database.
pub(super) struct Database {
    connection: Connection,
    /// Number of threads that the database uses at present.
    threads: Cell<usize>,
}

impl Database {
    /// Loads the rows of `population` into a new database.
    ///
    /// # Errors
    /// [`Error::Run`] when DuckDB refuses.
    pub(super) fn load(
        population: &Population,
        request: &Request,
        progress: &Progress,
    ) -> Result<Database> {
        let config = Config::default().threads(1).map_err(failed)?;
        let connection = Connection::open_in_memory_with_flags(config).map_err(failed)?;
        let run = |text: &str| connection.execute_batch(text).map_err(failed);
        run("CREATE TABLE plain (value UINTEGER)")?;
        run("CREATE TEMPORARY TABLE wanted (value UINTEGER)")?;
        let codes = population.codes();
        let step = progress.step("duckdb: loading", codes.len() as u64);
        let mut appender = connection.appender("plain").map_err(failed)?;
        for (row, code) in codes.enumerate() {
            let appended = appender.append_row([sorted_value(code)]);
            appended.map_err(failed)?;
            if (row + 1).is_multiple_of(PROGRESS_ROWS) {
                step.advance(PROGRESS_ROWS as u64);
            }
        }
        appender.flush().map_err(failed)?;
        drop(appender);
        step.finish();
        if request.forms.iter().any(|form| form.has_index()) {
            let step = progress.step("duckdb: building an index", 1);
            run("CREATE TABLE indexed AS SELECT value FROM plain")?;
            run("CREATE INDEX values_of_indexed ON indexed (value)")?;
            // By default DuckDB scans the table for more than 2048 rows or 0.1 % of them.
            run("SET index_scan_max_count = 100000000")?;
            run("SET index_scan_percentage = 1.0")?;
            step.finish();
        }
        run("SET preserve_insertion_order = false")?;
        Ok(Database {
            connection,
            threads: Cell::new(1),
        })
    }

    /// Returns contenders of each form with each number of threads, for each answer.
    ///
    /// # Errors
    /// [`Error::Run`] when DuckDB refuses a query.
    pub(super) fn contenders(&self, request: &Request) -> Result<Vec<Box<dyn Contender + '_>>> {
        let mut contenders: Vec<Box<dyn Contender + '_>> = Vec::new();
        for answer in Answer::ALL {
            for &threads in &request.threads {
                for &form in &request.forms {
                    let kept = form.query(answer).map(|text| self.prepare(&text));
                    contenders.push(Box::new(Query {
                        database: self,
                        form,
                        threads,
                        answer,
                        kept: kept.transpose()?,
                    }));
                }
            }
        }
        Ok(contenders)
    }

    /// Describes the set-up: a line for people.
    ///
    /// # Errors
    /// [`Error::Run`] when DuckDB does not tell its version.
    pub(super) fn description(&self) -> Result<String> {
        let version = self.connection.version().map_err(failed)?;
        Ok(format!(
            "DuckDB {version}, a table of UINTEGER in memory, not compressed, results in any order, \
             fetched as Arrow; the forms index-* have a copy of it with an index, and settings by \
             which the index is used for lists of any length"
        ))
    }

    fn prepare(&self, text: &str) -> Result<Statement<'_>> {
        self.connection.prepare(text).map_err(failed)
    }

    fn use_threads(&self, threads: usize) -> Result<()> {
        if self.threads.replace(threads) != threads {
            let text = format!("SET threads = {threads}");
            self.connection.execute_batch(&text).map_err(failed)?;
        }
        Ok(())
    }

    fn empty_wanted(&self) -> Result<()> {
        let emptied = self.connection.execute_batch("DELETE FROM wanted");
        emptied.map_err(failed)
    }

    fn fill_wanted(&self, list: &[u32]) -> Result<()> {
        let mut appender = self.connection.appender("wanted").map_err(failed)?;
        let rows = list.iter().map(|&value| [value]);
        appender.append_rows(rows).map_err(failed)?;
        appender.flush().map_err(failed)
    }
}

/// A contender that asks in one form.
struct Query<'d> {
    database: &'d Database,
    form: Form,
    threads: usize,
    answer: Answer,
    /// Prepared query that serves every list.
    kept: Option<Statement<'d>>,
}

impl Contender for Query<'_> {
    fn identity(&self) -> Identity {
        Identity {
            engine: ENGINE,
            form: self.form.name(),
            list: self.form.taken(),
            threads: self.threads,
            answer: self.answer,
        }
    }

    fn answer(&mut self, list: &[u32], rows: &mut Vec<u64>) -> Result<(u64, Duration)> {
        let (database, answer) = (self.database, self.answer);
        database.use_threads(self.threads)?;
        match (self.form, &mut self.kept) {
            (Form::Filled, Some(kept)) => {
                database.empty_wanted()?;
                database.fill_wanted(list)?;
                timed(|| fetch(kept, [], answer, rows))
            }
            (Form::Temporary, Some(kept)) => {
                database.empty_wanted()?;
                timed(|| {
                    database.fill_wanted(list)?;
                    fetch(kept, [], answer, rows)
                })
            }
            (_, Some(kept)) => {
                let list = Value::List(list.iter().copied().map(Value::UInt).collect());
                timed(|| fetch(kept, [list], answer, rows))
            }
            (form, None) => {
                let text = form.text(answer, list);
                let mut statement = None;
                if form.taken() == Taken::Ready {
                    statement = Some(database.prepare(&text)?);
                }
                timed(|| match &mut statement {
                    Some(prepared) => fetch(prepared, [], answer, rows),
                    none => fetch(none.insert(database.prepare(&text)?), [], answer, rows),
                })
            }
        }
    }
}

/// Runs a query and fetches its answer.
fn fetch(
    statement: &mut Statement<'_>,
    parameters: impl Params,
    answer: Answer,
    rows: &mut Vec<u64>,
) -> Result<u64> {
    let mut count = 0;
    for batch in statement.query_arrow(parameters).map_err(failed)? {
        let column = batch.column(0).as_any().downcast_ref::<Int64Array>();
        let column = column.ok_or_else(|| Error::run("DuckDB's answer is not of BIGINT"))?;
        match answer {
            Answer::Rows => {
                count += column.len() as u64;
                rows.extend(column.values().iter().map(|&row| row as u64));
            }
            Answer::Count => count += column.values().iter().sum::<i64>() as u64,
        }
    }
    Ok(count)
}
