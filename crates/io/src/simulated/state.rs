//! The disk behind its lock: contents and names, dice, faults, plug, operations under way; and the
//! effect of a crash on them. Calls are in `calls.rs`.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Weak},
};

use super::{
    content::Content,
    faults::{Counts, Faults, Planted},
    image::Data,
    names::{FileId, Names},
};
use crate::{
    channel::{Action, Operation},
    dice::Dice,
};

/// State that outlives a crash.
#[derive(Clone, Debug, Default)]
pub(super) struct Storage {
    pub(super) files: BTreeMap<FileId, Content>,
    pub(super) names: Names,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) storage: Storage,
    pub(super) dice: Dice,
    pub(super) faults: Faults,
    pub(super) planted: Option<Planted>,
    pub(super) counts: Counts,
    /// Number that grows with each crash; handles, channels and directories of earlier generations
    /// are dead.
    pub(super) generation: u32,
    /// Changes that still succeed, if that is limited.
    pub(super) changes_left: Option<u64>,
    pub(super) unplugged: bool,
    pub(super) lock: Weak<()>,
    /// Operations under way, by channel.
    pub(super) under_way: BTreeMap<u64, Vec<UnderWay>>,
    /// Operations taken from there by a reap in progress.
    pub(super) completing: Vec<UnderWay>,
    next_file: FileId,
    next_channel: u64,
}

/// An operation that a channel has submitted.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) operation: Operation,
    /// Generation of the channel.
    pub(super) generation: u32,
    /// Number of the channel's reap in which the operation completes.
    pub(super) due: u64,
}

impl UnderWay {
    /// Returns the file, offset and data that the operation writes, if it writes and if it began
    /// under the power supply of `generation`.
    fn write(&self, generation: u32) -> Option<(FileId, u64, Data<'_>)> {
        let operation = &self.operation;
        let handle = Handle::unpack(operation.file.handle());
        (operation.action != Action::Read
            && handle.writable
            && handle.generation == generation
            && self.generation == generation)
            .then(|| {
                (
                    handle.file,
                    operation.offset,
                    Data::Bytes(&operation.buffer),
                )
            })
    }
}

/// Kinds of calls that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Read,
    Write,
    WriteDurable,
    Sync,
    SyncDirectory,
    /// A creation, renaming or removal.
    ChangeName,
    /// A listing, opening or locking.
    LookUp,
}

/// Course of a call that may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    Well,
    /// The device fails halfway.
    Fails,
    /// The power fails halfway: the call counts as under way in the crash.
    PowerFails,
}

/// Number that stands for the directory in a [`Handle`]; no file has this number.
pub(super) const DIRECTORY: FileId = FileId::MAX;

/// An open file, as encoded in its handle's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) file: FileId,
    pub(super) direct: bool,
    pub(super) writable: bool,
    pub(super) generation: u32,
}

impl Handle {
    pub(super) fn pack(self) -> u64 {
        u64::from(self.file)
            | u64::from(self.direct) << 32
            | u64::from(self.writable) << 33
            | u64::from(self.generation) << 34
    }

    pub(super) fn unpack(packed: u64) -> Handle {
        Handle {
            file: packed as FileId,
            direct: packed >> 32 & 1 != 0,
            writable: packed >> 33 & 1 != 0,
            generation: (packed >> 34) as u32,
        }
    }
}

pub(super) fn device_error() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

pub(super) fn no_power() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "the simulated disk has no power",
    )
}

impl State {
    pub(super) fn new(seed: u64, faults: Faults, storage: Storage, next_file: FileId) -> State {
        State {
            storage,
            dice: Dice::new(seed),
            faults,
            planted: None,
            counts: Counts::default(),
            generation: 0,
            changes_left: None,
            unplugged: false,
            lock: Weak::new(),
            under_way: BTreeMap::new(),
            completing: Vec::new(),
            next_file,
            next_channel: 0,
        }
    }

    /// Returns the course of a call that a handle of `generation` makes.
    pub(super) fn begin(&mut self, generation: u32, call: Call) -> io::Result<Course> {
        if self.unplugged || generation != self.generation {
            return Err(no_power());
        }
        let counts = &mut self.counts;
        let (counter, chance) = match call {
            Call::Read => (Some(&mut counts.reads), self.faults.read_error_per_mille),
            Call::Write => (Some(&mut counts.writes), self.faults.write_error_per_mille),
            Call::WriteDurable => (
                Some(&mut counts.durable_writes),
                self.faults.write_error_per_mille,
            ),
            Call::Sync => (Some(&mut counts.syncs), self.faults.sync_error_per_mille),
            Call::SyncDirectory => (
                Some(&mut counts.directory_syncs),
                self.faults.sync_error_per_mille,
            ),
            Call::ChangeName => (
                Some(&mut counts.name_changes),
                self.faults.name_error_per_mille,
            ),
            Call::LookUp => (None, self.faults.name_error_per_mille),
        };
        if let Some(counter) = counter {
            *counter += 1;
        }
        if !matches!(call, Call::Read | Call::LookUp)
            && let Some(left) = &mut self.changes_left
        {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => {
                    self.unplug();
                    return Ok(Course::PowerFails);
                }
            }
        }
        if self.dice.chance(chance) {
            return Ok(Course::Fails);
        }
        Ok(Course::Well)
    }

    /// Lets every call fail from now on. Operations under way are as a crash would find them.
    pub(super) fn unplug(&mut self) {
        if self.unplugged {
            return;
        }
        self.unplugged = true;
        for under_way in self.under_way.values().flatten().chain(&self.completing) {
            if let Some((file, offset, data)) = under_way.write(self.generation)
                && let Some(content) = self.storage.files.get_mut(&file)
            {
                content.write(offset, data);
            }
        }
    }

    pub(super) fn new_file(&mut self) -> FileId {
        let file = self.next_file;
        self.next_file += 1;
        self.storage.files.insert(file, Content::default());
        file
    }

    pub(super) fn new_channel(&mut self) -> u64 {
        let channel = self.next_channel;
        self.next_channel += 1;
        self.under_way.insert(channel, Vec::new());
        channel
    }

    /// Forgets files that no name or handle can reach any more.
    pub(super) fn collect(&mut self) {
        let reachable = self.storage.names.files();
        self.storage
            .files
            .retain(|file, content| content.is_open() || reachable.contains(file));
    }

    /// Turns `storage` into its state after a power failure now.
    pub(super) fn crash_storage(&self, storage: &mut Storage, dice: &mut Dice) {
        storage.names.crash(dice);
        let reachable = storage.names.files();
        storage.files.retain(|file, _| reachable.contains(file));
        let mut writes: BTreeMap<FileId, Vec<(u64, Data<'_>)>> = BTreeMap::new();
        if !self.unplugged {
            for under_way in self.under_way.values().flatten() {
                if let Some((file, offset, data)) = under_way.write(self.generation) {
                    writes.entry(file).or_default().push((offset, data));
                }
            }
        }
        for (file, content) in &mut storage.files {
            let writes = writes.remove(file).unwrap_or_default();
            content.crash(&writes, dice);
        }
    }

    /// Lets the power fail now, and come back.
    pub(super) fn crash(&mut self) {
        let mut storage = std::mem::take(&mut self.storage);
        let mut dice = self.dice.clone();
        self.crash_storage(&mut storage, &mut dice);
        self.storage = storage;
        self.dice = dice;
        self.generation += 1;
        self.changes_left = None;
        self.unplugged = false;
        self.lock = Weak::new();
    }

    /// Returns the disk as it would be found if the power failed now.
    pub(super) fn after_crash(&self, seed: u64) -> State {
        let mut dice = Dice::new(seed);
        let mut storage = self.storage.clone();
        self.crash_storage(&mut storage, &mut dice);
        let mut state = State::new(seed, self.faults.clone(), storage, self.next_file);
        state.dice = dice;
        state.planted = self.planted;
        state
    }

    pub(super) fn lock(&mut self, generation: u32) -> io::Result<Arc<()>> {
        if self.begin(generation, Call::LookUp)? != Course::Well {
            return Err(device_error());
        }
        if self.lock.strong_count() > 0 {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "the simulated disk is open already",
            ));
        }
        let lock = Arc::new(());
        self.lock = Arc::downgrade(&lock);
        Ok(lock)
    }
}
