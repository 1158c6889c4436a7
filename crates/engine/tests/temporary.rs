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
        let file = session.temporary_file("rows").expect("makes a file");
        let other = session.temporary_file("rows").expect("makes another");
        for (to, byte) in [(&file, 1), (&other, 2), (&file, 3)] {
            let at = (usize::from(byte) * BLOCK_BYTES) as u64;
            let write = session.begin_write_temporary(to, at, filled(byte, 2));
            let written = write.expect("begins").end().await;
            assert_eq!(written.expect("writes").len(), 2 * BLOCK_BYTES);
        }
        for (from, byte, at) in [(&file, 1, 1), (&other, 2, 3), (&file, 3, 4)] {
            let (place, into) = ((at * BLOCK_BYTES) as u64, Buffer::zeroed(BLOCK_BYTES));
            let read = session.begin_read_temporary(from, place, into, Priority::Interactive);
            let read = read.await.expect("begins").end(&session).await;
            assert!(read.expect("reads").iter().all(|found| *found == byte));
        }
        let (behind, into) = ((5 * BLOCK_BYTES) as u64, Buffer::zeroed(BLOCK_BYTES));
        let read = session.begin_read_temporary(&file, behind, into, Priority::Batch);
        let read = read.await.expect("begins").end(&session).await;
        let error = read.map(|_| ()).expect_err("there is nothing there");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    });
    assert_eq!(names(&directory), Vec::<String>::new());
}

/// Transfers that are under way together end in any order, and those that the device cuts short are repeated.
#[test]
fn transfers_overlap_and_are_repeated() {
    let disk = SimulatedDisk::new(9, Faults::default());
    let mut durable = open(disk.directory()).expect("opens");
    disk.set_faults(Faults {
        delay_reaps_max: 7,
        short_per_mille: 400,
        ..Faults::default()
    });
    durable.run(async |session: Rc<Session>| {
        assert!(session.has_temporary_files());
        let file = session.temporary_file("rows").expect("makes a file");
        let at = |number: u8| u64::from(number) * 3 * BLOCK_BYTES as u64;
        let mut writes = Vec::new();
        for number in 0..20 {
            let write = session.begin_write_temporary(&file, at(number), filled(number + 1, 3));
            writes.push(write.expect("begins"));
        }
        for write in writes {
            assert_eq!(write.end().await.expect("writes").len(), 3 * BLOCK_BYTES);
        }
        let mut reads = Vec::new();
        for number in 0..20 {
            let into = Buffer::zeroed(3 * BLOCK_BYTES);
            let read = session.begin_read_temporary(&file, at(number), into, Priority::Batch);
            reads.push((number + 1, read.await.expect("begins")));
        }
        for (byte, read) in reads {
            let read = read.end(&session).await.expect("reads");
            assert!(read.len() == 3 * BLOCK_BYTES && read.iter().all(|found| *found == byte));
        }
    });
}

#[test]
fn the_next_opening_removes_what_a_killed_process_left() {
    let disk = SimulatedDisk::new(8, Faults::default());
    let directory = disk.directory();
    drop(open(directory.clone()).expect("opens"));
    let left = directory.open("temporary-rows-1-0", OpenMode::Create, true);
    left.expect("makes a file");
    let mut durable = open(directory.clone()).expect("opens again");
    assert_eq!(names(&directory), Vec::<String>::new());
    durable.run(async |session: Rc<Session>| {
        session.temporary_file("rows").expect("makes a file");
    });
}

#[test]
fn a_database_in_memory_has_none() {
    let database = Database::new(DatabaseConfig::with_memory(8 << 20)).expect("opens");
    let session = Session::new(&database).expect("a session");
    assert!(!session.has_temporary_files());
    let error = session
        .temporary_file("rows")
        .expect_err("there is no directory");
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}
