//! The `weft` program that benchmarks of the server start.

use std::{
    env::{self, consts::EXE_SUFFIX},
    path::PathBuf,
    process::Command,
};

use commands::{Error, Result};

/// Which `weft` is started.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Program {
    /// The weft that is started; if not given, the one beside this program.
    #[arg(long, value_name = "FILE")]
    weft: Option<PathBuf>,
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
        if !program.is_file() {
            return Err(Error::input(format!(
                "there is no {}; build it with `cargo build --release`, or name another with --weft \
                 FILE, or a server that runs with --server",
                program.display()
            )));
        }
        let mut command = Command::new(program);
        command.arg("serve");
        if let Some(workers) = workers {
            command.args(["--workers", &workers.to_string()]);
        }
        Ok(command)
    }
}
