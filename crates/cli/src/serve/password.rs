//! The password of the first user, from a file: it appears in no list of processes and in no
//! history of a shell.

use std::path::Path;

use pgserver::{Sql, USER, verifier_of};

/// Reads the password in the first line of `file` and returns the verifier that the database keeps
/// of it.
pub(super) fn read(file: &Path) -> commands::Result<String> {
    let failed = |what: &dyn std::fmt::Display| {
        commands::Error::input(format!("--password-file {}: {what}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    let password = text.lines().next().unwrap_or_default();
    if password.is_empty() {
        return Err(failed(&"its first line is empty, and that is no password"));
    }
    verifier_of(password).map_err(|error| failed(&error))
}

/// Sets the verifier of the user's password, durably.
pub(super) fn set(sql: &Sql, verifier: &str) -> commands::Result<()> {
    // A verifier contains no quotes.
    let altered = sql.execute(&format!("alter role {USER} login password '{verifier}'"));
    altered.map_err(|error| commands::Error::run(format!("the password was not set: {error}")))
}
