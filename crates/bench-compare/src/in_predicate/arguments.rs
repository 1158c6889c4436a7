//! The request for the query, on the command line.

use bench::report::Format;
use commands::number::{parse_count_within, parse_percent};
use commands::progress::Progress;
use commands::{Error, Result};
use experiments::join::Lists;

use super::{Request, report, run};

/// Largest number of values and of rows: values are odd numbers of 32 bits.
const COUNT_MAX: u64 = 1 << 31;
/// Most values in a list.
const LIST_MAX: u64 = 1 << 20;
/// Most threads of the other engine.
#[cfg(feature = "duckdb")]
const THREADS_MAX: u64 = 1024;

/// Compares a query with an IN-predicate on a column with an analytical engine's.
///
/// Builds one column of integers, to which rows refer at random, in Weft's column store and in
/// DuckDB, both in memory. Then both find the rows whose value is in a list, in every form they
/// have, list by list in turns. Every answer is verified. Results go to standard output, progress
/// and notes to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Distinct values of the column.
    #[arg(long, value_name = "N", default_value = "16M", value_parser = parse_column)]
    values: u64,

    /// Rows of the column; each has one of the values, at random.
    #[arg(long, value_name = "N", default_value = "16M", value_parser = parse_column)]
    rows: u64,

    /// Values in each list.
    #[arg(long, value_name = "N", default_value = "10k", value_parser = parse_list)]
    list: u64,

    /// Share of the values of a list that are in no row, and in no dictionary, in percent.
    #[arg(long, value_name = "P", default_value = "0", value_parser = parse_percent)]
    absent_percent: f64,

    /// Sort the lists before they are looked up.
    #[arg(long)]
    sorted: bool,

    /// Lookups of Weft in flight in the execution `interleaved`.
    #[arg(long, value_name = "N", default_value = "12", value_parser = parse_in_flight)]
    in_flight: u64,

    /// Numbers of threads of DuckDB, separated by commas [default: 1 and the number of cores].
    #[cfg(feature = "duckdb")]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', value_parser = parse_threads)]
    threads: Vec<u64>,

    /// Forms in which DuckDB is asked, separated by commas: text, prepared, bound, contains,
    /// temporary, filled, index-text, index-prepared [default: all].
    #[cfg(feature = "duckdb")]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    forms: Vec<super::duckdb::Form>,

    /// Lists that each contender answers in each repeat.
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_few)]
    batches: u64,

    /// Repeats; the median and the range of them are reported.
    #[arg(long, value_name = "R", default_value = "3", value_parser = parse_few)]
    repeats: u64,

    /// Form of the results: table, csv (every repeat) or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    /// Seed of every random choice; equal seeds make the same rows and lists.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

fn parse_column(text: &str) -> Result<u64> {
    parse_count_within(text, 1, COUNT_MAX)
}

fn parse_list(text: &str) -> Result<u64> {
    parse_count_within(text, 1, LIST_MAX)
}

fn parse_in_flight(text: &str) -> Result<u64> {
    parse_count_within(text, 1, interleave::Execution::IN_FLIGHT_MAX as u64)
}

#[cfg(feature = "duckdb")]
fn parse_threads(text: &str) -> Result<u64> {
    parse_count_within(text, 1, THREADS_MAX)
}

fn parse_few(text: &str) -> Result<u64> {
    parse_count_within(text, 1, 1_000_000)
}

impl Arguments {
    /// Runs the request and returns the results as text, and whether every answer was right.
    ///
    /// # Errors
    /// [`Error::Input`] when the request was wrong, [`Error::Run`] when it failed.
    pub(crate) fn run(&self) -> Result<(String, bool)> {
        let progress = Progress::stderr();
        if cfg!(not(feature = "duckdb")) {
            progress.note("this program was built without DuckDB: Weft is measured alone");
        }
        let comparison = run(&self.request()?, &progress)?;
        let text = report::text(self.format, &comparison)?;
        Ok((text, comparison.verified()))
    }

    fn request(&self) -> Result<Request> {
        // The numbers were checked against their bounds when they were parsed.
        let checked =
            |count: u64| u32::try_from(count).map_err(|error| Error::input(error.to_string()));
        Ok(Request {
            values: checked(self.values)?,
            rows: checked(self.rows)?,
            lists: Lists {
                values: self.values,
                len: self.list as usize,
                is_sorted: self.sorted,
                absent_percent: self.absent_percent,
                seed: self.seed,
            },
            batches: checked(self.batches)?,
            repeats: checked(self.repeats)?,
            in_flight: self.in_flight as usize,
            #[cfg(feature = "duckdb")]
            threads: self.threads(),
            #[cfg(feature = "duckdb")]
            forms: self.forms(),
        })
    }

    /// Returns numbers of threads, each once.
    #[cfg(feature = "duckdb")]
    fn threads(&self) -> Vec<usize> {
        let mut threads: Vec<usize> = self
            .threads
            .iter()
            .map(|&threads| threads as usize)
            .collect();
        if threads.is_empty() {
            threads = vec![1, bench::machine::cores()];
        }
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Returns forms, each once.
    #[cfg(feature = "duckdb")]
    fn forms(&self) -> Vec<super::duckdb::Form> {
        let mut forms = self.forms.clone();
        if forms.is_empty() {
            forms = super::duckdb::Form::ALL.to_vec();
        }
        forms.sort();
        forms.dedup();
        forms
    }
}
