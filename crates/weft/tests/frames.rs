//! The frames of open transactions are memory like any other.
//!
//! A device that stood still for a moment had ten thousand transactions wait for it: 50 MB beside a
//! limit of 256, which were not counted.

use std::{future::pending, sync::mpsc};

use weft::{Database, Options, Transaction};

const FRAME_BYTES: u64 = 2048;
const OPEN: u64 = 2000;

#[test]
fn frames_count_towards_the_memory_limit() {
    let db = Database::open(Options {
        workers: 1,
        memory_bytes_max: Some(64 << 20),
        ..Options::default()
    })
    .unwrap();
    let before = db.stats().memory.listed_bytes;
    let (started, has_started) = mpsc::channel();
    let wait = |_| {
        let started = started.clone();
        db.run(async move |_: &Transaction| {
            let frame = [1u8; FRAME_BYTES as usize];
            started.send(()).unwrap();
            pending::<()>().await;
            Ok(frame[7])
        })
    };
    let open: Vec<_> = (0..OPEN).map(wait).collect();
    for _ in 0..OPEN {
        has_started.recv().unwrap();
    }
    let counted = db.stats().memory.listed_bytes - before;
    assert!(counted > OPEN * FRAME_BYTES, "{counted}");
    drop(open);
}
