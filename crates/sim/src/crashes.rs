//! Crashes: a database on a simulated disk that loses its power again and again.
//!
//! A run has several *rounds*. In each, workers run transactions, checkpoints and
//! upkeep while the device changes its behaviour (`round.rs`), until the power fails:
//! at a random step, or halfway in a change of the disk. Then
//!
//! 1. the round's whole history is checked, including transactions that committed
//!    without their client being told (`check.rs`),
//! 2. several *images* of the disk are drawn, each with other writes and names that
//!    were under way kept, torn or lost,
//! 3. each is recovered, by any number of workers (`recovery.rs`), and must hold a
//!    prefix of the commit order with everything that was acknowledged (`ledger.rs`),
//!    all changes that were streamed meanwhile (`follower.rs`), and the existing
//!    indexes, without which their tables cannot be written (`indexes.rs`),
//! 4. in some images, bits rot: recovery refuses, or finds the same (`rot.rs`),
//! 5. backups that were made meanwhile, on other disks, are opened and compared,
//! 6. one of the images is interrupted while it is being recovered, also at every
//!    change of the disk that the end of recovery makes,
//! 7. and carries the next round.
//!
//! At the end the surviving history of all rounds is checked once more, as one, and by
//! the checker that looks for cycles (`cycles.rs`).
//!
//! A *crash point* is an image that was recovered and compared.

mod follower;
mod indexes;
mod ledger;
mod many;
mod parameters;
mod recovery;
mod report;
mod rot;
mod round;
mod unverified;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use engine::{Certifier, OpenError, Session, WallClock, WallTime};
use interleave::{WorkerLocal, with_injector};
use io::{Faults, SimulatedDisk};

use self::{
    follower::Follower,
    indexes::Indexes,
    ledger::{Ledger, Past},
    recovery::{Interrupted, Opened},
    round::Round,
};
pub use self::{many::run_crashes_many, parameters::CrashParameters, report::CrashReport};
use crate::{
    check::{self, Rules},
    cycles,
    dice::Dice,
    failure::{Failed, Reason},
    parameters::{Levels, Parameters, Planted},
    simulation::faults::Injector,
    workload::expiring,
};

/// A failed run of crashes.
pub type CrashFailure = Failed<CrashParameters>;

/// Returns the assumptions that checkers may make: see [`Rules`].
fn rules(parameters: &Parameters) -> Rules {
    Rules {
        one_thread: true,
        memory_is_scarce: parameters.memory_is_scarce(),
        waits: false,
        has_indexes: false,
        power_fails: true,
    }
}

/// Runs one simulation of crashes.
///
/// # Errors
/// Returns the first deviation from a correct run.
pub fn run_crashes(seed: u64, parameters: &CrashParameters) -> Result<CrashReport, CrashFailure> {
    let injector = Injector::new(seed, parameters.run.faults.panic_per_100_000);
    let hook = injector.clone();
    let run = || {
        with_injector(
            move |point| hook.passed(point),
            || Crashes::new(seed, parameters, injector).run(),
        )
    };
    let outcome = catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|payload| Err(Reason::panicked(&*payload)));
    outcome.map_err(|reason| CrashFailure::new(seed, parameters, reason))
}

/// Time at which all runs begin, in microseconds.
const START: WallTime = WallTime(1 << 40);

struct Crashes {
    parameters: CrashParameters,
    dice: Dice,
    /// Clock of all databases of the run.
    wall: WallClock,
    injector: Injector,
    ledger: Ledger,
    follower: Follower,
    indexes: Indexes,
    /// Number of transactions begun, and the order of the history, over all rounds.
    begun: u64,
    order: u64,
    report: CrashReport,
}

impl Crashes {
    fn new(seed: u64, parameters: &CrashParameters, injector: Injector) -> Crashes {
        let (mut dice, mut parameters) = (Dice::new(seed), *parameters);
        if dice.chance(parameters.serializable) {
            let certifier = [Certifier::Ssn, Certifier::Validation][dice.below(2)];
            parameters.run.levels = Levels::Serializable(certifier);
        }
        if dice.chance(parameters.scarce) {
            parameters.run.memory_bytes_max = dice.between(1 << 20, 3 << 20);
        }
        Crashes {
            parameters,
            dice,
            wall: WallClock::manual(START),
            injector,
            ledger: Ledger::default(),
            follower: Follower::default(),
            indexes: Indexes::default(),
            begun: 0,
            order: 0,
            report: CrashReport::default(),
        }
    }

    fn run(mut self) -> Result<CrashReport, Reason> {
        let disk = SimulatedDisk::new(self.dice.seed(), Faults::default());
        disk.plant(match self.parameters.run.planted {
            Some(Planted::SkipSync) => Some(io::Planted::SkipSync),
            Some(Planted::LoseDirectorySync) => Some(io::Planted::LoseDirectorySync),
            _ => None,
        });
        let mut opened = self.open(&disk).map_err(refused)?;
        let mut disk = disk;
        for _ in 0..self.dice.between(1, self.parameters.rounds_max) {
            let past = self.round(&disk, opened)?;
            if self.dice.chance(500) {
                let off = self.dice.below(2 * expiring::TTL.as_micros() as usize);
                self.wall.advance(Duration::from_micros(off as u64));
            }
            self.look_at_images(&disk, &past)?;
            self.look_at_backups(&past)?;
            let image = self.image(&disk);
            (disk, opened) = self.go_on(image, past)?;
            self.report.rounds += 1;
        }
        let rules = rules(&self.parameters.run);
        let survivors = self.ledger.survivors();
        check::history(survivors, &rules).map_err(Reason::Violation)?;
        let levels = self.parameters.run.levels;
        cycles::check_survivors(survivors, levels).map_err(Reason::Violation)?;
        self.report.survived += survivors.len() as u64;
        Ok(self.report)
    }

    /// Works until the power fails, and checks the round's history.
    fn round(&mut self, disk: &SimulatedDisk, opened: Opened) -> Result<Past, Reason> {
        let round = Round::new(
            disk,
            opened,
            &self.parameters,
            (&mut self.ledger, &self.follower, &self.indexes),
            &self.injector,
            (self.begun, self.order),
            Dice::new(self.dice.seed()),
        )?;
        let end = round.run(&mut self.report)?;
        self.report.merge(&self.indexes.take_report());
        (self.begun, self.order) = (end.begun, end.order);
        let rules = rules(&self.parameters.run);
        let past = self.ledger.past(end, rules)?;
        check::history(past.records(), &rules).map_err(Reason::Violation)?;
        self.report.count(past.records());
        Ok(past)
    }

    fn look_at_images(&mut self, disk: &SimulatedDisk, past: &Past) -> Result<(), Reason> {
        for _ in 0..self.parameters.images {
            let image = self.image(disk);
            if self.dice.chance(self.parameters.rot) {
                rot::look_at(self, &image, past)?;
            } else {
                self.recover(&image, past, None)?;
            }
        }
        Ok(())
    }

    fn look_at_backups(&mut self, past: &Past) -> Result<(), Reason> {
        for backup in &past.backups {
            self.report.backups += 1;
            self.report.crash_points += 1;
            let image = self.image(&backup.disk);
            let opened = self.open(&image).map_err(refused)?;
            self.ledger.compare_backup(past, &opened, backup)?;
        }
        Ok(())
    }

    /// Recovers the image that the next round works on, with interruptions.
    fn go_on(
        &mut self,
        mut image: SimulatedDisk,
        past: Past,
    ) -> Result<(SimulatedDisk, Opened), Reason> {
        for _ in 0..self.dice.weighted(&[3, 2, 1]) {
            let turns = self.dice.below(40);
            drop(self.open_for(&image, Some(turns)).map_err(refused)?);
            image = self.image(&image);
            self.report.interrupted_loads += 1;
        }
        let copy = self.image(&image);
        let (_, up_to) = self.recover(&copy, &past, None)?;
        if self.dice.chance(self.parameters.sweep) {
            self.sweep(&image, &past, up_to)?;
        }
        let (opened, up_to) = self.recover(&image, &past, Some(up_to))?;
        let opened = self.ledger.settle(past, opened, up_to)?;
        let (expired, unexpired) = self.ledger.expiring();
        self.report.expired += expired;
        self.report.unexpired += unexpired;
        self.follower.check(self.ledger.survivors().iter())?;
        self.report.merge(&self.follower.take_report());
        Ok((image, opened))
    }

    /// Loses the power at each change that the end of a recovery makes.
    fn sweep(&mut self, image: &SimulatedDisk, past: &Past, up_to: u64) -> Result<(), Reason> {
        for changes in 0.. {
            let copy = self.image(image);
            copy.crash_after(changes);
            let opened = self.open(&copy);
            let finished = !copy.is_unplugged();
            if finished {
                drop(opened.map_err(refused)?);
            }
            let copy = self.image(&copy);
            self.recover(&copy, past, Some(up_to))?;
            if finished {
                break;
            }
        }
        Ok(())
    }

    /// Recovers an image and compares it. Takes the commit up to which commits must
    /// have survived exactly, if that is known.
    fn recover(
        &mut self,
        image: &SimulatedDisk,
        past: &Past,
        expected: Option<u64>,
    ) -> Result<(Opened, u64), Reason> {
        self.report.crash_points += 1;
        let opened = self.open(image).map_err(refused)?;
        self.report.no_space += u64::from(opened.report.no_space.is_some());
        let up_to = self.ledger.compare(past, &opened)?;
        past.check_acknowledged(up_to)?;
        self.follower.check_position(up_to)?;
        if expected.is_some_and(|expected| expected != up_to) {
            return Err(Reason::Recovered(format!(
                "up to {up_to}, after an earlier recovery up to {expected:?}"
            )));
        }
        Ok((opened, up_to))
    }

    /// Returns the disk as it may be found after a crash now. It may be slow, or full.
    fn image(&mut self, disk: &SimulatedDisk) -> SimulatedDisk {
        let image = disk.after_crash(self.dice.seed());
        image.set_faults(Faults {
            delay_reaps_max: [0, 5][self.dice.below(2)],
            capacity_bytes: self.dice.chance(100).then_some(0),
            ..Faults::default()
        });
        image
    }

    fn open(&mut self, disk: &SimulatedDisk) -> Result<Opened, OpenError> {
        match self.open_for(disk, None)? {
            Interrupted::No(opened) => Ok(*opened),
            Interrupted::Yes => unreachable!("nobody asked for it"),
        }
    }

    fn open_for(
        &mut self,
        disk: &SimulatedDisk,
        turns: Option<usize>,
    ) -> Result<Interrupted, OpenError> {
        let run = &self.parameters.run;
        let mut open = |run| recovery::open(disk, run, &self.wall, turns, &mut self.dice);
        match open(run) {
            // The database before had fewer workers, perhaps, or smaller regions.
            Err(OpenError::MemoryExhausted) if run.memory_is_scarce() => {
                self.report.too_large += 1;
                open(&Parameters {
                    memory_bytes_max: Parameters::AMPLE_MEMORY_BYTES,
                    ..*run
                })
            }
            opened => opened,
        }
    }
}

/// Runs work that waits only for the device, outside of all workers.
fn run_waiting<T>(session: &Session, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        session.poll(true);
    }
}

fn refused(error: OpenError) -> Reason {
    Reason::Refused(error.to_string())
}
