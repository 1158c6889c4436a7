//! Limit of the device under the data directory: 4 KiB written over an existing file, then
//! `fdatasync`, one after another. No engine that acknowledges one commit per sync can be faster on
//! one client; those that group commits can.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bench::measure::Latencies;
use commands::{Error, Result};

/// Bytes of each write.
const WRITE_BYTES: usize = 4096;
/// Number of writes that fit the file; the next begins at the start again.
const WRITES_IN_FILE: u64 = 4096;
/// Longest and shortest time for which the device is measured in each repeat.
const DURATION_MAX: Duration = Duration::from_secs(1);
const DURATION_MIN: Duration = Duration::from_millis(20);

/// The device, ready to be measured.
#[derive(Debug)]
pub(crate) struct Device {
    file: File,
    next: u64,
}

fn failed(error: std::io::Error) -> Error {
    Error::run(format!("cannot measure the device: {error}"))
}

impl Device {
    /// Makes a new file in `directory`, fully written, so later writes change no metadata.
    ///
    /// # Errors
    /// [`Error::Run`] when the file cannot be written.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let file = File::create_new(directory.join("device")).map_err(failed)?;
        let block = [1; WRITE_BYTES];
        for number in 0..WRITES_IN_FILE {
            file.write_all_at(&block, number * WRITE_BYTES as u64)
                .map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        Ok(Self { file, next: 0 })
    }

    /// Writes and syncs for about a fifth of `slot`, adds the time of each to `latencies`, and
    /// returns their number per second.
    ///
    /// # Errors
    /// [`Error::Run`] when the device reports an error.
    pub(crate) fn syncs_per_second(
        &mut self,
        slot: Duration,
        latencies: &mut Latencies,
    ) -> Result<f64> {
        let duration = (slot / 5).clamp(DURATION_MIN, DURATION_MAX);
        let (start, mut syncs) = (Instant::now(), 0_u32);
        loop {
            let began = Instant::now();
            let block = [self.next as u8; WRITE_BYTES];
            let position = self.next % WRITES_IN_FILE * WRITE_BYTES as u64;
            self.file.write_all_at(&block, position).map_err(failed)?;
            self.file.sync_data().map_err(failed)?;
            latencies.record_since(began);
            self.next += 1;
            syncs += 1;
            let elapsed = start.elapsed();
            if elapsed >= duration {
                return Ok(f64::from(syncs) / elapsed.as_secs_f64());
            }
        }
    }
}

/// Returns whether files in `directory` live in memory, where a sync costs nothing.
pub(crate) fn is_memory(directory: &Path) -> bool {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    rustix::fs::statfs(directory).is_ok_and(|system| system.f_type as u64 == TMPFS_MAGIC)
}

/// Writes out dirty pages of the file system of `directory`, so that this does not happen while the
/// next engine is measured.
///
/// # Errors
/// [`Error::Run`] when the device reports an error.
pub(crate) fn write_back(directory: &Path) -> Result<()> {
    let outcome = File::open(directory).and_then(|file| Ok(rustix::fs::syncfs(&file)?));
    outcome.map_err(|error| {
        Error::run(format!(
            "cannot write back {}: {error}",
            directory.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_counted_and_timed() {
        let directory = tempfile::tempdir().unwrap();
        let mut device = Device::open(directory.path()).unwrap();
        let mut latencies = Latencies::new();
        let rate = device.syncs_per_second(Duration::ZERO, &mut latencies);
        assert!(rate.unwrap() > 0.0);
        assert!(latencies.count() > 0);
    }
}
