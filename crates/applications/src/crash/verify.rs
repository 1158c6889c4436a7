//! Conditions that must hold after a database was killed and opened again.

use std::sync::Arc;
use std::time::Instant;

use engine::inspect;
use io::{Backend, Directory, RealDirectory};
use weft::{Database, Interleaved, Transaction};

use super::ledger::{Ledger, Promises};
use super::word::Entry;
use super::{Plan, options};
use crate::application::{Application, Tally, check};
use bench::databases;
use commands::{Error, Result};

/// Results of a verification.
#[derive(Debug, Default)]
pub(super) struct Verified {
    /// Time to open the database and attach its indexes, in seconds, if that was possible.
    pub(super) seconds: Option<f64>,
    /// Number of acknowledged transactions that are missing.
    pub(super) lost: u64,
    /// Violations, a sentence each.
    pub(super) sentences: Vec<String>,
}

/// Checks the directory, opens the database in it, and checks all conditions.
pub(super) fn verify<A: Application>(
    settings: &A::Settings,
    plan: &Plan,
    promises: &Promises,
) -> Verified {
    let mut verified = Verified::default();
    let done = sound(plan).and_then(|()| open::<A>(settings, plan, promises, &mut verified));
    if let Err(error) = done {
        verified.sentences.push(error.to_string());
    }
    verified
}

/// Checks every byte of the directory: no kill may do any damage.
fn sound(plan: &Plan) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::run(format!("the check says: {error}"));
    let directory = RealDirectory::open(&plan.directory, Backend::Blocking);
    let directory: Arc<dyn Directory> = Arc::new(directory.map_err(|error| failed(&error))?);
    match inspect::check(&directory, &mut |_| {}) {
        Ok(report) if report.is_sound() && report.recovers_to.is_some() => Ok(()),
        Ok(report) => Err(failed(&report)),
        Err(error) => Err(failed(&error)),
    }
}

fn open<A: Application>(
    settings: &A::Settings,
    plan: &Plan,
    promises: &Promises,
    verified: &mut Verified,
) -> Result<()> {
    let began = Instant::now();
    let database = Database::open(options(plan)).map_err(databases::failure)?;
    let application = A::open(settings, &database)?;
    verified.seconds = Some(began.elapsed().as_secs_f64());
    look(&database, &application, promises, verified)?;
    database.close();
    Ok(())
}

/// Checks the conditions of an open database, and compares its ledger with the promises, and its
/// tables with the ledger.
pub(super) fn look<A: Application>(
    database: &Database,
    application: &A,
    promises: &Promises,
    verified: &mut Verified,
) -> Result<()> {
    let violated = check::inconsistencies(database, application)?;
    verified.sentences.extend(violated);
    let ledger = Ledger::open(database).map_err(databases::failure)?;
    let ours = application.clone();
    let read = async move |txn: &Transaction| {
        let entries = ledger.read(txn).await?;
        Ok((entries, ours.tallies(txn).await?))
    };
    let (entries, tallies) = database
        .run_with::<Interleaved, _, _>(check::options(), read)
        .wait()
        .map_err(databases::failure)?;
    let compared = promises.compare(&entries, A::KINDS);
    verified.lost += compared.lost;
    verified.sentences.extend(compared.sentences);
    let wrong = tallies.iter().filter_map(|tally| differs(tally, &entries));
    verified.sentences.extend(wrong);
    Ok(())
}

/// Returns a sentence if the ledger has another number than the tables.
fn differs(tally: &Tally, entries: &[Entry]) -> Option<String> {
    let added = |entry: &Entry| entry.number * tally.added[entry.kind as usize];
    let entered: u64 = entries.iter().map(added).sum();
    let Tally { what, count, .. } = *tally;
    (count != entered).then(|| {
        format!("the tables have {count} {what}, where transactions that committed made {entered}")
    })
}
