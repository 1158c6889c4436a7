//! Durable writes to a direct file that exists on the disk are made by this thread and the device:
//! the kernel starts no workers, which would be listed among the threads of the process. The test
//! is a program of its own, where no other test's threads come and go.

#[path = "common/backends.rs"]
mod backends;

use std::{collections::BTreeSet, fs, sync::Arc};

use backends::{Place, block_of, zeroed};
use io::{Action, BLOCK_BYTES, Backend, Buffer, Directory, OpenMode, Operation, RealDirectory};

fn threads() -> BTreeSet<String> {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|thread| thread.unwrap().path().join("comm"))
        .map(|comm| format!("{} {}", comm.display(), fs::read_to_string(&comm).unwrap()))
        .collect()
}

/// One test, because a test is a thread as well.
#[test]
fn the_ring_starts_no_threads() {
    a_thousand_durable_writes_start_no_thread();
    writes_to_reserved_blocks_start_no_thread();
}

/// Writes new files as the engine makes them: reserved, then written from front to back.
fn writes_to_reserved_blocks_start_no_thread() {
    const WRITE_BYTES: usize = 64 * BLOCK_BYTES;
    let place = Place::new();
    let Ok(directory) = RealDirectory::open(&place.0, Backend::Uring) else {
        return;
    };
    let before = threads();
    let mut channel = directory.channel().unwrap();
    let mut completions = Vec::new();
    for name in 0..4 {
        let file = directory
            .open(&name.to_string(), OpenMode::Create, true)
            .unwrap();
        file.reserve(32 * WRITE_BYTES as u64).unwrap();
        for turn in 0..32 {
            channel.submit(Operation {
                token: turn,
                action: if name % 2 == 0 {
                    Action::Write
                } else {
                    Action::WriteDurable
                },
                file: file.clone(),
                offset: turn * WRITE_BYTES as u64,
                buffer: Buffer::zeroed(WRITE_BYTES),
            });
            while channel.outstanding() > 2 {
                channel.wait(None);
                channel.reap(&mut completions);
            }
            assert_eq!(threads(), before, "file {name}, write {turn}");
        }
    }
    drop(channel);
    for completion in completions {
        assert_eq!(completion.result.unwrap(), WRITE_BYTES);
    }
}

fn a_thousand_durable_writes_start_no_thread() {
    const BLOCKS: u64 = 64;
    let place = Place::new();
    let Ok(directory) = RealDirectory::open(&place.0, Backend::Uring) else {
        return;
    };
    let directory: Arc<dyn Directory> = Arc::new(directory);
    let file = zeroed(&directory, "file", BLOCKS as usize);
    let before = threads();
    let mut channel = directory.channel().unwrap();
    let mut completions = Vec::new();
    for turn in 0..1000 {
        for action in [Action::WriteDurable, Action::Read] {
            channel.submit(Operation {
                token: turn,
                action,
                file: file.clone(),
                offset: turn % BLOCKS * BLOCK_BYTES as u64,
                buffer: match action {
                    Action::Read => Buffer::zeroed(BLOCK_BYTES),
                    _ => block_of(turn as u8),
                },
            });
        }
        while channel.outstanding() > 4 {
            channel.wait(None);
            channel.reap(&mut completions);
        }
        assert_eq!(threads(), before, "after {turn} writes");
    }
    drop(channel);
    for completion in completions {
        assert_eq!(completion.result.unwrap(), BLOCK_BYTES);
    }
}
