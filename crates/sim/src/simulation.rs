//! The simulation: a whole database with several workers on one thread.
//!
//! Workers are ordinary, but every step is chosen here: which worker acts, which
//! of its slots is resumed, when it takes messages in, does its housekeeping,
//! naps and wakes, when time moves, which parked transaction goes on, which task
//! is cancelled, which worker dies. All choices come from one seed, so a run can
//! be repeated exactly.
//!
//! Phases: load, act until every transaction has ended, inspect, collect garbage
//! until none is left, compare memory and counters, delete everything and compare
//! again (`aftermath.rs`), and check the history (`check.rs`).

mod aftermath;
pub(crate) mod berth;
pub(crate) mod expiry;
pub(crate) mod faults;
mod indexes;
pub(crate) mod snapshots;

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use engine::Session;
use interleave::{JoinHandle, Lost, with_injector};

use self::{berth::Berth, faults::Injector, indexes::Indexes, snapshots::Snapshots};
use crate::{
    check::{self, Rules},
    cycles,
    dice::Dice,
    failure::{Failure, Reason},
    parameters::Parameters,
    plant,
    report::Report,
    workload::{self, transact},
    world::World,
};

/// Steps without the end of any transaction after which a run is stuck.
const PATIENCE_STEPS: u64 = 100_000;

/// Runs one simulation.
///
/// # Errors
/// Returns the first deviation from a correct run.
pub fn run(seed: u64, parameters: &Parameters) -> Result<Report, Failure> {
    let injector = Injector::new(seed, parameters.faults.panic_per_100_000);
    let hook = injector.clone();
    with_injector(
        move |point| hook.passed(point),
        || Simulation::new(seed, parameters, injector)?.run(seed),
    )
    .map_err(|reason| Failure::new(seed, parameters, reason))
}

/// A database at work. Other simulations drive it as well.
pub(crate) struct Simulation {
    pub(crate) dice: Dice,
    pub(crate) world: Arc<World>,
    pub(crate) berths: Vec<Berth>,
    /// Handles of tasks; dropping a handle cancels its task.
    pub(crate) tasks: Vec<JoinHandle<(), Session>>,
    pub(crate) injector: Injector,
    indexes: Indexes,
    pub(crate) snapshots: Snapshots,
    clock: Rc<Cell<Duration>>,
    /// Number of transactions begun, and to be begun.
    pub(crate) begun: u64,
    pub(crate) begun_max: u64,
    weights: [u32; 8],
    /// Chance to stay with the same worker, per mille.
    stickiness: u32,
    /// The worker that acted last.
    worker: usize,
    pub(crate) report: Report,
    /// Number of transactions that have ended, and the step in which it was
    /// looked up.
    ended: (usize, u64),
    /// Panics that dropped workers had counted.
    panicked_before: u64,
    /// Panics that were injected before.
    injected_before: u64,
}

impl Simulation {
    fn new(seed: u64, parameters: &Parameters, injector: Injector) -> Result<Simulation, Reason> {
        let mut dice = Dice::new(seed);
        let world = World::new(parameters);
        let clock = Rc::new(Cell::new(Duration::ZERO));
        let workers = dice.between(1, parameters.workers_max);
        let berths: Vec<Berth> = (0..workers)
            .map(|_| Berth::new(&world.database, parameters, &clock, &mut dice))
            .collect::<Result<_, _>>()?;
        Ok(Simulation::on(world, berths, clock, dice, injector, 0))
    }

    /// Returns a simulation of existing workers, on an existing database, after
    /// `begun` transactions.
    pub(crate) fn on(
        world: Arc<World>,
        berths: Vec<Berth>,
        clock: Rc<Cell<Duration>>,
        mut dice: Dice,
        injector: Injector,
        begun: u64,
    ) -> Simulation {
        let mut weights = [60, 12, 4, 8, 4, 3, 3, 2];
        for weight in &mut weights {
            *weight = (*weight * dice.between(2, 20) as u32 / 10).max(1);
        }
        Simulation {
            stickiness: [0, 300, 900][dice.below(3)],
            begun_max: begun + world.parameters.transactions,
            dice,
            world,
            berths,
            tasks: Vec::new(),
            injected_before: injector.panics(),
            injector,
            indexes: Indexes::default(),
            snapshots: Snapshots::default(),
            clock,
            begun,
            weights,
            worker: 0,
            report: Report::default(),
            ended: (0, 0),
            panicked_before: 0,
        }
    }

    fn run(mut self, seed: u64) -> Result<Report, Reason> {
        let session = self.berths[0].session();
        if let Err(error) = workload::load(&self.world, &session, &mut self.dice)
            && !self.world.parameters.memory_is_scarce()
        {
            return Err(Reason::Setup(format!("loading failed: {error}")));
        }
        drop(session);
        self.build_indexes();
        // Their transactions are in no history, by which counters are compared in other runs.
        if self.world.parameters.indexes > 0 {
            self.share_snapshots();
        }
        self.begin_expiring();
        self.injector.enable(true);
        self.act()?;
        self.injector.enable(false);
        self.finish(seed)
    }

    fn act(&mut self) -> Result<(), Reason> {
        while self.begun < self.begun_max || self.berths.iter().any(Berth::has_tasks) {
            self.turn()?;
        }
        self.reap()
    }

    /// Runs one step of one worker.
    pub(crate) fn turn(&mut self) -> Result<(), Reason> {
        if !self.dice.chance(self.stickiness) {
            self.worker = self.dice.below(self.berths.len());
        }
        self.step(self.worker)?;
        self.report.steps += 1;
        if !self.report.steps.is_multiple_of(256) {
            return Ok(());
        }
        self.reap()?;
        let ended = self.world.recorder.len();
        if ended > self.ended.0 {
            self.ended = (ended, self.report.steps);
        } else if self.report.steps - self.ended.1 > PATIENCE_STEPS {
            let (begun, all) = (self.begun, self.begun_max);
            let story = format!("{begun} of {all} transactions begun");
            return Err(Reason::Stuck(story));
        }
        Ok(())
    }

    fn step(&mut self, worker: usize) -> Result<(), Reason> {
        let (parameters, berth) = (&self.world.parameters, &mut self.berths[worker]);
        match self.dice.weighted(&self.weights) {
            0 => {
                for _ in 0..self.dice.between(1, 8) {
                    berth.resume(&mut self.dice);
                }
            }
            1 => berth.take_in(),
            2 => berth.housekeep(),
            3 => self.submit(worker),
            4 => berth.nap(),
            5 => drop(self.world.parking.release(&mut self.dice)),
            6 => self.move_time(),
            _ if self.dice.chance(parameters.faults.cancel * 100) => self.cancel(),
            _ if self.dice.below(100_000)
                < parameters.faults.restart_per_100_000 as usize * 100 =>
            {
                self.restart(worker)?;
            }
            _ => berth.take_in(),
        }
        Ok(())
    }

    fn submit(&mut self, worker: usize) {
        let world = self.world.clone();
        if self.begun >= self.begun_max || self.berths[worker].open_tasks() > 40 {
            return;
        }
        self.begun += 1;
        let (number, seed) = (self.begun, self.dice.seed());
        let task = self.berths[worker].submit(move |session| {
            let session = session.clone();
            async move { transact(&world, session, number, seed, true).await }
        });
        self.tasks.push(task);
    }

    fn move_time(&mut self) {
        let next = self.berths.iter().filter_map(Berth::next_timer).min();
        let step = match next {
            Some(wait) if self.dice.chance(700) => wait,
            _ => Duration::from_micros(self.dice.below(200) as u64),
        };
        self.clock.set(self.clock.get() + step);
        if self.world.expiring.is_some() && self.dice.chance(300) {
            self.move_wall_clock();
        }
    }

    fn cancel(&mut self) {
        if !self.tasks.is_empty() {
            let victim = self.dice.below(self.tasks.len());
            // Dropping the handle cancels its task.
            drop(self.tasks.swap_remove(victim));
            self.report.cancelled += 1;
        }
    }

    fn restart(&mut self, worker: usize) -> Result<(), Reason> {
        let World {
            database,
            parameters,
            ..
        } = &*self.world;
        let fresh = match Berth::new(database, parameters, &self.clock, &mut self.dice) {
            // The old worker is still there.
            Err(_) if parameters.memory_is_scarce() => return Ok(()),
            fresh => fresh?,
        };
        let mut old = std::mem::replace(&mut self.berths[worker], fresh);
        self.panicked_before += old.panicked();
        self.report.restarts += 1;
        Ok(())
    }

    /// Forgets tasks that have ended, and examines their results.
    pub(crate) fn reap(&mut self) -> Result<(), Reason> {
        let mut context = Context::from_waker(Waker::noop());
        let mut genuine = None;
        self.tasks
            .retain_mut(|task| match Pin::new(task).poll(&mut context) {
                Poll::Pending => true,
                Poll::Ready(Err(Lost::Panicked(message))) => {
                    if !faults::is_injected(&message) {
                        genuine = Some(message);
                    }
                    false
                }
                Poll::Ready(_) => false,
            });
        genuine.map_or(Ok(()), |message| Err(Reason::Panicked(message)))
    }

    fn finish(mut self, seed: u64) -> Result<Report, Reason> {
        let number = self.begun + 1;
        workload::inspect(&self.world, &self.berths[0].session(), number)
            .map_err(|error| Reason::Setup(format!("inspecting failed: {error}")))?;
        let mut records = self.world.recorder.take();
        plant::into(&mut records, self.world.parameters.planted, seed);
        let rules = Rules {
            one_thread: true,
            memory_is_scarce: self.world.parameters.memory_is_scarce(),
            waits: self.world.parameters.waits > 0,
            has_indexes: self.world.parameters.indexes > 0,
            power_fails: false,
        };
        check::history(&records, &rules).map_err(Reason::Violation)?;
        cycles::check(&records, self.world.parameters.levels).map_err(Reason::Violation)?;
        self.check_indexes()?;
        self.report.snapshots_compared = self.snapshots.end();
        self.aftermath(&records)?;
        self.report.count(&records);
        self.report.panics = self.injector.panics();
        self.report.points = self.injector.points();
        self.report.workers = self.berths.len();
        Ok(self.report)
    }
}
