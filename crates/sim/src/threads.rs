//! Workloads of the simulation on real threads: not repeatable, but with true
//! races. The history is put in order by commit timestamps.

use std::sync::Arc;

use engine::Session;
use interleave::{InFlight, Runtime, WorkerConfig};

use crate::{
    check::{self, Rules},
    cycles,
    dice::Dice,
    failure::{Failure, Reason},
    parameters::Parameters,
    report::Report,
    workload::{self, transact},
    world::World,
};

/// Runs one round of transactions on `workers` threads and checks its history.
/// The seed decides the operations of transactions, not their interleaving.
///
/// # Errors
/// Returns the first deviation from a correct run.
pub fn run_threads(seed: u64, workers: usize, parameters: &Parameters) -> Result<Report, Failure> {
    round(seed, workers, parameters)
        .map_err(|reason| Failure::new(seed, parameters, reason).on_threads(workers))
}

fn round(seed: u64, workers: usize, parameters: &Parameters) -> Result<Report, Reason> {
    let mut dice = Dice::new(seed);
    let world = World::new(parameters);
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(dice.between(2, parameters.in_flight_max)),
        ..WorkerConfig::default()
    };
    let load_failed = |error| Reason::Setup(format!("loading failed: {error}"));
    {
        let session = Session::new(&world.database).expect("a session is to be had");
        workload::load(&world, &session, &mut dice).map_err(load_failed)?;
    }
    let database = world.database.clone();
    let runtime = Runtime::start("sim", workers, false, config, move |_| {
        let session = Session::new(&database).expect("a session is to be had");
        Ok(std::rc::Rc::into_inner(session).expect("there is no other owner yet"))
    })
    .map_err(|error| Reason::Setup(error.to_string()))?;
    let tasks: Vec<_> = (1..=parameters.transactions)
        .map(|number| {
            let (world, seed) = (world.clone(), dice.seed());
            let task = runtime.pick().submit(move |session| {
                let session = session.clone();
                async move { transact(&world, session, number, seed, false).await }
            });
            (number, task)
        })
        .collect();
    for (number, task) in tasks {
        task.wait()
            .map_err(|lost| Reason::Panicked(format!("transaction {number}: {lost}")))?;
    }
    runtime.shut_down();
    judge(&world, parameters)
}

fn judge(world: &Arc<World>, parameters: &Parameters) -> Result<Report, Reason> {
    let session = Session::new(&world.database).expect("a session is to be had");
    workload::inspect(world, &session, parameters.transactions + 1)
        .map_err(|error| Reason::Setup(format!("inspecting failed: {error}")))?;
    let records = world.recorder.take();
    let rules = Rules {
        one_thread: false,
        memory_is_scarce: parameters.memory_is_scarce(),
        waits: parameters.waits > 0,
        has_indexes: false,
        power_fails: false,
    };
    check::history(&records, &rules).map_err(Reason::Violation)?;
    cycles::check(&records, parameters.levels).map_err(Reason::Violation)?;
    // The heir of all ended sessions frees their garbage.
    for _ in 0..8 {
        session.tend();
        interleave::WorkerLocal::before_sleep(&*session);
    }
    let (live, needed) = (world.version_bytes(), check::version_bytes(&records));
    if live != needed {
        return Err(Reason::Memory(format!(
            "{live} bytes of versions are live, surviving records need {needed}"
        )));
    }
    let mut report = Report::default();
    report.count(&records);
    Ok(report)
}
