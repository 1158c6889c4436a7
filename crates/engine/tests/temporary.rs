//! Temporary files: written, read, gone with their owner, and otherwise by the next opening.

use crate::durable;

use std::rc::Rc;

use durable::open;
use engine::{Database, DatabaseConfig, Priority, Session};
use io::{BLOCK_BYTES, Buffer, Directory, Faults, OpenMode, SimulatedDisk};

/// Returns a buffer of `blocks` blocks, all bytes of which are `byte`.
fn filled(byte: u8, blocks: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(blocks * BLOCK_BYTES);
    buffer.fill(byte);
    buffer
}

fn names(directory: &std::sync::Arc<dyn Directory>) -> Vec<String> {
    let names = directory.list().expect("lists").into_iter();
    names
        .filter(|name| name.starts_with("temporary-"))
        .collect()
}

#[test]
fn a_temporary_file_keeps_what_was_written_and_goes_with_its_owner() {
    let disk = SimulatedDisk::new(7, Faults::default());
    let directory = disk.directory();
    let mut durable = open(directory.clone()).expect("opens");
    durable.run(async |session: Rc<Session>| {
        let file = session.temporary_file().expect("makes a file");
        let other = session.temporary_file().expect("makes another");
        for (to, byte) in [(&file, 1), (&other, 2), (&file, 3)] {
            let at = (usize::from(byte) * BLOCK_BYTES) as u64;
            let written = session.write_temporary(to, at, filled(byte, 2)).await;
            assert_eq!(written.expect("writes").len(), 2 * BLOCK_BYTES);
        }
        for (from, byte, at) in [(&file, 1, 1), (&other, 2, 3), (&file, 3, 4)] {
            let (place, into) = ((at * BLOCK_BYTES) as u64, Buffer::zeroed(BLOCK_BYTES));
            let read = session
                .read_temporary(from, place, into, Priority::Interactive)
                .await;
            assert!(read.expect("reads").iter().all(|found| *found == byte));
        }
        let (behind, into) = ((5 * BLOCK_BYTES) as u64, Buffer::zeroed(BLOCK_BYTES));
        let read = session
            .read_temporary(&file, behind, into, Priority::Batch)
            .await;
        let error = read.map(|_| ()).expect_err("there is nothing there");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    });
    assert_eq!(names(&directory), Vec::<String>::new());
}

#[test]
fn the_next_opening_removes_what_a_killed_process_left() {
    let disk = SimulatedDisk::new(8, Faults::default());
    let directory = disk.directory();
    drop(open(directory.clone()).expect("opens"));
    let left = directory.open("temporary-1-0", OpenMode::Create, true);
    left.expect("makes a file");
    let mut durable = open(directory.clone()).expect("opens again");
    assert_eq!(names(&directory), Vec::<String>::new());
    durable.run(async |session: Rc<Session>| {
        session.temporary_file().expect("no name is in the way");
    });
}

#[test]
fn a_database_in_memory_has_none() {
    let database = Database::new(DatabaseConfig::with_memory(8 << 20)).expect("opens");
    let session = Session::new(&database).expect("a session");
    let error = session.temporary_file().expect_err("there is no directory");
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}
