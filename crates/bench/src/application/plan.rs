//! How to run an application: as asked ([`Options`]), and checked ([`Plan`]).

use std::time::Duration;

use crate::measure::{Certifier, ConflictPolicy, Durability, InFlight, Isolation};
use crate::mode::Mode;
use crate::number::check_seconds;
use crate::plan::{certifiers, each_once, within};
use crate::runner::Turns;
use crate::variant::Variant;
use crate::{Error, Result};

/// How to run an application, as asked for. Empty lists stand for the default.
#[derive(Clone, Debug)]
pub struct Options {
    /// Modes to compare; all that applications have when empty.
    pub modes: Vec<Mode>,
    /// Isolation levels to compare; snapshot when empty.
    pub isolations: Vec<Isolation>,
    /// Certifiers to compare; the serial safety net when empty.
    pub certifiers: Vec<Certifier>,
    /// Durabilities to compare, for a database in a directory; none in memory.
    pub durabilities: Vec<Durability>,
    /// Whether transactions that only read say so.
    pub declare_read_only: bool,
    /// What transactions do that meet each other.
    pub on_conflict: ConflictPolicy,
    /// Worker threads.
    pub workers: u64,
    /// Transactions in flight per worker, in modes that have several.
    pub in_flight: InFlight,
    /// Transactions per second that are due, of all workers together; without, as many
    /// as go.
    pub offered: Option<f64>,
    /// Seconds for each variant in each repeat.
    pub seconds: f64,
    /// Repeats.
    pub repeats: u64,
    /// Seed of every random choice.
    pub seed: u64,
}

/// How an application will be run. Lists have at least one element, each once.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the mix, for the results.
    pub mix: String,
    /// Modes to compare, of [`Mode::APPLICATION`].
    pub modes: Vec<Mode>,
    /// Isolation levels to compare.
    pub isolations: Vec<Isolation>,
    /// Certifiers to compare.
    pub certifiers: Vec<Certifier>,
    /// Durabilities to compare.
    pub durabilities: Vec<Durability>,
    /// Whether transactions that only read say so.
    pub declare_read_only: bool,
    /// What transactions do that meet each other.
    pub on_conflict: ConflictPolicy,
    /// Transactions in flight per worker, in modes that have several.
    pub in_flight: InFlight,
    /// Transactions per second that are due, of all workers together, above zero;
    /// without, as many as go.
    pub offered: Option<f64>,
    /// How often, how long, on how many workers.
    pub turns: Turns,
    /// What the reader should know about the request; a sentence each.
    pub notes: Vec<String>,
}

impl Options {
    /// Checks the request and completes it, for the mix of this name.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn plan(self, mix: impl Into<String>) -> Result<Plan> {
        let mut notes = Vec::new();
        let mut modes = match self.modes.is_empty() {
            true => Mode::APPLICATION.to_vec(),
            false => self.modes,
        };
        modes.sort();
        modes.dedup();
        if let Some(mode) = modes.iter().find(|mode| !Mode::APPLICATION.contains(mode)) {
            return Err(Error::input(format!(
                "mode {mode} cannot run whole transactions; choose from {}",
                Mode::APPLICATION.map(Mode::name).join(", ")
            )));
        }
        let isolations = each_once(self.isolations, Isolation::Snapshot);
        if let Some(rate) = self.offered
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(Error::input(format!(
                "--offered {rate} is no load; give transactions per second, above 0"
            )));
        }
        check_seconds(&format!("--seconds {}", self.seconds), self.seconds)?;
        Ok(Plan {
            mix: mix.into(),
            modes,
            certifiers: certifiers(self.certifiers, &isolations, &mut notes),
            isolations,
            durabilities: each_once(self.durabilities, Durability::Memory),
            declare_read_only: self.declare_read_only,
            on_conflict: self.on_conflict,
            in_flight: self.in_flight,
            offered: self.offered,
            turns: Turns {
                repeats: within("--repeats", self.repeats, 1000)? as u32,
                duration: Duration::from_secs_f64(self.seconds),
                workers: within("--workers", self.workers, 1024)? as usize,
                seed: self.seed,
            },
            notes,
        })
    }
}

impl Plan {
    /// What is compared, in the order of the first repeat.
    pub fn variants(&self) -> Vec<Variant> {
        Variant::all(
            &self.modes,
            &self.isolations,
            &self.certifiers,
            &self.durabilities,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options {
            modes: Vec::new(),
            isolations: Vec::new(),
            certifiers: Vec::new(),
            durabilities: Vec::new(),
            declare_read_only: false,
            on_conflict: ConflictPolicy::Abort,
            workers: 1,
            in_flight: InFlight::Auto,
            offered: None,
            seconds: 1.0,
            repeats: 3,
            seed: 1,
        }
    }

    #[test]
    fn a_plan_has_every_mode_of_applications_unless_asked() {
        let plan = options().plan("mix").unwrap();
        assert_eq!(plan.modes, Mode::APPLICATION);
        assert_eq!(plan.variants().len(), Mode::APPLICATION.len());
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let refused = [
            (
                Options {
                    modes: vec![Mode::Bare],
                    ..options()
                },
                "bare",
            ),
            (
                Options {
                    offered: Some(-1.0),
                    ..options()
                },
                "--offered",
            ),
            (
                Options {
                    workers: 0,
                    ..options()
                },
                "--workers",
            ),
            (
                Options {
                    seconds: f64::NAN,
                    ..options()
                },
                "--seconds",
            ),
        ];
        for (options, named) in refused {
            let error = options.plan("mix").unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
