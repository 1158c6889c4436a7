//! Failures of runs, with the data needed to repeat them.

use std::{any::Any, fmt};

use engine::Error;

use crate::{check::Violation, parameters::Parameters};

/// Reason of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The history breaks a rule.
    Violation(Violation),
    /// Tasks do not end, although nothing holds them.
    Stuck(String),
    /// Garbage remains although nobody can need it.
    Garbage(String),
    /// Memory in use is not what the surviving records need.
    Memory(String),
    /// Counters of engine and history disagree.
    Counters(String),
    /// A task panicked, and the panic was not injected.
    Panicked(String),
    /// A database cannot be opened.
    Refused(String),
    /// An acknowledged commit has not survived a crash.
    Lost(String),
    /// The recovered state is not the committed one.
    Recovered(String),
    /// A record that was recovered cannot be read.
    Unreadable(Error),
    /// An index does not agree with its table.
    Index(String),
    /// A column does not hold the values appended.
    Column(String),
    /// The streamed changes are not the committed ones.
    Changes(String),
    /// The run could not be set up or inspected.
    Setup(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Violation(violation) => violation.fmt(f),
            Reason::Stuck(what) => write!(f, "stuck: {what}"),
            Reason::Garbage(what) => write!(f, "garbage remains: {what}"),
            Reason::Memory(what) => write!(f, "memory: {what}"),
            Reason::Counters(what) => write!(f, "counters: {what}"),
            Reason::Panicked(what) => write!(f, "a task panicked: {what}"),
            Reason::Refused(what) => write!(f, "the database cannot be opened: {what}"),
            Reason::Lost(what) => write!(f, "lost: {what}"),
            Reason::Recovered(what) => write!(f, "recovered something else: {what}"),
            Reason::Unreadable(error) => write!(f, "recovered, but {error}"),
            Reason::Index(what) => write!(f, "an index is not its table's: {what}"),
            Reason::Column(what) => write!(f, "a column is not what was appended: {what}"),
            Reason::Changes(what) => write!(f, "streamed something else: {what}"),
            Reason::Setup(what) => write!(f, "the run could not be set up: {what}"),
        }
    }
}

impl Reason {
    /// Converts the payload of a panic.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Reason {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Reason::Panicked(text.unwrap_or("not text").to_owned())
    }
}

/// Parameters of a kind of run, with the way to repeat it.
pub trait Replay: fmt::Display {
    /// Name of the function of this crate that runs them.
    const RUN: &'static str;

    /// Returns the name by which the example `simulate` knows them, if it does.
    fn preset_name(&self) -> Option<&'static str>;
}

/// Writes parameters, with their name.
pub(crate) fn describe<P: Replay + fmt::Debug>(
    parameters: &P,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if let Some(name) = parameters.preset_name() {
        write!(f, "parameter set {name:?}: ")?;
    }
    write!(f, "{parameters:?}")
}

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed<P> {
    /// Seed that shows the failure again.
    pub seed: u64,
    /// Parameters of the run.
    pub parameters: Box<P>,
    /// Reason of the failure.
    pub reason: Reason,
    /// Number of threads of a run that is not repeatable; `None` for a simulated run.
    pub threads: Option<usize>,
}

/// A failed run of a database.
pub type Failure = Failed<Parameters>;

impl<P: Copy> Failed<P> {
    pub(crate) fn new(seed: u64, parameters: &P, reason: Reason) -> Failed<P> {
        Failed {
            seed,
            parameters: Box::new(*parameters),
            reason,
            threads: None,
        }
    }

    /// Returns the failure of a run on so many threads.
    pub(crate) fn on_threads(self, threads: usize) -> Failed<P> {
        Failed {
            threads: Some(threads),
            ..self
        }
    }

    /// Returns the failure of a run that does not end.
    pub(crate) fn endless(seed: u64, parameters: &P) -> Failed<P> {
        let reason = Reason::Stuck("in an endless loop".to_owned());
        Failed::new(seed, parameters, reason)
    }
}

impl<P: Replay> fmt::Display for Failed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failed {
            seed,
            parameters,
            reason,
            threads,
        } = self;
        writeln!(f, "seed {seed}: {reason}")?;
        writeln!(f, "{parameters}")?;
        if let Some(threads) = threads {
            return write!(
                f,
                "not repeatable: sim::run_threads({seed}, {threads}, &parameters) begins the same transactions"
            );
        }
        match parameters.preset_name() {
            Some(name) => write!(
                f,
                "replay: cargo run -p sim --example simulate -- --preset {name} --first {seed} \
                 --seeds 1"
            ),
            None => write!(
                f,
                "replay: sim::{}({seed}, &parameters) with these parameters",
                P::RUN
            ),
        }
    }
}

impl<P: Replay + fmt::Debug> std::error::Error for Failed<P> {}
