//! A directory of the operating system.
//!
//! Names, locks and control calls go through `std::fs`; transfers through the [`Channel`] of the
//! chosen [`Backend`]. Only for Linux: direct transfers, `RWF_DSYNC` and `io_uring` are Linux
//! interfaces.
//!
//! A file is opened up to twice. The *cached* descriptor goes through the page cache
//! and takes any offset and length; the *direct* one, for files opened as `direct`
//! where the file system allows it (tmpfs did not before Linux 6.6), bypasses the
//! cache. Channels use the direct descriptor if there is one. The blocking calls of
//! [`File`] use it for aligned pieces and the cached one for the rest, so callers
//! need not align; the kernel keeps the two coherent, in that a direct transfer
//! first writes back and then invalidates the pages it covers.

mod file;

use std::{
    fmt,
    fs::{self, TryLockError},
    io,
    mem::MaybeUninit,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use crate::{
    blocking::BlockingChannel,
    channel::Channel,
    directory::{Directory, DirectoryLock, File, OpenMode, check_name},
    flusher::Flusher,
    real::file::{DirectoryFile, RealFile},
    uring::UringChannel,
};

/// Name of the file that is locked while the directory is open; not listed.
const LOCK: &str = "LOCK";

/// Way in which channels transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// `io_uring` if the system permits it, blocking calls otherwise.
    #[default]
    Auto,
    /// `io_uring`, or an error.
    Uring,
    /// Blocking calls, made when an operation is submitted.
    Blocking,
    /// Blocking calls, made by one thread for all channels: a dedicated flusher, as other engines
    /// have. For comparison.
    Thread,
}

/// A directory of the operating system.
pub struct RealDirectory {
    path: PathBuf,
    /// Handle to sync names and to ask for free space.
    handle: fs::File,
    /// Whether channels use `io_uring`.
    uring: bool,
    /// Thread that channels use, if any.
    flusher: Option<Arc<Flusher>>,
    /// Whether blocking calls may be used where a ring cannot be had.
    lenient: bool,
    /// Reason why a ring could not be had, if it was wanted.
    refusal: OnceLock<String>,
}

impl RealDirectory {
    /// Opens the directory at `path`, creating it (durably) if it is missing.
    ///
    /// # Errors
    /// The system's error; with [`Backend::Uring`], the reason why there can be no ring.
    pub fn open(path: impl AsRef<Path>, backend: Backend) -> io::Result<RealDirectory> {
        let path = path.as_ref();
        create(path).map_err(|error| explain(error, "cannot create", path))?;
        let handle = fs::File::open(path).map_err(|error| explain(error, "cannot open", path))?;
        let refusal = OnceLock::new();
        let uring = match backend {
            Backend::Blocking | Backend::Thread => false,
            Backend::Uring => {
                UringChannel::probe()?;
                true
            }
            Backend::Auto => match UringChannel::probe() {
                Ok(()) => true,
                Err(error) => {
                    let _ = refusal.set(reason(&error));
                    false
                }
            },
        };
        Ok(RealDirectory {
            path: path.to_owned(),
            handle,
            uring,
            flusher: match backend {
                Backend::Thread => Some(Flusher::start()?),
                _ => None,
            },
            lenient: backend == Backend::Auto,
            refusal,
        })
    }

    fn file(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        Ok(self.path.join(name))
    }
}

/// Creates a directory and its missing parents, each made durable in its parent.
fn create(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return fs::create_dir(path),
    };
    create(parent)?;
    match fs::create_dir(path) {
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        result => result?,
    }
    fs::File::open(parent)?.sync_all()
}

/// Returns an error of the same kind whose text names the attempt and the path.
fn explain(error: io::Error, tried: &str, path: &Path) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("{tried} {}: {}", path.display(), reason(&error)),
    )
}

/// Returns the error's text without "(os error 1)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

impl Directory for RealDirectory {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A name that is not UTF-8 does not belong to the engine.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name != LOCK && entry.file_type()?.is_file() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn open(&self, name: &str, mode: OpenMode, direct: bool) -> io::Result<Arc<dyn File>> {
        let path = self.file(name)?;
        match RealFile::open(&path, mode, direct) {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) if mode == OpenMode::Create => Err(explain(error, "cannot create", &path)),
            Err(error) => Err(explain(error, "cannot open", &path)),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.file(name)?;
        fs::remove_file(&path).map_err(|error| explain(error, "cannot remove", &path))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.file(from)?, self.file(to)?);
        fs::rename(&from, &to).map_err(|error| explain(error, "cannot rename", &from))
    }

    fn as_file(&self) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(DirectoryFile(self.handle.try_clone()?)))
    }

    fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn lock(&self) -> io::Result<DirectoryLock> {
        let path = self.path.join(LOCK);
        let file = fs::File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| explain(error, "cannot open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock(Box::new(Locked(file)))),
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("{} is open already", self.path.display()),
            )),
            Err(TryLockError::Error(error)) => Err(explain(error, "cannot lock", &path)),
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let mut answer = MaybeUninit::<libc::statvfs>::zeroed();
        // SAFETY: the descriptor is open, and there is room for the answer.
        if unsafe { libc::fstatvfs(self.handle.as_raw_fd(), answer.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: zeros are a valid value, and the call has filled it in.
        let answer = unsafe { answer.assume_init() };
        Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
    }

    fn channel(&self) -> io::Result<Box<dyn Channel>> {
        if let Some(flusher) = &self.flusher {
            return Ok(Box::new(flusher.channel()));
        }
        if self.uring {
            match UringChannel::new() {
                Ok(channel) => return Ok(Box::new(channel)),
                Err(error) if self.lenient => {
                    let _ = self.refusal.set(reason(&error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Box::new(BlockingChannel::default()))
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn backend(&self) -> String {
        if self.flusher.is_some() {
            return "blocking, on a thread of its own".to_owned();
        }
        match (self.uring, self.refusal.get()) {
            (true, None) => "io_uring".to_owned(),
            (true, Some(why)) => format!("io_uring, for some threads blocking ({why})"),
            (false, None) => "blocking".to_owned(),
            (false, Some(why)) => format!("blocking (io_uring: {why})"),
        }
    }
}

/// The lock on the file that marks the directory as open.
///
/// Closing the file would not release the lock: a process that another thread has just forked has
/// the descriptor too, until it runs its program, and with it the lock.
struct Locked(fs::File);

impl Drop for Locked {
    fn drop(&mut self) {
        // Unlocking fails only on a descriptor that is not open.
        let _ = self.0.unlock();
    }
}

impl fmt::Debug for RealDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealDirectory")
            .field("path", &self.path)
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}
