//! Bugs that the simulation of crashes (`sim::run_crashes`) has found, each with its
//! story.

use crate::durable;

use std::{
    future::poll_fn,
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use durable::{Durable, LOG, open, open_with};
use engine::{
    CheckpointError, Durability, Error, Isolation, LogConfig, OpenError, RecoveryConfig, Session,
};
use interleave::{Interleaved, Sequential, yield_now};
use io::{BLOCK_BYTES, Directory, Faults, OpenMode, SimulatedDisk};

fn with_records(disk: &SimulatedDisk) -> Durable {
    let mut durable = open(disk.directory()).unwrap();
    let table = durable.create_table("t", &[]).unwrap();
    for number in 0..20u8 {
        let record = (vec![number], Some(vec![number; 100]));
        durable.write(&table, vec![record]).unwrap();
    }
    durable
}

/// A task that asked for a checkpoint while one was being taken was refused, and ended the other's claim by dropping
/// one of its own. The next task that asked began a second checkpoint, and one of the two renamed the other's unsynced
/// manifest into place.
#[test]
fn one_checkpoint_is_taken_at_a_time() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    slow_down(&disk);
    durable.run(async |session: Rc<Session>| {
        let mut first = pin!(session.checkpoint());
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        for _ in 0..3 {
            let another = session.checkpoint().await;
            assert!(matches!(another, Err(CheckpointError::UnderWay)));
        }
        first.await.expect("nothing is in its way");
    });
}

/// The zeros that a new segment is filled with are not durable before the blocks that overwrite them: a crash may
/// leave a file that ends within the padding of its last block. The block was taken for whole, and then the file for
/// damaged.
#[test]
fn a_log_may_end_within_padding() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let table = durable.database.table("t").unwrap();
    let records = durable.read(&table);
    drop((table, durable));
    let cut = SimulatedDisk::new(2, Faults::default());
    copy_cut(&*disk.directory(), &*cut.directory());
    let mut durable = open(cut.directory()).unwrap();
    let table = durable.database.table("t").unwrap();
    assert!(durable.read(&table) == records);
    drop((table, durable));
    open(cut.directory()).unwrap();
}

/// Copies all files, log files up to the sector of their last byte that is not zero.
fn copy_cut(from: &dyn Directory, to: &dyn Directory) {
    for name in from.list().unwrap() {
        let file = from.open(&name, OpenMode::Read, false).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        if name.starts_with("log-") {
            let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
            bytes.truncate((last + 1).next_multiple_of(512));
        }
        let copy = to.open(&name, OpenMode::Create, false).unwrap();
        copy.write_at(&bytes, 0).unwrap();
    }
}

/// A worker that had always something to do, but nothing to log, did not look after its device: a checkpoint stood
/// still, and so did each transaction that needed a segment.
#[test]
fn a_busy_worker_looks_after_its_device() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let ended = Arc::new(AtomicBool::new(false));
    let tell = ended.clone();
    let checkpoint = durable.worker.handle().submit(|session: &Rc<Session>| {
        let session = session.clone();
        async move {
            session.checkpoint().await.expect("nothing is in its way");
            tell.store(true, Ordering::Relaxed);
        }
    });
    // Some yields suffice as a rule; on a slow machine the checkpoint waits for a while, so as not to write faster
    // than it should.
    let patience = Duration::from_secs(30);
    let ended = durable.run(async move |_: Rc<Session>| {
        let begun = Instant::now();
        while !ended.load(Ordering::Relaxed) && begun.elapsed() < patience {
            yield_now().await;
        }
        ended.load(Ordering::Relaxed)
    });
    assert!(ended);
    drop(checkpoint);
}

/// Under read committed a write meets the newest version, not only the version of its snapshot. A transaction learned
/// that a record was gone before the deletion was durable, and after a crash the record was there.
#[test]
fn a_refusal_depends_on_what_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let table = durable.database.table("t").unwrap();
    durable.run(async move |session: Rc<Session>| {
        let late = session.begin(Isolation::ReadCommitted).unwrap();
        let mut delete = pin!(late.delete::<Interleaved>(&table, &[7]));
        let first = poll_fn(|context| Poll::Ready(delete.as_mut().poll(context))).await;
        assert!(first.is_pending(), "it has looked at nothing yet");
        let early = session.begin(Isolation::Snapshot).unwrap();
        early.set_durability(Durability::None);
        assert_eq!(early.delete::<Sequential>(&table, &[7]).await, Ok(true));
        let deleted = early.commit().await.unwrap();
        assert_eq!(delete.await, Ok(false));
        assert_eq!(late.seen(), deleted);
    });
}

/// A transaction learned that a table had been dropped, and was acknowledged, before the drop was durable. After a
/// crash the table was there.
#[test]
fn the_refusal_of_a_dropped_table_depends_on_its_drop() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let table = durable.database.table("t").unwrap();
    slow_down(&disk);
    let (dropped, durable_up_to) = durable.run(async move |session: Rc<Session>| {
        let dropper = session.begin(Isolation::Snapshot).unwrap();
        dropper.set_durability(Durability::None);
        dropper.drop_table::<Sequential>("t").await.unwrap();
        let dropped = dropper.commit().await.unwrap();
        let reader = session.begin(Isolation::Snapshot).unwrap();
        let refused = reader.get::<Sequential, _>(&table, &[1], |_| ()).await;
        assert_eq!(refused, Err(Error::TableDropped));
        reader.commit().await.unwrap();
        (dropped, session.database().durable_up_to().unwrap())
    });
    assert!(dropped <= durable_up_to);
}

/// A transaction used a table by a handle, found nothing in it, and was acknowledged, before the table's creation was
/// durable. After a crash there was no such table.
#[test]
fn the_use_of_a_table_depends_on_its_creation() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    slow_down(&disk);
    let (made, durable_up_to) = durable.run(async move |session: Rc<Session>| {
        let maker = session.begin(Isolation::Snapshot).unwrap();
        maker.set_durability(Durability::None);
        let table = maker.create_table::<Sequential>("u", b"").await.unwrap();
        let made = maker.commit().await.unwrap();
        let reader = session.begin(Isolation::Snapshot).unwrap();
        let found = reader.get::<Sequential, _>(&table, &[1], |_| ()).await;
        assert_eq!(found, Ok(None));
        reader.commit().await.unwrap();
        (made, session.database().durable_up_to().unwrap())
    });
    assert!(made <= durable_up_to);
}

/// The number of a table that was created and dropped again without ever having a record was taken for free after a
/// crash: neither a record nor a definition had it. The log's entries for the first table then held for the second.
#[test]
fn the_number_of_a_table_that_came_and_went_is_not_used_again() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let gone = durable.create_table("gone", &[]).unwrap().number();
    durable.run(async |session: Rc<Session>| {
        session.drop_table("gone").await.unwrap();
    });
    disk.crash();
    drop(durable);
    let mut durable = open(disk.after_crash(2).directory()).unwrap();
    assert_eq!(durable.database.table_names(), ["t"]);
    let next = durable.create_table("next", &[]).unwrap().number();
    assert!(next > gone, "{next} after {gone}");
}

/// Makes transfers take a while from now on.
fn slow_down(disk: &SimulatedDisk) {
    disk.set_faults(Faults {
        delay_reaps_min: 20,
        delay_reaps_max: 20,
        ..Faults::default()
    });
}

/// Chunks of a checkpoint are of different moments, up to its end, and the log up to there makes them one. When the
/// end of that log had rotted, it was taken for torn, and its transactions were missing although later commits were
/// there.
#[test]
fn a_checkpoint_without_its_log_is_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    durable.create_table("later", &[]).unwrap();
    let (table, later) = (
        durable.database.table("t").unwrap(),
        durable.database.table("later").unwrap(),
    );
    slow_down(&disk);
    durable.run(async move |session: Rc<Session>| {
        let mut checkpoint = pin!(session.checkpoint());
        // The first table has been read, and is being written.
        let first = poll_fn(|context| Poll::Ready(checkpoint.as_mut().poll(context))).await;
        assert!(first.is_pending());
        for table in [&table, &later] {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            transaction
                .upsert::<Sequential>(table, b"new", b"")
                .await
                .unwrap();
            transaction.commit().await.unwrap();
        }
        checkpoint.await.expect("nothing is in its way");
    });
    disk.crash();
    drop(durable);
    let log = disk
        .directory()
        .open("log-00000000", OpenMode::Read, false)
        .unwrap();
    let mut bytes = vec![0; log.length().unwrap() as usize];
    log.read_at(&mut bytes, 0).unwrap();
    let last = (0..bytes.len())
        .step_by(BLOCK_BYTES)
        .rfind(|&at| bytes[at..].starts_with(b"WFTB"));
    let last = last.unwrap() as u64;
    assert!(disk.rot("log-00000000", last..last + 64, 1));
    assert!(matches!(
        open(disk.directory()),
        Err(OpenError::EndsEarly { .. } | OpenError::Corrupt { .. })
    ));
}

/// A checkpoint that found a table empty did not wait for the transaction that had emptied it. When that transaction
/// was cut off after a crash, the records were neither in the checkpoint nor in the log any more.
#[test]
fn a_checkpoint_waits_for_what_emptied_a_table() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let more = durable.create_table("u", &[]).unwrap();
    let emptied = durable.create_table("v", &[]).unwrap();
    for table in [&more, &emptied] {
        let record = (vec![1], Some(vec![1]));
        durable.write(table, vec![record]).unwrap();
    }
    let (database, directory) = (durable.database.clone(), disk.directory());
    slow_down(&disk);
    durable.run(async move |session: Rc<Session>| {
        let mut checkpoint = pin!(session.checkpoint());
        let is_part = |name: &String| name.starts_with("checkpoint-");
        // Until two tables have been read, and are being written.
        while directory
            .list()
            .unwrap()
            .iter()
            .filter(|n| is_part(n))
            .count()
            < 2
        {
            let turn = poll_fn(|context| Poll::Ready(checkpoint.as_mut().poll(context))).await;
            assert!(turn.is_pending());
            yield_now().await;
        }
        let other = Session::new(&database).unwrap();
        let transaction = other.begin(Isolation::Snapshot).unwrap();
        transaction.set_durability(Durability::None);
        let deleted = transaction.delete::<Sequential>(&emptied, &[1]).await;
        assert_eq!(deleted, Ok(true));
        let mut commit = pin!(transaction.commit());
        let deleted = loop {
            let turn = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context))).await;
            if let Poll::Ready(deleted) = turn {
                break deleted.unwrap();
            }
            // The commit waits for a segment.
            other.push();
            yield_now().await;
        };
        for _ in 0..1000 {
            let turn = poll_fn(|context| Poll::Ready(checkpoint.as_mut().poll(context))).await;
            assert!(turn.is_pending(), "nobody has written the deletion");
            yield_now().await;
        }
        while database.durable_up_to() < Some(deleted) {
            other.push();
            yield_now().await;
        }
        checkpoint.await.expect("nothing is in its way");
    });
}

/// Makes a closed database with so many blocks of the log, in segments of some 30 blocks each.
fn written_in_small_segments(blocks: u8) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Faults::default());
    let small = LogConfig {
        segment_bytes: 150 << 10,
        ..LOG
    };
    let mut durable = open_with(disk.directory(), small, RecoveryConfig::default()).unwrap();
    let table = durable.create_table("t", &[]).unwrap();
    for number in 0..blocks {
        let record = (vec![number], Some(vec![number; 10]));
        durable.write(&table, vec![record]).unwrap();
    }
    drop((table, durable));
    disk
}

/// When all blocks of a log file were damaged and later files were whole, the file
/// before it was blamed.
#[test]
fn the_damaged_file_is_named() {
    let disk = written_in_small_segments(250);
    for block in 1..256 {
        let start = block * BLOCK_BYTES as u64 + 64;
        disk.rot("log-00000001", start..start + 1, 1);
    }
    match open(disk.directory()) {
        Err(OpenError::Corrupt { file, offset, .. }) => {
            assert_eq!((file.as_str(), offset), ("log-00000001", 4096));
        }
        other => panic!("{:?}", other.err()),
    }
}

/// When the last block of an ended incarnation was damaged, a segment was blamed that had been prepared after it and
/// held only the remains of an earlier use.
#[test]
fn a_prepared_segment_is_not_blamed() {
    let disk = written_in_small_segments(30);
    // The next opening writes the end of the log to the manifest.
    drop(open(disk.directory()).unwrap());
    let is_written = |name: &str, offset: u64| {
        let file = disk.directory().open(name, OpenMode::Read, false).unwrap();
        let mut block = vec![0; BLOCK_BYTES];
        file.read_at(&mut block, offset).unwrap();
        block.iter().any(|&byte| byte != 0)
    };
    let first = BLOCK_BYTES as u64;
    assert!(!is_written("log-00000001", first), "prepared, not used");
    let last = (1..).take_while(|&block| is_written("log-00000000", block * first));
    let end = last.last().unwrap() * first;
    disk.rot("log-00000000", end + 64..end + 65, 1);
    disk.rot("log-00000001", first..first + 1, 1);
    match open(disk.directory()) {
        Err(OpenError::Corrupt { file, offset, .. }) => {
            assert_eq!((file.as_str(), offset), ("log-00000000", end));
        }
        other => panic!("{:?}", other.err()),
    }
}

/// When the first block behind a checkpoint was damaged, and the blocks before it were
/// superfluous, the beginning of the lane's first file was blamed.
#[test]
fn the_first_needed_block_is_named() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = with_records(&disk);
    let table = durable.database.table("t").unwrap();
    durable
        .run(async |session: Rc<Session>| session.checkpoint().await)
        .expect("a checkpoint");
    let record = (vec![99], Some(vec![99; 100]));
    durable.write(&table, vec![record]).unwrap();
    drop((table, durable));
    // The next opening writes the end of the log to the manifest.
    drop(open(disk.directory()).unwrap());
    let file = disk.directory();
    let file = file.open("log-00000000", OpenMode::Read, false).unwrap();
    let starts = |&at: &u64| {
        let mut magic = [0; 4];
        file.read_at(&mut magic, at).unwrap();
        magic == *b"WFTB"
    };
    let mut blocks = (1..256).map(|block| block * BLOCK_BYTES as u64);
    let last = blocks.rfind(starts).unwrap();
    disk.rot("log-00000000", last + 64..last + 65, 1);
    match open(disk.directory()) {
        Err(OpenError::Corrupt { file, offset, .. }) => {
            assert_eq!((file.as_str(), offset), ("log-00000000", last));
        }
        other => panic!("{:?}", other.err()),
    }
}
