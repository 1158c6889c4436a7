//! A child, as its parent sees it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::ledger::Promises;
use super::moment::Moment;
use super::word::Word;
use commands::{Error, Result};

/// Longest time that a child may need to reach the moment at which it is killed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A child, and its messages so far.
pub(super) struct Watched {
    child: Child,
    /// Messages that a thread of its own reads: a child whose output is not read stands still.
    words: Receiver<Result<Word, String>>,
    is_opening: Option<Instant>,
    /// Time from the beginning of opening to the first transaction.
    pub(super) opening_took: Option<Duration>,
    pub(super) is_checkpointing: bool,
    checkpoints_begun: u32,
    checkpoints_ended: u32,
    pub(super) acknowledged: u64,
}

impl Watched {
    pub(super) fn start(command: &mut Command) -> Result<Watched> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::run(format!("cannot start a child: {error}")))?;
        let (sender, words) = channel();
        if let Some(lines) = child.stdout.take() {
            std::thread::spawn(move || read(lines, &sender));
        }
        Ok(Watched {
            child,
            words,
            is_opening: None,
            opening_took: None,
            is_checkpointing: false,
            checkpoints_begun: 0,
            checkpoints_ended: 0,
            acknowledged: 0,
        })
    }

    /// Waits for the moment, kills the child, and takes in all its messages. The error says why the
    /// child has ended by itself, or which of its messages is impossible.
    pub(super) fn kill_at(
        &mut self,
        moment: Moment,
        promises: &mut Promises,
    ) -> std::result::Result<(), String> {
        let began = Instant::now();
        let mut due = None;
        loop {
            let now = Instant::now();
            if due.is_some_and(|due| due <= now) {
                break;
            }
            let patience = (began + PATIENCE).saturating_duration_since(now);
            if patience.is_zero() {
                return Err(format!("no progress: {moment:?} does not come"));
            }
            let wait = due.map_or(patience, |due: Instant| due - now);
            match self.words.recv_timeout(wait) {
                Ok(word) => self.take_in(word?, promises),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(self.complaint()),
            }
            due = due.or_else(|| Some(Instant::now() + self.wait_for(moment)?));
        }
        self.child.kill().map_err(|error| error.to_string())?;
        while let Ok(word) = self.words.recv() {
            self.take_in(word?, promises);
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        match status.signal() {
            Some(9) => Ok(()),
            _ => Err(self.complaint()),
        }
    }

    fn take_in(&mut self, word: Word, promises: &mut Promises) {
        match word {
            Word::Opening => self.is_opening = Some(Instant::now()),
            Word::Working => self.opening_took = self.is_opening.map(|began| began.elapsed()),
            Word::Found(entry) => promises.take_in(entry),
            Word::Done(entry) => {
                promises.take_in(entry);
                self.acknowledged += 1;
            }
            Word::Checkpoint => {
                self.checkpoints_begun += 1;
                self.is_checkpointing = true;
            }
            Word::Checkpointed => {
                self.checkpoints_ended += 1;
                self.is_checkpointing = false;
            }
        }
    }

    /// Returns how long to wait still, if the moment's beginning has come.
    fn wait_for(&self, moment: Moment) -> Option<Duration> {
        let (has_come, wait) = match moment {
            Moment::Opening(wait) => (self.is_opening.is_some(), wait),
            Moment::Working(wait) => (self.opening_took.is_some(), wait),
            Moment::Done(count) => (self.acknowledged >= count, Duration::ZERO),
            Moment::Checkpoint(number, wait) => (self.checkpoints_begun > number, wait),
            Moment::Checkpointed(number) => (self.checkpoints_ended > number, Duration::ZERO),
        };
        has_come.then_some(wait)
    }

    /// Returns the reason for which the child has ended by itself.
    fn complaint(&mut self) -> String {
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // Errors that cannot be read are left out.
            let _ = stderr.read_to_string(&mut errors);
        }
        format!("a child failed: {}", errors.trim_end())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Usually the child is dead and waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands on the messages of a child, until it has ended.
fn read(lines: ChildStdout, words: &Sender<std::result::Result<Word, String>>) {
    let mut lines = BufReader::new(lines);
    let mut line = String::new();
    loop {
        line.clear();
        let word = match lines.read_line(&mut line) {
            Err(error) => Err(error.to_string()),
            // The last line may be cut short by the kill.
            Ok(_) => match line.strip_suffix('\n') {
                Some(line) => line.parse(),
                None => return,
            },
        };
        // A receiver that is gone needs no more messages.
        if words.send(word).is_err() {
            return;
        }
    }
}
