//! The `weft` program that benchmarks of the server start.

use std::{
    env::{self, consts::EXE_SUFFIX},
    path::{Path, PathBuf},
    process::Command,
};

use commands::{Error, Result, progress::Progress};

/// The `weft` program to start.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Program {
    /// Path of the weft to start; if not given, the one beside this program.
    #[arg(long, value_name = "FILE")]
    weft: Option<PathBuf>,
}

/// Returns whether `program` was built before this one.
fn is_older(program: &Path) -> bool {
    let built = |path: &Path| path.metadata().and_then(|known| known.modified()).ok();
    let own = env::current_exe().ok().and_then(|own| built(&own));
    own.zip(built(program))
        .is_some_and(|(own, other)| other < own)
}

impl Program {
    /// Returns the command of a server with `workers` workers; one for each core if `None`.
    ///
    /// # Errors
    /// [`Error::Input`] if the program is not there.
    pub(crate) fn serve(&self, workers: Option<u16>) -> Result<Command> {
        let program = match &self.weft {
            Some(program) => program.clone(),
            None => {
                let own = env::current_exe();
                let own = own.map_err(|error| {
                    Error::run(format!("cannot find this program's directory: {error}"))
                })?;
                own.with_file_name(format!("weft{EXE_SUFFIX}"))
            }
        };
        // The system would look for a name without a directory among its own programs.
        let found = program.canonicalize().map_err(|error| {
            Error::input(format!(
                "{}: {error}; build it with `cargo build --release -p cli` (without --release for a \
                 weft-bench without it), or name another with --weft FILE",
                program.display()
            ))
        })?;
        Progress::stderr().note(&format!("starting {}", found.display()));
        if is_older(&found) {
            Progress::stderr().note(
                "it is older than this program: `cargo build --release -p cli` brings it up to date",
            );
        }
        let mut command = Command::new(found);
        command.arg("serve");
        if let Some(workers) = workers {
            command.args(["--workers", &workers.to_string()]);
        }
        Ok(command)
    }
}
