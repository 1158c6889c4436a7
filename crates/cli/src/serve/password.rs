//! The password of the first user, from a file: it is in no list of processes and in no history of
//! a shell.

use std::{
    path::Path,
    sync::{Arc, mpsc},
};

use server::Verifier;
use types::{Result, SqlError, SqlState};
use weft::Database;

/// The user that a database has from the beginning.
const USER: &str = "weft";

/// What is kept of a password. What is in that form already is kept as it is.
pub(super) fn keep(password: &str) -> Result<String> {
    if password.parse::<Verifier>().is_ok() {
        return Ok(password.to_owned());
    }
    let is_digest =
        |digits: &str| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if password.strip_prefix("md5").is_some_and(is_digest) {
        return Err(SqlError::unsupported("a password that was hashed with MD5"));
    }
    Verifier::of(password).map(|verifier| verifier.to_string())
}

/// What is kept of the password in a file.
pub(super) fn read(file: &Path) -> bench::Result<String> {
    let failed = |what: &dyn std::fmt::Display| {
        bench::Error::input(format!("--password-file {}: {what}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    let password = text.lines().next().unwrap_or_default();
    if password.is_empty() {
        return Err(failed(&"its first line is empty, and that is no password"));
    }
    keep(password).map_err(|error| failed(&error))
}

/// Sets what is kept of the user's password, durably.
pub(super) fn set(
    workers: &Database,
    database: &Arc<sql::Database>,
    verifier: String,
) -> bench::Result<()> {
    let (answer, answers) = mpsc::channel();
    let database = database.clone();
    workers.workers()[0].spawn(move |context| async move {
        let mut session = sql::Session::new(&database, context.engine_session(), USER);
        session.keep_passwords(keep);
        // It has no quotes in it.
        let text = format!("alter role {USER} login password '{verifier}'");
        let altered = session.execute(&text, &mut Unheard).await;
        // Nobody is there to hear it if the database is being closed.
        let _ = answer.send(altered);
    });
    let closed = || {
        let message = "the database was closed meanwhile";
        Err(SqlError::new(SqlState::ADMIN_SHUTDOWN, message))
    };
    let altered = answers.recv().unwrap_or_else(|_| closed());
    altered.map_err(|error| bench::Error::run(format!("the password was not set: {error}")))
}

/// Takes results that nobody looks at.
struct Unheard;

impl sql::Sink for Unheard {
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
