//! Kills servers under their clients, and checks that the conditions hold afterwards.
//!
//! ```text
//! this process                            weft serve
//!   loads TPC-C and a ledger ------------->
//!   clients work, and note what they are
//!   told has committed       <----------->
//!   SIGKILL at a moment of its choice      gone
//!   starts another           ------------>  recovers
//!   checks conditions and ledger <------->
//! ```
//! Each transaction records in the ledger, in its client's row, that it has committed
//! (`applications/tpcc/wire/ledger.rs`). The check after a kill then requires:
//! - *kept*: every commit that a client was told of is in the ledger, and at most one transaction more, which was under
//!   way;
//! - *nothing partial*: the conditions of TPC-C hold, and there are as many orders and payments
//!   as the ledger says.
//!
//! [`applications::crash`] does the same to a database within the killed process, and knows when it writes checkpoints;
//! here the way from the log to the client's socket is part of the killed process.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use serde::Serialize;

use applications::tpcc;
use applications::tpcc::wire::ledger::{self, Counts, KINDS, NEW_ORDER, PAYMENT};
use applications::tpcc::wire::{Session, Wire};
use bench::distribution::{Rng, below, rng};
use bench::measure::{Isolation, Spread};
use bench::report::{Format, csv, json, table};
use commands::Result;
use commands::progress::Progress;
use servers::{Client as _, Done, Server, Workload as _, failed, is_retryable, spawn_weft};

/// Settings of a crash test.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory of the database.
    pub directory: PathBuf,
    /// Number of servers to kill.
    pub kills: u32,
    /// Number of clients, each on a thread and a connection of its own.
    pub clients: u16,
    /// Isolation level of the clients' transactions.
    pub isolation: Isolation,
    /// Settings of the database.
    pub tpcc: tpcc::Settings,
    /// Seed of the moments of the kills and of the clients' draws.
    pub seed: u64,
    /// Whether clients count commits before they are told of them: a planted bug that the check must notice.
    pub is_hasty: bool,
}

/// Results of a crash test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crashes {
    /// Always `"wire-crash"`.
    pub benchmark: &'static str,
    /// Isolation level of the clients' transactions.
    pub isolation: Isolation,
    /// Number of clients.
    pub clients: u16,
    /// Seed of every random choice.
    pub seed: u64,
    /// Number of servers killed, each followed by one that recovered.
    pub kills: u32,
    /// Number of transactions that clients were told have committed.
    pub acknowledged: u64,
    /// Number of acknowledged transactions that were missing afterwards.
    pub lost: u64,
    /// Number of transactions that were present without having been acknowledged.
    pub unacknowledged: u64,
    /// Median time until the recovered server listened, in seconds.
    pub recovery_seconds: f64,
    /// Longest time of a recovery, in seconds.
    pub recovery_seconds_max: f64,
    /// Number of violations.
    pub violations: usize,
    /// Violations, with the number of the kill after which they were found; the run ends with the first kill that has
    /// some.
    #[serde(skip)]
    pub sentences: Vec<String>,
}

/// Kills servers as `plan` says, until a check fails. `serve` makes the command of a server, without arguments.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when the database cannot be loaded, or a server cannot be started. A violation
/// is no error.
pub fn run(
    plan: &Plan,
    serve: &dyn Fn() -> Result<Command>,
    progress: &Progress,
) -> Result<Crashes> {
    plan.tpcc.check()?;
    let wire = Wire::new(&plan.tpcc, false);
    let (mut process, mut server) = spawn_weft(serve()?, &plan.directory).map(running)?;
    {
        let step = progress.step("loading", wire.rows());
        let mut connection = server.connect()?;
        wire.load(&mut connection, &step)?;
        ledger::create(&mut connection, plan.clients).map_err(failed)?;
    }
    let step = progress.step("killing and recovering", plan.kills.into());
    let mut random = rng(plan.seed, u64::MAX);
    let mut told = vec![[0; KINDS]; plan.clients.into()];
    let mut crashes = Crashes {
        benchmark: "wire-crash",
        isolation: plan.isolation,
        clients: plan.clients,
        seed: plan.seed,
        kills: 0,
        acknowledged: 0,
        lost: 0,
        unacknowledged: 0,
        recovery_seconds: 0.0,
        recovery_seconds_max: 0.0,
        violations: 0,
        sentences: Vec::new(),
    };
    let mut recoveries = Vec::new();
    for kill in 1..=plan.kills {
        let before = sum(&told);
        let moment = moment(&mut random);
        let notes = work_and_kill(plan, &wire, &server, kill, moment, &mut told, process)?;
        crashes.kills = kill;
        crashes.acknowledged += (sum(&told) - before) as u64;
        let began = Instant::now();
        (process, server) = spawn_weft(serve()?, &plan.directory).map(running)?;
        recoveries.push(began.elapsed().as_secs_f64());
        let mut found = notes;
        check(plan, &wire, &server, &mut told, &mut crashes, &mut found)?;
        step.advance(1);
        if !found.is_empty() {
            let after = format!("after kill {kill} (seed {})", plan.seed);
            let found = found.into_iter().map(|found| format!("{after}: {found}"));
            crashes.sentences = found.collect();
            break;
        }
    }
    drop(process);
    if !recoveries.is_empty() {
        let spread = Spread::of(&recoveries);
        crashes.recovery_seconds = spread.median;
        crashes.recovery_seconds_max = spread.max;
    }
    crashes.violations = crashes.sentences.len();
    Ok(crashes)
}

/// A server's process, killed when this is dropped.
struct Process(std::process::Child);

fn running((child, server): (std::process::Child, Server)) -> (Process, Server) {
    (Process(child), server)
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Draws the time from the clients' start to the kill: most kills come at work, some among the first transactions.
fn moment(random: &mut Rng) -> Duration {
    let most = if below(random, 4) == 0 { 50 } else { 1_500 };
    Duration::from_millis(below(random, most))
}

/// Has clients work until the server is killed under them, after `moment`. Adds the commits that they were told of to
/// `told`, one line for each client; returns descriptions of wrong answers.
fn work_and_kill(
    plan: &Plan,
    wire: &Wire,
    server: &Server,
    kill: u32,
    moment: Duration,
    told: &mut [Counts],
    process: Process,
) -> Result<Vec<String>> {
    let mut sessions = Vec::new();
    for number in 0..u64::from(plan.clients) {
        let seed = plan.seed.wrapping_add(u64::from(kill));
        sessions.push(wire.session(server, plan.isolation, number, seed, true)?);
    }
    let is_hasty = plan.is_hasty;
    let wrong = thread::scope(|scope| {
        let clients = sessions.into_iter().zip(told.iter_mut());
        let clients: Vec<_> = clients
            .map(|(session, told)| scope.spawn(move || work(session, told, is_hasty)))
            .collect();
        thread::sleep(moment);
        drop(process);
        let ended = clients.into_iter().map(|client| {
            client
                .join()
                .unwrap_or_else(|_| Some("a client has panicked".to_owned()))
        });
        ended.flatten().collect()
    });
    Ok(wrong)
}

/// Works until the connection breaks. Returns a description of the first wrong answer or error, if any came before.
fn work(mut session: Session, told: &mut Counts, is_hasty: bool) -> Option<String> {
    loop {
        session.draw();
        let kind = session.kind()?;
        if is_hasty {
            told[kind] += 1;
        }
        loop {
            match session.attempt() {
                Ok(Done::Right) => break,
                Ok(Done::Wrong(how)) => return Some(how),
                Err(error) if is_retryable(&error) => {}
                Err(error) if error.as_db_error().is_some() => {
                    return Some(failed(error).to_string());
                }
                Err(_) => return None,
            }
        }
        match (is_hasty, session.has_committed()) {
            (false, true) => told[kind] += 1,
            // The transaction was counted before, and is none that must be kept.
            (true, false) => told[kind] -= 1,
            _ => {}
        }
    }
}

/// Checks that all acknowledged transactions are in the database, then sets `told` to the ledger's counts.
fn check(
    plan: &Plan,
    wire: &Wire,
    server: &Server,
    told: &mut Vec<Counts>,
    crashes: &mut Crashes,
    found: &mut Vec<String>,
) -> Result<()> {
    let mut connection = server.connect()?;
    let there = ledger::read(&mut connection, plan.clients).map_err(failed)?;
    for (client, (told, there)) in told.iter().zip(&there).enumerate() {
        let lost: i64 = told
            .iter()
            .zip(there)
            .map(|(told, there)| (told - there).max(0))
            .sum();
        let more: i64 = told
            .iter()
            .zip(there)
            .map(|(told, there)| (there - told).max(0))
            .sum();
        crashes.lost += lost as u64;
        crashes.unacknowledged += more as u64;
        if lost > 0 {
            found.push(format!(
                "client {client} was told of {lost} transactions that are not there"
            ));
        }
        if more > 1 {
            found.push(format!(
                "of client {client} {more} transactions are there of which it was not told; one \
                 can have been under way"
            ));
        }
    }
    let entered = wire.entered(&mut connection)?;
    for (what, kind, entered) in [
        ("orders", NEW_ORDER, entered[0]),
        ("payments", PAYMENT, entered[1]),
    ] {
        let committed: i64 = there.iter().map(|counts| counts[kind]).sum();
        if committed != entered {
            found.push(format!(
                "{entered} {what} are there, where transactions that committed made {committed}"
            ));
        }
    }
    found.extend(wire.verify(&mut connection)?);
    *told = there;
    Ok(())
}

fn sum(counts: &[Counts]) -> i64 {
    counts.iter().flatten().sum()
}

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not happen.
pub fn report(format: Format, crashes: &Crashes) -> Result<String> {
    match format {
        Format::Json => json::array(std::slice::from_ref(crashes)),
        Format::Csv => csv::text(std::slice::from_ref(crashes)),
        Format::Table => Ok(text(crashes)),
    }
}

const LEGEND: &str = "\
acknowledged: transactions that clients were told have committed; lost: those of them that were not
there; untold: those that were there, and the server was killed before it said so. recovery: seconds
until the next server listened, median and longest. violations: sentences about what did not hold.
";

fn text(crashes: &Crashes) -> String {
    let mut rows = table::table(&[
        "isolation",
        "clients",
        "kills",
        "acknowledged",
        "lost",
        "untold",
        "recovery",
        "longest",
        "violations",
    ]);
    let shown: [&dyn fmt::Display; 9] = [
        &crashes.isolation.name(),
        &crashes.clients,
        &crashes.kills,
        &crashes.acknowledged,
        &crashes.lost,
        &crashes.unacknowledged,
        &format!("{:.2}", crashes.recovery_seconds),
        &format!("{:.2}", crashes.recovery_seconds_max),
        &crashes.violations,
    ];
    rows.add_row(shown.map(|one| one.to_string()));
    table::align(&mut rows, 1);
    format!("{rows}\n{LEGEND}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_within_their_bounds_and_differ() {
        let mut random = rng(1, 1);
        let moments: Vec<Duration> = (0..100).map(|_| moment(&mut random)).collect();
        assert!(
            moments
                .iter()
                .all(|moment| *moment < Duration::from_millis(1_500))
        );
        assert!(
            moments
                .iter()
                .any(|moment| *moment < Duration::from_millis(50))
        );
        assert!(
            moments
                .iter()
                .any(|moment| *moment > Duration::from_millis(1_000))
        );
    }
}
