//! The disk behind its lock: contents and names, dice, faults, plug, operations
//! under way.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Weak},
};

use super::{
    content::Content,
    dice::Dice,
    faults::{Counts, Faults, Planted},
    image::Data,
    names::{FileId, Names},
};
use crate::{
    buffer::BLOCK_BYTES,
    channel::{Action, Completion, Operation},
};

/// What outlives a crash.
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
    /// Grows with each crash; handles, channels and directories of before are dead.
    pub(super) generation: u32,
    /// Changes that still succeed, if that is limited.
    pub(super) changes_left: Option<u64>,
    pub(super) unplugged: bool,
    pub(super) lock: Weak<()>,
    /// By channel.
    pub(super) under_way: BTreeMap<u64, Vec<UnderWay>>,
    /// Taken from there by a reap in progress.
    pub(super) completing: Vec<UnderWay>,
    next_file: FileId,
    next_channel: u64,
}

/// An operation that a channel has submitted.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) operation: Operation,
    /// The channel's generation.
    pub(super) generation: u32,
    /// The channel's reap, by number, in which it completes.
    pub(super) due: u64,
}

impl UnderWay {
    /// What it writes, and to which file, if it does and if it began under the
    /// power supply of `generation`.
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
    /// Create, rename, remove.
    ChangeName,
    /// List, open, lock.
    LookUp,
}

/// How a call that may be made goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    Well,
    /// The device fails halfway.
    Fails,
    /// The power fails halfway: it is as if the call were under way in the crash.
    PowerFails,
}

/// An open file as its handle's number says.
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

fn no_power() -> io::Error {
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

    /// How a call goes that somebody of `generation` makes.
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

    /// Nothing works from now on. What is under way is as a crash would find it.
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

    /// How a call on `handle` goes.
    fn begin_on(&mut self, handle: Handle, call: Call) -> io::Result<Course> {
        let course = self.begin(handle.generation, call)?;
        let writes = matches!(call, Call::Write | Call::WriteDurable);
        if writes && !handle.writable {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        if !self.storage.files.contains_key(&handle.file) {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        Ok(course)
    }

    fn content(&mut self, file: FileId) -> &mut Content {
        self.storage
            .files
            .get_mut(&file)
            .expect("`begin_on` has looked")
    }

    pub(super) fn length(&mut self, handle: Handle) -> io::Result<u64> {
        match self.begin_on(handle, Call::LookUp)? {
            Course::Well => Ok(self.content(handle.file).length()),
            _ => Err(device_error()),
        }
    }

    pub(super) fn read(
        &mut self,
        handle: Handle,
        bytes: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        match self.begin_on(handle, Call::Read)? {
            Course::Well => Ok(self.content(handle.file).read(bytes, offset)),
            _ => Err(device_error()),
        }
    }

    /// Writes as much of `bytes` as there is room for; how much.
    pub(super) fn write(
        &mut self,
        handle: Handle,
        bytes: &[u8],
        offset: u64,
        durable: bool,
    ) -> io::Result<usize> {
        let call = if durable {
            Call::WriteDurable
        } else {
            Call::Write
        };
        let course = self.begin_on(handle, call)?;
        let room = self.room(handle.file, offset, bytes.len() as u64) as usize;
        // A direct transfer ends with a block.
        let room = match room.cmp(&bytes.len()) {
            std::cmp::Ordering::Less if handle.direct => room / BLOCK_BYTES * BLOCK_BYTES,
            _ => room,
        };
        if room == 0 && !bytes.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let data = Data::Bytes(&bytes[..room]);
        let durable = durable && self.planted != Some(Planted::SkipSync);
        let content = self
            .storage
            .files
            .get_mut(&handle.file)
            .expect("`begin_on` has looked");
        match course {
            Course::Well if durable => content.write_durable(offset, data),
            Course::Well => content.write(offset, data),
            Course::Fails => {
                content.write_failing(offset, data, &mut self.dice);
                return Err(device_error());
            }
            Course::PowerFails => {
                content.write(offset, data);
                return Err(no_power());
            }
        }
        Ok(room)
    }

    /// How many of `length` bytes at `offset` there is room for.
    fn room(&mut self, file: FileId, offset: u64, length: u64) -> u64 {
        let Some(capacity) = self.faults.capacity_bytes else {
            return length;
        };
        let now = self.content(file).length();
        if offset + length <= now {
            return length;
        }
        let others = self.used() - now;
        capacity
            .saturating_sub(others)
            .max(now)
            .saturating_sub(offset)
            .min(length)
    }

    /// Sum of the lengths of the files that are somebody's.
    pub(super) fn used(&self) -> u64 {
        let mut named: Vec<FileId> = self.storage.names.iter().map(|(_, file)| file).collect();
        named.sort_unstable();
        self.storage
            .files
            .iter()
            .filter(|(file, content)| content.is_open() || named.binary_search(file).is_ok())
            .map(|(_, content)| content.length())
            .sum()
    }

    pub(super) fn sync(&mut self, handle: Handle) -> io::Result<()> {
        let course = self.begin_on(handle, Call::Sync)?;
        let content = self
            .storage
            .files
            .get_mut(&handle.file)
            .expect("`begin_on` has looked");
        match course {
            Course::Well => {
                if self.planted != Some(Planted::SkipSync) {
                    content.sync();
                }
                Ok(())
            }
            Course::Fails => {
                content.sync_failing(&mut self.dice);
                Err(device_error())
            }
            Course::PowerFails => Err(no_power()),
        }
    }

    pub(super) fn sync_directory(&mut self, generation: u32) -> io::Result<()> {
        match self.begin(generation, Call::SyncDirectory)? {
            Course::Well => {
                if self.planted != Some(Planted::LoseDirectorySync) {
                    self.storage.names.sync();
                    self.collect();
                }
                Ok(())
            }
            Course::Fails => {
                self.storage.names.sync_failing(&mut self.dice);
                Err(device_error())
            }
            Course::PowerFails => Err(no_power()),
        }
    }

    /// Completes an operation of a channel.
    pub(super) fn complete(&mut self, under_way: UnderWay) -> Completion {
        let Operation {
            token,
            action,
            file,
            offset,
            mut buffer,
        } = under_way.operation;
        let handle = Handle::unpack(file.handle());
        let result = if under_way.generation == self.generation {
            self.transfer(handle, action, offset, &mut buffer)
        } else {
            Err(no_power())
        };
        Completion {
            token,
            buffer,
            result,
        }
    }

    fn transfer(
        &mut self,
        handle: Handle,
        action: Action,
        offset: u64,
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        let unit = if handle.direct { BLOCK_BYTES } else { 1 };
        let aligned = offset.is_multiple_of(unit as u64) && bytes.len().is_multiple_of(unit);
        if !aligned || i64::try_from(offset).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut length = bytes.len();
        if length > unit && self.dice.chance(self.faults.short_per_mille) {
            let units = self.dice.between(1, (length / unit) as u64 - 1);
            length = units as usize * unit;
        }
        let bytes = &mut bytes[..length];
        match action {
            Action::Read => self.read(handle, bytes, offset),
            Action::Write => self.write(handle, bytes, offset, false),
            Action::WriteDurable => self.write(handle, bytes, offset, true),
        }
    }

    /// Changes names by `change`, which says whether it could.
    pub(super) fn change_names(
        &mut self,
        generation: u32,
        change: impl FnOnce(&mut Names) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.begin(generation, Call::ChangeName)? {
            Course::Well => change(&mut self.storage.names),
            Course::Fails => Err(device_error()),
            Course::PowerFails => {
                // It may have become durable, or not.
                let _ = change(&mut self.storage.names);
                Err(no_power())
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

    /// Forgets files that nobody can reach any more.
    fn collect(&mut self) {
        let reachable = self.storage.names.files();
        self.storage
            .files
            .retain(|file, content| content.is_open() || reachable.contains(file));
    }

    /// What `storage` is once the power has failed now.
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

    /// The power fails now, and comes back.
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

    /// The disk as it would be found if the power failed now.
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
