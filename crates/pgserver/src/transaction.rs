//! Transactions of the program over several calls.
//!
//! The session of such a transaction lives in a task on a worker, which waits for calls (an event wait,
//! which keeps no other task from running) and carries them out one after another.
//!
//! | end | effect |
//! | --- | --- |
//! | commit, rollback | a call like others |
//! | the program drops the transaction | the channel is closed; the task rolls back |
//! | the database closes | as above; calls that were sent are carried out before, or given up where they wait |
//! | a call panics | the transaction has failed |
//! | BEGIN fails, no call comes for `idle_in_transaction_session_timeout` | rolled back; calls get the error |

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use async_channel::{Receiver, Sender};
use interleave::{Wait, noting};
use server::{contain, within};
use sql::{Session, Sink, Status};
use types::{Result, SqlError, SqlState};
use weft::{Closing, Context, Database, WorkerHandle};

use crate::{
    answer::{Answer, Gathered},
    call::{closed, expect_no_worker, lost, new_session, panicked, running, running_with},
    closing::Ends,
    parameter::Parameter,
};

type Step<'s> = Pin<Box<dyn Future<Output = ()> + 's>>;
/// Call, carried out in the session or, if the transaction has no session any more, answered with an error.
type Call = Box<dyn for<'s> FnOnce(Result<&'s mut Session>) -> Step<'s> + Send>;

/// A transaction over several calls, made by [`Sql::begin`](crate::Sql::begin). Dropping it rolls it
/// back.
///
/// It is of the database's default isolation level, unless its first statement is SET TRANSACTION. An
/// error of a statement fails the transaction, as with every client: later calls fail with 25P02, except
/// for ROLLBACK TO SAVEPOINT.
///
/// # Errors
/// All calls fail with 57P01 once the database is closed, which gives a statement up that waits or computes
/// for long, and rolls the transaction back; with 25P03 once the program has made no call for the setting
/// `idle_in_transaction_session_timeout`, which rolls it back too; with 55000 on a worker; with XX000 if the
/// statement or its sink panics, which fails the transaction like an error of a statement; with 40003 if
/// the answer is lost. A statement that would end the transaction, such as COMMIT, fails with 2D000. All calls
/// fail with the error of BEGIN if that fails.
pub struct SqlTransaction {
    /// The worker carries out one call after another. The channel holds one: further threads that share the
    /// transaction wait before they send theirs.
    calls: Sender<Call>,
    closing: Closing,
}

impl SqlTransaction {
    pub(crate) fn begin(
        workers: &Database,
        worker: &WorkerHandle,
        database: Arc<sql::Database>,
    ) -> Result<SqlTransaction> {
        expect_no_worker()?;
        let (calls, to_do) = async_channel::bounded(1);
        // Weak: a transaction that is dropped is to end.
        let channel = calls.downgrade();
        let (ends, end) = Ends::new();
        let closing = workers.when_closing(move || {
            // First: a call after the one that is given up hears of the database's end too.
            if let Some(calls) = channel.upgrade() {
                calls.close();
            }
            end();
        });
        let closing = closing.map_err(|_| closed())?;
        worker.spawn(move |context| serve(database, context, ends, to_do));
        Ok(SqlTransaction { calls, closing })
    }

    /// Runs the statements of `text` and drops their results.
    ///
    /// # Errors
    /// Errors of the statements; also fails as the type describes.
    pub fn execute(&self, text: &str) -> Result<()> {
        self.execute_into(text, ()).map(drop)
    }

    /// Runs the statements of `text`, and returns the result of the last query among them.
    ///
    /// # Errors
    /// Errors of [`SqlTransaction::execute`]; 54000 for an answer of more than 256 MiB.
    pub fn query(&self, text: &str) -> Result<Answer> {
        Ok(self.execute_into(text, Gathered::default())?.answer)
    }

    /// Runs the statements of `text`, hands their results to `sink` on the worker, and returns `sink`
    /// when all are done. The sink must not block, as that of [`Sql::execute_into`](crate::Sql::execute_into).
    ///
    /// # Errors
    /// Errors of [`SqlTransaction::execute`], and of `sink`.
    pub fn execute_into<S>(&self, text: &str, sink: S) -> Result<S>
    where
        S: Sink + Send + 'static,
    {
        self.call(running(text, sink))
    }

    /// Runs the one statement of `text` with values for its parameters, and returns the number of rows
    /// that it has returned or changed.
    ///
    /// # Errors
    /// Errors of [`SqlTransaction::execute`]; 42601 for several statements; 08P01 for too many or too few
    /// parameters.
    pub fn execute_with(&self, text: &str, parameters: &[Parameter]) -> Result<u64> {
        let (rows, ()) = self.call(running_with(text, parameters, ()))?;
        Ok(rows)
    }

    /// Runs the one statement of `text` with values for its parameters, and returns its result.
    ///
    /// # Errors
    /// Errors of [`SqlTransaction::execute_with`] and [`SqlTransaction::query`].
    pub fn query_with(&self, text: &str, parameters: &[Parameter]) -> Result<Answer> {
        let (_, gathered) = self.call(running_with(text, parameters, Gathered::default()))?;
        Ok(gathered.answer)
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// 40001 and others if it cannot be committed; 25P02 if one of its statements has failed. It is
    /// rolled back then. Also fails as the type describes.
    pub fn commit(self) -> Result<()> {
        self.call(async |session: &mut Session| {
            if session.status() == Status::Failed {
                session.leave().await;
                let message = "a statement of the transaction has failed, and it was rolled back";
                return Err(SqlError::new(SqlState::IN_FAILED_SQL_TRANSACTION, message));
            }
            session.keep_block(false);
            session.execute("commit", &mut ()).await
        })
    }

    /// Rolls the transaction back, and waits until that is done. Dropping it does not wait.
    ///
    /// # Errors
    /// Fails as the type describes. Nothing of the transaction is committed.
    pub fn rollback(self) -> Result<()> {
        self.call(async |session: &mut Session| {
            session.leave().await;
            Ok(())
        })
    }

    /// Sends a call to the session and waits for the answer.
    fn call<T, F>(&self, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Session) -> Result<T> + Send + 'static,
    {
        expect_no_worker()?;
        let (answer, answers) = mpsc::channel();
        let begun = Arc::new(AtomicBool::new(false));
        let begins = begun.clone();
        let call: Call = Box::new(move |session| {
            Box::pin(async move {
                begins.store(true, Ordering::Relaxed);
                let called = match session {
                    Ok(session) => call_in(session, call).await,
                    Err(error) => Err(error),
                };
                // A failed send means that the asking thread was unwound; the answer has no reader.
                let _ = answer.send(called);
            })
        });
        let dropped = || match self.closing.is_closed() {
            true => closed(),
            false => panicked("its transaction was rolled back"),
        };
        self.calls.send_blocking(call).map_err(|_| dropped())?;
        // The end of the answers' channel comes after the mark.
        let unanswered = |_| match begun.load(Ordering::Relaxed) {
            true => Err(lost()),
            false => Err(dropped()),
        };
        answers.recv().unwrap_or_else(unanswered)
    }
}

/// Carries out a call in a session.
async fn call_in<T>(
    session: &mut Session,
    call: impl AsyncFnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    match contain(call(session)).await {
        Ok(called) => called,
        Err(_) => {
            session.failed().await;
            Err(panicked("its transaction has failed"))
        }
    }
}

/// Runs a transaction's session in a task of its worker, and answers calls after its end.
async fn serve(database: Arc<sql::Database>, context: Context, ends: Ends, calls: Receiver<Call>) {
    let mut session = new_session(&database, &context, ends);
    let carried_out = carry_out(&mut session, &calls).await;
    // A rollback gives others their turns, which dropping the session does not.
    session.leave().await;
    drop(session);
    let Err(error) = carried_out else { return };
    while let Ok(call) = noting(Wait::Request, pin!(calls.recv())).await {
        call(Err(error.clone())).await;
    }
}

/// Begins the transaction and carries out calls until the channel is closed.
///
/// # Errors
/// The error of BEGIN; 25P03 if the program makes no call for too long.
async fn carry_out(session: &mut Session, calls: &Receiver<Call>) -> Result<()> {
    session.execute("begin", &mut ()).await?;
    session.keep_block(true);
    loop {
        let next = async {
            match session.idle_limit() {
                None => Ok(calls.recv().await),
                Some((limit, error)) => within(limit, calls.recv()).await.ok_or(error),
            }
        };
        let next = noting(Wait::Request, pin!(next)).await?;
        let Ok(call) = next else { return Ok(()) };
        call(Ok(session)).await;
    }
}
