//! DuckDB's command-line program, which gets statements over its standard input.
//!
//! The program is no server: it has one session. Statements go to it as text, with a command behind them that prints a
//! mark, and rows come back as text before the mark. Errors take the same pipe, and the program ends after the first
//! one, so an output that ends without a mark is an error and its text.
//!
//! DuckDB has no bound on the time of a statement. A statement over its time is ended with the program, which the next
//! statement starts again, on the same file.

use std::{
    io::{self, PipeReader, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use crate::{Answer, cpu};
use commands::{Error, Place, Result};

/// Name of the program in results.
const NAME: &str = "duckdb";
/// Line that is printed behind an answer.
const MARK: &str = "weft-bench: all rows are above\n";
/// Text between two values of a row; neither this nor the next one occurs in rows of benchmarks.
const BETWEEN_VALUES: &str = "\x1f";
/// Text behind a row.
const AFTER_ROW: &str = "\x1e";
/// Text of NULL.
const NULL: &str = "<null>";
/// Longest time that a statement without a limit may take: the rows of a large table are loaded by one.
const TIME_MAX: Duration = Duration::from_secs(24 * 3600);
/// Bytes that are read together.
const READ_BYTES: usize = 64 << 10;
/// Pieces of output that wait to be put together; the program waits for the reader if there are more.
const PIECES_MAX: usize = 16;

/// DuckDB's program and its database, a file in a directory of its own. The program ends, and the directory goes, when
/// this is dropped.
#[derive(Debug)]
pub struct DuckDb {
    program: PathBuf,
    threads: usize,
    // The program ends before its directory is removed.
    running: Option<Running>,
    place: Place,
}

impl DuckDb {
    /// Starts the program in `directory`, which must be empty or missing, with this number of threads.
    ///
    /// # Errors
    /// [`Error::Input`] if `program` cannot be started, or is not the program of DuckDB.
    pub fn start(program: &Path, threads: usize, directory: &Path) -> Result<DuckDb> {
        let mut duckdb = DuckDb {
            program: program.to_owned(),
            threads,
            running: None,
            place: Place::make(directory)?,
        };
        duckdb.wake().map_err(|error| {
            Error::input(format!(
                "{} does not work as the command-line program of DuckDB: {error}",
                program.display()
            ))
        })?;
        Ok(duckdb)
    }

    /// Returns the name in results.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Returns the version that the program names.
    ///
    /// # Errors
    /// [`Error::Run`] with the program's message.
    pub fn version(&mut self) -> Result<String> {
        let output = self.ask("select version()", TIME_MAX)?;
        let Output(row) = output.unwrap_or_default();
        Ok(row.trim_end_matches(AFTER_ROW).to_owned())
    }

    /// Returns the directory of the database, where files of rows may be put.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Starts the program if it does not run, so that the next statement is answered at once.
    ///
    /// # Errors
    /// [`Error::Run`] if the program does not start.
    pub fn wake(&mut self) -> Result<()> {
        if self.running.is_none() {
            let mut running = Running::start(&self.program, self.place.path())?;
            // The answer ends the output of the start as well.
            running.ask(&format!("set threads to {}", self.threads), TIME_MAX)?;
            self.running = Some(running);
        }
        Ok(())
    }

    /// Executes statements that have no rows.
    ///
    /// # Errors
    /// [`Error::Run`] with the program's message.
    pub fn execute(&mut self, statements: &str) -> Result<()> {
        self.ask(statements, TIME_MAX).map(|_| ())
    }

    /// Returns the output of a statement; `None` if it does not end within `limit`.
    ///
    /// # Errors
    /// [`Error::Run`] with the program's message.
    pub fn ask(&mut self, statement: &str, limit: Duration) -> Result<Option<Output>> {
        self.wake()?;
        // A program that fails or takes too long ends here.
        let Some(mut running) = self.running.take() else {
            return Ok(None);
        };
        let Some(output) = running.ask(statement, limit)? else {
            return Ok(None);
        };
        self.running = Some(running);
        Ok(Some(Output(output)))
    }

    /// Returns the processor time that the program has taken since it was started; `None` where the system does not
    /// tell.
    pub fn cpu_taken(&self) -> Option<Duration> {
        cpu::taken(self.running.as_ref()?.child.id())
    }
}

/// Output of a statement.
#[derive(Debug, Default)]
pub struct Output(String);

impl Output {
    /// Reads the rows.
    pub fn answer(&self) -> Answer {
        let value = |value| (value != NULL).then_some(value);
        let rows = self.0.split_terminator(AFTER_ROW);
        Answer::of_texts(rows.map(|row| row.split(BETWEEN_VALUES).map(value)))
    }
}

/// A program under way.
#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
}

impl Running {
    fn start(program: &Path, directory: &Path) -> Result<Running> {
        let failed =
            |error: io::Error| Error::run(format!("cannot start {}: {error}", program.display()));
        let (output, writer) = io::pipe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args([
                "-init",
                "/dev/null",
                "-batch",
                "-bail",
                "-list",
                "-noheader",
            ])
            .args(["-separator", BETWEEN_VALUES, "-newline", AFTER_ROW])
            .args(["-nullvalue", NULL])
            .arg(directory.join("database"))
            .stdin(std::process::Stdio::piped())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer)
            // The program may be a script that starts the true one, which has to end with it.
            .process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        // The command holds the other end of the pipe.
        drop(command);
        let Some(input) = child.stdin.take() else {
            return Err(Error::run("the program has no standard input"));
        };
        let (sender, receiver) = sync_channel(PIECES_MAX);
        thread::spawn(move || read(output, &sender));
        Ok(Running {
            child,
            input,
            output: receiver,
        })
    }

    /// Returns the output of statements; `None` if it does not end within `limit`.
    fn ask(&mut self, statements: &str, limit: Duration) -> Result<Option<String>> {
        let until = Instant::now() + limit;
        let sent = write!(self.input, "{statements};\n.print {MARK}");
        let mut output = Vec::new();
        while !output.ends_with(MARK.as_bytes()) {
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(piece) => output.extend(piece),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    let told = String::from_utf8_lossy(&output);
                    let told = told.trim();
                    return Err(Error::run(match (told.is_empty(), sent) {
                        (false, _) => told.to_owned(),
                        (true, Err(error)) => format!("it takes no statements: {error}"),
                        (true, Ok(())) => "it ends without an answer".to_owned(),
                    }));
                }
            }
        }
        output.truncate(output.len() - MARK.len());
        Ok(Some(String::from_utf8_lossy(&output).into_owned()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: a signal to the group that our child leads; the child has not been waited for, so its number is its.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

/// Hands the output on until the program ends, or nobody wants it.
fn read(mut output: PipeReader, pieces: &SyncSender<Vec<u8>>) {
    let mut piece = vec![0; READ_BYTES];
    while let Ok(length @ 1..) = output.read(&mut piece) {
        if pieces.send(piece[..length].to_vec()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
