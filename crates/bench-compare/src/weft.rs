//! Weft, measured by the subject of crate `bench`: closed loops on the database's
//! own workers, through its public interface.
//!
//! This is the only file that knows how Weft is opened.

use std::ops::Range;

use bench::mode::Mode;
use bench::progress::Step;
use bench::subject::{RawRun, Run, Subject};
use bench::{Error, Result};

use crate::durability::Durability;
use crate::engine::{Engine, Setup};

/// How Weft is set up: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    format!(
        "{} workers, each on a core of its own, {} transactions in flight on each; in memory, \
         snapshot isolation; commits are acknowledged from memory",
        setup.plan.workers, setup.plan.in_flight
    )
}

/// Opens Weft for the plan.
///
/// # Errors
/// [`Error::Input`] for a durability that this version does not have;
/// [`Error::Run`] when the database cannot be opened.
pub(crate) fn open<'a>(setup: &Setup<'a>) -> Result<Box<dyn Engine + 'a>> {
    match setup.durability {
        Durability::None => Ok(Box::new(WeftEngine {
            subject: bench::subject::weft_subject(setup.plan)?,
        })),
        durability => Err(Error::input(format!(
            "this version of weft cannot give {} durability; ask for --durability none, or \
             leave weft out of --engines",
            durability.name()
        ))),
    }
}

struct WeftEngine<S> {
    subject: S,
}

impl<S: Subject> Engine for WeftEngine<S> {
    fn load(&mut self, step: &Step) -> Result<()> {
        self.subject.load(step)
    }

    fn run(&mut self, _threads: usize, run: &Run) -> Result<RawRun> {
        // The workers are those of the plan: clients need no threads.
        self.subject.run(Mode::Interleaved, run)
    }

    fn restore(&mut self, added: Range<u64>) -> Result<()> {
        self.subject.restore(added)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn audit(&mut self) -> Result<bool> {
        // Every answer was checked while it ran; a subject has no way to be read
        // from outside a run.
        Ok(true)
    }
}
