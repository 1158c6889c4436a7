//! One open file, with its two descriptors (see the parent module).

use std::{
    fs, io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::Path,
};

use crate::{
    buffer::BLOCK_BYTES,
    directory::{File, OpenMode},
};

#[derive(Debug)]
pub(super) struct RealFile {
    cached: fs::File,
    direct: Option<fs::File>,
}

impl RealFile {
    pub(super) fn open(path: &Path, mode: OpenMode, direct: bool) -> io::Result<RealFile> {
        let mut options = fs::File::options();
        options.read(true).write(mode != OpenMode::Read);
        // The cached descriptor is opened first: a file system that refuses O_DIRECT may already
        // have created the file when it does.
        let cached = options
            .clone()
            .create_new(mode == OpenMode::Create)
            .open(path)?;
        let direct = if direct {
            match options.custom_flags(libc::O_DIRECT).open(path) {
                Ok(file) => Some(file),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        Ok(RealFile { cached, direct })
    }

    /// Returns the descriptor that can transfer these bytes.
    fn descriptor(&self, bytes: &[u8], offset: u64) -> &fs::File {
        match &self.direct {
            Some(direct)
                if bytes.as_ptr().addr().is_multiple_of(BLOCK_BYTES)
                    && bytes.len().is_multiple_of(BLOCK_BYTES)
                    && offset.is_multiple_of(BLOCK_BYTES as u64) =>
            {
                direct
            }
            _ => &self.cached,
        }
    }
}

impl File for RealFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.cached.metadata()?.len())
    }

    fn read_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let wanted = bytes.len();
        while !bytes.is_empty() {
            match self.descriptor(bytes, offset).read_at(bytes, offset) {
                Ok(0) => break,
                Ok(read) => {
                    bytes = &mut bytes[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted - bytes.len())
    }

    fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.descriptor(bytes, offset).write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let bytes = i64::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        loop {
            // SAFETY: the descriptor is open; no memory is involved.
            if unsafe { libc::fallocate(self.cached.as_raw_fd(), 0, 0, bytes) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The file system does not support this.
                Some(libc::EOPNOTSUPP) => return Ok(()),
                _ => return Err(error),
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        // The call includes the length, though not the times.
        self.cached.sync_data()
    }

    fn handle(&self) -> u64 {
        let descriptor = self.direct.as_ref().unwrap_or(&self.cached);
        descriptor.as_raw_fd() as u64
    }
}

/// A directory, to be synced.
#[derive(Debug)]
pub(super) struct DirectoryFile(pub(super) fs::File);

fn is_a_directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

impl File for DirectoryFile {
    fn length(&self) -> io::Result<u64> {
        Err(is_a_directory())
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(is_a_directory())
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(is_a_directory())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn handle(&self) -> u64 {
        self.0.as_raw_fd() as u64
    }
}
