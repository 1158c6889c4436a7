//! A client: one transaction after another, until the batch is over.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use isolation::{
    generate::{Choices, Generator, Step},
    history::Outcome,
};
use weft::{Database, Error, Interleaved, Result, Transaction, TransactionOptions};

use crate::{
    dice::Dice,
    operations::{Doing, Open, Records},
    record::{Attempts, Recorder},
    settings::Settings,
};

/// Error of a closure that wants to be rolled back.
const ROLLED_BACK: &str = "rolled back by its client";
const CANCELLED: &str = "dropped by its client";

/// State that the clients of a batch share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) table: Records,
    pub(crate) generator: Arc<Generator>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) settings: Settings,
    pub(crate) over: AtomicBool,
}

/// Description of a transaction to run.
#[derive(Clone)]
struct Plan {
    steps: Vec<Step>,
    options: TransactionOptions,
    rolls_back: bool,
    locks: bool,
    /// Per mille of operations that are undone again.
    undone: u32,
    /// Per mille of operations that are followed by a pause.
    pauses: u32,
    seed: u64,
}

/// Runs transactions until the batch is over, or the database.
pub(crate) async fn client(shared: &Shared, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut process = shared.recorder.process();
    // Relaxed: one transaction more or less does not matter.
    while !shared.over.load(Ordering::Relaxed) {
        let (steps, read_only) = shared.generator.next(&mut dice);
        let plan = Plan {
            steps,
            options: TransactionOptions {
                isolation: shared.settings.engine_isolation(),
                // The other half is not declared read-only, although it writes nothing.
                read_only: read_only && dice.chance(500),
            },
            rolls_back: dice.chance(shared.settings.rollbacks),
            locks: !read_only && dice.chance(shared.settings.locks),
            undone: shared.settings.undone,
            pauses: [0, 200, 600][dice.below(3)],
            seed: dice.seed(),
        };
        let attempts = shared.recorder.attempts(process);
        let ended = if dice.chance(shared.settings.cancellations) {
            cancelled(shared, plan, &attempts, dice.below(6)).await
        } else if dice.chance(250) {
            interactive(shared, &plan, &attempts).await
        } else {
            run(shared, plan, &attempts).await
        };
        if !ended {
            // A process whose transaction may still be running cannot run another.
            process = shared.recorder.process();
            if shared.database.failure().is_some() {
                return;
            }
        }
    }
}

/// Runs `plan` in a closure, with the database's retries. Returns whether the outcome is known.
async fn run(shared: &Shared, plan: Plan, attempts: &Arc<Attempts>) -> bool {
    let result = submit(shared, plan, attempts).await;
    conclude(attempts, result)
}

/// Runs `plan` in a closure that is dropped after `turns` turns. Returns whether the outcome is
/// known.
async fn cancelled(shared: &Shared, plan: Plan, attempts: &Arc<Attempts>, turns: usize) -> bool {
    let mut running = pin!(submit(shared, plan, attempts));
    let mut left = turns;
    let result = poll_fn(|context| {
        if let Poll::Ready(result) = running.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    match result {
        Some(result) => conclude(attempts, result),
        None => {
            attempts.because(CANCELLED);
            false
        }
    }
}

async fn submit(shared: &Shared, plan: Plan, attempts: &Arc<Attempts>) -> Result<()> {
    let (table, attempts) = (shared.table.clone(), attempts.clone());
    let options = plan.options;
    let closure = async move |transaction: &Transaction| {
        attempts.begin();
        let doing = Doing {
            open: Open::Inside(transaction),
            table: &table,
            attempts: &attempts,
            locks: plan.locks,
        };
        let result = carry_out(&doing, &plan).await;
        if let Err(error) = &result {
            attempts.because(&why(error));
        }
        attempts.done();
        result
    };
    let database = &shared.database;
    database
        .run_with::<Interleaved, _, _>(options, closure)
        .await
}

async fn carry_out(doing: &Doing<'_>, plan: &Plan) -> Result<()> {
    let mut dice = Dice::new(plan.seed);
    for &step in &plan.steps {
        if dice.chance(plan.undone) {
            doing.step_undone(step).await?;
        }
        doing.step(step).await?;
        if dice.chance(plan.pauses) {
            pause().await;
        }
    }
    if plan.rolls_back {
        return Err(Error::application(ROLLED_BACK));
    }
    Ok(())
}

/// Yields to other tasks.
async fn pause() {
    let mut paused = false;
    poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs `plan` call by call, without retries. Returns whether the outcome is known.
async fn interactive(shared: &Shared, plan: &Plan, attempts: &Arc<Attempts>) -> bool {
    attempts.begin();
    let transaction = match shared.database.begin_with(plan.options).await {
        Ok(transaction) => transaction,
        Err(error) => {
            attempts.end(Outcome::Aborted, Some(&why(&error)));
            return false;
        }
    };
    let doing = Doing {
        open: Open::Outside(&transaction),
        table: &shared.table,
        attempts,
        locks: plan.locks,
    };
    let result = match carry_out(&doing, plan).await {
        Ok(()) => transaction.commit().await,
        Err(error) => transaction.rollback().await.and(Err(error)),
    };
    conclude(attempts, result)
}

/// Records the outcome of the last attempt, and returns whether it is known.
fn conclude(attempts: &Attempts, result: Result<()>) -> bool {
    match result {
        Ok(()) => attempts.end(Outcome::Committed, None),
        Err(error) if is_abort(&error) => attempts.end(Outcome::Aborted, Some(&why(&error))),
        Err(error) => {
            attempts.because(&why(&error));
            return false;
        }
    }
    true
}

/// Returns whether nothing remains of a transaction that ended with `error`.
fn is_abort(error: &Error) -> bool {
    matches!(
        error,
        Error::Abort(_)
            | Error::RetriesExhausted(_)
            | Error::Application(_)
            | Error::LockTimeout
            | Error::MemoryExhausted
            | Error::StorageFull
            | Error::TransactionTooLarge { .. }
    )
}

/// Returns the name of `error` in words.
fn why(error: &Error) -> String {
    match error {
        Error::Abort(abort) => words(&format!("{abort:?}")),
        Error::RetriesExhausted(it) => words(&format!("{:?}", it.last)),
        Error::Application(error) => error.to_string(),
        error => words(format!("{error:?}").split(['(', ' ']).next().unwrap_or("")),
    }
}

/// Splits a name into words: `WriteConflict` becomes "write conflict".
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}
