//! Plans of running an application: as asked ([`Options`]), and checked ([`Plan`]).

use bench::comparison::{Asked, Comparison};
use bench::measure::ConflictPolicy;
use bench::mode::Mode;
use commands::{Error, Result};

/// Request to run an application.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings of the comparison.
    pub asked: Asked,
    /// Whether the conditions are also checked while clients run, which costs throughput.
    pub check_while_running: bool,
    /// Reaction of transactions that meet each other's writes.
    pub on_conflict: ConflictPolicy,
    /// Transactions per second that are due, of all workers together; `None` for a closed loop.
    pub offered: Option<f64>,
}

/// Checked plan of running an application.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the mix, for the results.
    pub mix: String,
    /// Settings of the comparison. Modes are of [`Mode::APPLICATION`].
    pub comparison: Comparison,
    /// Whether the conditions are also checked while clients run, which costs throughput.
    pub check_while_running: bool,
    /// Reaction of transactions that meet each other's writes.
    pub on_conflict: ConflictPolicy,
    /// Transactions per second that are due, of all workers together, above zero; `None` for a
    /// closed loop.
    pub offered: Option<f64>,
    /// Notes on the request for the reader; a sentence each.
    pub notes: Vec<String>,
}

impl Options {
    /// Checks the request and completes it, for the mix named `mix`.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn plan(self, mix: impl Into<String>) -> Result<Plan> {
        let mut notes = Vec::new();
        let modes = self.asked.modes_of(&Mode::APPLICATION);
        if let Some(mode) = modes.iter().find(|mode| !Mode::APPLICATION.contains(mode)) {
            return Err(Error::input(format!(
                "mode {mode} cannot run whole transactions; choose from {}",
                Mode::APPLICATION.map(Mode::name).join(", ")
            )));
        }
        if let Some(rate) = self.offered
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(Error::input(format!(
                "--offered {rate} is no load; give transactions per second, above 0"
            )));
        }
        Ok(Plan {
            mix: mix.into(),
            comparison: self.asked.check(modes, &mut notes)?,
            check_while_running: self.check_while_running,
            on_conflict: self.on_conflict,
            offered: self.offered,
            notes,
        })
    }
}

impl Plan {
    /// Returns whether databases for `other` serve this plan too, if the application's settings are
    /// the same.
    pub fn same_databases(&self, other: &Self) -> bool {
        let databases = |plan: &Self| {
            let comparison = &plan.comparison;
            (comparison.workers, comparison.databases(), plan.on_conflict)
        };
        databases(self) == databases(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(asked: Asked) -> Options {
        Options {
            asked,
            check_while_running: false,
            on_conflict: ConflictPolicy::Abort,
            offered: None,
        }
    }

    #[test]
    fn a_plan_has_every_mode_of_applications_unless_asked() {
        let plan = options(Asked::default()).plan("mix").unwrap();
        assert_eq!(plan.comparison.modes, Mode::APPLICATION);
        assert_eq!(plan.comparison.variants().len(), Mode::APPLICATION.len());
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let bare = Asked {
            modes: vec![Mode::Bare],
            ..Asked::default()
        };
        let nobody = Asked {
            workers: 0,
            ..Asked::default()
        };
        let endless = Asked {
            seconds: f64::NAN,
            ..Asked::default()
        };
        let nothing = Options {
            offered: Some(-1.0),
            ..options(Asked::default())
        };
        let refused = [
            (options(bare), "bare"),
            (nothing, "--offered"),
            (options(nobody), "--workers"),
            (options(endless), "--seconds"),
        ];
        for (options, named) in refused {
            let error = options.plan("mix").unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
