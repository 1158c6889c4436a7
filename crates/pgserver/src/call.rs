//! Calls of the program: their way to a worker and back, and what they do in a session there.

use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use server::contain;
use sql::{CommandTag, Progress, Session, Sink, Status};
use types::{Result, SqlError, SqlState};
use weft::{Context, Database, WorkerHandle};

use crate::{closing::Ends, database::USER, parameter::Parameter, password::verifier_of};

/// Runs `task` on a worker of `database`, with a sign of the database's end, and waits for its answer.
///
/// # Errors
/// The error of `task`; 55000 on a worker; 57P01 if the database is being closed; XX000 after a panic; 40003 if
/// the answer is lost.
pub(crate) fn on_worker<T, F>(database: &Database, worker: &WorkerHandle, task: F) -> Result<T>
where
    T: Send + 'static,
    F: AsyncFnOnce(Context, Ends) -> Result<T> + Send + 'static,
{
    expect_no_worker()?;
    let (ends, end) = Ends::new();
    let _closing = database.when_closing(end).map_err(|_| closed())?;
    let (answer, answers) = mpsc::channel();
    let begun = Arc::new(AtomicBool::new(false));
    let begins = begun.clone();
    worker.spawn(move |context| async move {
        begins.store(true, Ordering::Relaxed);
        let contained = contain(task(context, ends)).await;
        // A failed send means that the asking thread was unwound; the answer has no reader.
        let _ = answer
            .send(contained.unwrap_or_else(|_| Err(panicked("its transaction was rolled back"))));
    });
    // The end of the answers' channel comes after the mark. A worker that has ended drops the task instead.
    let lost = |_| match begun.load(Ordering::Relaxed) {
        true => Err(lost()),
        false => Err(closed()),
    };
    answers.recv().unwrap_or_else(lost)
}

/// Makes a session for calls of the program, whose statements are given up at the database's end.
pub(crate) fn new_session(database: &Arc<sql::Database>, context: &Context, ends: Ends) -> Session {
    let mut session = Session::new(database, context.engine_session(), USER);
    session.keep_passwords(verifier_of);
    session.set_interrupt(Rc::new(ends));
    session
}

/// Runs one call in a session of its own.
///
/// # Errors
/// Errors of `call`; 25001 if it leaves a transaction open, which is rolled back.
pub(crate) async fn alone<T>(
    mut session: Session,
    call: impl AsyncFnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    let done = call(&mut session).await;
    let is_open = session.status() != Status::Idle;
    // A rollback gives others their turns, which dropping the session does not.
    session.leave().await;
    match (done?, is_open) {
        (_, true) => Err(left_open()),
        (done, false) => Ok(done),
    }
}

/// Returns a call that runs the statements of `text`, hands their results to `sink` and returns `sink`.
///
/// # Errors
/// Errors of the statements, and of `sink`.
pub(crate) fn running<S>(
    text: &str,
    mut sink: S,
) -> impl AsyncFnOnce(&mut Session) -> Result<S> + Send + use<S>
where
    S: Sink + Send + 'static,
{
    let text = text.to_owned();
    async move |session: &mut Session| {
        session.execute(&text, &mut sink).await?;
        Ok(sink)
    }
}

/// Returns a call that runs the one statement of `text` with `parameters`, hands its result to `sink`, and
/// returns the number of rows that it has returned or changed, and `sink`.
///
/// # Errors
/// Errors of [`run_with`].
pub(crate) fn running_with<S>(
    text: &str,
    parameters: &[Parameter],
    mut sink: S,
) -> impl AsyncFnOnce(&mut Session) -> Result<(u64, S)> + Send + use<S>
where
    S: Sink + Send + 'static,
{
    let (text, parameters) = (text.to_owned(), parameters.to_vec());
    async move |session: &mut Session| {
        let rows = run_with(session, &text, &parameters, &mut sink).await?;
        Ok((rows, sink))
    }
}

/// Runs the one statement of `text` with `parameters`, and returns the number of rows that it has
/// returned or changed.
///
/// # Errors
/// Errors of the statement, and of `sink`; 42601 for several statements; 08P01 for too many or too few
/// parameters.
async fn run_with(
    session: &mut Session,
    text: &str,
    parameters: &[Parameter],
    sink: &mut impl Sink,
) -> Result<u64> {
    let mut run = async |session: &mut Session| {
        let prepared = Rc::new(session.prepare(text, &[]).await?);
        if let Some(fields) = prepared.fields() {
            sink.fields(fields)?;
        }
        let values = parameters.iter().map(Parameter::encoded);
        let mut portal = session.bind(&prepared, values)?;
        match session.run_portal(&mut portal, None, sink).await? {
            Progress::Complete(tag) => Ok(tag),
            Progress::Suspended | Progress::Empty => Ok(CommandTag::Word("")),
        }
    };
    match run(session).await {
        Ok(tag) => {
            session.end_implicit().await?;
            Ok(match tag {
                CommandTag::Rows(_, rows) | CommandTag::Insert(rows) => rows,
                CommandTag::Word(_) => 0,
            })
        }
        Err(error) => {
            session.failed().await;
            Err(error)
        }
    }
}

/// Checks that the calling thread is not a worker.
///
/// # Errors
/// 55000 on a worker.
pub(crate) fn expect_no_worker() -> Result<()> {
    if !weft::is_worker() {
        return Ok(());
    }
    let message = "this call would block its worker";
    Err(
        SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("Call it on a thread that is no worker of a database."),
    )
}

pub(crate) fn closed() -> SqlError {
    SqlError::new(SqlState::ADMIN_SHUTDOWN, "the database was closed")
}

/// Returns the error of a call whose task has ended without an answer.
pub(crate) fn lost() -> SqlError {
    let message = "the call has ended without an answer, and its statements may have happened";
    SqlError::new(SqlState::STATEMENT_COMPLETION_UNKNOWN, message)
}

/// Returns the error of a call that panicked, with the effect on its transaction.
pub(crate) fn panicked(effect: &str) -> SqlError {
    let message = format!("a statement or its sink panicked, and {effect}");
    SqlError::new(SqlState::INTERNAL_ERROR, message)
        .hint("The panic's message and place were given to the process's panic hook.")
}

fn left_open() -> SqlError {
    let message = "the text leaves a transaction open, which was rolled back";
    SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message).hint(
        "End it in the same text, or begin it with Sql::begin: a call has a session of its own.",
    )
}
