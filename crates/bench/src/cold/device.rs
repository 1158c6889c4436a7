//! Limit of the device with the same files, read by the same driver.

use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use io::{BLOCK_BYTES, Backend, Directory, File, OpenMode, Port, RealDirectory};

use crate::limits::{Part, failed, reads_per_second};
use commands::Result;

/// Numbers of reads under way at once that are tried.
const DEPTHS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Longest and shortest time for which the device is measured at each depth.
const DURATION_MAX: Duration = Duration::from_millis(100);
const DURATION_MIN: Duration = Duration::from_millis(5);
/// Prefix of the names of cold files.
const PREFIX: &str = "cold-";

/// Cold files of a database, to read from.
pub(crate) struct Files {
    parts: Vec<Part>,
    port: Rc<Port>,
    backend: String,
    is_direct: bool,
}

/// Best performance of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) reads_per_second: f64,
    /// Number of reads under way.
    pub(crate) depth: usize,
}

impl Files {
    /// Opens the cold files of the database in `directory`; returns `None` if nothing is in them.
    ///
    /// # Errors
    /// [`Error::Run`] when the files cannot be read.
    pub(crate) fn open(directory: &Path) -> Result<Option<Self>> {
        let real = RealDirectory::open(directory, Backend::Auto).map_err(failed)?;
        let names = real.list().map_err(failed)?;
        let names: Vec<_> = names
            .iter()
            .filter(|name| name.starts_with(PREFIX))
            .collect();
        let mut parts = Vec::new();
        let mut is_direct = true;
        for name in names {
            let file = match real.open(name, OpenMode::Read, true) {
                // The database has removed the file meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(failed)?,
            };
            let blocks = written_blocks(&*file).map_err(failed)?;
            is_direct &= opens_direct(&directory.join(name));
            if blocks > 0 {
                parts.push(Part { file, blocks });
            }
        }
        if parts.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            parts,
            port: Port::new(real.channel().map_err(failed)?),
            backend: real.backend(),
            is_direct,
        }))
    }

    /// Returns random reads of a page per second at the best number under way; each number is tried
    /// for `duration`.
    ///
    /// # Errors
    /// [`Error::Run`] when a read fails.
    pub(crate) fn limit(&self, duration: Duration) -> Result<Limit> {
        let mut best = Limit {
            reads_per_second: 0.0,
            depth: 0,
        };
        for depth in DEPTHS {
            let reads_per_second = reads_per_second(&self.port, &self.parts, depth, duration)?;
            if reads_per_second > best.reads_per_second {
                best = Limit {
                    reads_per_second,
                    depth,
                };
            }
        }
        Ok(best)
    }

    /// Returns the number of bytes that have been written, from the first of each file to its last.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks: u64 = self.parts.iter().map(|part| part.blocks).sum();
        blocks * BLOCK_BYTES as u64
    }

    /// Returns whether the system's cache is bypassed.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Describes in a few words how the files are read.
    pub(crate) fn description(&self) -> String {
        let cache = match self.is_direct {
            true => "direct",
            false => "through the system's cache, as the file system has nothing else",
        };
        format!("cold files are read by {}, {cache}", self.backend)
    }
}

/// Returns the time to measure the device at each depth, beside runs of `duration`.
pub(crate) fn limit_duration(duration: Duration) -> Duration {
    (duration / 10).clamp(DURATION_MIN, DURATION_MAX)
}

/// Returns the number of blocks of a cold file that have been written, from the first on. The
/// file's room is reserved as a whole, and a block that was never written is read without access to
/// the device.
fn written_blocks(file: &dyn File) -> std::io::Result<u64> {
    let (mut written, mut end) = (0, file.length()? / BLOCK_BYTES as u64);
    let mut block = vec![0; BLOCK_BYTES];
    while written < end {
        let middle = written.midpoint(end);
        file.read_at(&mut block, middle * BLOCK_BYTES as u64)?;
        match block.iter().any(|&byte| byte != 0) {
            true => written = middle + 1,
            false => end = middle,
        }
    }
    Ok(written)
}

fn opens_direct(path: &Path) -> bool {
    let mut options = std::fs::OpenOptions::new();
    let direct = options.read(true).custom_flags(libc::O_DIRECT);
    direct.open(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let place = tempfile::tempdir().unwrap();
        assert!(Files::open(place.path()).unwrap().is_none());
        for (name, written) in [("cold-00000000", 7), ("cold-00000001", 3), ("log-1", 9)] {
            let file = std::fs::File::create(place.path().join(name)).unwrap();
            std::io::Write::write_all(&mut &file, &vec![1; written * BLOCK_BYTES]).unwrap();
            file.set_len(100 * BLOCK_BYTES as u64).unwrap();
        }
        let files = Files::open(place.path()).unwrap().unwrap();
        assert_eq!(files.bytes(), 10 * BLOCK_BYTES as u64);
        let blocks: Vec<_> = files.parts.iter().map(|part| part.blocks).collect();
        assert_eq!(blocks, [7, 3]);
        let limit = files.limit(Duration::from_millis(2)).unwrap();
        assert!(limit.reads_per_second > 0.0 && DEPTHS.contains(&limit.depth));
    }
}
