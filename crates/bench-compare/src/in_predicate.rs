//! A query with an IN-predicate, Weft's columns beside an analytical engine: from a list of values
//! to the numbers of the rows that have one of them, or to how many these are.
//!
//! What is here: what is asked for ([`arguments`]), the contenders ([`ours`], [`duckdb`]), turns
//! and checks ([`run`]), what they found ([`results`], [`report`]). Data and lists are those of
//! `weft-bench join` (crate `experiments`): distinct integers, to which rows refer at random.
//!
//! How it is measured:
//! - Both engines have the same column in memory, in the same process.
//! - First all contenders answer one list, and have to find the same rows. Then, repeat by repeat
//!   and list by list, they take turns, beginning with another one each time.
//! - Each turn has a list of its own, so that no cache remembers it from the contender before.
//!   Every answer is compared with the rows that the data says, out of its time.
//! - What counts of a repeat is the median over its lists. Ratios are taken within a repeat.

use std::time::{Duration, Instant};

use commands::Result;
use commands::progress::Progress;
use experiments::join::{Lists, Population};
use serde::Serialize;

pub(crate) mod arguments;
#[cfg(feature = "duckdb")]
mod duckdb;
mod ours;
mod report;
mod results;

use results::{Comparison, Facts, Sample};

/// What a query returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The numbers of the rows, in memory of the caller's.
    Rows,
    /// How many rows there are.
    Count,
}

impl Answer {
    /// Both of them.
    const ALL: [Self; 2] = [Self::Rows, Self::Count];

    /// The name used in results.
    fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Count => "count",
        }
    }
}

/// What an engine has to do with a list before it can be looked for, as part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(
    not(feature = "duckdb"),
    allow(dead_code, reason = "Weft reads lists where they are")
)]
pub(crate) enum Taken {
    /// Nothing: it was given to the engine before, or is an array that the query reads.
    Ready,
    /// Binds it to a prepared query.
    Bound,
    /// Inserts it into a table.
    Inserted,
    /// Parses it as part of the query's text.
    Parsed,
}

impl Taken {
    /// The name used in results.
    fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Bound => "bound",
            Self::Inserted => "inserted",
            Self::Parsed => "parsed",
        }
    }
}

/// What is compared. Every number is within its bounds.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Distinct values of the column.
    values: u32,
    /// Its rows.
    rows: u32,
    /// The lists.
    lists: Lists,
    /// Lists that each contender answers in each repeat.
    batches: u32,
    /// Repeats.
    repeats: u32,
    /// Numbers of threads of the other engine.
    #[cfg(feature = "duckdb")]
    threads: Vec<usize>,
    /// How it is asked.
    #[cfg(feature = "duckdb")]
    forms: Vec<duckdb::Form>,
    /// Lookups of Weft's that are under way at once, where that is fixed.
    in_flight: usize,
}

/// Who answers, how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    /// The engine.
    pub(crate) engine: &'static str,
    /// Which of its ways to answer.
    pub(crate) form: &'static str,
    /// What it does with the list within the time.
    pub(crate) list: Taken,
    /// Threads it may use.
    pub(crate) threads: usize,
    /// What it returns.
    pub(crate) answer: Answer,
}

/// One way to answer lists.
pub(crate) trait Contender {
    fn identity(&self) -> Identity;

    /// Answers a list: says how many rows there are and how long it took to find out. Where these
    /// are asked for, leaves their numbers in `rows`, which is empty, in any order.
    ///
    /// # Errors
    /// [`commands::Error::Run`] when the engine refuses.
    fn answer(&mut self, list: &[u32], rows: &mut Vec<u64>) -> Result<(u64, Duration)>;
}

/// What all rows of an answer come to, in whatever order.
fn checksum(rows: &[u64]) -> u64 {
    let mixed = rows.iter().map(|&row| bench::keys::mix(row));
    mixed.fold(0, u64::wrapping_add)
}

/// Builds the columns and measures.
///
/// # Errors
/// [`commands::Error::Run`] when the memory is not to be had or an engine refuses. Wrong answers are
/// no error but `verified: false`.
pub(crate) fn run(request: &Request, progress: &Progress) -> Result<Comparison> {
    let step = progress.step("drawing rows", 1);
    let population = Population::new(request.values, request.rows, request.lists.seed)?;
    step.finish();
    let column = ours::Ours::build(&population, progress)?;
    #[cfg(feature = "duckdb")]
    let other = duckdb::Database::load(&population, request, progress)?;
    let mut contenders = column.contenders(request);
    #[cfg(feature = "duckdb")]
    contenders.extend(other.contenders(request)?);
    let configurations = vec![
        ("weft", column.description(request)),
        #[cfg(feature = "duckdb")]
        ("duckdb", other.description()?),
    ];
    let mut turns = Turns {
        request,
        population: &population,
        rows: Vec::new(),
        number: 0,
    };
    let facts = turns.agree(&mut contenders, progress)?;
    let samples = turns.measure(&mut contenders, progress)?;
    Ok(Comparison {
        facts,
        configurations,
        identities: contenders.iter().map(|one| one.identity()).collect(),
        samples,
    })
}

/// Contenders taking turns.
struct Turns<'r> {
    request: &'r Request,
    population: &'r Population,
    rows: Vec<u64>,
    /// Lists drawn so far.
    number: u64,
}

impl Turns<'_> {
    /// Has all of them answer the same list: the facts have what they all have to find. Who does
    /// not is found out when measured too, but here the reader sees that the list is one.
    fn agree(
        &mut self,
        contenders: &mut [Box<dyn Contender + '_>],
        progress: &Progress,
    ) -> Result<Facts> {
        let step = progress.step("all on one list", contenders.len() as u64);
        let (list, codes) = self.request.lists.draw(0);
        let expected = self.population.rows_of(codes);
        let mut is_one = true;
        for contender in contenders {
            let (_, is_right) = self.turn(contender.as_mut(), &list, &expected)?;
            is_one &= is_right;
            step.advance(1);
        }
        step.finish();
        let found = (expected.len() as u64, checksum(&expected));
        Ok(Facts::new(self.request, found, is_one))
    }

    fn measure(
        &mut self,
        contenders: &mut [Box<dyn Contender + '_>],
        progress: &Progress,
    ) -> Result<Vec<Sample>> {
        let Request {
            repeats, batches, ..
        } = *self.request;
        let count = contenders.len();
        let total = u64::from(repeats) * u64::from(batches) * count as u64;
        let step = progress.step("measuring", total);
        let mut samples = Vec::new();
        for repeat in 0..repeats {
            let mut times = vec![Vec::new(); count];
            let mut is_right = vec![true; count];
            for batch in 0..batches {
                for turn in 0..count {
                    // None is always the first.
                    let at = (turn + (repeat + batch) as usize) % count;
                    self.number += 1;
                    let (list, codes) = self.request.lists.draw(self.number);
                    let expected = self.population.rows_of(codes);
                    let (time, right) = self.turn(contenders[at].as_mut(), &list, &expected)?;
                    times[at].push(time.as_secs_f64() * 1e3);
                    is_right[at] &= right;
                    step.advance(1);
                }
            }
            let all = times.iter().zip(is_right).enumerate();
            samples.extend(all.map(|(contender, (times, verified))| Sample {
                contender,
                repeat,
                milliseconds: bench::measure::Spread::of(times).median,
                verified,
            }));
        }
        step.finish();
        Ok(samples)
    }

    /// One answer: how long it took and whether it was right.
    fn turn(
        &mut self,
        contender: &mut dyn Contender,
        list: &[u32],
        expected: &[u64],
    ) -> Result<(Duration, bool)> {
        self.rows.clear();
        let (count, time) = contender.answer(list, &mut self.rows)?;
        let is_right = match contender.identity().answer {
            Answer::Count => true,
            Answer::Rows => {
                self.rows.sort_unstable();
                self.rows == expected
            }
        };
        Ok((time, is_right && count == expected.len() as u64))
    }
}

/// How long something took, and what came of it.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed()))
}

#[cfg(test)]
mod tests;
