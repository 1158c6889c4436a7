//! `weft-bench crash`: checks conditions after the process was killed.

use std::path::PathBuf;
use std::process::Command;

use applications::crash::{Plan, Planted, Subject, report, run, work};
use applications::{smallbank, tatp, tpcc};
use bench::measure::Isolation;
use bench::report::Format;
use clap::ValueEnum;
use commands::number::parse_count;
use commands::progress::Progress;

use commands::Place;

const EXAMPLES: &str = "\
What runs:
  A child process opens the database and runs the application on all workers, durable and
  synchronous, with checkpoints. It is killed at a moment that the seed chooses: at work, in
  a checkpoint; every other time another child is killed while it recovers. Then the database
  is opened again, and checked:
    the conditions of the application (TPC-C: the twelve of clause 3.3.2)
    every transaction that was acknowledged is there
    the tables count as many transactions as have committed
    every byte in the directory (as weft check does)
  After every 25 kills a new database is loaded. When something does not hold, the run ends,
  and the directory is kept.

Exit code:
  0  everything held
  1  something did not, and is named; or the run failed
  2  the request was wrong

Examples:
  weft-bench crash --application tpcc --data-dir /tmp/weft-crash
  weft-bench crash --application smallbank --kills 200 --seed 7 --data-dir /tmp/weft-crash
  weft-bench crash --application tatp --lose-unsynced --data-dir /tmp/weft-crash
  A run that must fail, to see that it does:
    weft-bench crash --application tpcc --plant hasty --data-dir /tmp/weft-crash";

/// Kills a process that runs an application, as often as asked, and checks after each
/// recovery that the conditions hold and nothing acknowledged is lost.
///
/// The directory is removed afterwards unless something did not hold. Results go to standard
/// output, progress to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Application to run: tpcc, smallbank or tatp.
    #[arg(long, value_name = "NAME")]
    application: ApplicationName,

    /// Directory for the database, empty or missing.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// Number of child processes to kill at work; the database is opened and checked after each.
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..))]
    kills: u32,

    /// Items of TPC-C's one warehouse (60 customers in each district), customers of
    /// SmallBank, or subscribers of TATP.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count)]
    records: u64,

    /// Worker threads.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Isolation level of the transactions: read-committed, snapshot or serializable.
    #[arg(long, value_name = "LEVEL", default_value = "serializable")]
    isolation: Isolation,

    /// Also discard unsynced writes at a kill, as a power cut does.
    #[arg(long)]
    lose_unsynced: bool,

    /// Plant a bug that must be noticed: hasty (acknowledges before the commit), skips-syncs
    /// (with --lose-unsynced) or skips-work (commits nothing but the acknowledgement).
    #[arg(long, value_name = "BUG")]
    plant: Option<Planted>,

    /// Seed of the moments of the kills and of the clients' draws. The clients' progress up to a
    /// kill depends on the machine.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    /// Form of the results: table, csv or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    /// Work as a child, with this seed, until killed.
    #[arg(long, hide = true)]
    as_child: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApplicationName {
    Tpcc,
    Smallbank,
    Tatp,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        if self.plant == Some(Planted::SkipsSyncs) && !self.lose_unsynced {
            return Err(commands::Error::input(
                "--plant skips-syncs does nothing unless a kill takes what was not synced; add \
                 --lose-unsynced",
            ));
        }
        let subject = self.subject()?;
        let plan = Plan {
            directory: self.data_dir.clone(),
            kills: self.kills,
            seed: self.seed,
            workers: self.workers.into(),
            isolation: self.isolation,
            lose_unsynced: self.lose_unsynced,
            planted: self.plant,
        };
        if let Some(seed) = self.as_child {
            return work(&subject, &plan, seed);
        }
        let place = Place::make(&self.data_dir)?;
        let crashes = run(&subject, &plan, &child, &Progress::stderr())?;
        commands::write_results(&report(self.format, std::slice::from_ref(&crashes))?)?;
        if crashes.sentences.is_empty() {
            return Ok(());
        }
        Err(commands::Error::run(format!(
            "what must hold after a crash did not; {} is kept; please report it:\n{}",
            place.keep().display(),
            crashes.sentences.join("\n")
        )))
    }

    fn subject(&self) -> commands::Result<Subject> {
        let few = u32::try_from(self.records).unwrap_or(u32::MAX);
        Ok(match self.application {
            ApplicationName::Tpcc => {
                let settings = tpcc::Settings {
                    scale: tpcc::Scale {
                        items: few,
                        customers: 60,
                        ..tpcc::Scale::default()
                    },
                    ..tpcc::Settings::standard(tpcc::Mix::Tpcc, 1)
                };
                settings.check()?;
                Subject::Tpcc(settings)
            }
            ApplicationName::Smallbank => {
                let settings = smallbank::Settings {
                    accounts: self.records,
                    // At weaker levels this condition need not hold.
                    statements: self.isolation == Isolation::Serializable,
                    ..smallbank::Settings::default()
                };
                settings.check()?;
                Subject::SmallBank(settings)
            }
            ApplicationName::Tatp => {
                let settings = tatp::Settings {
                    subscribers: few,
                    ..tatp::Settings::default()
                };
                settings.check()?;
                Subject::Tatp(settings)
            }
        })
    }
}

/// Returns the command of a child: this command, with a seed of its own.
fn child(seed: u64) -> commands::Result<Command> {
    let program = std::env::current_exe().map_err(|error| {
        commands::Error::run(format!("cannot find this program to start it: {error}"))
    })?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.args(["--as-child", &seed.to_string()]);
    Ok(command)
}
