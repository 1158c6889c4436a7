//! Simulation of one column that is appended to, merged and read by several threads.
//!
//! All that a run does comes from its seed: the type of the values, the operations of each thread, and at each
//! latch the thread that goes on (`turns.rs`). A model that is changed beside the column predicts every answer
//! (`model.rs`). A run can therefore be repeated exactly, however fast lookups were; measured times decide only how
//! values are looked up, under a latch or in parts that do not change.
//!
//! Threads: some append rows of their own, and in batches; some merge in steps of any size, beside each other, and
//! drop some merges; some keep snapshots over merges and query them. In the end all is merged, queried once more,
//! and compared.

mod kinds;
mod model;
mod parameters;
mod reader;
mod report;
mod scene;
mod turns;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use column::{Date, Decimal, InPredicate, LATCH_REFUSED};
use interleave::with_injector;

use self::{
    kinds::Kind,
    scene::Scene,
    turns::{Stopped, Turns},
};
use crate::{
    dice::Dice,
    failure::{Failed, Reason},
    seeds::run_seeds,
};

pub use parameters::{ColumnParameters, PlantedInColumn};
pub use report::ColumnReport;

/// A failed run of a column.
pub type ColumnFailure = Failed<ColumnParameters>;

/// Runs one simulation.
///
/// # Errors
/// Returns the first deviation from the model.
pub fn run_columns(
    seed: u64,
    parameters: &ColumnParameters,
) -> Result<ColumnReport, ColumnFailure> {
    let mut dice = Dice::new(seed);
    let run_it = match dice.below(8) {
        0 => run_kind::<i8>,
        1 => run_kind::<i64>,
        2 => run_kind::<u32>,
        3 => run_kind::<f64>,
        4 => run_kind::<Decimal<2>>,
        5 => run_kind::<Date>,
        6 => run_kind::<String>,
        _ => run_kind::<Vec<u8>>,
    };
    run_it(dice, parameters).map_err(|reason| ColumnFailure::new(seed, parameters, reason))
}

/// Runs `seeds` simulations from seed `first` on; calls `progress` after each.
///
/// # Errors
/// Returns the first failure.
///
/// # Panics
/// Aborts the process, having named the seed, if a run does not end.
pub fn run_columns_many(
    first: u64,
    seeds: u64,
    parameters: &ColumnParameters,
    progress: impl FnMut(u64, &ColumnReport),
) -> Result<ColumnReport, ColumnFailure> {
    let merge = ColumnReport::merge;
    run_seeds(first, seeds, parameters, run_columns, merge, progress)
}

/// Kinds of threads.
#[derive(Clone, Copy)]
enum Role {
    Append,
    Merge,
    Read,
}

fn run_kind<V: Kind>(
    mut dice: Dice,
    parameters: &ColumnParameters,
) -> Result<ColumnReport, Reason> {
    let mut roles = Vec::new();
    for (role, most) in [
        (Role::Append, parameters.appenders_max),
        (Role::Merge, parameters.mergers_max),
        (Role::Read, parameters.readers_max),
    ] {
        roles.resize(roles.len() + dice.between(1, most), role);
    }
    let turns = Turns::new(roles.len(), Dice::new(dice.seed()));
    let scene = Scene::<V>::new(*parameters, turns, &mut dice);
    let scene = Arc::new(scene.map_err(|error| Reason::Setup(error.to_string()))?);
    let mut report = ColumnReport::default();
    let parts = thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(roles)
            .map(|(me, role)| {
                let (scene, dice) = (&scene, Dice::new(dice.seed()));
                scope.spawn(move || act(scene, me, role, dice))
            })
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.collect::<Vec<_>>()
    });
    if scene.turns.is_deadlock() {
        let why = "threads wait for each other's latches";
        return Err(Reason::Stuck(why.to_owned()));
    }
    for part in parts {
        let part = part.map_err(|payload| Reason::panicked(&*payload))?;
        report.merge(&part?);
    }
    finish(&scene, &mut dice, &mut report).map_err(Reason::Column)?;
    let counts = scene.turns.counts();
    report.kinds.insert(V::NAME, 1);
    report.points = counts.passed;
    report.switches = counts.switches;
    report.waits = counts.refused;
    Ok(report)
}

/// Runs one thread's part of a run.
fn act<V: Kind>(
    scene: &Arc<Scene<V>>,
    me: usize,
    role: Role,
    mut dice: Dice,
) -> Result<ColumnReport, Reason> {
    let hooked = scene.clone();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        with_injector(
            move |point| hooked.turns.pass(me, point.name() == LATCH_REFUSED),
            || {
                scene.turns.begin(me);
                match role {
                    Role::Append => scene.append(me, &mut dice),
                    Role::Merge => scene.merge(me, &mut dice),
                    Role::Read => scene.read(me, &mut dice),
                }
            },
        )
    }));
    let outcome = match ended {
        Ok(outcome) => outcome.map_err(Reason::Column),
        // The other thread reports the reason.
        Err(payload) if payload.is::<Stopped>() => return Ok(ColumnReport::default()),
        Err(payload) => Err(Reason::panicked(&*payload)),
    };
    match outcome {
        Ok(_) => scene.turns.end(me),
        Err(_) => scene.turns.stop(),
    }
    outcome
}

/// Merges the rest, and queries the whole column.
fn finish<V: Kind>(
    scene: &Scene<V>,
    dice: &mut Dice,
    report: &mut ColumnReport,
) -> Result<(), String> {
    // The frozen rows first, then the rows added since.
    while scene.column.merge().map_err(|error| error.to_string())? {}
    let snapshot = scene.column.snapshot();
    let (rows, distinct) = {
        let model = scene.model();
        (model.rows.len(), model.distinct())
    };
    let main = snapshot.main();
    if (snapshot.rows() as usize, main.rows(), main.distinct()) != (rows, rows, distinct) {
        return Err(format!(
            "in the end there are {} rows, {} of them in the Main, with {} values, in place of {rows} \
             with {distinct}",
            snapshot.rows(),
            main.rows(),
            main.distinct()
        ));
    }
    for _ in 0..8 {
        scene.ask(&snapshot, &mut InPredicate::auto(), dice, report)?;
    }
    Ok(())
}
