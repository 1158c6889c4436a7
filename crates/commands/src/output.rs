//! Results on standard output, errors on standard error, and exit codes.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::{Error, Result};

/// Writes results to standard output. A reader that closes the pipe early, as `head` does, is no
/// error.
///
/// # Errors
/// [`Error::Run`] if the output cannot be written for another reason.
pub fn write_results(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::run(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Writes the error of a command to standard error and returns the process's exit code: 0 for
/// success, 1 when something failed, 2 when the request was wrong.
pub fn finish(result: Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // If standard error is closed, only the exit code tells.
    let _ = writeln!(io::stderr().lock(), "error: {error}");
    match error {
        Error::Input(_) => ExitCode::from(2),
        Error::Run(_) => ExitCode::FAILURE,
    }
}
