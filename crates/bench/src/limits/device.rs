//! Performance of the device by itself: durable writes one at a time, and random reads with more
//! and more of them under way, through the engine's own driver.

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use io::{Action, BLOCK_BYTES, Backend, Buffer, Directory, File, OpenMode, Port, RealDirectory};

use crate::measure::Latencies;
use commands::{Error, Result};

/// Name of the file that is written and read; removed afterwards.
const NAME: &str = "device-probe";
/// Bytes of zeros written at once.
const FILL_BYTES: usize = 1 << 20;
/// Numbers of reads under way at once that [`Device::reads_per_second`] is tried with.
pub const DEPTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The first blocks of a file, to be read from.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: Arc<dyn File>,
    pub(crate) blocks: u64,
}

/// A file on the device under measurement.
#[derive(Debug)]
pub struct Device {
    directory: RealDirectory,
    file: Arc<dyn File>,
    bytes: u64,
}

pub(crate) fn failed(error: std::io::Error) -> Error {
    Error::run(format!("the device refused: {error}"))
}

impl Device {
    /// Makes a file of `bytes` zeros in `directory`, which is made if it is missing.
    ///
    /// # Errors
    /// [`Error::Run`] when the file cannot be written.
    pub fn new(directory: &Path, bytes: u64) -> Result<Self> {
        let bytes = bytes.next_multiple_of(FILL_BYTES as u64);
        let directory = RealDirectory::open(directory, Backend::Auto).map_err(failed)?;
        // The file may be left over from an interrupted measurement.
        let _ = directory.remove(NAME);
        let file = directory
            .open(NAME, OpenMode::Create, true)
            .map_err(failed)?;
        let device = Self {
            directory,
            file,
            bytes,
        };
        let port = device.port()?;
        let mut zeros = Buffer::zeroed(FILL_BYTES);
        for offset in (0..bytes).step_by(FILL_BYTES) {
            let (buffer, result) = port
                .begin(Action::Write, &device.file, offset, zeros)
                .block();
            result.map_err(failed)?;
            zeros = buffer;
        }
        device.file.sync().map_err(failed)?;
        Ok(device)
    }

    /// Returns the backend that transfers go through.
    pub fn backend(&self) -> String {
        self.directory.backend()
    }

    fn port(&self) -> Result<Rc<Port>> {
        Ok(Port::new(self.directory.channel().map_err(failed)?))
    }

    /// Measures the nanoseconds of durable 4 KiB writes, one at a time, for `duration`.
    ///
    /// # Errors
    /// [`Error::Run`] when a write fails.
    pub fn durable_writes(&self, duration: Duration) -> Result<Latencies> {
        let port = self.port()?;
        let mut latencies = Latencies::new();
        let mut buffer = Buffer::zeroed(BLOCK_BYTES);
        let start = Instant::now();
        let mut offset = 0;
        while start.elapsed() < duration {
            let begun = Instant::now();
            let transfer = port.begin(Action::WriteDurable, &self.file, offset, buffer);
            let (returned, result) = transfer.block();
            result.map_err(failed)?;
            latencies.record_since(begun);
            buffer = returned;
            offset = (offset + BLOCK_BYTES as u64) % self.bytes;
        }
        Ok(latencies)
    }

    /// Measures the random 4 KiB reads per second with `depth` under way, over `duration`.
    ///
    /// # Errors
    /// [`Error::Run`] when a read fails.
    pub fn reads_per_second(&self, depth: usize, duration: Duration) -> Result<f64> {
        let whole = Part {
            file: Arc::clone(&self.file),
            blocks: self.bytes / BLOCK_BYTES as u64,
        };
        reads_per_second(&self.port()?, &[whole], depth, duration)
    }
}

/// Measures the random 4 KiB reads per second with `depth` under way, over `duration`, from
/// `parts`, which have at least one block.
///
/// # Errors
/// [`Error::Run`] when a read fails.
pub(crate) fn reads_per_second(
    port: &Rc<Port>,
    parts: &[Part],
    depth: usize,
    duration: Duration,
) -> Result<f64> {
    let blocks: u64 = parts.iter().map(|part| part.blocks).sum();
    let mut under_way = VecDeque::new();
    let mut spare: Vec<Buffer> = (0..depth).map(|_| Buffer::zeroed(BLOCK_BYTES)).collect();
    let (mut begun, mut ended) = (0_u64, 0_u64);
    let start = Instant::now();
    loop {
        let is_over = start.elapsed() >= duration;
        while !is_over && let Some(buffer) = spare.pop() {
            begun += 1;
            let (file, block) = locate(parts, crate::keys::mix(begun) % blocks);
            let offset = block * BLOCK_BYTES as u64;
            under_way.push_back(port.begin(Action::Read, file, offset, buffer));
        }
        if under_way.is_empty() {
            return Ok(ended as f64 / start.elapsed().as_secs_f64());
        }
        port.wait(None);
        for _ in 0..under_way.len() {
            let Some(mut transfer) = under_way.pop_front() else {
                break;
            };
            match transfer.try_take() {
                None => under_way.push_back(transfer),
                Some((buffer, result)) => {
                    result.map_err(failed)?;
                    ended += 1;
                    spare.push(buffer);
                }
            }
        }
    }
}

/// Returns the file that has a block of all parts, and the block's number in that file.
fn locate(parts: &[Part], mut block: u64) -> (&Arc<dyn File>, u64) {
    for part in parts {
        if block < part.blocks {
            return (&part.file, block);
        }
        block -= part.blocks;
    }
    unreachable!("the block is beyond all parts")
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.directory.remove(NAME);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_are_measured_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let device = Device::new(place.path(), 1).unwrap();
        let brief = Duration::from_millis(20);
        assert!(device.durable_writes(brief).unwrap().count() > 0);
        for depth in [1, 8] {
            assert!(device.reads_per_second(depth, brief).unwrap() > 0.0);
        }
        drop(device);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
