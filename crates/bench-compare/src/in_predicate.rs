//! A query with an IN-predicate, on Weft's columns and on an analytical engine: from a list of
//! values to the numbers of the rows that have one of them, or to their count.
//!
//! Parts of the module: the request ([`arguments`]), the contenders ([`ours`], [`duckdb`]), turns
//! and checks ([`run`]), the results ([`results`], [`report`]). Data and lists are those of
//! `weft-bench join` (crate `experiments`): distinct integers, to which rows refer at random.
//!
//! Method of measurement:
//! - Both engines have the same column in memory, in the same process.
//! - First all contenders answer one list, and have to find the same rows. Then, repeat by repeat
//!   and list by list, they take turns, beginning with another one each time.
//! - Each turn has a list of its own, so no cache remembers it from the contender before. Every
//!   answer is compared with the right rows, outside the measured time.
//! - The result of a repeat is the median over its lists. Ratios are taken within a repeat.

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

/// Answers that a query can return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The numbers of the rows, in memory of the caller's.
    Rows,
    /// The count of the rows.
    Count,
}

impl Answer {
    /// Both answers.
    const ALL: [Self; 2] = [Self::Rows, Self::Count];

    /// Returns the name used in results.
    fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Count => "count",
        }
    }
}

/// Work of an engine on a list before the query can run, as part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(
    not(feature = "duckdb"),
    allow(dead_code, reason = "Weft reads lists where they are")
)]
pub(crate) enum Taken {
    /// No work: the engine was given the list before, or the list is an array that the query reads.
    Ready,
    /// Binding the list to a prepared query.
    Bound,
    /// Inserting the list into a table.
    Inserted,
    /// Parsing the list as part of the query's text.
    Parsed,
}

impl Taken {
    /// Returns the name used in results.
    fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Bound => "bound",
            Self::Inserted => "inserted",
            Self::Parsed => "parsed",
        }
    }
}

/// Request for a comparison. Every number is within its bounds.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Distinct values of the column.
    values: u32,
    /// Rows of the column.
    rows: u32,
    /// Lists of values.
    lists: Lists,
    /// Number of lists that each contender answers in each repeat.
    batches: u32,
    /// Number of repeats.
    repeats: u32,
    /// Numbers of threads of the other engine.
    #[cfg(feature = "duckdb")]
    threads: Vec<usize>,
    /// Forms in which the other engine is asked.
    #[cfg(feature = "duckdb")]
    forms: Vec<duckdb::Form>,
    /// Number of Weft's lookups that are under way at once, where that is fixed.
    in_flight: usize,
}

/// Identity of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    /// The engine.
    pub(crate) engine: &'static str,
    /// Form in which the engine answers.
    pub(crate) form: &'static str,
    /// Work on the list that counts towards the time.
    pub(crate) list: Taken,
    /// Number of threads that the engine may use.
    pub(crate) threads: usize,
    /// Answer that the query returns.
    pub(crate) answer: Answer,
}

/// One way to answer lists.
pub(crate) trait Contender {
    fn identity(&self) -> Identity;

    /// Answers a list: returns the number of rows and the time of the query. If the rows are asked
    /// for, leaves their numbers in `rows`, which is empty before, in any order.
    ///
    /// # Errors
    /// [`commands::Error::Run`] when the engine refuses.
    fn answer(&mut self, list: &[u32], rows: &mut Vec<u64>) -> Result<(u64, Duration)>;
}

/// Returns a checksum of the rows that does not depend on their order.
fn checksum(rows: &[u64]) -> u64 {
    let mixed = rows.iter().map(|&row| bench::keys::mix(row));
    mixed.fold(0, u64::wrapping_add)
}

/// Builds the columns and measures.
///
/// # Errors
/// [`commands::Error::Run`] when the memory cannot be allocated or an engine refuses. A wrong
/// answer is no error: the results then have `verified` unset.
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
    /// Number of lists drawn so far.
    number: u64,
}

impl Turns<'_> {
    /// Has all contenders answer the same list, and returns facts that include its right answer.
    /// Wrong answers are found while measuring too, but here the reader sees that all were asked
    /// for one list.
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
                    // The turns rotate, so no contender is always the first.
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

    /// Has one contender answer, and returns its time and whether the answer was right.
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

/// Returns the time of `work`, and its result.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed()))
}

#[cfg(test)]
mod tests;
