//! Puts Weft to an experiment.

use super::findings::{Findings, Point};
use super::{Experiment, Settings};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::subject::{Subject, weft_subject};
use crate::{Result, runner};

/// Runs an experiment: loads a table for each size and form of table that it asks for, and
/// measures on it whatever is asked of that table in turn.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) for settings that cannot be carried out, and
/// [`Error::Run`](crate::Error::Run) when one of the runs fails. Wrong answers are no error
/// here, but [`Findings::verified`] says so.
pub fn run(
    experiment: &'static Experiment,
    settings: &Settings,
    progress: &Progress,
) -> Result<Findings> {
    run_on(experiment, settings, progress, weft_subject)
}

/// The same, on what `open` makes for a plan.
pub(super) fn run_on<S: Subject>(
    experiment: &'static Experiment,
    settings: &Settings,
    progress: &Progress,
    open: impl Fn(&Plan) -> Result<S>,
) -> Result<Findings> {
    let mut loaded: Option<(Plan, S)> = None;
    let mut points = Vec::new();
    for (x, plans) in experiment.plans(settings)? {
        let mut runs = Vec::new();
        for plan in plans {
            // One that does not serve gives its memory back before the next is loaded.
            let usable = loaded.take().filter(|(other, _)| plan.same_tables(other));
            let mut subject = match usable {
                Some((_, subject)) => subject,
                None => {
                    let mut subject = open(&plan)?;
                    runner::load(&mut subject, &plan, progress)?;
                    subject
                }
            };
            progress.note(&format!(
                "{}, {} {}: {}",
                experiment.id,
                experiment.x.title,
                experiment.x.label(x),
                plan.description()
            ));
            let outcome = runner::measure(&mut subject, &plan, progress)?;
            runs.push((plan.clone(), outcome));
            loaded = Some((plan, subject));
        }
        points.push(Point { x, runs });
    }
    Ok(Findings { experiment, points })
}
