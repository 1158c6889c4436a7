//! Arguments and code that benchmarks of whole transactions have in common.

use applications::application::driver::Load;
use applications::application::plan::Options;
use bench::measure::ConflictPolicy;
use commands::progress::Progress;

use crate::execution::Execution;

/// Behaviour of the clients that run an application.
#[derive(Debug, clap::Args)]
pub(crate) struct Clients {
    #[command(flatten)]
    execution: Execution,

    /// Transactions per second that are due, of all workers together, at random times; latency then
    /// counts from the time when a transaction was due. Without: a closed loop, in which the next
    /// transaction begins when one has ended.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    offered: Option<f64>,

    /// Reaction of a transaction that meets another's uncommitted write: wait for its end, or abort
    /// (and run again).
    #[arg(long, value_name = "wait|abort", default_value = "wait")]
    on_conflict: ConflictPolicy,

    /// Also check the conditions while clients run, again and again, each time on a
    /// snapshot. This costs throughput.
    #[arg(long)]
    check_while_running: bool,
}

impl Clients {
    /// Runs the application that `load` loads, with the mix named `mix`, under the given
    /// description.
    ///
    /// # Errors
    /// Errors of the measurement, and [`commands::Error::Run`] when a condition did not hold.
    pub(crate) fn run<S>(
        &self,
        mix: &str,
        description: &str,
        settings: &S,
        load: Load<S>,
    ) -> commands::Result<()> {
        let execution = &self.execution;
        let plan = Options {
            asked: execution.asked(),
            check_while_running: self.check_while_running,
            on_conflict: self.on_conflict,
            offered: self.offered,
        };
        let plan = plan.plan(mix)?;
        let progress = Progress::stderr();
        for note in &plan.notes {
            progress.note(note);
        }
        progress.note(description);
        let place = execution.place()?;
        let options = execution.options(place.as_ref());
        let mut loaded = load(settings, &plan, &options, &progress)?;
        let report = loaded.measure(&plan, &progress)?;
        if self.check_while_running {
            let checks = report.checks_while_running;
            progress.note(&format!("{checks} checks of the conditions beside clients"));
        }
        execution.show(description, &report.outcome)?;
        if report.inconsistencies.is_empty() {
            return Ok(());
        }
        Err(commands::Error::run(format!(
            "the tables do not meet the conditions; please report it:\n{}",
            report.inconsistencies.join("\n")
        )))
    }
}
