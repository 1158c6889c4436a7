//! Directories of every backend, each in a place of its own.

#![allow(dead_code, reason = "each test program uses its part")]

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use io::{Backend, Buffer, Completion, Directory, File, OpenMode, RealDirectory};

/// A path that no other test uses; removed with its contents when dropped.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new() -> Place {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Place(env::temp_dir().join(format!("weft-io-{}-{next}", process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `body` on a directory of each backend that this system has.
pub(crate) fn on_each(body: impl Fn(&Arc<dyn Directory>)) {
    for backend in [Backend::Blocking, Backend::Thread, Backend::Uring] {
        let place = Place::new();
        match RealDirectory::open(&place.0, backend) {
            Ok(directory) => body(&(Arc::new(directory) as Arc<dyn Directory>)),
            // Containers forbid rings; `Auto` is tested to say so.
            Err(error) => assert_eq!(backend, Backend::Uring, "{error}"),
        }
    }
    #[cfg(feature = "simulation")]
    for seed in 0..20 {
        let faults = io::Faults {
            delay_reaps_max: seed as u32 % 4,
            ..io::Faults::default()
        };
        body(&io::SimulatedDisk::new(seed, faults).directory());
    }
    #[cfg(feature = "simulation")]
    for early_per_mille in [0, 500] {
        let place = Place::new();
        let laziness = io::Laziness {
            early_per_mille,
            ..io::Laziness::default()
        };
        let directory = io::LazyDirectory::open(&place.0, Backend::Auto, laziness);
        body(&(Arc::new(directory.unwrap()) as Arc<dyn Directory>));
    }
}

/// Makes a new direct file with `blocks` blocks of zeros on the disk.
pub(crate) fn zeroed(directory: &Arc<dyn Directory>, name: &str, blocks: usize) -> Arc<dyn File> {
    let file = directory.open(name, OpenMode::Create, true).unwrap();
    let zeros = Buffer::zeroed(blocks * io::BLOCK_BYTES);
    file.write_at(&zeros, 0).unwrap();
    file.sync().unwrap();
    file
}

/// Returns a block full of `byte`.
pub(crate) fn block_of(byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(io::BLOCK_BYTES);
    buffer.fill(byte);
    buffer
}

/// Waits for `count` completions, and returns them in order of their tokens.
pub(crate) fn complete(channel: &mut dyn io::Channel, count: usize) -> Vec<Completion> {
    let mut completions = Vec::new();
    while completions.len() < count {
        channel.wait(None);
        channel.reap(&mut completions);
    }
    completions.sort_by_key(|completion| completion.token);
    completions
}
