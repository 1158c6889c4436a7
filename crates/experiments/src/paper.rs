//! The published experiments that can be repeated with Weft: those of CoroBase (paper 000) and of
//! MosaicDB (paper 001).
//!
//! An [`Experiment`] is data: the quantity that is varied ([`Axis`]), the executions that are
//! compared ([`Series`]), its size on a small machine ([`Experiment::plans`]), and the figures that
//! its authors published ([`Published`]). [`run()`] repeats it with Weft and gives [`Findings`],
//! which are written as tables and rows ([`output`]), drawn ([`drawing`]) and set beside the
//! published figures on a page ([`report`]).
//!
//! The published numbers are those of other engines on larger machines. Ratios between series are
//! therefore compared; they are taken within each repeat. If a figure of the paper shows a curve
//! whose values its text does not give, only the text is quoted.

use bench::comparison::Asked;
use bench::measure::{Flusher, InFlight, Isolation, Measurement};
use bench::mode::Mode;
use commands::number::{bytes_text, short_count};
use commands::{Error, Result};

mod corobase;
pub mod drawing;
mod findings;
mod mosaicdb;
pub mod output;
mod planned;
mod published;
pub mod report;
mod run;
mod settings;
mod workloads;

pub use findings::{Findings, Point};
use planned::Asks;
pub use planned::Planned;
pub use published::{At, Published, Value};
pub use run::run;
pub use settings::Settings;

/// A publication with experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// High-performance in-memory transactions as coroutines.
    CoroBase,
    /// Four latencies hidden.
    MosaicDb,
}

impl Paper {
    /// Every paper, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::CoroBase, Self::MosaicDb];

    /// Returns the name of the paper's engine.
    pub fn name(self) -> &'static str {
        match self {
            Self::CoroBase => "CoroBase",
            Self::MosaicDb => "MosaicDB",
        }
    }

    /// Returns the number that experiments are named after.
    pub fn number(self) -> &'static str {
        match self {
            Self::CoroBase => "000",
            Self::MosaicDb => "001",
        }
    }

    /// Returns the authors, the title and the place of publication.
    pub fn citation(self) -> &'static str {
        match self {
            Self::CoroBase => {
                "Yongjun He: High-Performance In-Memory OLTP via Coroutine-to-Transaction. \
                 Thesis, Simon Fraser University, 2021"
            }
            Self::MosaicDb => {
                "Kaisong Huang, Tianzheng Wang, Qingqing Zhou, Qingzhong Meng: The Art of \
                 Latency Hiding in Modern Database Engines. PVLDB 17(3), 2023"
            }
        }
    }

    /// Returns a description of the paper's machine.
    pub fn machine(self) -> &'static str {
        match self {
            Self::CoroBase => {
                "two Intel Xeon Gold 6252, 48 cores in all, 2.1 GHz (3.7 GHz boosted), 35.75 MB \
                 of last-level cache each, 384 GB of memory (section 5.1)"
            }
            Self::MosaicDb => {
                "two Intel Xeon Gold 6342, 48 cores in all, 2.8 GHz (3.5 GHz boosted), 36 MB of \
                 last-level cache each, 256 GB of memory, no hyperthreading (section 6.1)"
            }
        }
    }

    /// Returns the figures and tables of the paper's evaluation that are no experiment here, each
    /// with the reason.
    pub fn left_out(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::CoroBase => corobase::LEFT_OUT,
            Self::MosaicDb => mosaicdb::LEFT_OUT,
        }
    }
}

/// The measured quantity that an experiment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Operations per second.
    Operations,
    /// Transactions per second.
    Transactions,
    /// Median latency of the transactions.
    Latency,
}

impl Quantity {
    /// Returns the value of the quantity in one measurement.
    pub fn of(self, measurement: &Measurement) -> f64 {
        match self {
            Self::Operations => measurement.operations_per_second,
            Self::Transactions => measurement.transactions_per_second,
            Self::Latency => measurement.latency_ns.p50 as f64,
        }
    }

    /// Returns the name of the quantity, with the unit that people read it in.
    pub fn title(self) -> &'static str {
        match self {
            Self::Operations => "million operations per second",
            Self::Transactions => "thousand transactions per second",
            Self::Latency => "time of a transaction in microseconds (p50)",
        }
    }

    /// Converts a value into that unit.
    pub fn readable(self, value: f64) -> f64 {
        match self {
            Self::Operations => value / 1e6,
            Self::Transactions | Self::Latency => value / 1e3,
        }
    }
}

/// The quantity that is varied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Name in rows.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Values, ascending.
    pub values: &'static [f64],
}

/// Name of the axis whose values grow and shrink with the experiment.
const RECORDS: &str = "records";

impl Axis {
    /// Returns the values for an experiment of this scale, ascending, each once.
    pub fn points(&self, scale: f64) -> Vec<f64> {
        let mut points = self.values.to_vec();
        if self.name == RECORDS {
            for point in &mut points {
                *point = settings::scaled(*point as u64, scale) as f64;
            }
            points.dedup();
        }
        points
    }

    /// Returns `value` as people write it.
    pub fn label(&self, value: f64) -> String {
        match self.name {
            RECORDS => short_count(value as u64),
            "value_bytes" | "key_bytes" => bytes_text(value as u64),
            _ => value.to_string(),
        }
    }
}

/// One of the executions that an experiment compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Series {
    /// Name of its counterpart in the paper, if it has one.
    pub paper: Option<&'static str>,
    /// Execution of the transactions.
    pub mode: Mode,
    /// Isolation level of the transactions.
    pub isolation: Isolation,
    /// Number of transactions in flight, where it differs from the experiment's.
    pub in_flight: Option<u32>,
    /// Threads that write the log, where there is one.
    pub flusher: Option<Flusher>,
}

impl Series {
    const fn of(mode: Mode, paper: &'static str) -> Self {
        Self {
            paper: Some(paper),
            mode,
            isolation: Isolation::Snapshot,
            in_flight: None,
            flusher: None,
        }
    }

    const fn new(mode: Mode) -> Self {
        Self {
            paper: None,
            mode,
            isolation: Isolation::Snapshot,
            in_flight: None,
            flusher: None,
        }
    }

    const fn serializable(self) -> Self {
        Self {
            isolation: Isolation::Serializable,
            ..self
        }
    }

    const fn in_flight(self, in_flight: u32) -> Self {
        Self {
            in_flight: Some(in_flight),
            ..self
        }
    }

    const fn flushed_by(self, flusher: Flusher) -> Self {
        Self {
            flusher: Some(flusher),
            ..self
        }
    }

    /// Returns the name in results: the mode, and the properties that tell the series from others.
    pub fn name(&self) -> String {
        let mut name = self.with_isolation(self.mode.name());
        if let Some(in_flight) = self.in_flight {
            name = format!("{name}, {in_flight} in flight");
        }
        if let Some(flusher) = self.flusher {
            name = format!("{name}, log by {}", flusher.name());
        }
        name
    }

    /// Returns `name` and the isolation level, unless that is the usual one.
    fn with_isolation(&self, name: &str) -> String {
        match self.isolation {
            Isolation::Snapshot => name.to_owned(),
            other => format!("{name} {}", other.name()),
        }
    }

    /// Returns whether a measurement of the experiment is one of this series.
    pub fn has(&self, measurement: &Measurement) -> bool {
        self.mode == measurement.mode
            && self.isolation == measurement.isolation
            && self.flusher == measurement.flusher
            && self.runs_in(measurement.in_flight)
    }

    /// Returns whether the series is measured where this number of transactions is in flight.
    fn runs_in(&self, in_flight: InFlight) -> bool {
        self.in_flight
            .is_none_or(|own| in_flight == InFlight::Fixed(own))
    }
}

/// One figure or table of a paper as a benchmark.
#[derive(Debug)]
pub struct Experiment {
    /// Id of the experiment on the command line: the paper's number and the figure's.
    pub id: &'static str,
    /// The paper in which it was published.
    pub paper: Paper,
    /// Section of the paper that describes it.
    pub section: &'static str,
    /// Figure or table of the paper that has its results.
    pub figure: &'static str,
    /// Subject of the experiment.
    pub title: &'static str,
    /// Quantity that is varied.
    pub x: Axis,
    /// Executions that are compared, in the order of reports; the others are measured against the
    /// first.
    pub series: &'static [Series],
    /// Quantity that is measured.
    pub quantity: Quantity,
    /// Whether the paper shows the quantity as a multiple of the first series.
    pub relative: bool,
    /// Finding of the paper, in a sentence.
    pub finding: &'static str,
    /// Numbers that the paper's text gives.
    pub published: &'static [Published],
    /// Differences of our set-up, beside the machine, in a sentence or two.
    pub differences: &'static str,
    /// Request to the engine at a value of the axis, at scale 1, except for the series.
    asks: Asks,
}

/// Returns every experiment, in the order of the papers.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    corobase::experiments().chain(mosaicdb::EXPERIMENTS)
}

/// Returns the experiments of the given ids, in the order of the papers, each once; all of them for
/// `all`.
///
/// # Errors
/// [`Error::Input`] that lists the known ones, for an unknown id.
pub fn named(ids: &[String]) -> Result<Vec<&'static Experiment>> {
    if let Some(unknown) = ids
        .iter()
        .find(|id| *id != "all" && all().all(|experiment| experiment.id != **id))
    {
        let known: Vec<_> = all().map(|experiment| experiment.id).collect();
        return Err(Error::input(format!(
            "there is no experiment `{unknown}`; choose from all, {}",
            known.join(", ")
        )));
    }
    let asked = |id: &str| ids.iter().any(|asked| asked == id || asked == "all");
    Ok(all().filter(|experiment| asked(experiment.id)).collect())
}

impl Experiment {
    /// Returns the runs at each value of the axis. Series that differ in the number in flight need
    /// a run for each; those that have one transaction in flight are in all of these, so that
    /// ratios against them can be taken within each repeat.
    ///
    /// # Errors
    /// [`Error::Input`] for settings out of range, and where the machine is too small.
    pub fn plans(&self, settings: &Settings) -> Result<Vec<(f64, Vec<Planned>)>> {
        settings.check()?;
        let mut depths: Vec<_> = self.series.iter().map(|series| series.in_flight).collect();
        depths.retain(Option::is_some);
        depths.dedup();
        if depths.is_empty() {
            depths.push(None);
        }
        let points = self.x.points(settings.scale).into_iter();
        let plans = points.map(|x| {
            let plans = depths
                .iter()
                .map(|&in_flight| self.plan(settings, x, in_flight));
            Ok((x, plans.collect::<Result<_>>()?))
        });
        plans.collect()
    }

    fn plan(&self, settings: &Settings, x: f64, in_flight: Option<u32>) -> Result<Planned> {
        self.asks.plan(self.x.name, x, settings.scale, |asked| {
            let in_flight = in_flight.map_or(asked.in_flight, InFlight::Fixed);
            let runs = |series: &&Series| series.runs_in(in_flight);
            let series: Vec<_> = self.series.iter().filter(runs).collect();
            Asked {
                modes: series.iter().map(|series| series.mode).collect(),
                isolations: series.iter().map(|series| series.isolation).collect(),
                flushers: series.iter().filter_map(|series| series.flusher).collect(),
                in_flight,
                seconds: settings.seconds,
                repeats: settings.repeats.into(),
                seed: settings.seed,
                ..asked
            }
        })
    }

    /// Returns the place in the paper that the experiment is from.
    pub fn source(&self) -> String {
        format!(
            "{}, {} (section {})",
            self.paper.name(),
            self.figure,
            self.section
        )
    }
}

#[cfg(test)]
mod tests;
