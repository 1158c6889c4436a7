//! A round: workers at work on a disk, until the power fails.

use std::ops::ControlFlow;

use engine::TableOptions;
use io::{Faults, SimulatedDisk};

use super::{
    CrashParameters, CrashReport,
    follower::Follower,
    indexes::Indexes,
    ledger::{Backup, End, Ledger, MAIN_TABLE},
    recovery::Opened,
};
use crate::{
    dice::Dice,
    failure::Reason,
    history::Recorder,
    simulation::{Simulation, berth::Berth, expiry::Expiring, faults::Injector},
    workload::{self, expiring, tables},
    world::World,
};

/// Maximum steps for attaching indexes before other work begins.
const ATTACHING_STEPS_MAX: usize = 2000;

pub(super) struct Round<'c> {
    disk: &'c SimulatedDisk,
    ledger: &'c mut Ledger,
    follower: &'c Follower,
    indexes: &'c Indexes,
    simulation: Simulation,
    dice: Dice,
    /// Whether the device may fail calls.
    is_bad: bool,
    backups: Vec<Backup>,
}

impl<'c> Round<'c> {
    /// Starts the workers of a recovered database, after `(transactions, order)` of
    /// earlier rounds.
    pub(super) fn new(
        disk: &'c SimulatedDisk,
        opened: Opened,
        parameters: &CrashParameters,
        (ledger, follower, indexes): (&'c mut Ledger, &'c Follower, &'c Indexes),
        injector: &Injector,
        (begun, order): (u64, u64),
        mut dice: Dice,
    ) -> Result<Round<'c>, Reason> {
        let database = opened.database;
        let table = match database.table(MAIN_TABLE) {
            Some(table) => table,
            None => database
                .create_table(MAIN_TABLE, &[])
                .map_err(|error| Reason::Setup(error.to_string()))?,
        };
        let options = TableOptions {
            ttl: Some(expiring::TTL),
        };
        let expiring = match database.table(expiring::TABLE) {
            Some(table) => table,
            None => database
                .create_table_with(
                    expiring::TABLE,
                    &tables::description(expiring::TAG),
                    options,
                )
                .map_err(|error| Reason::Setup(error.to_string()))?,
        };
        let expiring = Expiring {
            table: expiring,
            wall: opened.wall,
            goes_back: false,
        };
        let recorder = Recorder::starting_at(order);
        let world = World::of(&parameters.run, &database, &table, expiring, recorder);
        let choices = Dice::new(dice.seed());
        let simulation = Simulation::on(
            world,
            opened.berths,
            opened.clock,
            choices,
            injector.clone(),
            begun,
        );
        Ok(Round {
            is_bad: dice.chance(parameters.device_errors),
            disk,
            ledger,
            follower,
            indexes,
            simulation,
            dice,
            backups: Vec::new(),
        })
    }

    /// Works until the power fails.
    pub(super) fn run(mut self, report: &mut CrashReport) -> Result<End, Reason> {
        if !self.ledger.is_loaded() {
            self.load();
        }
        self.simulation.injector.enable(true);
        if self.dice.chance(500) {
            let most = [12, 60, 300][self.dice.below(3)];
            self.disk.crash_after(self.dice.below(most) as u64);
        }
        let (least, most) = [(10, 300), (300, 2500), (2500, 6000)][self.dice.weighted(&[1, 3, 2])];
        let steps = self.dice.between(least, most);
        match self.dice.below(3) {
            // The indexes are attached one by one, or never.
            0 => {}
            alone => self.attach_indexes(alone == 1)?,
        }
        for _ in 0..steps {
            if self.disk.is_unplugged() {
                break;
            }
            self.simulation.turn()?;
            self.something_else()?;
        }
        let in_order = !self.disk.is_unplugged() && self.dice.chance(200);
        if in_order {
            self.wind_up()?;
        }
        self.simulation.injector.enable(false);
        self.simulation.reap()?;
        self.simulation.compare_panics()?;
        self.end(in_order, report)
    }

    /// Begins to attach all indexes: before anything else happens, or beside it.
    fn attach_indexes(&mut self, alone: bool) -> Result<(), Reason> {
        let simulation = &mut self.simulation;
        self.indexes.begin_attaching(simulation, &mut self.dice)?;
        let transactions = simulation.begun_max - simulation.begun;
        if alone {
            simulation.begun_max = simulation.begun;
            for _ in 0..ATTACHING_STEPS_MAX {
                if !simulation.berths.iter().any(Berth::has_tasks) || self.disk.is_unplugged() {
                    break;
                }
                simulation.turn()?;
            }
            simulation.begun_max = simulation.begun + transactions;
        }
        Ok(())
    }

    fn load(&mut self) {
        let world = self.simulation.world.clone();
        self.simulation.begun += 1;
        let (number, mut dice) = (self.simulation.begun, Dice::new(self.dice.seed()));
        let task = self.simulation.berths[0].submit(move |session| {
            let session = session.clone();
            async move {
                let _ = workload::load_as(&world, &session, &mut dice, number).await;
            }
        });
        self.simulation.tasks.push(task);
    }

    /// Now and then does something other than a transaction.
    fn something_else(&mut self) -> Result<(), Reason> {
        match self.dice.below(1000) {
            0..6 => self.begin_upkeep(),
            6..10 => self.begin_checkpoint(),
            12..15 => self.change_mood(),
            15..17 => self.back_up()?,
            17..22 => self.begin_following(),
            22..60 => self.indexes.begin_one(&mut self.simulation, &mut self.dice),
            60..68 => {
                let simulation = &mut self.simulation;
                self.indexes.begin_comparing(simulation, &mut self.dice);
            }
            68..90 => self.begin_demotion(),
            90..100 => self.begin_compaction(),
            100..180 => self.begin_gathering(),
            180..183 => self.simulation.share_snapshots(),
            _ => {}
        }
        Ok(())
    }

    fn any_worker(&mut self) -> usize {
        self.dice.below(self.simulation.berths.len())
    }

    fn begin_following(&mut self) {
        let world = &self.simulation.world;
        let Some(follow) = self.follower.set_out(world, &mut self.dice) else {
            return;
        };
        let worker = self.any_worker();
        let task = self.simulation.berths[worker].submit(|session| follow(session.clone()));
        self.simulation.tasks.push(task);
    }

    fn begin_upkeep(&mut self) {
        let worker = self.any_worker();
        let task = self.simulation.berths[worker].submit(|session| session.clone().upkeep());
        self.simulation.tasks.push(task);
    }

    fn begin_checkpoint(&mut self) {
        let worker = self.any_worker();
        let task = self.simulation.berths[worker].submit(|session| {
            let session = session.clone();
            async move { drop(session.checkpoint().await) }
        });
        self.simulation.tasks.push(task);
        if self.dice.chance(100) {
            self.disk.crash_after(self.dice.below(25) as u64);
        }
    }

    /// Moves records that were not used lately out of memory, if there is a cold
    /// tier.
    fn begin_demotion(&mut self) {
        let (worker, looks) = (self.any_worker(), self.dice.between(1, 200));
        let task = self.simulation.berths[worker].submit(move |session| {
            let session = session.clone();
            // A device that fails or is full changes nothing.
            async move { drop(session.demote(looks as u64).await) }
        });
        self.simulation.tasks.push(task);
    }

    /// Compacts cold files with little live data, if there are any.
    fn begin_compaction(&mut self) {
        let worker = self.any_worker();
        let task = self.simulation.berths[worker].submit(|session| {
            let session = session.clone();
            // A device that fails or is full changes nothing.
            async move { drop(session.compact_cold_files().await) }
        });
        self.simulation.tasks.push(task);
    }

    /// Moves versions out of the sparsest regions of memory, if there is a cold tier.
    fn begin_gathering(&mut self) {
        let (worker, bytes) = (self.any_worker(), self.dice.between(1, 64 << 10));
        let task = self.simulation.berths[worker].submit(move |session| {
            let session = session.clone();
            async move { drop(session.gather_room(bytes).await) }
        });
        self.simulation.tasks.push(task);
    }

    /// Copies the database to another disk while the workers go on.
    fn back_up(&mut self) -> Result<(), Reason> {
        let disk = SimulatedDisk::new(self.dice.seed(), Faults::default());
        let database = self.simulation.world.database.clone();
        let durable = database.durable_up_to().map_or(0, |durable| durable.0);
        let turns = self.dice.below(60);
        let (simulation, mut failure) = (&mut self.simulation, None);
        let made = database.backup(&disk.directory(), &mut |_| match (0..turns)
            .try_for_each(|_| simulation.turn())
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(reason) => {
                failure = Some(reason);
                ControlFlow::Break(())
            }
        });
        if let Ok(report) = made {
            self.backups.push(Backup {
                disk,
                durable,
                up_to: report.up_to.0,
            });
        }
        failure.map_or(Ok(()), Err)
    }

    /// Makes the device slow, fast, full, roomy, worse or better.
    fn change_mood(&mut self) {
        let dice = &mut self.dice;
        let (delay_reaps_min, delay_reaps_max) = [(0, 0), (0, 3), (5, 40), (0, 200)][dice.below(4)];
        let is_full = dice.chance(250);
        let fails = self.is_bad && dice.chance(500);
        let rate = |likely: bool| if likely { 15 } else { 0 };
        self.disk.set_faults(Faults {
            delay_reaps_min,
            delay_reaps_max,
            short_per_mille: [0, 50, 300][dice.below(3)],
            write_error_per_mille: rate(fails && dice.chance(500)),
            sync_error_per_mille: rate(fails && dice.chance(500)),
            name_error_per_mille: rate(fails && dice.chance(500)),
            read_error_per_mille: 0,
            capacity_bytes: is_full.then(|| dice.between(100 << 10, 4 << 20) as u64),
        });
    }

    /// Ends all tasks, with a device that does not fail.
    fn wind_up(&mut self) -> Result<(), Reason> {
        self.disk.set_faults(Faults::default());
        self.simulation.begun_max = self.simulation.begun;
        while self.simulation.berths.iter().any(Berth::has_tasks) && !self.disk.is_unplugged() {
            for berth in &self.simulation.berths {
                berth.session().wind_up();
            }
            self.simulation.turn()?;
        }
        let has_failed = self.simulation.world.database.failure().is_some();
        if self.disk.is_unplugged() || has_failed {
            return Ok(());
        }
        self.indexes.compare_all(&self.simulation)
    }

    /// Ends all workers: with power, if they end in order.
    fn end(self, in_order: bool, report: &mut CrashReport) -> Result<End, Reason> {
        let is_healthy = self.simulation.world.database.failure().is_none();
        report.halfway += u64::from(self.disk.is_unplugged());
        report.poisoned += u64::from(!is_healthy && !self.disk.is_unplugged());
        if !in_order {
            self.disk.unplug();
        }
        let Simulation {
            world,
            berths,
            tasks,
            snapshots,
            begun,
            ..
        } = self.simulation;
        let database = &world.database;
        drop(berths);
        drop(tasks);
        let complete = in_order && database.failure().is_none() && !self.disk.is_unplugged();
        report.closed += u64::from(complete);
        report.snapshots_compared += snapshots.end();
        report.checkpoints += database.stats().checkpoints;
        report.demoted += database.stats().demoted;
        report.promoted += database.stats().promoted;
        report.moved += database.stats().moved;
        report.emptied += database.memory().regions_emptied;
        report.compacted += database.stats().compacted;
        report.cold_files_removed += database.stats().cold_files_removed;
        report.blocks += database.log_stats().blocks;
        Ok(End {
            newest: database.now().0,
            records: world.recorder.take(),
            complete,
            backups: self.backups,
            begun,
            order: world.recorder.next(),
        })
    }
}
