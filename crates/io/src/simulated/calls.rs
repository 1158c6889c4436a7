//! Calls of the disk, with their faults.

use std::io;

use super::{
    content::Content,
    faults::Planted,
    image::Data,
    names::{FileId, Names},
    state::{Call, Course, DIRECTORY, Handle, State, UnderWay, device_error, no_power},
};
use crate::{
    buffer::BLOCK_BYTES,
    channel::{Action, Completion, Operation},
};

impl State {
    /// Returns the course of a call on `handle`.
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

    /// Writes as much of `bytes` as there is room for. Returns the number of bytes written.
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
        if i64::try_from(offset.saturating_add(bytes.len() as u64)).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
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
        let skips = [Planted::SkipSync, Planted::SkipDurableWrite].map(Some);
        let durable = durable && !skips.contains(&self.planted);
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

    /// Returns how many of `length` bytes at `offset` there is room for.
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

    /// Returns the sum of the lengths of the files that have a name or are open.
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
            Action::Sync if handle.file == DIRECTORY => {
                self.sync_directory(handle.generation).map(|()| 0)
            }
            Action::Sync => self.sync(handle).map(|()| 0),
        }
    }

    /// Changes names by `change`, which returns an error if it could not.
    pub(super) fn change_names(
        &mut self,
        generation: u32,
        change: impl FnOnce(&mut Names) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.begin(generation, Call::ChangeName)? {
            Course::Well => change(&mut self.storage.names),
            Course::Fails => Err(device_error()),
            Course::PowerFails => {
                // The change may have become durable, or not.
                let _ = change(&mut self.storage.names);
                Err(no_power())
            }
        }
    }
}
