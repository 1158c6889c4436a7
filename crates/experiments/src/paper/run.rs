//! Repeats an experiment with Weft.

use std::path::Path;

use super::findings::{Findings, Point};
use super::{Experiment, Planned, Settings};
use applications::application::driver;
use applications::tpcc;
use bench::kept::without_checkpoints;
use bench::plan::Plan;
use bench::runner;
use bench::runner::Outcome;
use bench::subject::{Subject, index_subject, weft_subject};
use commands::Place;
use commands::progress::Progress;
use commands::{Error, Result};

/// Runs an experiment: loads tables for each size and form of them that it asks for, and runs its
/// measurements on each in turn. Databases with a log are kept in `directory`, one at a time, and
/// removed afterwards: the directory must be missing or empty.
///
/// # Errors
/// [`Error::Input`](commands::Error::Input) for settings that cannot be carried out, and
/// [`Error::Run`](commands::Error::Run) when one of the runs fails. Wrong answers are no error
/// here, but [`Findings::verified`] says so.
pub fn run(
    experiment: &'static Experiment,
    settings: &Settings,
    directory: &Path,
    progress: &Progress,
) -> Result<Findings> {
    run_on(experiment, settings, directory, progress, weft_subject)
}

/// Runs an experiment, its key-value transactions on the subject that `open` makes for a plan.
pub(super) fn run_on<S: Subject>(
    experiment: &'static Experiment,
    settings: &Settings,
    directory: &Path,
    progress: &Progress,
    open: impl Fn(&Plan) -> Result<S>,
) -> Result<Findings> {
    let mut loaded: Option<(Planned, Loaded<S>)> = None;
    let mut points = Vec::new();
    for (x, all) in experiment.plans(settings)? {
        let mut runs = Vec::new();
        for planned in all {
            // Tables that do not serve give their memory back before the next are loaded.
            let usable = loaded
                .take()
                .filter(|(other, _)| planned.same_tables(other));
            let mut tables = match usable {
                Some((_, tables)) => tables,
                None => Loaded::load(&planned, directory, progress, &open)?,
            };
            progress.note(&format!(
                "{}, {} {}: {}",
                experiment.id,
                experiment.x.title,
                experiment.x.label(x),
                planned.description()
            ));
            let outcome = tables.measure(&planned, progress)?;
            runs.push((planned.clone(), outcome));
            loaded = Some((planned, tables));
        }
        points.push(Point { x, runs });
    }
    Ok(Findings { experiment, points })
}

/// Tables that are loaded for a plan.
enum Loaded<S> {
    Ycsb(S),
    Probes(Box<dyn Subject>),
    Tpcc {
        databases: Box<dyn driver::Loaded>,
        /// Directory of the databases, if they have a log; removed after they are closed.
        _place: Option<Place>,
    },
}

impl<S: Subject> Loaded<S> {
    fn load(
        planned: &Planned,
        directory: &Path,
        progress: &Progress,
        open: impl Fn(&Plan) -> Result<S>,
    ) -> Result<Self> {
        match planned {
            Planned::Ycsb(plan) => {
                let mut subject = open(plan)?;
                runner::load(&mut subject, plan, progress)?;
                Ok(Self::Ycsb(subject))
            }
            Planned::Probes(plan) => {
                let mut subject = Box::new(index_subject(plan)?);
                runner::load(&mut *subject, plan, progress)?;
                Ok(Self::Probes(subject))
            }
            Planned::Tpcc { settings, plan } => {
                let place = match planned.has_log() {
                    true => Some(Place::make(directory)?),
                    false => None,
                };
                let options = place
                    .as_ref()
                    .map(|place| without_checkpoints(place.path()))
                    .unwrap_or_default();
                Ok(Self::Tpcc {
                    databases: tpcc::LOAD(settings, plan, &options, progress)?,
                    _place: place,
                })
            }
        }
    }

    fn measure(&mut self, planned: &Planned, progress: &Progress) -> Result<Outcome> {
        match (self, planned) {
            (Self::Ycsb(subject), Planned::Ycsb(plan)) => runner::measure(subject, plan, progress),
            (Self::Probes(subject), Planned::Probes(plan)) => {
                runner::measure(&mut **subject, plan, progress)
            }
            (Self::Tpcc { databases, .. }, Planned::Tpcc { plan, .. }) => {
                let report = databases.measure(plan, progress)?;
                // The outcome says that it is not verified; this says why.
                for found in &report.inconsistencies {
                    progress.note(found);
                }
                Ok(report.outcome)
            }
            _ => Err(Error::run(
                "an experiment is measured on the tables of another kind; report this",
            )),
        }
    }
}
