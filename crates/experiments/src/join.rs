//! Index joins: many lookups in one structure, by every technique that hides their cache misses.
//!
//! The experiments are those of paper 003 (section 5), and what it proposes beyond them (section 6).
//! A *structure* is built whose answers are known by construction: a sorted array, a CSB+-tree
//! over an unsorted one, hash tables, dictionary-encoded columns. *Contenders* then answer lists of
//! keys, one technique each, and [`measure`] says what a lookup took.
//!
//! How it is measured:
//! - A list is drawn anew for each contender and each time, so that no cache remembers it from the
//!   contender before.
//! - In each repeat contenders take turns, list by list, beginning with another one each time; what
//!   counts of a repeat is the median over its lists. Ratios are taken within a repeat.
//! - Techniques with a group size are tried with each beforehand, on lists of their own; the best
//!   is then measured, as in the paper.
//! - Answers are verified after every list, out of its time.
//! - The machine's limit, random independent lines of the same memory, is measured in each
//!   repeat, except where the memory is not one array.

use std::ops::RangeInclusive;

use serde::Serialize;

use bench::measure::Spread;
use commands::number::{bytes_text, within};
use commands::progress::Progress;
use commands::{Error, Result};

mod array;
mod arrival;
mod bodies;
mod choice;
mod compete;
mod csb;
#[cfg(test)]
mod example;
mod experiment;
mod growth;
mod hash;
mod in_predicate;
mod keys;
mod lines;
mod permutation;
mod population;
mod report;
mod small;
mod technique;

pub use choice::Keys;
pub use experiment::Experiment;
pub use lines::Lines;
pub use population::{Lists, Population, sorted_value};
pub use report::{chart, report};
pub use technique::Technique;

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The experiments, one after the other.
    pub experiments: Vec<Experiment>,
    /// Bytes of the structures, growing.
    pub bytes: Vec<u64>,
    /// What keys are.
    pub keys: Keys,
    /// Keys looked up at once.
    pub lists: Vec<u64>,
    /// Whether lists are sorted before they are looked up.
    pub is_sorted: bool,
    /// How many of 100 keys are absent.
    pub absent_percent: f64,
    /// Techniques to compare; each experiment takes those that it has.
    pub techniques: Vec<Technique>,
    /// Group sizes to choose the best of.
    pub groups: Vec<u64>,
    /// Rows of the columns that are queried.
    pub rows: u64,
    /// Lists that each contender answers in each repeat.
    pub batches: u32,
    /// Repeats, at least 1.
    pub repeats: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Bytes that a structure can have: what has more entries than a code of 32 bits can tell apart
/// is refused.
const BYTES: RangeInclusive<u64> = 1 << 10..=8 << 30;
/// Most keys in a list.
const LIST_MAX: u64 = 1 << 24;
/// Most rows of a column.
const ROWS_MAX: u64 = 1 << 31;
/// Keys in a list for experiments that are not about it.
const LIST: u64 = 10_000;

impl Settings {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`Error::Input`] that says what to give instead.
    pub fn check(&self) -> Result<()> {
        let named = |what: &str, is_empty: bool| {
            if is_empty {
                return Err(Error::input(format!("{what} names nothing; give one")));
            }
            Ok(())
        };
        named("--experiment", self.experiments.is_empty())?;
        named("--bytes", self.bytes.is_empty())?;
        named("--list", self.lists.is_empty())?;
        named("--techniques", self.techniques.is_empty())?;
        named("--groups", self.groups.is_empty())?;
        if self.experiments.contains(&Experiment::Lines) && self.experiments.len() > 1 {
            return Err(Error::input(
                "lines counts and does not measure; ask for it alone with --experiment lines",
            ));
        }
        if let Some(bytes) = self.bytes.iter().find(|bytes| !BYTES.contains(bytes)) {
            return Err(Error::input(format!(
                "--bytes {bytes} is out of range; give {} to {}",
                bytes_text(*BYTES.start()),
                bytes_text(*BYTES.end())
            )));
        }
        if !self.bytes.is_sorted() {
            return Err(Error::input("--bytes must grow; give 1Mi,256Mi"));
        }
        for &list in &self.lists {
            within("--list", list, LIST_MAX)?;
        }
        for &group in &self.groups {
            within(
                "--groups",
                group,
                interleave::Execution::IN_FLIGHT_MAX as u64,
            )?;
        }
        within("--rows", self.rows, ROWS_MAX)?;
        within("--batches", u64::from(self.batches), 1 << 20)?;
        if self.repeats == 0 {
            return Err(Error::input("--repeats 0 measures nothing; give 1 or more"));
        }
        Ok(())
    }

    /// Refuses what no chart can show.
    ///
    /// # Errors
    /// [`Error::Input`] when there is not exactly one experiment, or it measures nothing.
    pub fn check_chart(&self) -> Result<()> {
        match self.experiments.as_slice() {
            [one] if *one != Experiment::Lines => Ok(()),
            _ => Err(Error::input(
                "a chart shows one experiment that measures; name one with --experiment",
            )),
        }
    }

    /// One line that says what is measured.
    pub fn description(&self) -> String {
        let experiments: Vec<_> = self.experiments.iter().map(|one| one.name()).collect();
        format!(
            "join: {}, keys {}, {} lists in each of {} repeats, {} % of keys absent, seed {}",
            experiments.join(", "),
            self.keys.name(),
            self.batches,
            self.repeats,
            self.absent_percent,
            self.seed
        )
    }

    /// The size of list for experiments that are not about it: 10,000 keys if that is among
    /// those asked for, otherwise the first.
    fn list(&self) -> usize {
        let list = self.lists.iter().find(|&&list| list == LIST);
        *list.unwrap_or(&self.lists[0]) as usize
    }

    /// Lists of that size over so many sorted values.
    fn lists_of(&self, values: u64) -> Lists {
        Lists {
            values,
            len: self.list(),
            is_sorted: self.is_sorted,
            absent_percent: self.absent_percent,
            seed: self.seed,
        }
    }
}

/// What one technique came to in one structure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Join {
    /// Always `"join"`, as every result names its benchmark.
    pub benchmark: &'static str,
    /// The experiment.
    pub experiment: Experiment,
    /// What was looked up in.
    pub structure: &'static str,
    /// The technique.
    pub mode: Technique,
    /// What keys are.
    pub keys: Keys,
    /// Bytes of the structure: of an array, a table, or the values of a dictionary; what else
    /// belongs to it comes on top.
    pub bytes: u64,
    /// Its entries.
    pub entries: u64,
    /// Rows of the column; `None`: it is no column.
    pub rows: Option<u64>,
    /// Keys looked up at once; for a build, those inserted.
    pub list: usize,
    /// Whether they were sorted before.
    pub is_sorted: bool,
    /// Lookups in flight; `None`: one after the other. Of the automatic choice, the last one.
    pub group: Option<usize>,
    /// Whether it was the best of several.
    pub is_best_group: bool,
    /// Repeats.
    pub repeats: u32,
    /// Lookups per second.
    pub operations_per_second: f64,
    /// Median, least and greatest of them over the repeats.
    pub operations_per_second_spread: Spread,
    /// Nanoseconds of a lookup, or of a query for each key in its list.
    pub nanoseconds_per_lookup: Spread,
    /// The part of them that encodes the list; `None`: not a query.
    pub encode_nanoseconds_per_lookup: Option<Spread>,
    /// The part of them that searches rows for the codes; `None`: not a query.
    pub scan_nanoseconds_per_lookup: Option<Spread>,
    /// How many times the speed of the sequential execution. `None` without that, and for it.
    pub times_sequential: Option<Spread>,
    /// Which technique that is.
    pub sequential_mode: Option<Technique>,
    /// Time of a lookup against that in the smallest structure, over the same of the logarithms of
    /// their entries: 1 where memory does not matter. `None` for the smallest, and where lookups
    /// take no logarithm of steps.
    pub growth_beyond_logarithm: Option<f64>,
    /// Random independent cache lines of the same memory that the machine loads per second.
    pub limit_lines_per_second: Option<f64>,
    /// What the cost model says the group size should be.
    pub group_estimate: Option<usize>,
    /// What it was told: nanoseconds of a lookup sequentially, in the cache, and interleaved
    /// there.
    pub costs_ns: Option<[f64; 3]>,
    /// Whether every answer was right.
    pub verified: bool,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Of experiments that measure: each technique on each structure.
    Measured(Vec<Join>),
    /// Of [`Experiment::Lines`].
    Counted(Vec<Lines>),
}

impl Outcome {
    /// Whether every answer was right.
    pub fn is_verified(&self) -> bool {
        match self {
            Self::Measured(results) => results.iter().all(|one| one.verified),
            Self::Counted(_) => true,
        }
    }
}

/// Carries the experiments out.
///
/// # Errors
/// [`Error::Input`] when the settings cannot be measured, [`Error::Run`] when a structure cannot be
/// built.
pub fn measure(settings: &Settings, progress: &Progress) -> Result<Outcome> {
    settings.check()?;
    if settings.experiments.contains(&Experiment::Lines) {
        return Ok(Outcome::Counted(lines::count()));
    }
    let mut results = Vec::new();
    for &experiment in &settings.experiments {
        let of = experiment.measure(settings, progress)?;
        if of.is_empty() {
            return Err(Error::input(format!(
                "{} has none of the --techniques; name others",
                experiment.name()
            )));
        }
        results.extend(of);
    }
    growth::beyond_logarithm(&mut results);
    Ok(Outcome::Measured(results))
}

#[cfg(test)]
mod tests;
