//! Names and files: the side of storage that is shared by all threads.
//!
//! All calls here may block its caller for as long as the device likes; they are for opening,
//! recovery and rare changes. Reads and writes on the transaction path go through a
//! [`crate::Channel`].

use std::{fmt, io, sync::Arc};

use crate::channel::Channel;

/// Access for which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading of an existing file.
    Read,
    /// Reading and writing of an existing file.
    Write,
    /// Reading and writing of a new file; an existing one is an error.
    Create,
}

/// One directory with files, without subdirectories.
///
/// # Durability
/// A name that was created, renamed or removed stays so after a crash only once
/// [`Directory::sync`] has succeeded; a file's contents only once a durable write
/// or [`File::sync`] has.
pub trait Directory: Send + Sync + fmt::Debug {
    /// Returns the names of all files, in order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens the file `name`. With `direct`, transfers bypass the system's cache where the backend
    /// can; offsets, lengths and buffers must then be multiples of [`crate::BLOCK_BYTES`].
    fn open(&self, name: &str, mode: OpenMode, direct: bool) -> io::Result<Arc<dyn File>>;

    /// Removes the file `name`.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Renames the file `from` to `to`, replacing a file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Makes names durable.
    fn sync(&self) -> io::Result<()>;

    /// Returns the directory itself, for [`crate::Action::Sync`] and nothing else.
    fn as_file(&self) -> io::Result<Arc<dyn File>>;

    /// Keeps other processes and handles from opening the directory, until the lock is dropped.
    ///
    /// # Errors
    /// `WouldBlock` if the lock is held already.
    fn lock(&self) -> io::Result<DirectoryLock>;

    /// Returns the bytes that can still be written, as far as is known.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Returns a channel for the calling thread.
    fn channel(&self) -> io::Result<Box<dyn Channel>>;

    /// Returns the location of the directory, for messages.
    fn location(&self) -> String;

    /// Returns the backend of the channels and the reason for it, for messages: "io_uring", or
    /// "blocking (io_uring: Operation not permitted)".
    fn backend(&self) -> String;
}

/// Lock on a directory; dropping it frees the directory.
pub struct DirectoryLock(#[allow(dead_code, reason = "held")] pub Box<dyn Send + Sync>);

impl fmt::Debug for DirectoryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryLock").finish_non_exhaustive()
    }
}

/// An open file.
pub trait File: Send + Sync + fmt::Debug {
    /// Returns the length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Fills as much of `bytes` as the file has from `offset` on. Returns the number of bytes read,
    /// which is short only at the end of the file.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Reserves blocks for the first `bytes`, and makes the file that long if it is shorter: writes
    /// there need no new blocks, and new blocks would make a channel of io_uring fall back to
    /// threads of the kernel. A backend that cannot reserve does nothing.
    ///
    /// # Errors
    /// `StorageFull` if there is no room.
    fn reserve(&self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    /// Makes contents and length durable.
    fn sync(&self) -> io::Result<()>;

    /// Returns the file's identity for the channels of the same backend: a descriptor, or a number
    /// of the simulated disk.
    fn handle(&self) -> u64;
}

/// Checks the name of a file.
///
/// # Errors
/// `InvalidInput` if no file can have this name.
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a file name"),
        ));
    }
    Ok(())
}
