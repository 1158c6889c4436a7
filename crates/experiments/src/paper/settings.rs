//! Size and duration of experiments.

use std::time::Duration;

use super::{Experiment, Planned};
use commands::number::{check_seconds, within};
use commands::{Error, Result};

/// Fewest records of a scaled table.
const RECORDS_MIN: u64 = 100;

/// Settings that all experiments share.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Size of the tables; 1 suits two cores and some gigabytes.
    pub scale: f64,
    /// Seconds for each series, in each repeat, at each value of the axis.
    pub seconds: f64,
    /// Number of repeats.
    pub repeats: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scale: 1.0,
            seconds: 1.0,
            repeats: 3,
            seed: 1,
        }
    }
}

/// Returns a number of records at a scale.
pub(super) fn scaled(records: u64, scale: f64) -> u64 {
    ((records as f64 * scale) as u64).max(RECORDS_MIN)
}

impl Settings {
    /// Largest scale: a hundred times the papers' sizes.
    pub const SCALE_MAX: f64 = 10_000.0;

    /// Checks that the settings can be carried out.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn check(&self) -> Result<()> {
        if !(self.scale > 0.0 && self.scale <= Self::SCALE_MAX) {
            return Err(Error::input(format!(
                "--scale {} is out of range; give a number above 0 and up to {}",
                self.scale,
                Self::SCALE_MAX
            )));
        }
        check_seconds(&format!("--seconds {}", self.seconds), self.seconds)?;
        within("--repeats", self.repeats.into(), 1000)?;
        Ok(())
    }

    /// Returns the approximate duration of an experiment.
    ///
    /// # Errors
    /// [`Error::Input`] for settings out of range, and where the machine is too small.
    pub fn duration(&self, experiment: &Experiment) -> Result<Duration> {
        let mut seconds = 0.0;
        let mut loaded = None;
        let all = experiment.plans(self)?.into_iter().flat_map(|(_, all)| all);
        for planned in all {
            let variants = planned.comparison().variants().len() as f64;
            // The machine's limit takes part of a variant's time beside them.
            seconds += (variants + 0.2) * self.seconds * f64::from(self.repeats);
            let serves = |other: &Planned| planned.same_tables(other);
            if !loaded.as_ref().is_some_and(serves) {
                seconds += planned.loading().as_secs_f64();
            }
            loaded = Some(planned);
        }
        Ok(Duration::from_secs_f64(seconds))
    }
}
