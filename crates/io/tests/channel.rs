//! Behaviour of every channel, whichever backend it has.

#[path = "common/backends.rs"]
mod backends;

use std::{
    io::{Read, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use backends::{block_of, complete, on_each, zeroed};
use io::{Action, BLOCK_BYTES, Buffer, File, OpenMode, Operation};

const LONG: Duration = Duration::from_secs(20);

fn operation(
    token: u64,
    action: Action,
    file: &Arc<dyn File>,
    block: u64,
    buffer: Buffer,
) -> Operation {
    Operation {
        token,
        action,
        file: file.clone(),
        offset: block * BLOCK_BYTES as u64,
        buffer,
    }
}

#[test]
fn what_was_written_is_read_back() {
    on_each(|directory| {
        let file = zeroed(directory, "file", 4);
        let mut channel = directory.channel().unwrap();
        for (block, action) in [(1, Action::Write), (2, Action::WriteDurable)] {
            channel.submit(operation(
                block,
                action,
                &file,
                block,
                block_of(block as u8),
            ));
            let mut ended = complete(&mut *channel, 1);
            let end = ended.pop().unwrap();
            assert_eq!(end.token, block);
            assert_eq!(end.result.unwrap(), BLOCK_BYTES);
            assert_eq!(*end.buffer, *block_of(block as u8));
        }
        channel.submit(operation(
            9,
            Action::Read,
            &file,
            0,
            Buffer::zeroed(4 * BLOCK_BYTES),
        ));
        let end = complete(&mut *channel, 1).pop().unwrap();
        assert_eq!(end.result.unwrap(), 4 * BLOCK_BYTES);
        for (block, bytes) in end.buffer.chunks(BLOCK_BYTES).enumerate() {
            let expected = if block == 3 { 0 } else { block as u8 };
            assert!(bytes.iter().all(|&byte| byte == expected), "block {block}");
        }
        assert_eq!(channel.outstanding(), 0);
    });
}

#[test]
fn what_is_queued_goes_together_and_completes() {
    const COUNT: u64 = 300;
    on_each(|directory| {
        let file = zeroed(directory, "file", COUNT as usize);
        let mut channel = directory.channel().unwrap();
        let read = |token| {
            operation(
                token,
                Action::Read,
                &file,
                token,
                Buffer::zeroed(BLOCK_BYTES),
            )
        };
        for from in [0, COUNT / 2] {
            (from..from + COUNT / 2).for_each(|token| channel.queue(read(token)));
            channel.flush();
        }
        let mut tokens: Vec<u64> = complete(&mut *channel, COUNT as usize)
            .iter()
            .map(|end| end.token)
            .collect();
        tokens.sort_unstable();
        assert_eq!(tokens, Vec::from_iter(0..COUNT));
        // A reap hands over queued operations without a flush.
        channel.queue(read(7));
        let end = complete(&mut *channel, 1).pop().unwrap();
        assert_eq!((end.token, end.result.unwrap()), (7, BLOCK_BYTES));
    });
}

#[test]
fn a_write_beyond_the_end_makes_the_file_longer() {
    on_each(|directory| {
        let file = directory.open("file", OpenMode::Create, true).unwrap();
        let mut channel = directory.channel().unwrap();
        channel.submit(operation(0, Action::WriteDurable, &file, 2, block_of(7)));
        complete(&mut *channel, 1).pop().unwrap().result.unwrap();
        assert_eq!(file.length().unwrap(), 3 * BLOCK_BYTES as u64);
    });
}

#[test]
fn a_read_is_short_at_the_end_of_the_file() {
    on_each(|directory| {
        let file = zeroed(directory, "file", 2);
        let mut channel = directory.channel().unwrap();
        for (block, expected) in [(1, BLOCK_BYTES), (2, 0), (100, 0)] {
            let buffer = Buffer::zeroed(4 * BLOCK_BYTES);
            channel.submit(operation(block, Action::Read, &file, block, buffer));
            let end = complete(&mut *channel, 1).pop().unwrap();
            assert_eq!(end.result.unwrap(), expected, "at block {block}");
        }
    });
}

#[test]
fn more_operations_are_under_way_than_any_queue_holds() {
    const COUNT: u64 = 3000;
    on_each(|directory| {
        let file = zeroed(directory, "file", 64);
        let mut channel = directory.channel().unwrap();
        for token in 0..COUNT {
            let buffer = Buffer::zeroed(BLOCK_BYTES);
            channel.submit(operation(token, Action::Read, &file, token % 64, buffer));
        }
        assert_eq!(channel.outstanding(), COUNT as usize);
        let ended = complete(&mut *channel, COUNT as usize);
        for (token, end) in ended.into_iter().enumerate() {
            assert_eq!(end.token, token as u64);
            assert_eq!(end.result.unwrap(), BLOCK_BYTES);
        }
        assert_eq!(channel.outstanding(), 0);
    });
}

#[test]
fn errors_come_with_the_completion() {
    on_each(|directory| {
        drop(zeroed(directory, "file", 1));
        let file = directory.open("file", OpenMode::Read, true).unwrap();
        let mut channel = directory.channel().unwrap();
        channel.submit(operation(1, Action::Write, &file, 0, block_of(1)));
        channel.submit(operation(2, Action::WriteDurable, &file, 0, block_of(2)));
        channel.submit(Operation {
            token: 3,
            action: Action::Read,
            file: file.clone(),
            offset: u64::MAX,
            buffer: block_of(3),
        });
        for end in complete(&mut *channel, 3) {
            end.result.unwrap_err();
            assert_eq!(*end.buffer, *block_of(end.token as u8));
        }
    });
}

#[test]
fn a_rouse_from_another_thread_ends_a_wait() {
    on_each(|directory| {
        let mut channel = directory.channel().unwrap();
        for _ in 0..50 {
            let rouser = channel.rouser();
            let start = Instant::now();
            thread::scope(|scope| {
                scope.spawn(|| rouser.rouse());
                channel.wait(Some(LONG));
            });
            assert!(start.elapsed() < LONG);
            // A rouse after a spurious end must not end the next iteration's wait.
            channel.wait(Some(Duration::ZERO));
        }
    });
}

/// The descriptor ends waits while it is readable: not only when it becomes so.
#[test]
fn a_descriptor_that_is_watched_ends_waits() {
    on_each(|directory| {
        let mut channel = directory.channel().unwrap();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        if !channel.watch(ours.as_raw_fd()) {
            return;
        }
        let begin = Instant::now();
        channel.wait(Some(Duration::from_millis(2)));
        thread::scope(|scope| {
            scope.spawn(|| theirs.write_all(b"ab").unwrap());
            channel.wait(Some(LONG));
        });
        channel.wait(Some(LONG));
        ours.read_exact(&mut [0; 2]).unwrap();
        assert!(begin.elapsed() < LONG);
        // A last report of the kernel on the descriptor is heard by now, or ends one more wait.
        channel.wait(Some(Duration::from_millis(2)));
        let silent = Instant::now();
        channel.wait(Some(Duration::from_millis(20)));
        assert!(silent.elapsed() >= Duration::from_millis(20));
        channel.rouser().rouse();
        channel.wait(Some(LONG));
        assert!(begin.elapsed() < LONG);
    });
}

#[test]
fn a_rouse_before_a_wait_ends_it() {
    on_each(|directory| {
        let mut channel = directory.channel().unwrap();
        let start = Instant::now();
        for _ in 0..3 {
            channel.rouser().rouse();
            channel.rouser().rouse();
            channel.wait(Some(LONG));
        }
        assert!(start.elapsed() < LONG);
    });
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    on_each(|directory| {
        let mut channel = directory.channel().unwrap();
        let start = Instant::now();
        channel.wait(Some(Duration::from_millis(2)));
        channel.wait(Some(Duration::ZERO));
        assert!(start.elapsed() < LONG);
        assert_eq!(channel.outstanding(), 0);
    });
}

#[test]
fn a_wait_ends_at_once_when_there_is_something_to_reap() {
    on_each(|directory| {
        let file = zeroed(directory, "file", 1);
        let mut channel = directory.channel().unwrap();
        channel.submit(operation(1, Action::Read, &file, 0, block_of(1)));
        let start = Instant::now();
        while {
            channel.wait(Some(LONG));
            let mut completions = Vec::new();
            channel.reap(&mut completions);
            completions.is_empty()
        } {}
        assert!(start.elapsed() < LONG);
    });
}

#[test]
fn dropping_a_channel_lets_its_operations_end() {
    on_each(|directory| {
        let file = zeroed(directory, "file", 64);
        let mut channel = directory.channel().unwrap();
        for block in 0..64 {
            channel.submit(operation(block, Action::Write, &file, block, block_of(1)));
        }
        drop(channel);
        assert_eq!(Arc::strong_count(&file), 1);
        let mut bytes = vec![0; 64 * BLOCK_BYTES];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
        assert!(bytes.iter().all(|&byte| byte == 1));
    });
}
