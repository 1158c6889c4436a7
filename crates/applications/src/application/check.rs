//! Checks of an application's conditions, on a snapshot.

use std::sync::atomic::{AtomicBool, Ordering};

use weft::{Database, Interleaved, Isolation, Transaction, TransactionOptions};

use super::Application;
use bench::databases;
use commands::Result;

/// Returns the options of a check: it sees one snapshot, and is declared read-only.
pub(crate) fn options() -> TransactionOptions {
    TransactionOptions {
        read_only: true,
        ..Isolation::Snapshot.into()
    }
}

/// Returns violations of the application's conditions by the database's tables.
///
/// # Errors
/// [`Error::Run`] when the database refuses.
pub(crate) fn inconsistencies<A: Application>(
    database: &Database,
    application: &A,
) -> Result<Vec<String>> {
    let application = application.clone();
    let check = async move |txn: &Transaction| application.inconsistencies(txn).await;
    let checked = database
        .run_with::<Interleaved, _, _>(options(), check)
        .wait();
    checked.map_err(databases::failure)
}

/// Results of checks beside clients.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Number of checks.
    pub(super) checks: u64,
    /// Violations that the last check found: the first check that finds some is the last.
    pub(super) found: Vec<String>,
}

impl Beside {
    /// Checks the conditions while `run` runs, at least once, one check after another.
    ///
    /// # Errors
    /// Errors of `run`, and [`Error::Run`] when the database refuses a check.
    pub(super) fn of<A: Application, T>(
        database: &Database,
        application: &A,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Self)> {
        let is_running = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let checks = scope.spawn(|| Self::check(database, application, &is_running));
            let ran = run();
            // Relaxed: the flag only says when to stop, no data is published through it.
            is_running.store(false, Ordering::Relaxed);
            let checks = checks.join().expect("a check does not panic");
            Ok((ran?, checks?))
        })
    }

    fn check<A: Application>(
        database: &Database,
        application: &A,
        is_running: &AtomicBool,
    ) -> Result<Self> {
        let mut beside = Self::default();
        loop {
            beside.found = inconsistencies(database, application)?;
            beside.checks += 1;
            if !beside.found.is_empty() || !is_running.load(Ordering::Relaxed) {
                return Ok(beside);
            }
        }
    }
}
