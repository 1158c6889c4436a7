//! An application in tests: loaded, run in every way, its conditions checked.

use weft::{Database, InFlight, Interleaved, OnConflict, Options, Transaction};

use super::{Application, Reads, Request, check, is_rolled_back};
use bench::measure::Isolation;
use commands::progress::Progress;

/// Number of transactions under way at once.
const TOGETHER: usize = 64;

/// Returns options of a small database.
pub(crate) fn options() -> Options {
    Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        in_flight: InFlight::Fixed(16),
        ..Options::default()
    }
}

/// Returns a database with `options` and the application loaded.
pub(crate) fn loaded<A: Application>(settings: &A::Settings, options: Options) -> (Database, A) {
    let database = Database::open(options).unwrap();
    let step = Progress::hidden().step("loading", A::load_steps(settings));
    let application = A::load(settings, &database, &step).unwrap();
    (database, application)
}

/// Runs one transaction of the application's, at the database's isolation level, and returns
/// whether it committed instead of being rolled back as asked.
pub(crate) fn execute<A: Application>(
    database: &Database,
    application: &A,
    request: A::Request,
    reads: Reads,
) -> bool
where
    A::Request: Send,
{
    let ours = application.clone();
    let executed = database
        .run(async move |txn: &Transaction| ours.execute(txn, &request, reads).await)
        .wait();
    match executed {
        Ok(records) => {
            assert!(records > 0);
            true
        }
        Err(error) if is_rolled_back(&error) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a transaction of the test's own over the application's tables, and returns its result.
pub(crate) fn ask<A: Application, T: Send + 'static>(
    database: &Database,
    application: &A,
    closure: impl AsyncFn(&Transaction, &A) -> weft::Result<T> + Send + 'static,
) -> T {
    let ours = application.clone();
    let answer = database.run_blocking(async move |txn: &Transaction| closure(txn, &ours).await);
    answer.unwrap()
}

/// Returns violations of the conditions by the tables.
pub(crate) fn inconsistencies<A: Application>(database: &Database, application: &A) -> Vec<String> {
    check::inconsistencies(database, application).unwrap()
}

/// Asserts that the condition `condition` is violated, and no other.
pub(crate) fn assert_violates<A: Application>(
    database: &Database,
    application: &A,
    condition: &str,
) {
    let found = inconsistencies(database, application);
    assert!(!found.is_empty(), "{condition} holds");
    for sentence in &found {
        assert!(
            sentence.starts_with(&format!("condition {condition}: ")),
            "{found:?}"
        );
    }
}

/// Asserts that a loaded application violates the condition `condition`, and no other, once
/// `damage` was done to its tables.
pub(crate) fn assert_damage_violates<A: Application, T: Send + 'static>(
    (database, application): (Database, A),
    condition: &str,
    damage: impl AsyncFn(&Transaction, &A) -> weft::Result<T> + Send + 'static,
) {
    ask(&database, &application, damage);
    assert_violates(&database, &application, condition);
}

/// Runs some transactions of each worker's together, at each of `isolations` and with both
/// reactions to conflicts, and asserts that the conditions hold after each such run.
pub(crate) fn run_together<A: Application>(
    settings: &A::Settings,
    isolations: &[Isolation],
    transactions: usize,
) where
    A::Request: Send,
{
    for on_conflict in [OnConflict::Abort, OnConflict::Wait] {
        let (database, application) = loaded::<A>(
            settings,
            Options {
                on_conflict,
                ..options()
            },
        );
        let mut drawn = vec![0; A::KINDS.len()];
        for &isolation in isolations {
            for reads in [Reads::Single, Reads::Grouped] {
                let mut sources = [0, 1].map(|worker| application.source(worker, 2, 1));
                let requests: Vec<_> = (0..transactions)
                    .map(|number| (sources[number % 2])())
                    .collect();
                for requests in requests.chunks(TOGETHER) {
                    let running: Vec<_> = requests
                        .iter()
                        .map(|&request| {
                            drawn[request.kind()] += 1;
                            let ours = application.clone();
                            let execute = async move |txn: &Transaction| {
                                ours.execute(txn, &request, reads).await
                            };
                            let level = weft::Isolation::from(isolation);
                            database.run_with::<Interleaved, _, _>(level, execute)
                        })
                        .collect();
                    for executed in running.into_iter().map(weft::Running::wait) {
                        match executed {
                            Err(error) if !is_rolled_back(&error) => panic!("{error}"),
                            _ => {}
                        }
                    }
                }
                let found = inconsistencies(&database, &application);
                let after = format!("{} {on_conflict:?} {reads:?}", isolation.name());
                assert_eq!(found, Vec::<String>::new(), "after {after}");
            }
        }
        assert!(drawn.iter().all(|&count| count > 0), "{drawn:?}");
    }
}
