//! Opening a database on a simulated disk, with any number of workers.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use engine::{
    CheckpointConfig, ColdConfig, Database, DatabaseConfig, Loading, LogConfig, OpenError,
    RecoveryConfig, RecoveryReport, WallClock, WallTime,
};
use io::{Directory, SimulatedDisk};

use super::unverified::Unverified;
use crate::{
    dice::Dice,
    parameters::{Parameters, Planted},
    simulation::berth::Berth,
    workload::expiring,
};

/// A database that was recovered, and its workers.
pub(super) struct Opened {
    pub(super) database: Arc<Database>,
    pub(super) berths: Vec<Berth>,
    pub(super) clock: Rc<Cell<Duration>>,
    pub(super) wall: WallClock,
    pub(super) report: RecoveryReport,
    /// Whether records may be on the device.
    pub(super) has_cold: bool,
}

/// Outcome of an opening.
pub(super) enum Interrupted {
    No(Box<Opened>),
    /// Interrupted after the number of turns asked for.
    Yes,
}

/// Opens the database on `disk`; stops after `turns`, if given.
pub(super) fn open(
    disk: &SimulatedDisk,
    parameters: &Parameters,
    wall: &WallClock,
    turns: Option<usize>,
    dice: &mut Dice,
) -> Result<Interrupted, OpenError> {
    let mut directory: Arc<dyn Directory> = disk.directory();
    if parameters.planted == Some(Planted::SkipChecksum) {
        directory = Arc::new(Unverified(directory));
    }
    let config = DatabaseConfig {
        checkpoint: CheckpointConfig {
            log_bytes_max: 0,
            interval: Duration::ZERO,
            ..CheckpointConfig::default()
        },
        certifier: parameters.levels.certifier(),
        cold_tier: dice.chance(500).then(|| ColdConfig {
            file_bytes: 4u64 << dice.between(10, 14),
            dead_percent_max: dice.between(10, 50) as u8,
            ..ColdConfig::default()
        }),
        // Small regions: a few versions suffice to leave some sparse.
        region_bytes: dice.chance(700).then(|| 64 << dice.between(1, 6)),
        ..DatabaseConfig::with_memory(parameters.memory_bytes_max)
    };
    let recovery = Database::open(
        config,
        log_config(dice),
        RecoveryConfig::default(),
        directory,
    )?;
    let database = recovery.database().clone();
    let its_own = match parameters.planted {
        Some(Planted::LateClock) => late(wall),
        _ => wall.clone(),
    };
    assert!(database.set_wall_clock(its_own), "nobody has asked");
    let clock = Rc::new(Cell::new(Duration::ZERO));
    let workers = dice.between(1, parameters.workers_max);
    let berths: Result<Vec<Berth>, _> = (0..workers)
        .map(|_| Berth::new(&database, parameters, &clock, dice))
        .collect();
    let mut berths = match berths {
        Err(_) if parameters.memory_is_scarce() => return Err(OpenError::MemoryExhausted),
        berths => berths.expect("a simulated disk has channels for all"),
    };
    for berth in &mut berths {
        let tasks = recovery.tasks(&berth.session());
        berth.draw(tasks);
    }
    for turn in 0.. {
        if turns == Some(turn) {
            return Ok(Interrupted::Yes);
        }
        let chosen = dice.below(workers);
        berths[chosen].take_in();
        for _ in 0..dice.between(1, 60) {
            berths[chosen].resume(dice);
        }
        for berth in &mut berths {
            berth.take_in();
        }
        // A worker that waits for the device, or for room, is not busy, and has
        // not ended.
        if !berths.iter().any(Berth::is_under_way) {
            break;
        }
        let next_timer = berths.iter().filter_map(Berth::next_timer).min();
        if !berths.iter().any(Berth::is_busy)
            && let Some(wait) = next_timer
        {
            clock.set(clock.get() + wait);
        }
    }
    for berth in &mut berths {
        // Ends the closure, and with it the share in the tasks' state.
        berth.draw(|| None::<Loading>);
    }
    let report = recovery.finish()?;
    let handles: Vec<_> = berths.iter().map(Berth::handle).collect();
    database.set_helpers(Box::new(move |help| {
        for handle in &handles {
            let help = help.clone();
            // A panic of the task is seen by the comparison at the end of the round.
            let task = handle.submit(move |session| help.run(session.clone()));
            task.detach();
        }
    }));
    let names = disk.directory().list()?;
    let has_cold = names.iter().any(|name| name.starts_with("cold-"));
    Ok(Interrupted::No(Box::new(Opened {
        database,
        berths,
        clock,
        wall: wall.clone(),
        report,
        has_cold,
    })))
}

fn late(wall: &WallClock) -> WallClock {
    let ttl = expiring::TTL.as_micros() as u64;
    WallClock::manual(WallTime(wall.now().0 - ttl))
}

/// Draws a small log, so that buffers fill and segments are reused.
fn log_config(dice: &mut Dice) -> LogConfig {
    LogConfig {
        group_commit_window: Duration::from_micros(dice.below(200) as u64),
        relaxed_window: Duration::from_micros(dice.below(5000) as u64),
        buffer_bytes: [4 << 10, 8 << 10, 64 << 10][dice.below(3)],
        segment_bytes: [150 << 10, 200 << 10, 1 << 20][dice.below(3)],
        transaction_bytes_max: 1 << 20,
        change_retention_bytes: [0, 600 << 10, 1 << 30][dice.below(3)],
    }
}
