//! The password of the first user, from a file: it is in no list of processes and in no history of
//! a shell.

use std::{path::Path, sync::Arc};

use server::Verifier;
use types::{Result, SqlError};
use weft::Database;

use super::startup::{self, USER, Unheard};

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
pub(super) fn read(file: &Path) -> commands::Result<String> {
    let failed = |what: &dyn std::fmt::Display| {
        commands::Error::input(format!("--password-file {}: {what}", file.display()))
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
    verifier: &str,
) -> commands::Result<()> {
    // It has no quotes in it.
    let text = format!("alter role {USER} login password '{verifier}'");
    let altered = startup::execute(workers, database, text, Unheard);
    altered.map_err(|error| commands::Error::run(format!("the password was not set: {error}")))
}
