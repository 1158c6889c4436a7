//! Benchmark of the cost of a transfer through each backend: durable writes in turn to a file
//! filled with zeros, and reads of random blocks, at several depths.
//!
//! `cargo bench -p io --bench device [-- DIRECTORY]`; otherwise it runs tiny, as a test. All bytes
//! read are compared with those written.

#![allow(clippy::print_stdout, reason = "a program that reports to people")]

use std::{
    env, fs, io as std_io,
    path::{Path, PathBuf},
    process,
    time::{Duration, Instant},
};

use io::{Action, BLOCK_BYTES, Backend, Buffer, Directory, OpenMode, Operation, RealDirectory};

const SIZES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];
const DEPTHS: [usize; 4] = [1, 2, 4, 16];

struct Extent {
    file_bytes: usize,
    at_most: Duration,
}

struct Outcome {
    operations: usize,
    elapsed: Duration,
    /// Latency of each operation, in order of length.
    latencies: Vec<Duration>,
}

/// Returns the content of the block at `offset`.
fn stamp(offset: u64) -> [u8; 8] {
    (offset | 1).to_le_bytes()
}

fn measure(
    directory: &dyn Directory,
    action: Action,
    bytes: usize,
    depth: usize,
    extent: &Extent,
) -> std_io::Result<Outcome> {
    let file = directory.open("bench", OpenMode::Write, true)?;
    let mut channel = directory.channel()?;
    let places = extent.file_bytes / bytes;
    let mut next_place = 0;
    let mut place = || {
        next_place = match action {
            Action::Read => (next_place * 5 + 12_345) % places,
            _ => (next_place + 1) % places,
        };
        (next_place * bytes) as u64
    };
    let mut begun = vec![Instant::now(); depth];
    let mut offsets = vec![0; depth];
    let mut idle: Vec<(usize, Buffer)> = (0..depth)
        .map(|slot| (slot, Buffer::zeroed(bytes)))
        .collect();
    let mut completions = Vec::new();
    let mut latencies = Vec::new();
    let start = Instant::now();
    while start.elapsed() < extent.at_most {
        for (slot, mut buffer) in idle.drain(..) {
            offsets[slot] = place();
            if action != Action::Read {
                for (index, block) in buffer.chunks_mut(BLOCK_BYTES).enumerate() {
                    let offset = offsets[slot] + (index * BLOCK_BYTES) as u64;
                    block[..8].copy_from_slice(&stamp(offset));
                }
            }
            begun[slot] = Instant::now();
            channel.submit(Operation {
                token: slot as u64,
                action,
                file: file.clone(),
                offset: offsets[slot],
                buffer,
            });
        }
        channel.wait(None);
        channel.reap(&mut completions);
        for completion in completions.drain(..) {
            let slot = completion.token as usize;
            latencies.push(begun[slot].elapsed());
            assert_eq!(completion.result?, bytes);
            assert_eq!(completion.buffer[..8], stamp(offsets[slot]));
            idle.push((slot, completion.buffer));
        }
    }
    let elapsed = start.elapsed();
    latencies.sort_unstable();
    Ok(Outcome {
        operations: latencies.len(),
        elapsed,
        latencies,
    })
}

fn run(path: &Path, extent: &Extent) -> std_io::Result<()> {
    println!("backend   action  KiB  depth  operations/s  median us  p99 us");
    for backend in [Backend::Blocking, Backend::Uring] {
        let directory = match RealDirectory::open(path, backend) {
            Ok(directory) => directory,
            Err(error) => {
                println!("{backend:?}: {error}");
                continue;
            }
        };
        let file = directory.open("bench", OpenMode::Create, true)?;
        let mut buffer = Buffer::zeroed(1 << 20);
        for start in (0..extent.file_bytes as u64).step_by(1 << 20) {
            for (index, block) in buffer.chunks_mut(BLOCK_BYTES).enumerate() {
                let offset = start + (index * BLOCK_BYTES) as u64;
                block[..8].copy_from_slice(&stamp(offset));
            }
            file.write_at(&buffer, start)?;
        }
        file.sync()?;
        for action in [Action::WriteDurable, Action::Read] {
            for bytes in SIZES {
                for depth in DEPTHS {
                    let outcome = measure(&directory, action, bytes, depth, extent)?;
                    let at = |quantile: f64| {
                        let index = (outcome.latencies.len() - 1) as f64 * quantile;
                        outcome.latencies[index as usize].as_secs_f64() * 1e6
                    };
                    println!(
                        "{:<9} {:<6} {:>4} {depth:>6} {:>13.0} {:>10.1} {:>7.1}",
                        format!("{backend:?}"),
                        if action == Action::Read {
                            "read"
                        } else {
                            "write"
                        },
                        bytes >> 10,
                        outcome.operations as f64 / outcome.elapsed.as_secs_f64(),
                        at(0.5),
                        at(0.99),
                    );
                }
            }
        }
        directory.remove("bench")?;
    }
    Ok(())
}

fn main() -> std_io::Result<()> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    arguments.retain(|argument| !argument.starts_with("--"));
    let extent = if full {
        Extent {
            file_bytes: 64 << 20,
            at_most: Duration::from_millis(700),
        }
    } else {
        Extent {
            file_bytes: 1 << 20,
            at_most: Duration::from_millis(1),
        }
    };
    let parent = arguments.first().map_or_else(env::temp_dir, PathBuf::from);
    let path = parent.join(format!("weft-io-bench-{}", process::id()));
    let result = run(&path, &extent);
    fs::remove_dir_all(&path)?;
    result
}
