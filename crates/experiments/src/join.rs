//! Index joins: many lookups in one structure, by every technique that hides their cache misses.
//!
//! The experiments are those of paper 003 (section 5), and its proposals beyond them (section 6). A
//! *structure* is built whose answers are known by construction: a sorted array, a CSB+-tree over
//! an unsorted one, hash tables, dictionary-encoded columns. *Contenders* then answer lists of
//! keys, one technique each, and [`measure`] reports the time of a lookup.
//!
//! Method of measurement:
//! - A list is drawn anew for each contender and each time, so no cache remembers it from the
//!   contender before.
//! - In each repeat contenders take turns, list by list, beginning with another one each time; the
//!   median over its lists is the result of a repeat. Ratios are taken within a repeat.
//! - Techniques with a group size are tried with each size beforehand, on lists of their own; the
//!   best is then measured, as in the paper.
//! - Answers are verified after every list, outside its measured time.
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

/// Settings of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The experiments, run one after another.
    pub experiments: Vec<Experiment>,
    /// Sizes of the structures in bytes, growing.
    pub bytes: Vec<u64>,
    /// Type of the keys.
    pub keys: Keys,
    /// Numbers of keys looked up at once.
    pub lists: Vec<u64>,
    /// Whether lists are sorted before they are looked up.
    pub is_sorted: bool,
    /// Share of keys that are absent, in percent.
    pub absent_percent: f64,
    /// Techniques to compare; each experiment takes those of them that apply to it.
    pub techniques: Vec<Technique>,
    /// Group sizes to choose the best of.
    pub groups: Vec<u64>,
    /// Rows of the columns that are queried.
    pub rows: u64,
    /// Number of lists that each contender answers in each repeat.
    pub batches: u32,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Bounds of a structure's size in bytes: codes of 32 bits must tell its entries apart.
const BYTES: RangeInclusive<u64> = 1 << 10..=8 << 30;
/// Most keys in a list.
const LIST_MAX: u64 = 1 << 24;
/// Most rows of a column.
const ROWS_MAX: u64 = 1 << 31;
/// Keys in a list for experiments that do not vary the length of lists.
const LIST: u64 = 10_000;

impl Settings {
    /// Checks that the settings can be measured.
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

    /// Checks that a chart can show the settings.
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

    /// Returns a line that says what is measured.
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

    /// Returns the length of lists for experiments that do not vary it: 10,000 keys if that is
    /// among the lengths asked for, otherwise the first of them.
    fn list(&self) -> usize {
        let list = self.lists.iter().find(|&&list| list == LIST);
        *list.unwrap_or(&self.lists[0]) as usize
    }

    /// Returns lists of the length [`Self::list`] over `values` sorted values.
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

/// Results of one technique on one structure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Join {
    /// Always `"join"`, as every result names its benchmark.
    pub benchmark: &'static str,
    /// The experiment.
    pub experiment: Experiment,
    /// Name of the structure.
    pub structure: &'static str,
    /// The technique.
    pub mode: Technique,
    /// Type of the keys.
    pub keys: Keys,
    /// Bytes of the structure: of an array, a table, or the values of a dictionary; other parts of
    /// it come on top.
    pub bytes: u64,
    /// Entries of the structure.
    pub entries: u64,
    /// Rows of the column; `None` for other structures.
    pub rows: Option<u64>,
    /// Keys looked up at once; for a build, keys inserted at once.
    pub list: usize,
    /// Whether the keys were sorted before.
    pub is_sorted: bool,
    /// Lookups in flight; `None` for one after another. For the automatic choice, the last number
    /// chosen.
    pub group: Option<usize>,
    /// Whether the group size was the best of several.
    pub is_best_group: bool,
    /// Number of repeats.
    pub repeats: u32,
    /// Lookups per second.
    pub operations_per_second: f64,
    /// Median, least and greatest lookups per second over the repeats.
    pub operations_per_second_spread: Spread,
    /// Nanoseconds of a lookup, or of a query for each key in its list.
    pub nanoseconds_per_lookup: Spread,
    /// Part of the nanoseconds in which the list is encoded; `None` if the experiment is no query.
    pub encode_nanoseconds_per_lookup: Option<Spread>,
    /// Part of the nanoseconds in which rows are searched for the codes; `None` if the experiment
    /// is no query.
    pub scan_nanoseconds_per_lookup: Option<Spread>,
    /// Speed as a multiple of the sequential technique's. `None` without a sequential technique,
    /// and for it.
    pub times_sequential: Option<Spread>,
    /// The sequential technique.
    pub sequential_mode: Option<Technique>,
    /// Time of a lookup relative to that in the smallest structure, divided by the ratio of the
    /// logarithms of their entries: 1 where memory does not matter. `None` for the smallest
    /// structure, and where lookups do not take a logarithmic number of steps.
    pub growth_beyond_logarithm: Option<f64>,
    /// Random independent cache lines of the same memory that the machine loads per second.
    pub limit_lines_per_second: Option<f64>,
    /// Group size that the cost model estimates.
    pub group_estimate: Option<usize>,
    /// Costs that the estimate is made from: nanoseconds of a lookup sequentially, in the cache,
    /// and interleaved in the cache.
    pub costs_ns: Option<[f64; 3]>,
    /// Whether every answer was right.
    pub verified: bool,
}

/// Results of [`measure`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Results of experiments that measure: each technique on each structure.
    Measured(Vec<Join>),
    /// Results of [`Experiment::Lines`].
    Counted(Vec<Lines>),
}

impl Outcome {
    /// Returns whether every answer was right.
    pub fn is_verified(&self) -> bool {
        match self {
            Self::Measured(results) => results.iter().all(|one| one.verified),
            Self::Counted(_) => true,
        }
    }
}

/// Runs the experiments of `settings`.
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
