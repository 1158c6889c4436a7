//! Limits of the machine itself, measured beside every benchmark.
//!
//! The limit that matters to an engine which hides cache misses is the number
//! of *random independent cache lines* a core can load each second: the
//! addresses are computed, not read, so as many misses overlap as the core
//! tracks. No engine that touches one line per step can be faster. The other
//! three explain it: the latency of one dependent load, the bandwidth of
//! sequential reading, and the cost of reading the clock.
//!
//! If there is a directory, its device is measured as well ([`Device`]): the latency of one durable
//! write, which no acknowledged commit can beat, and random reads per second by the number under
//! way.
//!
//! Memory is a [`Region`]: fresh huge pages, or memory that the engine lends; both then face the
//! same translation and cache conditions.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::measure::Spread;
use commands::Result;
use commands::progress::Progress;

mod device;
mod loads;
mod region;

pub use device::{DEPTHS, Device};
pub(crate) use device::{Part, failed, reads_per_second};

pub use region::{LINE_BYTES, Region};

/// Most bytes of the file on the device.
const DEVICE_BYTES_MAX: u64 = 256 << 20;
/// Number of clock readings averaged into one timing of the clock.
const CLOCK_READINGS: u32 = 200_000;

/// Measures the random independent cache lines loaded per second by `workers` threads together,
/// over `duration`.
pub fn lines_per_second(region: Region<'_>, workers: usize, duration: Duration) -> f64 {
    on_workers(workers, |worker| {
        loads::independent(region, worker, duration)
    })
}

/// Measures the bytes read sequentially per second by `workers` threads together, each starting at
/// its own part of the region.
pub fn sequential_bytes_per_second(region: Region<'_>, workers: usize, duration: Duration) -> f64 {
    on_workers(workers, |worker| {
        loads::sequential(region, worker, workers, duration)
    })
}

/// Measures the nanoseconds from one load to the next when each address depends on the value loaded
/// before, on one thread; computing the address included, about 3 ns.
pub fn latency_ns(region: Region<'_>, duration: Duration) -> f64 {
    1e9 / loads::dependent(region, duration)
}

/// Measures the nanoseconds that one reading of the clock takes.
pub fn clock_ns() -> f64 {
    let start = Instant::now();
    for _ in 0..CLOCK_READINGS {
        black_box(Instant::now());
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CLOCK_READINGS)
}

/// Runs `measure` on `workers` threads that start together, and sums the rates.
fn on_workers(workers: usize, measure: impl Fn(usize) -> f64 + Sync) -> f64 {
    let barrier = Barrier::new(workers);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let (barrier, measure) = (&barrier, &measure);
                scope.spawn(move || {
                    barrier.wait();
                    measure(worker)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("measuring loops do not panic"))
            .sum()
    })
}

/// Settings of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes of memory to read from.
    pub bytes: u64,
    /// Number of threads that load at the same time, at least 1.
    pub workers: usize,
    /// Seconds for each measure in each repeat.
    pub seconds: f64,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// A directory on the device to measure.
    pub directory: Option<PathBuf>,
}

/// Results of one measure of the machine over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Always `"limits"`, as every result names its benchmark.
    pub benchmark: &'static str,
    /// Name of the measure.
    pub measure: String,
    /// Unit of `median`, `min` and `max`.
    pub unit: &'static str,
    /// Number of threads that took part; for reads of a device, the number under way at once.
    pub workers: usize,
    /// Bytes of memory read from; 0 for the clock.
    pub bytes: u64,
    /// Median, least and greatest over the repeats.
    #[serde(flatten)]
    pub spread: Spread,
}

/// Measures all limits, alternating between them in each repeat.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when the memory cannot be allocated.
pub fn measure(settings: &Settings, progress: &Progress) -> Result<Vec<Limit>> {
    let step = progress.step("reserving memory", 1);
    let mapping = region::Mapping::new(settings.bytes)?;
    let region = mapping.region();
    step.finish();
    let duration = Duration::from_secs_f64(settings.seconds);
    let workers = settings.workers;
    let mut samples: [Vec<f64>; 4] = Default::default();
    let step = progress.step("measuring limits", u64::from(settings.repeats) * 4);
    for _ in 0..settings.repeats {
        samples[0].push(lines_per_second(region, workers, duration));
        step.advance(1);
        samples[1].push(latency_ns(region, duration));
        step.advance(1);
        samples[2].push(sequential_bytes_per_second(region, workers, duration) / 1e9);
        step.advance(1);
        samples[3].push(clock_ns());
        step.advance(1);
    }
    step.finish();
    let names = [
        (
            "random independent cache lines",
            "lines/s",
            workers,
            region.bytes(),
        ),
        ("dependent load latency", "ns", 1, region.bytes()),
        ("sequential read bandwidth", "GB/s", workers, region.bytes()),
        ("clock reading", "ns", 1, 0),
    ];
    let memory = names.into_iter().zip(samples);
    let mut limits: Vec<Limit> = memory
        .map(|((measure, unit, workers, bytes), samples)| {
            limit(measure, unit, workers, bytes, &samples)
        })
        .collect();
    if let Some(directory) = &settings.directory {
        limits.extend(of_device(directory, settings, duration, progress)?);
    }
    Ok(limits)
}

fn limit(
    measure: impl Into<String>,
    unit: &'static str,
    workers: usize,
    bytes: u64,
    samples: &[f64],
) -> Limit {
    Limit {
        benchmark: "limits",
        measure: measure.into(),
        unit,
        workers,
        bytes,
        spread: Spread::of(samples),
    }
}

fn of_device(
    directory: &std::path::Path,
    settings: &Settings,
    duration: Duration,
    progress: &Progress,
) -> Result<Vec<Limit>> {
    let step = progress.step("filling a file", 1);
    let device = Device::new(directory, settings.bytes.min(DEVICE_BYTES_MAX))?;
    step.finish();
    let mut writes: [Vec<f64>; 2] = Default::default();
    let mut reads: [Vec<f64>; DEPTHS.len()] = Default::default();
    let steps = u64::from(settings.repeats) * (DEPTHS.len() as u64 + 1);
    let step = progress.step("measuring the device", steps);
    for _ in 0..settings.repeats {
        let latencies = device.durable_writes(duration)?.percentiles();
        writes[0].push(latencies.p50 as f64 / 1e3);
        writes[1].push(latencies.p99 as f64 / 1e3);
        step.advance(1);
        for (depth, samples) in DEPTHS.into_iter().zip(&mut reads) {
            samples.push(device.reads_per_second(depth, duration)?);
            step.advance(1);
        }
    }
    step.finish();
    let block = io::BLOCK_BYTES as u64;
    let backend = device.backend();
    let mut limits = vec![
        limit(
            format!("durable write, p50 ({backend})"),
            "us",
            1,
            block,
            &writes[0],
        ),
        limit(
            format!("durable write, p99 ({backend})"),
            "us",
            1,
            block,
            &writes[1],
        ),
    ];
    let reads = DEPTHS.into_iter().zip(reads);
    limits.extend(reads.map(|(depth, samples)| {
        limit(
            format!("random reads, {depth} under way"),
            "reads/s",
            depth,
            block,
            &samples,
        )
    }));
    Ok(limits)
}

pub use region::Mapping;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_measured_with_its_spread() {
        let settings = Settings {
            bytes: 4 << 20,
            workers: 2,
            seconds: 0.01,
            repeats: 3,
            directory: None,
        };
        let limits = measure(&settings, &Progress::hidden()).unwrap();
        assert_eq!(limits.len(), 4);
        for limit in limits {
            let Spread { median, min, max } = limit.spread;
            assert!(0.0 < min && min <= median && median <= max, "{limit:?}");
        }
    }

    #[test]
    fn memory_lent_by_another_is_measured_alike() {
        let memory: Vec<u64> = vec![1; 1 << 16];
        // SAFETY: the vector outlives the region and no thread writes to it.
        let region = unsafe { Region::from_raw(memory.as_ptr().cast(), memory.len() * 8) }.unwrap();
        assert!(lines_per_second(region, 1, Duration::from_millis(5)) > 1e6);
        assert!(latency_ns(region, Duration::from_millis(5)) > 0.1);
    }

    #[test]
    fn a_region_without_a_whole_line_is_none() {
        let memory = [0_u8; 63];
        // SAFETY: the array outlives the region and no thread writes to it.
        assert!(unsafe { Region::from_raw(memory.as_ptr(), 63) }.is_none());
    }
}
