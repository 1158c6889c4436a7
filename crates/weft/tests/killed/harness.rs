//! A process that works on a durable database is killed, again and again, and everything that it
//! promised is looked for afterwards.
//!
//! ```text
//! parent                                child
//!   starts it          ---------------->  opens the database (kill: during recovery)
//!   notes promises     <-- lines -------  clients transfer, append, read; checkpoints
//!   SIGKILL at a moment of its choice     gone
//!   reads the rest of the lines
//!   checks the directory, opens the database, verifies (bank.rs); or not, so that
//!   several kills come between two orderly openings
//! ```
//! SIGKILL alone loses nothing that the system was given. A child can therefore work on a directory
//! that withholds unsynced writes from the system (`io::LazyDirectory`): a kill then does to the
//! files the same as a power cut may.
//!
//! A line is written after the acknowledgement, so every transaction that the parent has read of
//! was acknowledged. Moments are chosen from a seed, but the child's progress depends on the
//! machine: a seed does not replay a run, it only varies it.

mod bank;
mod child;
mod conduct;
mod dice;

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use bank::Promises;
pub(crate) use conduct::Conduct;
use dice::Dice;

/// Number of kills after which a new directory is begun, to keep histories short.
const KILLS_PER_DIRECTORY: u32 = 25;
/// Longest time that a child may need to open a database of that size.
const PATIENCE: Duration = Duration::from_secs(60);

/// Results of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) kills: u32,
    /// Number of kills before the child had opened its database.
    pub(crate) while_opening: u32,
    /// Number of kills between the beginning and the end of a checkpoint.
    pub(crate) while_checkpointing: u32,
    /// Number of transactions that were acknowledged as durable, reads included.
    pub(crate) acknowledged: u64,
    pub(crate) verifications: u32,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills ({} while opening, {} while checkpointing), {} acknowledged, \
             {} verifications, 0 losses",
            self.kills,
            self.while_opening,
            self.while_checkpointing,
            self.acknowledged,
            self.verifications
        )
    }
}

/// Moments at which a child is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// This long after the child began to open the database.
    Opening(Duration),
    /// At this number of promises.
    Promised(u64),
    /// This long after the child began its n-th checkpoint.
    Checkpoint(u32, Duration),
    /// At the end of the child's n-th checkpoint.
    Checkpointed(u32),
}

impl Moment {
    fn choose(dice: &mut Dice, opening_took: Duration) -> Moment {
        let micros = |dice: &mut Dice, most: u64| Duration::from_micros(dice.below(most + 1));
        match dice.below(10) {
            0..3 => Moment::Opening(micros(dice, opening_took.as_micros() as u64)),
            3..6 => Moment::Promised(1 + dice.below(400)),
            6..9 => Moment::Checkpoint(dice.below(4) as u32, micros(dice, 6000)),
            _ => Moment::Checkpointed(dice.below(4) as u32),
        }
    }
}

/// Kills children `kills` times, in directories below `place`. The error is a loss, or a child that
/// failed by itself; the directory is then left unchanged. Children of bad conduct must cause an
/// error.
pub(crate) fn run(
    place: &Path,
    kills: u32,
    seed: u64,
    conduct: Conduct,
    progress: &mut dyn FnMut(&Summary),
) -> Result<Summary, String> {
    let mut dice = Dice::new(seed);
    let mut summary = Summary::default();
    let mut opening_took = Duration::from_millis(20);
    while summary.kills < kills {
        let directory = place.join(format!("after-{}-kills", summary.kills));
        let mut promises = Promises::default();
        for kill in 1..=KILLS_PER_DIRECTORY.min(kills - summary.kills) {
            let moment = Moment::choose(&mut dice, opening_took);
            let mut watched = Watched::start(&directory, dice.next(), conduct)?;
            watched.kill_at(moment, &mut promises, &mut summary)?;
            if let Some(took) = watched.opening_took {
                opening_took = took;
            }
            summary.kills += 1;
            let last = kill == KILLS_PER_DIRECTORY || summary.kills == kills;
            if last || dice.below(2) == 0 {
                let verified = bank::verify(&directory, &promises);
                verified.map_err(|what| {
                    format!("{what} (seed {seed}, {moment:?}, {})", directory.display())
                })?;
                summary.verifications += 1;
            }
            progress(&summary);
        }
        std::fs::remove_dir_all(&directory).map_err(|error| error.to_string())?;
    }
    Ok(summary)
}

/// A child, and its messages so far.
struct Watched {
    child: Child,
    lines: BufReader<ChildStdout>,
    line: String,
    is_opening: Option<Instant>,
    opening_took: Option<Duration>,
    is_checkpointing: bool,
    checkpoints_begun: u32,
    checkpoints_ended: u32,
    promised: u64,
}

impl Watched {
    fn start(directory: &Path, seed: u64, conduct: Conduct) -> Result<Watched, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut child = Command::new(program)
            .arg("child")
            .arg(directory)
            .arg(seed.to_string())
            .arg(conduct.name())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start a child: {error}"))?;
        let lines = child.stdout.take().ok_or("the child has no output")?;
        Ok(Watched {
            child,
            lines: BufReader::new(lines),
            line: String::new(),
            is_opening: None,
            opening_took: None,
            is_checkpointing: false,
            checkpoints_begun: 0,
            checkpoints_ended: 0,
            promised: 0,
        })
    }

    /// Reads a line and takes it in; returns `false` at the end.
    fn listen(&mut self, promises: &mut Promises) -> Result<bool, String> {
        self.line.clear();
        self.lines
            .read_line(&mut self.line)
            .map_err(|error| error.to_string())?;
        // The last line may be cut short by the kill.
        let Some(line) = self.line.strip_suffix('\n') else {
            return Ok(false);
        };
        match line {
            "opening" => self.is_opening = Some(Instant::now()),
            "open" => self.opening_took = self.is_opening.take().map(|began| began.elapsed()),
            "checkpoint" => {
                self.checkpoints_begun += 1;
                self.is_checkpointing = true;
            }
            "checkpointed" => {
                self.checkpoints_ended += 1;
                self.is_checkpointing = false;
            }
            promise => {
                promises.take_in(promise)?;
                self.promised += 1;
            }
        }
        Ok(true)
    }

    fn is_due(&self, moment: Moment) -> Option<Duration> {
        match moment {
            Moment::Opening(after) => self.is_opening.map(|_| after),
            Moment::Promised(count) => (self.promised >= count).then_some(Duration::ZERO),
            Moment::Checkpoint(number, after) => (self.checkpoints_begun > number).then_some(after),
            Moment::Checkpointed(number) => {
                (self.checkpoints_ended > number).then_some(Duration::ZERO)
            }
        }
    }

    fn kill_at(
        &mut self,
        moment: Moment,
        promises: &mut Promises,
        summary: &mut Summary,
    ) -> Result<(), String> {
        let began = Instant::now();
        let wait = loop {
            if !self.listen(promises)? {
                return Err(self.complaint());
            }
            if let Some(wait) = self.is_due(moment) {
                break wait;
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("no progress: {moment:?} does not come"));
            }
        };
        let due = Instant::now() + wait;
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        self.child.kill().map_err(|error| error.to_string())?;
        while self.listen(promises)? {}
        summary.acknowledged += self.promised;
        summary.while_opening += u32::from(self.opening_took.is_none());
        summary.while_checkpointing += u32::from(self.is_checkpointing);
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.signal() == Some(9) {
            Ok(())
        } else {
            Err(self.complaint())
        }
    }

    /// Returns the reason for which the child has ended by itself.
    fn complaint(&mut self) -> String {
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // Errors that cannot be read are left out.
            let _ = stderr.read_to_string(&mut errors);
        }
        format!("the child failed: {errors}")
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Usually the child is dead and waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Works as a child if this process is one: until it is killed, or has failed.
pub(crate) fn work_as_child() -> Option<Result<(), weft::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != "child" {
        return None;
    }
    let directory = arguments.next()?;
    let seed = arguments.next()?.to_str()?.parse().ok()?;
    let conduct = Conduct::of(arguments.next()?.to_str()?)?;
    Some(child::work(directory.as_ref(), seed, conduct))
}
