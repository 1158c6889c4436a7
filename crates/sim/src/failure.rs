//! How a run can fail, and what a person needs to see it again.

use std::fmt;

use engine::Error;

use crate::{check::Violation, parameters::Parameters};

/// What went wrong.
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
    /// A task panicked, and nobody made it.
    Panicked(String),
    /// A database cannot be opened.
    Refused(String),
    /// What was acknowledged has not survived a crash.
    Lost(String),
    /// What was recovered is not what was committed.
    Recovered(String),
    /// A record that was recovered cannot be read.
    Unreadable(Error),
    /// An index is not its table's.
    Index(String),
    /// A column is not what was appended.
    Column(String),
    /// What was streamed is not what was committed.
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

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed that shows it again.
    pub seed: u64,
    /// With these parameters.
    pub parameters: Box<Parameters>,
    /// What went wrong.
    pub reason: Reason,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.reason)?;
        writeln!(f, "{}", self.parameters)?;
        match self.parameters.preset_name() {
            Some(name) => write!(
                f,
                "replay: cargo run -p sim --example simulate -- --preset {name} --first {} --seeds 1",
                self.seed
            ),
            None => write!(
                f,
                "replay: sim::run({}, &parameters) with these parameters",
                self.seed
            ),
        }
    }
}

impl std::error::Error for Failure {}
