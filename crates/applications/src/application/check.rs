//! Checks of an application's conditions, on a snapshot.

use std::sync::atomic::{AtomicBool, Ordering};

use weft::{Database, Interleaved, Isolation, Transaction, TransactionOptions};

use super::Application;
use bench::databases;
use commands::Result;

/// How a check begins: it sees one moment, and says that it only reads.
pub(crate) fn options() -> TransactionOptions {
    TransactionOptions {
        read_only: true,
        ..Isolation::Snapshot.into()
    }
}

/// Where a database's tables do not meet the application's conditions.
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

/// Checks beside clients.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// How many there were.
    pub(super) checks: u64,
    /// What the last of them found: after the first that finds something there is none.
    pub(super) found: Vec<String>,
}

impl Beside {
    /// Checks the conditions while `run` runs, at least once, one check after the other.
    ///
    /// # Errors
    /// Those of `run`, and [`Error::Run`] when the database refuses a check.
    pub(super) fn of<A: Application, T>(
        database: &Database,
        application: &A,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Self)> {
        let is_running = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let checks = scope.spawn(|| Self::check(database, application, &is_running));
            let ran = run();
            // Relaxed: it says when to stop, no data is published through it.
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
