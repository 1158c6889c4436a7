//! Temporary files: content that is worth nothing to the next opening of the database.
//!
//! A file goes when its owner drops it. Files that a process has left behind are removed when the database is opened.
//! They are in no manifest, backup or check, and nothing makes them durable. Transfers bypass the system's cache, so
//! offsets and lengths are multiples of [`io::BLOCK_BYTES`].
//!
//! Making and removing a file blocks the thread for a moment: its owner fills many megabytes of one file.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use io::{Action, Buffer, Directory, File, OpenMode, Priority};

use crate::{log::segments::write_whole, session::Session};

/// Maximum attempts at a read that the device cuts short.
const READ_ATTEMPTS: u32 = 8;

/// Returns the name of the temporary file with this number.
fn file_name(number: u64) -> String {
    format!("temporary-{number:08}")
}

/// Returns the number in the name of a temporary file.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("temporary-")?;
    let all_digits = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Removes all temporary files that an earlier process left.
pub(crate) fn remove_all(directory: &Arc<dyn Directory>) -> std::io::Result<()> {
    let names = directory.list()?.into_iter();
    let mut left = names.filter(|name| file_number(name).is_some());
    left.try_for_each(|name| directory.remove(&name))
}

/// The temporary files of a database.
#[derive(Debug, Default)]
pub(crate) struct TemporaryFiles {
    /// Number of the next file.
    next: AtomicU64,
}

/// A temporary file, which is removed when it is dropped.
pub struct TemporaryFile {
    directory: Arc<dyn Directory>,
    name: String,
    file: Arc<dyn File>,
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
    /// Makes an empty temporary file. Blocks the thread for a moment.
    ///
    /// # Errors
    /// `Unsupported` for a database in memory; otherwise the directory's error.
    pub fn temporary_file(&self) -> std::io::Result<TemporaryFile> {
        let storage = self.database.storage().ok_or_else(no_device)?;
        let directory = storage.directory().clone();
        // Relaxed: the number alone matters.
        let number = storage.temporary.next.fetch_add(1, Ordering::Relaxed);
        let name = file_name(number);
        let file = directory.open(&name, OpenMode::Create, true)?;
        Ok(TemporaryFile {
            directory,
            name,
            file,
        })
    }

    /// Writes all of `buffer` at `offset` of a temporary file, and returns the buffer. Its length and `offset` are
    /// multiples of [`io::BLOCK_BYTES`].
    ///
    /// # Errors
    /// The device's error: `StorageFull` if there is no room.
    ///
    /// # Suspension
    /// A device wait.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the transfer.
    pub async fn write_temporary(
        &self,
        file: &TemporaryFile,
        offset: u64,
        buffer: Buffer,
    ) -> std::io::Result<Buffer> {
        let port = self.port().ok_or_else(no_device)?;
        write_whole(port, Action::Write, &file.file, offset, buffer).await
    }

    /// Reads from `offset` of a temporary file until `buffer` is full, as far as its length goes, and returns the
    /// buffer. The length and `offset` are multiples of [`io::BLOCK_BYTES`].
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; otherwise the device's error.
    ///
    /// # Suspension
    /// A device wait, perhaps in line at the gate.
    ///
    /// # Cancellation
    /// Dropping the future does not stop the transfer.
    pub async fn read_temporary(
        &self,
        file: &TemporaryFile,
        offset: u64,
        mut buffer: Buffer,
        priority: Priority,
    ) -> std::io::Result<Buffer> {
        let port = self.port().ok_or_else(no_device)?;
        let whole = buffer.len();
        for _ in 0..READ_ATTEMPTS {
            let pass = self.pass_again(priority).await;
            let (returned, read) = port.begin_through(pass, &file.file, offset, buffer).await;
            buffer = returned;
            if read? == whole {
                return Ok(buffer);
            }
        }
        Err(std::io::ErrorKind::UnexpectedEof.into())
    }
}

fn no_device() -> std::io::Error {
    std::io::ErrorKind::Unsupported.into()
}
