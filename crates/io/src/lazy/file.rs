//! Files: held bytes over the contents of the real file.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
};

use super::{
    Shared,
    held::{Held, WriteId},
    lock,
};
use crate::{
    buffer::BLOCK_BYTES,
    directory::{Directory, File, OpenMode},
    real::RealDirectory,
};

/// A file, shared by all its handles.
#[derive(Debug)]
pub(super) struct Content {
    live: Mutex<Live>,
    cached: Arc<dyn File>,
    direct: Arc<dyn File>,
}

#[derive(Debug)]
struct Live {
    /// Length as programs see it.
    length: u64,
    held: Held,
    next_write: WriteId,
}

impl Content {
    pub(super) fn open(directory: &RealDirectory, name: &str, mode: OpenMode) -> io::Result<Self> {
        let cached = directory.open(name, mode, false)?;
        Ok(Content {
            live: Mutex::new(Live {
                length: cached.length()?,
                held: Held::default(),
                next_write: 0,
            }),
            direct: directory.open(name, OpenMode::Write, true)?,
            cached,
        })
    }

    /// Returns the file for the real channel.
    pub(super) fn real(&self, direct: bool) -> &Arc<dyn File> {
        if direct { &self.direct } else { &self.cached }
    }

    fn length(&self) -> u64 {
        lock(&self.live).length
    }

    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let live = lock(&self.live);
        let there = live.length.saturating_sub(offset).min(bytes.len() as u64);
        let bytes = &mut bytes[..there as usize];
        let read = self.cached.read_at(bytes, offset)?;
        bytes[read..].fill(0);
        live.held.overlay(bytes, offset);
        Ok(bytes.len())
    }

    /// Holds a write. Returns its number.
    pub(super) fn hold(&self, bytes: &[u8], offset: u64) -> WriteId {
        let mut live = lock(&self.live);
        let write = live.next_write;
        live.next_write += 1;
        live.held.insert(offset, bytes, write);
        live.length = live.length.max(offset + bytes.len() as u64);
        write
    }

    /// Forgets the first `length` bytes of `write` at `offset`: they are in the real file.
    pub(super) fn settle(&self, write: WriteId, offset: u64, length: usize) {
        let range = offset..offset + length as u64;
        lock(&self.live).held.remove(range, |of| of == write);
    }

    /// Gives the system all held bytes.
    pub(super) fn write_back(&self) -> io::Result<()> {
        let mut live = lock(&self.live);
        for (offset, bytes) in live.held.iter() {
            self.cached.write_at(bytes, offset)?;
        }
        live.held.clear();
        if self.cached.length()? < live.length {
            self.cached.write_at(&[0], live.length - 1)?;
        }
        Ok(())
    }
}

/// Object that a handle is open on.
#[derive(Clone, Debug)]
pub(super) enum Open {
    Directory(Arc<dyn File>),
    File {
        content: Arc<Content>,
        direct: bool,
        writable: bool,
    },
}

/// Open objects by handle: channels are given only the handle of a file.
#[derive(Debug, Default)]
pub(super) struct Opened {
    next: u64,
    by_handle: BTreeMap<u64, Open>,
}

impl Opened {
    pub(super) fn get(&self, handle: u64) -> io::Result<Open> {
        let open = self.by_handle.get(&handle).cloned();
        open.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }
}

#[derive(Debug)]
pub(super) struct LazyFile {
    shared: Arc<Shared>,
    handle: u64,
    open: Open,
}

impl LazyFile {
    pub(super) fn handle_on(shared: &Arc<Shared>, open: Open) -> Arc<dyn File> {
        let mut opened = lock(&shared.opened);
        let handle = opened.next;
        opened.next += 1;
        opened.by_handle.insert(handle, open.clone());
        drop(opened);
        Arc::new(LazyFile {
            shared: shared.clone(),
            handle,
            open,
        })
    }
}

impl Drop for LazyFile {
    fn drop(&mut self) {
        lock(&self.shared.opened).by_handle.remove(&self.handle);
    }
}

impl Open {
    pub(super) fn content(&self) -> io::Result<&Arc<Content>> {
        match self {
            Open::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
            Open::File { content, .. } => Ok(content),
        }
    }

    /// Checks that a channel may transfer `length` bytes at `offset`.
    pub(super) fn check(&self, writes: bool, offset: u64, length: usize) -> io::Result<()> {
        let (unit, writable) = match *self {
            Open::Directory(_) => (1, false),
            Open::File {
                direct, writable, ..
            } => (if direct { BLOCK_BYTES } else { 1 }, writable),
        };
        if writes && !writable {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let end = offset.saturating_add(length as u64);
        let aligned = offset.is_multiple_of(unit as u64) && length.is_multiple_of(unit);
        if !aligned || i64::try_from(end).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(())
    }
}

impl Shared {
    /// Writes bytes that need not be durable.
    pub(super) fn write(&self, content: &Content, bytes: &[u8], offset: u64) -> io::Result<()> {
        let write = content.hold(bytes, offset);
        if self.is_early() {
            content.real(false).write_at(bytes, offset)?;
            content.settle(write, offset, bytes.len());
        }
        Ok(())
    }
}

impl File for LazyFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.open.content()?.length())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.open.content()?.read(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let content = self.open.content()?;
        let Open::File { writable: true, .. } = self.open else {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        };
        self.shared.write(content, bytes, offset)
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let mut live = lock(&self.open.content()?.live);
        live.length = live.length.max(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        match &self.open {
            Open::Directory(real) => {
                if self.shared.write_names_back()? {
                    real.sync()?;
                }
            }
            Open::File { content, .. } if !self.shared.skips_syncs() => {
                content.write_back()?;
                content.real(false).sync()?;
            }
            Open::File { .. } => {}
        }
        Ok(())
    }

    fn handle(&self) -> u64 {
        self.handle
    }
}
