//! A directory of the operating system that loses unsynced changes when its process is killed.
//!
//! SIGKILL does not undo what the system has been given: the system's cache outlives the process.
//! This directory does not give the system changes that are not durable. They are held in the
//! process's memory, so that a kill does to the real files what a power cut may do.
//!
//! | change | held until |
//! | --- | --- |
//! | bytes of [`crate::Action::Write`] and [`File::write_at`] | a sync of the file, or a durable write to the same place |
//! | the length that a write or [`File::reserve`] made | a sync of the file; a durable write needs no more than its own end |
//! | names created, renamed, removed | a sync of the directory |
//! | an operation of a channel, even a durable write | a later reap, in any order |
//!
//! A durable write and a sync go to the real file through the channel of the real [`Backend`].
//! Reads see held bytes. A new file lies in a directory below, `unsynced`, until its name is
//! synced; files that are left there were lost.
//!
//! The system may also write earlier than it is asked to. With [`Laziness::early_per_mille`], so
//! does this directory: a write, or all names up to one.
//!
//! # Limits of the model
//! - Names reach the real directory in the order of their changes.
//! - A held write is lost or kept as a whole. (A write that a kill interrupts is torn.)
//! - Calls do not fail: for failures, see [`crate::SimulatedDisk`].

mod channel;
mod file;
mod held;
mod names;

#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::{
    channel::LazyChannel,
    file::{Content, LazyFile, Open, Opened},
    names::Names,
};
use crate::{
    channel::Channel,
    dice::Dice,
    directory::{Directory, DirectoryLock, File, OpenMode, check_name},
    real::{Backend, RealDirectory},
    simulated::Planted,
};

/// Subdirectory that holds the files whose names are not synced.
const UNSYNCED: &str = "unsynced";

/// Behaviour of a [`LazyDirectory`] beyond that of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laziness {
    /// Seed of the choices: when operations begin, and which changes are written early.
    pub seed: u64,
    /// Chance that a change is made on the real files at once, per mille.
    pub early_per_mille: u32,
    /// A bug to plant.
    pub planted: Option<Planted>,
}

/// A directory of the operating system that loses unsynced changes when its process is killed. May
/// be opened by one process at a time.
#[derive(Debug)]
pub struct LazyDirectory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    real: RealDirectory,
    laziness: Laziness,
    dice: Mutex<Dice>,
    names: Mutex<Names>,
    opened: Mutex<Opened>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LazyDirectory {
    /// Opens the directory at `path`, creating it (durably) if it is missing. Files that were lost
    /// before are removed.
    ///
    /// # Errors
    /// The errors of [`RealDirectory::open`]; the system's error if a file cannot be opened for
    /// writing.
    pub fn open(
        path: impl AsRef<Path>,
        backend: Backend,
        laziness: Laziness,
    ) -> io::Result<LazyDirectory> {
        let path: PathBuf = path.as_ref().to_owned();
        let real = RealDirectory::open(&path, backend)?;
        let unsynced = path.join(UNSYNCED);
        match fs::remove_dir_all(&unsynced) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let unsynced = RealDirectory::open(unsynced, Backend::Blocking)?;
        let names = Names::new(path, &real, unsynced)?;
        Ok(LazyDirectory(Arc::new(Shared {
            real,
            laziness,
            dice: Mutex::new(Dice::new(laziness.seed)),
            names: Mutex::new(names),
            opened: Mutex::default(),
        })))
    }

    /// Changes names by `change`.
    fn change<T>(&self, change: impl FnOnce(&mut Names) -> io::Result<T>) -> io::Result<T> {
        let mut names = lock(&self.0.names);
        let changed = change(&mut names)?;
        if self.0.is_early() {
            names.write_back(&self.0.real)?;
        }
        Ok(changed)
    }
}

impl Shared {
    /// Returns whether the change that was just made is not held.
    fn is_early(&self) -> bool {
        lock(&self.dice).chance(self.laziness.early_per_mille)
    }

    fn skips_syncs(&self) -> bool {
        self.laziness.planted == Some(Planted::SkipSync)
    }

    fn skips_durable_writes(&self) -> bool {
        self.skips_syncs() || self.laziness.planted == Some(Planted::SkipDurableWrite)
    }

    /// Gives the system the names that are to be synced; returns false if a planted bug keeps them
    /// back.
    fn write_names_back(&self) -> io::Result<bool> {
        if self.laziness.planted == Some(Planted::LoseDirectorySync) {
            return Ok(false);
        }
        lock(&self.names).write_back(&self.real)?;
        Ok(true)
    }
}

impl Directory for LazyDirectory {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.0.names).list())
    }

    fn open(&self, name: &str, mode: OpenMode, direct: bool) -> io::Result<Arc<dyn File>> {
        check_name(name)?;
        let content = match mode {
            OpenMode::Create => self.change(|names| names.create(name))?,
            OpenMode::Read | OpenMode::Write => lock(&self.0.names).get(name)?,
        };
        Ok(LazyFile::handle_on(
            &self.0,
            Open::File {
                content,
                direct,
                writable: mode != OpenMode::Read,
            },
        ))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|names| names.remove(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(to)?;
        self.change(|names| names.rename(from, to))
    }

    fn sync(&self) -> io::Result<()> {
        if self.0.write_names_back()? {
            self.0.real.sync()?;
        }
        Ok(())
    }

    fn as_file(&self) -> io::Result<Arc<dyn File>> {
        let real = self.0.real.as_file()?;
        Ok(LazyFile::handle_on(&self.0, Open::Directory(real)))
    }

    fn lock(&self) -> io::Result<DirectoryLock> {
        self.0.real.lock()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.0.real.free_bytes()
    }

    fn channel(&self) -> io::Result<Box<dyn Channel>> {
        let channel = LazyChannel::new(&self.0, self.0.real.channel()?);
        Ok(Box::new(channel))
    }

    fn location(&self) -> String {
        self.0.real.location()
    }

    fn backend(&self) -> String {
        format!("{}, unsynced writes held", self.0.real.backend())
    }
}
