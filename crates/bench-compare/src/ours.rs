//! Weft, measured by the subject of crate `bench`: closed loops on the database's
//! own workers, through its public interface.
//!
//! This is the only file that knows how Weft is opened.

use std::ops::Range;

use bench::measure::Durability;
use bench::subject::{RawRun, Run, Subject, weft_subject_with};
use commands::Result;
use commands::number::bytes_text;
use commands::progress::Step;
use weft::Options;

use crate::engine::{Engine, Setup};

/// Describes the set-up of Weft: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    let options = options(setup);
    let durability = match setup.durability {
        Durability::Synchronous => format!(
            "Durability::Synchronous, commits share a write within {} us",
            options.storage.group_commit_us
        ),
        Durability::Relaxed => format!(
            "Durability::Relaxed, on the way to the device within {} us",
            options.storage.relaxed_us
        ),
        Durability::None | Durability::Memory => {
            "Durability::None, the log written as buffers fill".to_owned()
        }
    };
    let memory = setup.memory_bytes.map_or_else(String::new, |bytes| {
        format!(
            "; a ceiling of {} on memory, and the cold tier",
            bytes_text(bytes)
        )
    });
    format!(
        "{durability}{memory}; snapshot isolation; {} workers, each on a core of its own, each with {} \
         clients, of whose transactions {} are in flight between waits for the device",
        setup.plan.comparison.workers,
        options.open_transactions_max,
        setup.plan.comparison.in_flight
    )
}

fn options(setup: &Setup<'_>) -> Options {
    let mut options = Options {
        data_dir: Some(setup.directory.to_owned()),
        open_transactions_max: setup.weft_clients.div_ceil(setup.plan.comparison.workers),
        ..Options::default()
    };
    if let Some(bytes) = setup.memory_bytes {
        options.memory_bytes_max = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
        options.storage.cold_tier = true;
    }
    options.storage.relaxed_us = u32::try_from(setup.window.as_micros()).unwrap_or(u32::MAX);
    options
}

/// Opens Weft for the plan.
///
/// # Errors
/// [`commands::Error::Run`] when the database cannot be opened.
pub(crate) fn open(setup: &Setup<'_>) -> Result<impl Engine + use<>> {
    let subject = weft_subject_with(setup.plan, options(setup))?;
    Ok(WeftEngine { subject })
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
        self.subject.run(run)
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
