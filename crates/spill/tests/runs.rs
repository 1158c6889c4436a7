//! Runs of rows: written and read again, merged within little memory, and gone with their owner, also on a device that
//! is slow, cuts transfers short, fails or is full.

use std::{cell::RefCell, cmp::Ordering, rc::Rc};

use batch::Rows;
use engine::{Database, DatabaseConfig, LogConfig, RecoveryConfig, Session};
use fastrand::Rng;
use interleave::{Clock, FromFn, Turn, Worker, WorkerConfig};
use io::{Faults, SimulatedDisk};
use spill::{Budget, KeptReader, KeptRows, RunReader, RunWriter, SortedRuns, SpillFile};
use types::{Allowance, Charge, Memory, Result, SqlState, Value, compare::compare};

/// A slow device that cuts transfers short and ends them in any order.
const SLOW: Faults = Faults {
    delay_reaps_min: 0,
    delay_reaps_max: 9,
    short_per_mille: 100,
    read_error_per_mille: 0,
    write_error_per_mille: 0,
    sync_error_per_mille: 0,
    name_error_per_mille: 0,
    capacity_bytes: None,
};

const PIECE_BYTES: usize = 16 << 10;

/// A database on a simulated disk, with one worker on the calling thread.
struct Bed {
    disk: SimulatedDisk,
    worker: Worker<Session>,
}

impl Bed {
    fn new(seed: u64) -> Self {
        let disk = SimulatedDisk::new(seed, Faults::default());
        let config = DatabaseConfig::with_memory(64 << 20);
        let (log, recovery) = (LogConfig::default(), RecoveryConfig::default());
        let recovery = Database::open(config, log, recovery, disk.directory()).expect("opens");
        let session = Session::new(recovery.database()).expect("a session");
        let mut tasks = recovery.tasks(&session);
        let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
        worker.set_source(FromFn(move |_: &Rc<Session>| tasks()));
        worker.run_until_idle();
        recovery.finish().expect("recovers");
        Self { disk, worker }
    }

    /// Runs a test on the worker; checks that no temporary file is left.
    fn run<T: Send + 'static>(
        &mut self,
        test: impl AsyncFnOnce(Rc<Session>, Rc<Memory>) -> T + Send + 'static,
    ) -> T {
        let task = self.worker.handle().submit(|session: &Rc<Session>| {
            let session = session.clone();
            async move {
                let memory = Memory::new(&Allowance::unlimited(), 8 << 20);
                let outcome = test(session, memory.clone()).await;
                assert_eq!(memory.used(), 0, "memory is given back");
                outcome
            }
        });
        let outcome = self.worker.run_until(task).expect("it ends");
        let names = self.disk.directory().list().expect("lists");
        let left: Vec<_> = { names.iter() }
            .filter(|name| name.starts_with("temporary"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        outcome
    }
}

/// Adds a row of a number, a text of up to `bytes`, and a third value of some type.
fn add_row(rows: &mut Rows, random: &mut Rng, bytes: usize) {
    let text = "abc é".repeat(random.usize(0..=bytes / 6));
    let number = random.i32(-1000..1000);
    rows.push([
        Value::Int4(number),
        match random.u8(0..9) {
            0 => Value::Null,
            _ => Value::Text(&text),
        },
        match random.u8(0..4) {
            0 => Value::Null,
            1 => Value::Float8(random.f64()),
            2 => Value::Bytea(text.as_bytes()),
            _ => Value::Date(number),
        },
    ]);
}

fn assert_same(one: &[Value<'_>], other: &[Value<'_>]) {
    let are_same = one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is_same(b));
    assert!(are_same, "{one:?} and {other:?}");
}

async fn write(writer: &mut RunWriter, rows: &Rows, turn: &Turn) -> Result<()> {
    for row in rows.iter() {
        writer.push(row.iter().copied(), turn).await?;
    }
    Ok(())
}

/// Rows smaller than a piece, rows of many pieces, and rows that end where a piece ends.
#[test]
fn rows_are_read_as_they_were_written() {
    let mut bed = Bed::new(1);
    bed.disk.set_faults(SLOW);
    bed.run(async |session, memory| {
        let (turn, mut random) = (Turn::default(), Rng::with_seed(5));
        let file = SpillFile::new(&session, PIECE_BYTES).unwrap();
        let mut writer = RunWriter::new(&file, &memory, Charge::default()).unwrap();
        for (count, bytes) in [
            (0, 0),
            (1, 10),
            (1, 300_000),
            (5000, 20),
            (300, 5000),
            (20, 90_000),
        ] {
            let mut rows = Rows::new(3);
            for _ in 0..count {
                add_row(&mut rows, &mut random, bytes);
            }
            write(&mut writer, &rows, &turn).await.unwrap();
            let run = writer.finish().await.unwrap();
            assert_eq!(run.rows(), count);
            let mut reader = RunReader::new(run, &memory).await.unwrap();
            let (mut at, mut read) = (0, Rows::new(3));
            while reader.read(&mut read, &turn).await.unwrap() {
                for row in read.iter() {
                    assert_same(row, rows.row(at));
                    at += 1;
                }
                read.clear();
            }
            assert_eq!(at, rows.len());
        }
        let mut rows = Rows::new(1);
        // A row has five bytes in front of its text, and four before: some end exactly with a piece.
        for bytes in (PIECE_BYTES - 20)..PIECE_BYTES {
            let text = "x".repeat(bytes);
            rows.clear();
            rows.push([Value::Text(&text)]);
            write(&mut writer, &rows, &turn).await.unwrap();
            let run = writer.finish().await.unwrap();
            let mut reader = RunReader::new(run, &memory).await.unwrap();
            let mut read = Rows::new(1);
            assert!(reader.read(&mut read, &turn).await.unwrap());
            assert_same(read.row(0), rows.row(0));
            assert!(!reader.read(&mut read, &turn).await.unwrap());
        }
    });
}

#[test]
fn rows_without_values_are_counted() {
    Bed::new(2).run(async |session, memory| {
        let turn = Turn::default();
        let file = SpillFile::new(&session, PIECE_BYTES).unwrap();
        let mut writer = RunWriter::new(&file, &memory, Charge::default()).unwrap();
        for _ in 0..10_000 {
            writer.push([], &turn).await.unwrap();
        }
        let run = writer.finish().await.unwrap();
        let mut reader = RunReader::new(run, &memory).await.unwrap();
        let (mut read, mut count) = (Rows::new(0), 0);
        while reader.read(&mut read, &turn).await.unwrap() {
            count += read.len();
            read.clear();
        }
        assert_eq!(count, 10_000);
    });
}

/// A file that is written and read again and again does not grow.
#[test]
fn pieces_are_used_again() {
    let mut bed = Bed::new(3);
    bed.disk.set_faults(SLOW);
    bed.run(async |session, memory| {
        let (turn, mut random) = (Turn::default(), Rng::with_seed(6));
        let mut rows = Rows::new(3);
        for _ in 0..3000 {
            add_row(&mut rows, &mut random, 100);
        }
        let file = SpillFile::new(&session, PIECE_BYTES).unwrap();
        let mut writer = RunWriter::new(&file, &memory, Charge::default()).unwrap();
        let mut bytes = Vec::new();
        for round in 0..6 {
            write(&mut writer, &rows, &turn).await.unwrap();
            let run = writer.finish().await.unwrap();
            assert!(run.bytes() > 8 * PIECE_BYTES as u64);
            bytes.push(file.bytes());
            if round % 2 == 0 {
                continue;
            }
            let mut reader = RunReader::new(run, &memory).await.unwrap();
            let mut read = Rows::new(3);
            while reader.read(&mut read, &turn).await.unwrap() {
                read.clear();
            }
        }
        assert!(bytes.iter().all(|now| *now == bytes[0]), "{bytes:?}");
    });
}

fn by_number(one: &[Value<'_>], other: &[Value<'_>]) -> Ordering {
    compare(one[0], other[0])
}

/// Returns the number that a row begins with.
fn number_of(row: &[Value<'_>]) -> i32 {
    match row[0] {
        Value::Int4(number) => number,
        _ => panic!("{row:?} is no row that was written"),
    }
}

/// Runs of all lengths, the empty one included, more than can be read at once; equal rows stay in the order of their
/// runs, which merges of several passes once mixed up.
#[test]
fn sorted_runs_are_merged_in_several_passes() {
    let mut bed = Bed::new(4);
    bed.disk.set_faults(SLOW);
    bed.run(async |session, memory| {
        for (seed, runs, most, limit) in [
            (1, 1, 5, usize::MAX),
            (2, 3, 5, usize::MAX),
            (3, 40, 2, usize::MAX),
            (4, 23, 5, usize::MAX),
            (6, 5, 2, usize::MAX),
            (7, 11, 3, usize::MAX),
            (5, 23, 5, 100),
        ] {
            let (turn, mut random) = (Turn::default(), Rng::with_seed(seed));
            let charge = Charge::default();
            let mut sorted = SortedRuns::new(&session, PIECE_BYTES, &memory, charge, 3).unwrap();
            let mut all = Vec::new();
            for number in 0..runs {
                let mut rows = Rows::new(3);
                for _ in 0..random.usize(0..1000) * usize::from(number != 1) {
                    add_row(&mut rows, &mut random, 50);
                }
                let mut order: Vec<_> = (0..rows.len()).collect();
                order.sort_by(|one, other| by_number(rows.row(*one), rows.row(*other)));
                for at in order {
                    all.push((number_of(rows.row(at)), format!("{:?}", rows.row(at))));
                    let writer = sorted.writer().unwrap();
                    writer
                        .push(rows.row(at).iter().copied(), &turn)
                        .await
                        .unwrap();
                }
                sorted.end_run().await.unwrap();
            }
            assert_eq!(sorted.len(), runs);
            let bytes = most * 4 * PIECE_BYTES;
            let merge = sorted.merge(bytes, limit, &by_number, &turn).await;
            let mut merge = merge.unwrap();
            let mut found = Vec::new();
            while found.len() < limit
                && let Some(row) = merge.first()
            {
                found.push((number_of(row), format!("{row:?}")));
                merge.advance(&by_number, &turn).await.unwrap();
            }
            all.sort_by_key(|(number, _)| *number);
            all.truncate(limit);
            assert!(found == all, "{runs} runs, {most} at once");
            assert!(sorted.is_empty());
        }
    });
}

/// A merge that is refused the memory of all runs goes on with fewer at once; equal rows stay in the order of their
/// runs.
#[test]
fn a_merge_takes_the_memory_that_there_is() {
    Bed::new(5).run(async |session, memory| {
        let turn = Turn::default();
        let charge = Charge::default();
        let mut sorted = SortedRuns::new(&session, PIECE_BYTES, &memory, charge, 2).unwrap();
        for run in 0..20 {
            for number in 0..500 {
                let writer = sorted.writer().unwrap();
                writer
                    .push([Value::Int4(number), Value::Int4(run)], &turn)
                    .await
                    .unwrap();
            }
            sorted.end_run().await.unwrap();
        }
        let mut others = Charge::default();
        others
            .set(&memory, memory.share() - 24 * PIECE_BYTES)
            .unwrap();
        let merge = sorted.merge(1 << 30, usize::MAX, &by_number, &turn).await;
        let mut merge = merge.unwrap();
        for at in 0..10_000 {
            let row = [at / 20, at % 20].map(Value::Int4);
            assert_same(merge.first().unwrap(), &row);
            merge.advance(&by_number, &turn).await.unwrap();
        }
        assert!(merge.first().is_none());
    });
}

/// Runs rows to the device until it fails; returns the error's state.
fn until_it_fails(bed: &mut Bed) -> SqlState {
    bed.run(async |session, memory| {
        let (turn, mut random) = (Turn::default(), Rng::with_seed(8));
        let file = SpillFile::new(&session, PIECE_BYTES).unwrap();
        let mut writer = RunWriter::new(&file, &memory, Charge::default()).unwrap();
        loop {
            let mut rows = Rows::new(3);
            for _ in 0..100 {
                add_row(&mut rows, &mut random, 500);
            }
            let written = write(&mut writer, &rows, &turn).await;
            if let Err(error) = written {
                return error.state();
            }
            let mut reader = match writer.finish().await {
                Ok(run) => RunReader::new(run, &memory).await.unwrap(),
                Err(error) => return error.state(),
            };
            let mut read = Rows::new(3);
            loop {
                match reader.read(&mut read, &turn).await {
                    Ok(true) => read.clear(),
                    Ok(false) => break,
                    Err(error) => return error.state(),
                }
            }
        }
    })
}

#[test]
fn errors_of_the_device_have_their_states() {
    let mut bed = Bed::new(6);
    let fails = |write_error_per_mille, read_error_per_mille| Faults {
        write_error_per_mille,
        read_error_per_mille,
        ..SLOW
    };
    for faults in [fails(50, 0), fails(0, 50)] {
        bed.disk.set_faults(faults);
        assert_eq!(until_it_fails(&mut bed), SqlState::IO_ERROR);
    }
    bed.disk.set_faults(Faults {
        capacity_bytes: Some(0),
        ..SLOW
    });
    assert_eq!(until_it_fails(&mut bed), SqlState::DISK_FULL);
}

/// Tasks that are dropped amid their transfers leave neither memory nor files behind.
#[test]
fn a_task_that_is_dropped_leaves_nothing() {
    let mut bed = Bed::new(7);
    bed.disk.set_faults(Faults {
        delay_reaps_min: 3,
        delay_reaps_max: 30,
        ..SLOW
    });
    for turns in 0..60 {
        let task = bed.worker.handle().submit(|session: &Rc<Session>| {
            let session = session.clone();
            async move {
                let memory = Memory::new(&Allowance::unlimited(), 8 << 20);
                let (turn, charge) = (Turn::default(), Charge::default());
                let mut sorted = SortedRuns::new(&session, PIECE_BYTES, &memory, charge, 1)?;
                for run in 0..3 {
                    for number in 0..5000 {
                        let row = [Value::Int4(number), Value::Int4(run)];
                        sorted.writer()?.push([row[0]], &turn).await?;
                    }
                    sorted.end_run().await?;
                }
                let mut merge = sorted.merge(1 << 20, usize::MAX, &by_number, &turn).await?;
                while merge.first().is_some() {
                    merge.advance(&by_number, &turn).await?;
                }
                Ok::<_, types::SqlError>(())
            }
        });
        for _ in 0..turns {
            let turn = bed.worker.handle().submit(|_| std::future::ready(()));
            bed.worker.run_until(turn).unwrap();
        }
        drop(task);
        bed.run(async |_, _| {});
    }
}

/// Readers of one run read it each from the beginning, also where one of them is dropped amid it.
#[test]
fn a_run_is_read_by_several_readers() {
    let mut bed = Bed::new(3);
    bed.disk.set_faults(SLOW);
    bed.run(async |session, memory| {
        let (turn, mut random) = (Turn::default(), Rng::with_seed(7));
        let file = SpillFile::new(&session, PIECE_BYTES).unwrap();
        let mut writer = RunWriter::new(&file, &memory, Charge::default()).unwrap();
        let mut rows = Rows::new(3);
        (0..3000).for_each(|_| add_row(&mut rows, &mut random, 300));
        write(&mut writer, &rows, &turn).await.unwrap();
        let run = Rc::new(writer.finish().await.unwrap());
        let bytes = file.bytes();
        let mut readers = Vec::new();
        for _ in 0..3 {
            readers.push((RunReader::again(&run, &memory).await.unwrap(), 0));
        }
        let mut given_up = RunReader::again(&run, &memory).await.unwrap();
        let mut read = Rows::new(3);
        given_up.read(&mut read, &turn).await.unwrap();
        drop(given_up);
        while !readers.is_empty() {
            let number = random.usize(..readers.len());
            let (reader, at) = &mut readers[number];
            read.clear();
            let more = reader.read(&mut read, &turn).await.unwrap();
            for row in read.iter() {
                assert_same(row, rows.row(*at));
                *at += 1;
            }
            if !more {
                assert_eq!(*at, rows.len());
                readers.swap_remove(number);
            }
        }
        // The pieces belong to the run until it goes.
        write(&mut writer, &rows, &turn).await.unwrap();
        let other = writer.finish().await.unwrap();
        assert!(file.bytes() > bytes);
        let bytes = file.bytes();
        drop((run, other));
        write(&mut writer, &rows, &turn).await.unwrap();
        writer.finish().await.unwrap();
        assert_eq!(file.bytes(), bytes);
    });
}

/// Rows that are kept are given to each reader in their order, wherever it lies when they are put by.
#[test]
fn kept_rows_are_given_to_each_reader() {
    let mut bed = Bed::new(4);
    bed.disk.set_faults(SLOW);
    bed.run(async |session, memory| {
        let budget = Budget::new(memory.allowance(), 4 << 20).with_operator_bytes(Some(100 << 10));
        let mut random = Rng::with_seed(9);
        let (mut all, kept) = (Rows::new(3), RefCell::new(KeptRows::new(3)));
        let mut readers: [KeptReader; 4] = Default::default();
        while all.len() < 5000 || readers.iter().any(|reader| reader.next() < all.len()) {
            if all.len() < 5000 {
                let mut fresh = Rows::new(3);
                (0..random.usize(1..100)).for_each(|_| add_row(&mut fresh, &mut random, 200));
                fresh.iter().for_each(|row| all.push(row.iter().copied()));
                let mut taken = kept.take();
                taken.add(fresh, &budget, &session).await.unwrap();
                kept.replace(taken);
            } else {
                kept.borrow_mut().end();
            }
            assert_eq!(kept.borrow().len(), all.len());
            let reader = &mut readers[random.usize(..4)];
            let (mut out, from) = (Rows::new(2), reader.next());
            if from < all.len() {
                reader
                    .give(&kept, &[2, 0], &budget, &mut out)
                    .await
                    .unwrap();
                assert!(!out.is_empty() && reader.next() == from + out.len());
            }
            for (at, row) in (from..).zip(out.iter()) {
                let own = all.row(at);
                assert_same(row, &[own[2], own[0]]);
            }
        }
        let on_device = kept.borrow().bytes();
        assert!(on_device > 100 << 10, "{on_device}");
        kept.borrow_mut().clear();
        assert!(kept.borrow().is_empty());
        // A measurement tells of rows that were forgotten, too.
        assert_eq!(kept.borrow().bytes(), on_device);
        drop((readers, kept));
        assert_eq!(budget.memory().used(), 0);
    });
}

/// A reader that takes rows as they come once read a whole run for each that was written.
#[test]
fn a_reader_that_takes_rows_as_they_come_reads_no_run() {
    let mut bed = Bed::new(5);
    let disk = bed.disk.clone();
    bed.run(async move |session, memory| {
        disk.set_faults(Faults {
            read_error_per_mille: 1000,
            ..SLOW
        });
        let budget = Budget::new(memory.allowance(), 4 << 20).with_operator_bytes(Some(100 << 10));
        let mut random = Rng::with_seed(10);
        let (kept, mut reader) = (RefCell::new(KeptRows::new(3)), KeptReader::default());
        for _ in 0..60 {
            let mut fresh = Rows::new(3);
            (0..50).for_each(|_| add_row(&mut fresh, &mut random, 200));
            let mut taken = kept.take();
            taken.add(fresh, &budget, &session).await.unwrap();
            kept.replace(taken);
            while reader.next() < kept.borrow().len() {
                let mut out = Rows::new(1);
                let given = reader.give(&kept, &[0], &budget, &mut out).await;
                given.unwrap();
            }
        }
        assert!(kept.borrow().bytes() > 100 << 10);
        let (mut behind, mut out) = (KeptReader::default(), Rows::new(1));
        let refused = behind.give(&kept, &[0], &budget, &mut out).await;
        assert_eq!(refused.unwrap_err().state(), SqlState::IO_ERROR);
        disk.set_faults(SLOW);
    });
}
