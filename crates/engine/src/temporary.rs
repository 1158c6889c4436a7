//! Temporary files: content that is worth nothing to the next opening of the database.
//!
//! A file goes when its owner drops it. Files that a process has left behind are removed when the database is opened.
//! They are in no manifest, backup or check, and nothing makes them durable. Transfers bypass the system's cache, so
//! offsets and lengths are multiples of [`io::BLOCK_BYTES`].
//!
//! A write is refused if it would leave less room than the log and the next checkpoint may need (`device_room.rs`).
//!
//! Making and removing a file blocks the thread for a moment: its owner fills many megabytes of one file.

use std::{
    fmt,
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use interleave::{Wait, noting};
use io::{Action, Buffer, Directory, File, OpenMode, Port, Priority, Transfer};

use crate::{database::Database, log::segments::write_whole, reading::Reading, session::Session};

/// Beginning of the names of temporary files. Their content, the process and a number in it follow, so that an owner
/// that outlives the lock on its directory hardly removes the name of another owner's file, which would go on without
/// its name.
const PREFIX: &str = "temporary-";

/// Number of the process's next temporary file, in whatever directory.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns whether a file of this name is a temporary file.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Removes all temporary files that an earlier process left.
pub(crate) fn remove_all(directory: &Arc<dyn Directory>) -> std::io::Result<()> {
    let names = directory.list()?.into_iter();
    let mut left = names.filter(|name| is_temporary(name));
    left.try_for_each(|name| match directory.remove(&name) {
        // Its owner, in this process, is just dropping it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    })
}

/// A temporary file, which is removed when it is dropped; its room on the device is free once its last transfer has
/// ended.
pub struct TemporaryFile {
    directory: Arc<dyn Directory>,
    name: String,
    file: Arc<dyn File>,
}

impl TemporaryFile {
    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }
}

impl fmt::Debug for TemporaryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemporaryFile")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that cannot be removed now is removed by the next opening.
        let _ = self.directory.remove(&self.name);
    }
}

impl Session {
    /// Makes an empty temporary file, whose name says what is in it. Blocks the thread for a moment.
    ///
    /// # Errors
    /// `Unsupported` for a database in memory; otherwise the directory's error.
    pub fn temporary_file(&self, content: &str) -> std::io::Result<TemporaryFile> {
        let storage = self.database.storage().ok_or_else(no_device)?;
        let directory = storage.directory().clone();
        // Relaxed: the number alone matters.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{content}-{}-{number}", std::process::id());
        let file = directory.open(&name, OpenMode::Create, true)?;
        Ok(TemporaryFile {
            directory,
            name,
            file,
        })
    }

    /// Returns whether the database has a device for temporary files.
    pub fn has_temporary_files(&self) -> bool {
        self.database.storage().is_some()
    }

    /// Begins to write all of `buffer` at `offset` of a temporary file. Its length and `offset` are multiples of
    /// [`io::BLOCK_BYTES`].
    ///
    /// # Errors
    /// `Unsupported` for a database in memory; `StorageFull` if the room is needed for the log.
    pub fn begin_write_temporary(
        &self,
        file: &TemporaryFile,
        offset: u64,
        buffer: Buffer,
    ) -> std::io::Result<TemporaryWrite> {
        let port = self.port().ok_or_else(no_device)?;
        self.database.check_room_beside_log(buffer.len() as u64)?;
        let bytes = buffer.len();
        Ok(TemporaryWrite {
            port: port.clone(),
            file: file.file.clone(),
            offset,
            bytes,
            transfer: port.begin(Action::Write, &file.file, offset, buffer),
        })
    }

    /// Begins to read from `offset` of a temporary file into `buffer`, as far as its length goes. The length and
    /// `offset` are multiples of [`io::BLOCK_BYTES`].
    ///
    /// # Errors
    /// `Unsupported` for a database in memory.
    ///
    /// # Suspension
    /// A wait in line at the gate, if the device has enough to do.
    ///
    /// # Cancellation
    /// Dropping the future begins nothing.
    pub async fn begin_read_temporary(
        &self,
        file: &TemporaryFile,
        offset: u64,
        buffer: Buffer,
        priority: Priority,
    ) -> std::io::Result<TemporaryRead> {
        let pass = noting(Wait::Device, pin!(self.pass_again(priority))).await;
        Ok(TemporaryRead {
            reading: self.begin_reading(pass, &file.file, offset, buffer)?,
            priority,
        })
    }
}

/// A write into a temporary file that is under way. Dropping it does not stop the transfer.
#[derive(Debug)]
#[must_use = "a write goes on without being awaited, but its owner does not learn how it ended"]
pub struct TemporaryWrite {
    port: Rc<Port>,
    file: Arc<dyn File>,
    offset: u64,
    bytes: usize,
    transfer: Transfer,
}

impl TemporaryWrite {
    /// Waits for the end of the write; returns the buffer. A write that the device cuts short is repeated.
    ///
    /// # Errors
    /// The device's error: `StorageFull` if there is no room.
    ///
    /// # Suspension
    /// A device wait.
    pub async fn end(self) -> std::io::Result<Buffer> {
        let (buffer, written) = noting(Wait::Device, self.transfer).await;
        if written? == self.bytes {
            return Ok(buffer);
        }
        let again = write_whole(&self.port, Action::Write, &self.file, self.offset, buffer);
        noting(Wait::Device, pin!(again)).await
    }
}

/// A read from a temporary file that is under way. Dropping it does not stop the transfer.
#[derive(Debug)]
#[must_use = "a read goes on without being awaited, but its buffer is lost"]
pub struct TemporaryRead {
    reading: Reading,
    priority: Priority,
}

impl TemporaryRead {
    /// Waits for the end of the read, which `session` has begun; returns the buffer. A read that the device cuts short
    /// is repeated.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before the buffer is full; otherwise the device's error.
    ///
    /// # Suspension
    /// A device wait, perhaps in line at the gate.
    pub async fn end(self, session: &Session) -> std::io::Result<Buffer> {
        let read = self.reading.whole(session, self.priority);
        noting(Wait::Device, pin!(read)).await
    }
}

impl Database {
    /// Checks that the log keeps its room on the device if `bytes` are written to a temporary file.
    ///
    /// # Errors
    /// `StorageFull` if it would not.
    pub(crate) fn check_room_beside_log(&self, bytes: u64) -> std::io::Result<()> {
        match self.log() {
            Some(log) if !log.room.has_beside_log(bytes, log.segments.room()) => {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }
}

fn no_device() -> std::io::Error {
    std::io::ErrorKind::Unsupported.into()
}
