//! A channel of a lazy directory, over one of the real directory.
//!
//! Operations begin some reaps after they were submitted, in any order. Reads and writes that need
//! not be durable end when they begin; other operations go on to the real channel. A durable write
//! is held until the real channel says that it is done, so that reads see it all the time.

use std::{collections::BTreeMap, io, os::fd::RawFd, sync::Arc, time::Duration};

use super::{
    Shared,
    file::{Content, Open},
    held::WriteId,
    lock,
};
use crate::{
    channel::{Action, Channel, Completion, Operation, Rouse},
    dice::Dice,
    directory::File,
};

/// Maximum reaps that an operation sits out.
const DELAY_REAPS_MAX: u64 = 3;

#[derive(Debug)]
pub(super) struct LazyChannel {
    shared: Arc<Shared>,
    real: Box<dyn Channel>,
    dice: Dice,
    reaps: u64,
    waiting: Vec<Waiting>,
    /// Operations that are due; reused between reaps.
    due: Vec<Waiting>,
    /// Operations handed to the real channel, by their token there.
    passed_on: BTreeMap<u64, PassedOn>,
    next_token: u64,
    /// Completions of the real channel; reused between reaps.
    reaped: Vec<Completion>,
}

#[derive(Debug)]
struct Waiting {
    operation: Operation,
    /// Number of the reap in which the operation begins.
    due: u64,
}

#[derive(Debug)]
struct PassedOn {
    token: u64,
    /// Held bytes of a durable write.
    write: Option<Durable>,
    _file: Arc<dyn File>,
}

#[derive(Debug)]
struct Durable {
    content: Arc<Content>,
    write: WriteId,
    offset: u64,
}

/// Course of an operation that begins.
enum Course {
    Done(usize),
    GoesOn(Arc<dyn File>, Option<Durable>),
}

impl LazyChannel {
    pub(super) fn new(shared: &Arc<Shared>, real: Box<dyn Channel>) -> LazyChannel {
        LazyChannel {
            dice: Dice::new(lock(&shared.dice).below(u64::MAX)),
            shared: shared.clone(),
            real,
            reaps: 0,
            waiting: Vec::new(),
            due: Vec::new(),
            passed_on: BTreeMap::new(),
            next_token: 0,
            reaped: Vec::new(),
        }
    }

    fn begin(&mut self, mut operation: Operation, completions: &mut Vec<Completion>) {
        let result = match self.course(&mut operation) {
            Ok(Course::GoesOn(real, write)) => {
                let token = self.next_token;
                self.next_token += 1;
                let passed_on = PassedOn {
                    token: operation.token,
                    write,
                    _file: operation.file,
                };
                self.passed_on.insert(token, passed_on);
                self.real.submit(Operation {
                    token,
                    file: real,
                    ..operation
                });
                return;
            }
            Ok(Course::Done(transferred)) => Ok(transferred),
            Err(error) => Err(error),
        };
        completions.push(Completion {
            token: operation.token,
            buffer: operation.buffer,
            result,
        });
    }

    fn course(&self, operation: &mut Operation) -> io::Result<Course> {
        let Operation {
            action,
            ref file,
            offset,
            ref mut buffer,
            ..
        } = *operation;
        let shared = &self.shared;
        let open = lock(&shared.opened).get(file.handle())?;
        if action != Action::Sync {
            open.check(action != Action::Read, offset, buffer.len())?;
        }
        let (content, direct) = match open {
            Open::Directory(real) if action == Action::Sync => {
                return Ok(match shared.write_names_back()? {
                    true => Course::GoesOn(real, None),
                    false => Course::Done(0),
                });
            }
            Open::Directory(_) => return Err(io::ErrorKind::IsADirectory.into()),
            Open::File {
                content, direct, ..
            } => (content, direct),
        };
        match action {
            Action::Read => Ok(Course::Done(content.read(buffer, offset)?)),
            Action::Sync if shared.skips_syncs() => Ok(Course::Done(0)),
            Action::Sync => {
                content.write_back()?;
                let real = content.real(direct).clone();
                Ok(Course::GoesOn(real, None))
            }
            Action::WriteDurable if !shared.skips_durable_writes() => {
                let real = content.real(direct).clone();
                let write = content.hold(buffer, offset);
                let durable = Durable {
                    content,
                    write,
                    offset,
                };
                Ok(Course::GoesOn(real, Some(durable)))
            }
            Action::Write | Action::WriteDurable => {
                shared.write(&content, buffer, offset)?;
                Ok(Course::Done(buffer.len()))
            }
        }
    }
}

impl Channel for LazyChannel {
    fn submit(&mut self, operation: Operation) {
        let due = self.reaps + 1 + self.dice.below(DELAY_REAPS_MAX + 1);
        self.waiting.push(Waiting { operation, due });
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        if self.outstanding() == 0 {
            return;
        }
        self.reaps += 1;
        let now = self.reaps;
        let mut due = std::mem::take(&mut self.due);
        due.extend(self.waiting.extract_if(.., |waiting| waiting.due <= now));
        self.dice.shuffle(&mut due);
        for Waiting { operation, .. } in due.drain(..) {
            self.begin(operation, completions);
        }
        self.due = due;
        let mut reaped = std::mem::take(&mut self.reaped);
        self.real.reap(&mut reaped);
        for completion in reaped.drain(..) {
            let Some(passed_on) = self.passed_on.remove(&completion.token) else {
                continue;
            };
            if let (Some(durable), Ok(written)) = (passed_on.write, &completion.result) {
                let Durable {
                    content,
                    write,
                    offset,
                } = durable;
                content.settle(write, offset, *written);
            }
            completions.push(Completion {
                token: passed_on.token,
                ..completion
            });
        }
        self.reaped = reaped;
    }

    fn outstanding(&self) -> usize {
        self.waiting.len() + self.passed_on.len()
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        // The wait counts for as many reaps as the next beginning takes.
        match self.waiting.iter().map(|waiting| waiting.due).min() {
            Some(due) => self.reaps = self.reaps.max(due - 1),
            None => self.real.wait(at_most),
        }
    }

    fn watch(&mut self, descriptor: RawFd) -> bool {
        self.real.watch(descriptor)
    }

    fn rouser(&self) -> Arc<dyn Rouse> {
        self.real.rouser()
    }
}

impl Drop for LazyChannel {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.outstanding() > 0 {
            self.wait(None);
            self.reap(&mut completions);
        }
    }
}
