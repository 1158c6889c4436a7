//! The simulated disk's directory and files, between two crashes.

use std::{io, sync::Arc};

use super::{
    Shared,
    channel::SimulatedChannel,
    state::{Call, Course, DIRECTORY, Handle, device_error},
};
use crate::{
    channel::Channel,
    directory::{Directory, DirectoryLock, File, OpenMode, check_name},
};

#[derive(Debug)]
pub(super) struct SimulatedDirectory {
    pub(super) shared: Arc<Shared>,
    pub(super) generation: u32,
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no file {name}"))
}

impl SimulatedDirectory {
    fn look_up(&self) -> io::Result<()> {
        match self.shared.lock().begin(self.generation, Call::LookUp)? {
            Course::Well => Ok(()),
            _ => Err(device_error()),
        }
    }
}

impl Directory for SimulatedDirectory {
    fn list(&self) -> io::Result<Vec<String>> {
        self.look_up()?;
        let state = self.shared.lock();
        Ok(state
            .storage
            .names
            .iter()
            .map(|(name, _)| name.clone())
            .collect())
    }

    fn open(&self, name: &str, mode: OpenMode, direct: bool) -> io::Result<Arc<dyn File>> {
        check_name(name)?;
        self.look_up()?;
        let mut state = self.shared.lock();
        let there = state.storage.names.get(name);
        let file = match (mode, there) {
            (OpenMode::Create, Some(_)) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("there is a file {name} already"),
                ));
            }
            (OpenMode::Create, None) => {
                let file = state.new_file();
                state.change_names(self.generation, |names| {
                    names.create(name, file);
                    Ok(())
                })?;
                file
            }
            (_, Some(file)) => file,
            (_, None) => return Err(missing(name)),
        };
        let handle = Handle {
            file,
            direct,
            writable: mode != OpenMode::Read,
            generation: self.generation,
        };
        let open = state.storage.files[&file].handles.clone();
        Ok(Arc::new(SimulatedFile {
            shared: self.shared.clone(),
            handle,
            _open: open,
        }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        let mut state = self.shared.lock();
        state.change_names(self.generation, |names| {
            names
                .remove(name)
                .then_some(())
                .ok_or_else(|| missing(name))
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(from)?;
        check_name(to)?;
        let mut state = self.shared.lock();
        state.change_names(self.generation, |names| {
            names
                .rename(from, to)
                .then_some(())
                .ok_or_else(|| missing(from))
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.shared.lock().sync_directory(self.generation)
    }

    fn as_file(&self) -> io::Result<Arc<dyn File>> {
        let handle = Handle {
            file: DIRECTORY,
            direct: false,
            writable: false,
            generation: self.generation,
        };
        Ok(Arc::new(SimulatedFile {
            shared: self.shared.clone(),
            handle,
            _open: Arc::default(),
        }))
    }

    fn lock(&self) -> io::Result<DirectoryLock> {
        let lock = self.shared.lock().lock(self.generation)?;
        Ok(DirectoryLock(Box::new(lock)))
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.look_up()?;
        let state = self.shared.lock();
        Ok(match state.faults.capacity_bytes {
            Some(capacity) => capacity.saturating_sub(state.used()),
            None => i64::MAX as u64,
        })
    }

    fn channel(&self) -> io::Result<Box<dyn Channel>> {
        let channel = SimulatedChannel::new(self.shared.clone(), self.generation);
        Ok(Box::new(channel))
    }

    fn location(&self) -> String {
        format!("simulated disk {}", self.shared.seed)
    }

    fn backend(&self) -> String {
        "simulated".to_owned()
    }
}

#[derive(Debug)]
struct SimulatedFile {
    shared: Arc<Shared>,
    handle: Handle,
    /// Token counted by the content.
    _open: Arc<()>,
}

impl File for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        self.shared.lock().length(self.handle)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.shared.lock().read(self.handle, bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self
            .shared
            .lock()
            .write(self.handle, bytes, offset, false)?;
        if written < bytes.len() {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.shared.lock().sync(self.handle)
    }

    fn handle(&self) -> u64 {
        self.handle.pack()
    }
}
