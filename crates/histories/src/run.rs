//! Runs: batches of transactions, with crashes among them.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use io::{Faults, SimulatedDisk};
use isolation::generate::{Choices, GROUP_KEYS, Generator, Step};
use weft::{Database, InFlight, Options};

use crate::{
    client::{Shared, client},
    dice::Dice,
    operations::{Doing, Open, Records},
    record::Recorder,
    settings::Settings,
    summary::Summary,
};

const TABLE: &str = "records";
/// Interval at which the watch is told of progress, and the end of a batch is looked for.
const GLANCE: Duration = Duration::from_millis(20);
/// Longest time between two crashes.
const CRASH_INTERVAL: Duration = Duration::from_millis(300);
/// Longest wait for another transaction.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// Groups that one transaction reads at the end of a batch.
const GROUPS_AT_ONCE: u64 = 64;

/// Reason for which a run failed, apart from anomalies in its history.
#[derive(Debug)]
pub struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl From<weft::Error> for Failed {
    fn from(error: weft::Error) -> Failed {
        Failed(error.to_string())
    }
}

/// Observer of a run, and its changes to the database's options.
pub struct Watch<'w> {
    /// Called regularly with the time for which transactions have run, and the number of those that
    /// have ended.
    pub progress: Box<dyn FnMut(Duration, u64) + 'w>,
    /// Changes the database's options before the database is opened.
    pub options: Box<dyn Fn(Options) -> Options + 'w>,
}

impl Default for Watch<'_> {
    fn default() -> Self {
        Watch {
            progress: Box::new(|_, _| {}),
            options: Box::new(|options| options),
        }
    }
}

/// Runs transactions as `settings` say and checks their histories. Ends early after an anomaly that
/// the level forbids.
///
/// # Errors
/// Fails when the database cannot be opened or read.
pub fn run(settings: &Settings, watch: &mut Watch<'_>) -> Result<Summary, Failed> {
    let mut run = Run {
        settings,
        watch,
        dice: Dice::new(settings.seed),
        recorder: Arc::new(Recorder::default()),
        disk: None,
        summary: Summary::default(),
        first_key: 0,
    };
    if settings.crashes > 0 {
        run.disk = Some(SimulatedDisk::new(run.dice.seed(), Faults::default()));
    }
    let mut opened = run.open()?;
    while !run.time_is_up(Duration::ZERO) && run.summary.satisfies(settings.level()) {
        opened = run.batch(opened)?;
    }
    opened.0.close();
    Ok(run.summary)
}

type Opened = (Database, Records);

struct Run<'s, 'w> {
    settings: &'s Settings,
    watch: &'s mut Watch<'w>,
    dice: Dice,
    recorder: Arc<Recorder>,
    disk: Option<SimulatedDisk>,
    summary: Summary,
    first_key: u64,
}

impl Run<'_, '_> {
    fn open(&mut self) -> Result<Opened, Failed> {
        let options = (self.watch.options)(Options {
            workers: self.settings.workers,
            isolation: self.settings.engine_isolation(),
            certifier: self.settings.certifier,
            on_conflict: self.settings.on_conflict,
            // The database cannot find deadlocks that run through a wait of a client.
            lock_timeout: Some(LOCK_TIMEOUT),
            data_dir: self.settings.data_dir.clone(),
            // `Auto` would stop interleaving when everything is in the cache, and transactions are
            // to meet here.
            in_flight: InFlight::Fixed(8),
            ..Options::default()
        });
        let database = match &self.disk {
            None => Database::open(options)?,
            Some(disk) => Database::open_in(options, disk.directory())?,
        };
        let table = match database.open_table(TABLE) {
            Ok(table) => table,
            Err(weft::Error::NoSuchTable(_)) => database.create_table(TABLE)?,
            Err(error) => return Err(error.into()),
        };
        Ok((database, table))
    }

    /// Runs a batch and checks its history.
    fn batch(&mut self, opened: Opened) -> Result<Opened, Failed> {
        let generator = Arc::new(Generator::new(self.settings.shape, self.first_key));
        let ended = self.recorder.ended();
        let mut opened = opened;
        let begin = Instant::now();
        while !self.is_over(begin, ended) {
            opened = self.stretch(opened, &generator, (begin, ended))?;
        }
        self.summary.running += begin.elapsed();
        let keys = self.first_key..generator.end();
        self.first_key = generator.end();
        self.read_all(&opened, keys)?;
        let history = self.recorder.take();
        let begin = Instant::now();
        let verdict = isolation::check(&history);
        self.summary.checking += begin.elapsed();
        self.summary.add(&history, &verdict);
        if self.settings.keep_history {
            self.summary.history.extend(history);
        }
        Ok(opened)
    }

    fn is_over(&self, begin: Instant, ended_before: u64) -> bool {
        let enough = self.recorder.ended() - ended_before >= self.settings.batch as u64;
        enough || self.time_is_up(begin.elapsed())
    }

    /// Returns whether transactions have run long enough, counting those that have run for `since`,
    /// and whether the database has crashed often enough.
    fn time_is_up(&self, since: Duration) -> bool {
        self.summary.running + since >= self.settings.running
            && self.summary.crashes >= u64::from(self.settings.crashes)
    }

    /// Runs clients until the batch is over or the power fails.
    fn stretch(
        &mut self,
        (database, table): Opened,
        generator: &Arc<Generator>,
        (begin, ended): (Instant, u64),
    ) -> Result<Opened, Failed> {
        let shared = Arc::new(Shared {
            database,
            table,
            generator: generator.clone(),
            recorder: self.recorder.clone(),
            settings: self.settings.clone(),
            over: AtomicBool::new(false),
        });
        let crash = self.crash_after().map(|after| Instant::now() + after);
        let threads: Vec<_> = (0..self.settings.workers)
            .map(|_| {
                let seeds: Vec<_> = (0..self.settings.clients)
                    .map(|_| self.dice.seed())
                    .collect();
                let shared = shared.clone();
                thread::spawn(move || {
                    let clients = seeds.into_iter().map(|seed| client(&shared, seed));
                    pollster::block_on(join_all(clients));
                })
            })
            .collect();
        let mut crashed = false;
        while !self.is_over(begin, ended) && !crashed {
            thread::sleep(GLANCE);
            crashed = crash.is_some_and(|at| Instant::now() >= at);
            let running = self.summary.running + begin.elapsed();
            (self.watch.progress)(running, self.recorder.ended());
        }
        if let Some(disk) = self.disk.as_ref().filter(|_| crashed) {
            disk.unplug();
        }
        // Relaxed: joining the threads waits for the clients that did not see the flag.
        shared.over.store(true, Ordering::Relaxed);
        for thread in threads {
            thread
                .join()
                .map_err(|_| Failed("a client panicked".to_owned()))?;
        }
        let shared = Arc::into_inner(shared).expect("all threads have ended");
        if !crashed {
            return Ok((shared.database, shared.table));
        }
        self.reopen(shared)
    }

    /// Draws the time after which the power fails in this stretch, if it does.
    fn crash_after(&mut self) -> Option<Duration> {
        let left = u64::from(self.settings.crashes).checked_sub(self.summary.crashes + 1)?;
        let time = self.settings.running.saturating_sub(self.summary.running);
        let share = (time / (left as u32 + 2)).min(CRASH_INTERVAL);
        Some(share.mul_f64(0.2 + self.dice.below(1000) as f64 / 1000.0))
    }

    /// Opens the files that are left after the power has failed.
    fn reopen(&mut self, shared: Shared) -> Result<Opened, Failed> {
        shared.database.close();
        drop(shared);
        self.summary.crashes += 1;
        self.disk = self
            .disk
            .take()
            .map(|disk| disk.after_crash(self.dice.seed()));
        self.open()
    }

    /// Reads all records of a batch, in transactions of another process of the history.
    fn read_all(&self, opened: &Opened, keys: std::ops::Range<u64>) -> Result<(), Failed> {
        let (database, table) = opened;
        let process = self.recorder.process();
        let keys_at_once = (GROUPS_AT_ONCE * GROUP_KEYS) as usize;
        for first in keys.clone().step_by(keys_at_once) {
            let end = keys.end.min(first + keys_at_once as u64);
            let groups = (first..end).step_by(GROUP_KEYS as usize);
            let attempts = self.recorder.attempts(process);
            let (noted, table) = (attempts.clone(), table.clone());
            database.run_blocking(async move |transaction: &weft::Transaction| {
                noted.begin();
                let doing = Doing {
                    open: Open::Inside(transaction),
                    table: &table,
                    attempts: &noted,
                    locks: false,
                };
                for group in groups.clone() {
                    doing.step(Step::Scan(group, group + GROUP_KEYS)).await?;
                }
                Ok(())
            })?;
            attempts.end(isolation::history::Outcome::Committed, None);
        }
        Ok(())
    }
}
