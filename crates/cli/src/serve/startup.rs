//! What the server does itself before anybody can connect: statements in a session of the first
//! user.

use std::sync::{Arc, mpsc};

use sql::{Session, Sink};
use types::{Result, SqlError, SqlState};
use weft::Database;

/// The user that a database has from the beginning. The database's name is the same.
pub(super) const USER: &str = "weft";

/// Carries out the statements of a text as one transaction, on the first worker.
///
/// # Errors
/// The statements'; then none of them has happened. 57P01 if the database is being closed.
pub(super) fn execute(
    workers: &Database,
    database: &Arc<sql::Database>,
    text: String,
    mut sink: impl Sink + Send + 'static,
) -> Result<()> {
    let (answer, answers) = mpsc::channel();
    let database = database.clone();
    workers.workers()[0].spawn(move |context| async move {
        let mut session = Session::new(&database, context.engine_session(), USER);
        session.keep_passwords(super::password::keep);
        let done = session.execute(&text, &mut sink).await;
        drop(sink);
        // Nobody is there to hear it if the database is being closed.
        let _ = answer.send(done);
    });
    let closed = || {
        let message = "the database was closed meanwhile";
        Err(SqlError::new(SqlState::ADMIN_SHUTDOWN, message))
    };
    answers.recv().unwrap_or_else(|_| closed())
}

/// Takes results that nobody looks at.
pub(super) struct Unheard;

impl Sink for Unheard {
    fn fields(&mut self, _: &[sql::Field]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &sql::ResultRow<'_>) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, _: sql::Tag) -> Result<()> {
        Ok(())
    }
}
