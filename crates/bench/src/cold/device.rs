//! The limit: what the device does with the same files, read by the same driver.

use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use io::{BLOCK_BYTES, Backend, Directory, File, OpenMode, Port, RealDirectory};

use crate::limits::{Part, failed, reads_per_second};
use commands::Result;

/// Reads under way at once, as they are tried.
const DEPTHS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Longest and shortest time that the device is measured at each depth.
const DURATION_MAX: Duration = Duration::from_millis(100);
const DURATION_MIN: Duration = Duration::from_millis(5);
/// How cold files are called.
const PREFIX: &str = "cold-";

/// The cold files of a database, to read from.
pub(crate) struct Files {
    parts: Vec<Part>,
    port: Rc<Port>,
    backend: String,
    is_direct: bool,
}

/// What the device did at its best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) reads_per_second: f64,
    /// Reads under way.
    pub(crate) depth: usize,
}

impl Files {
    /// Those of the database in `directory`; `None` if nothing is in them.
    ///
    /// # Errors
    /// [`Error::Run`] when they cannot be read.
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
                // The database has removed it meanwhile.
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

    /// Random reads of a page per second, as many under way as serves best; each number of
    /// them for `duration`.
    ///
    /// # Errors
    /// [`Error::Run`] when one fails.
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

    /// Bytes that have been written, from the first of each file to its last.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks: u64 = self.parts.iter().map(|part| part.blocks).sum();
        blocks * BLOCK_BYTES as u64
    }

    /// Whether the system's cache is bypassed.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// How they are read, in a few words.
    pub(crate) fn description(&self) -> String {
        let cache = match self.is_direct {
            true => "direct",
            false => "through the system's cache, as the file system has nothing else",
        };
        format!("cold files are read by {}, {cache}", self.backend)
    }
}

/// How long to measure the device at each depth, beside runs of `duration`.
pub(crate) fn limit_duration(duration: Duration) -> Duration {
    (duration / 10).clamp(DURATION_MIN, DURATION_MAX)
}

/// Blocks of a cold file that have been written, from the first on. Its room is reserved as a
/// whole, and what was never written is read without a look at the device.
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
