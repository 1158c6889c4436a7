//! Kills a process that runs an application, and checks that the conditions hold afterwards.
//!
//! ```text
//! parent                                child
//!   loads the database
//!   starts it          ---------------->  opens the database, says what is in the ledger
//!   notes promises     <-- words -------  clients on all workers; checkpoints
//!   SIGKILL at a moment of its choice     gone
//!   every other time, kills another while it recovers, and another ...
//!   checks the directory, opens the database, checks the conditions and the ledger
//! ```
//! Each client's transactions record, in a table of their own, how many transactions of their kind
//! the client has committed: the *ledger* (`ledger.rs`). An entry is acknowledged together with its
//! transaction. The check then requires:
//! - *kept*: every acknowledged transaction is in the ledger, and at most one more of each client,
//!   the one that was under way;
//! - *nothing partial*: the conditions hold, and the tables' counts of transactions
//!   ([`Tally`](crate::application::Tally)) agree with the ledger.
//!
//! A seed chooses the moments of the kills and the clients' requests; the clients' progress depends
//! on the machine, so a seed does not replay a run, it only varies it.

mod child;
mod ledger;
mod moment;
mod report;
#[cfg(test)]
mod tests;
mod verify;
mod watched;
mod word;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;
use weft::{Database, Durability, Options, StorageOptions};

use self::ledger::{Ledger, Promises};
use self::moment::Moment;
pub use self::report::report;
use self::watched::Watched;
use crate::application::Application;
use crate::smallbank::SmallBank;
use crate::tatp::Tatp;
use crate::tpcc::Tpcc;
use crate::{smallbank, tatp, tpcc};
use bench::databases;
use bench::distribution::{Rng, below, rng};
use bench::measure::{Isolation, Spread};
use commands::progress::Progress;
use commands::{Error, Result};

/// Number of kills after which a new database is loaded, to keep histories short.
const KILLS_PER_DATABASE: u32 = 25;

/// The application, with its settings.
#[derive(Clone, Debug)]
pub enum Subject {
    /// TPC-C.
    Tpcc(tpcc::Settings),
    /// SmallBank.
    SmallBank(smallbank::Settings),
    /// TATP.
    Tatp(tatp::Settings),
}

/// Settings of a crash test.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory of the database.
    pub directory: PathBuf,
    /// Number of children to kill at work, at least 1.
    pub kills: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Number of worker threads, at least 1.
    pub workers: usize,
    /// Isolation level of the clients' transactions.
    pub isolation: Isolation,
    /// Whether a kill discards unsynced writes too, as a power cut does.
    pub lose_unsynced: bool,
    /// Planted bug that must be noticed.
    pub planted: Option<Planted>,
}

/// A planted bug of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The child acknowledges transactions before it commits them.
    Hasty,
    /// The child's syncs do nothing, while unsynced writes are lost.
    SkipsSyncs,
    /// The child skips the work of some transactions, except for the line in the ledger.
    SkipsWork,
}

impl Planted {
    const ALL: [(Self, &str); 3] = [
        (Self::Hasty, "hasty"),
        (Self::SkipsSyncs, "skips-syncs"),
        (Self::SkipsWork, "skips-work"),
    ];
}

impl std::str::FromStr for Planted {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|(_, name)| *name == text);
        found.map(|(planted, _)| planted).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            Error::input(format!("`{text}` is no bug to plant; choose from {names}"))
        })
    }
}

/// Results of a crash test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Crashes {
    /// Always `"crash"`.
    pub benchmark: &'static str,
    /// Name of the application.
    pub application: &'static str,
    /// Isolation level of the clients' transactions.
    pub isolation: &'static str,
    /// Number of worker threads of each child.
    pub workers: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether kills discarded unsynced writes.
    pub lose_unsynced: bool,
    /// Number of children killed.
    pub kills: u32,
    /// Number of children killed before clients ran: while opening the database.
    pub while_opening: u32,
    /// Number of children killed between the beginning and the end of a checkpoint.
    pub while_checkpointing: u32,
    /// Number of times that the database was opened, and everything checked.
    pub recoveries: u32,
    /// Number of transactions that children have acknowledged.
    pub acknowledged: u64,
    /// Number of acknowledged transactions that were missing afterwards.
    pub lost: u64,
    /// Number of violations, lost transactions included.
    pub violations: usize,
    /// Time to open the database and attach its indexes, in seconds; `None` if that never
    /// succeeded.
    pub recovery_seconds: Option<Spread>,
    /// Time of the whole test, in seconds.
    pub seconds: f64,
    /// Violations, with the number of the kill after which they were found; the run ends with the
    /// first kill that has some.
    #[serde(skip)]
    pub sentences: Vec<String>,
}

/// Kills children as `plan` says, until a check fails. `start` makes the command of a child that
/// calls [`work`] with the same arguments and its own seed.
///
/// # Errors
/// [`Error::Input`] for settings that are out of range; [`Error::Run`] when the database cannot be
/// loaded, or a child cannot be started. A violation is no error.
pub fn run(
    subject: &Subject,
    plan: &Plan,
    start: &dyn Fn(u64) -> Result<Command>,
    progress: &Progress,
) -> Result<Crashes> {
    match subject {
        Subject::Tpcc(settings) => Parent::<Tpcc>::run(settings, plan, start, progress),
        Subject::SmallBank(settings) => Parent::<SmallBank>::run(settings, plan, start, progress),
        Subject::Tatp(settings) => Parent::<Tatp>::run(settings, plan, start, progress),
    }
}

/// Works as a child, until it is killed.
///
/// # Errors
/// [`Error::Run`] when the database refuses something.
pub fn work(subject: &Subject, plan: &Plan, seed: u64) -> Result<()> {
    match subject {
        Subject::Tpcc(settings) => child::work::<Tpcc>(settings, plan, seed),
        Subject::SmallBank(settings) => child::work::<SmallBank>(settings, plan, seed),
        Subject::Tatp(settings) => child::work::<Tatp>(settings, plan, seed),
    }
}

/// Returns the options with which parent and children open the database.
fn options(plan: &Plan) -> Options {
    Options {
        data_dir: Some(plan.directory.clone()),
        workers: plan.workers,
        retries_max: u32::MAX,
        storage: StorageOptions {
            // Small segments fill up, and are used again.
            log_segment_bytes: 1 << 20,
            log_buffer_bytes: 64 << 10,
            ..StorageOptions::default()
        },
        ..Options::default()
    }
}

struct Parent<'p, A: Application> {
    settings: &'p A::Settings,
    plan: &'p Plan,
    start: &'p dyn Fn(u64) -> Result<Command>,
    progress: &'p Progress,
    rng: Rng,
    /// Time that the last child that came to work took to open the database.
    opening_took: Duration,
    recoveries: Vec<f64>,
    crashes: Crashes,
}

impl<'p, A: Application> Parent<'p, A> {
    fn run(
        settings: &'p A::Settings,
        plan: &'p Plan,
        start: &'p dyn Fn(u64) -> Result<Command>,
        progress: &'p Progress,
    ) -> Result<Crashes> {
        let began = Instant::now();
        let mut parent = Self {
            settings,
            plan,
            start,
            progress,
            rng: rng(plan.seed, 0),
            opening_took: Duration::from_millis(20),
            recoveries: Vec::new(),
            crashes: Crashes {
                benchmark: "crash",
                application: A::NAME,
                isolation: plan.isolation.name(),
                workers: plan.workers,
                seed: plan.seed,
                lose_unsynced: plan.lose_unsynced,
                ..Crashes::default()
            },
        };
        parent.all()?;
        let mut crashes = parent.crashes;
        crashes.violations = crashes.sentences.len();
        if !parent.recoveries.is_empty() {
            crashes.recovery_seconds = Some(Spread::of(&parent.recoveries));
        }
        crashes.seconds = began.elapsed().as_secs_f64();
        Ok(crashes)
    }

    fn all(&mut self) -> Result<()> {
        let mut promises = Promises::default();
        let step = self
            .progress
            .step("killing and recovering", self.plan.kills.into());
        for kill in 0..self.plan.kills {
            if kill.is_multiple_of(KILLS_PER_DATABASE) {
                promises = Promises::default();
                self.load()?;
            }
            let found = self.kill_and_recover(&mut promises)?;
            if !found.is_empty() {
                let after = format!("after kill {} (seed {})", kill + 1, self.plan.seed);
                let found = found.into_iter().map(|found| format!("{after}: {found}"));
                self.crashes.sentences = found.collect();
                break;
            }
            step.advance(1);
        }
        Ok(())
    }

    /// Makes a new database.
    fn load(&self) -> Result<()> {
        emptied(&self.plan.directory)?;
        let options = Options {
            // Closing the database writes the log.
            durability: Durability::Relaxed,
            ..options(self.plan)
        };
        let database = Database::open(options).map_err(databases::failure)?;
        let hidden = Progress::hidden();
        let step = hidden.step("loading", A::load_steps(self.settings));
        A::load(self.settings, &database, &step)?;
        Ledger::create(&database).map_err(databases::failure)?;
        database.close();
        Ok(())
    }

    /// Kills one child at work, and some that recover after it. Returns the violations found then.
    fn kill_and_recover(&mut self, promises: &mut Promises) -> Result<Vec<String>> {
        let mut moment = Moment::at_work(&mut self.rng);
        loop {
            let mut child = Watched::start(&mut (self.start)(below(&mut self.rng, u64::MAX))?)?;
            let killed = child.kill_at(moment, promises);
            self.crashes.acknowledged += child.acknowledged;
            if let Err(complaint) = killed {
                return Ok(vec![complaint]);
            }
            self.crashes.kills += 1;
            self.crashes.while_opening += u32::from(child.opening_took.is_none());
            self.crashes.while_checkpointing += u32::from(child.is_checkpointing);
            self.opening_took = child.opening_took.unwrap_or(self.opening_took);
            if below(&mut self.rng, 2) == 0 {
                break;
            }
            moment = Moment::opening(&mut self.rng, self.opening_took);
        }
        let verified = verify::verify::<A>(self.settings, self.plan, promises);
        self.crashes.recoveries += 1;
        self.crashes.lost += verified.lost;
        self.recoveries.extend(verified.seconds);
        Ok(verified.sentences)
    }
}

/// Removes the contents of `directory`.
fn emptied(directory: &Path) -> Result<()> {
    let emptied = match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(directory),
    };
    emptied.map_err(|error| {
        Error::run(format!(
            "cannot begin anew in {}: {error}",
            directory.display()
        ))
    })
}
