//! A directory with tampered files.

use std::{
    rc::Rc,
    sync::{Arc, OnceLock},
};

use index::fuzz::Choices;
use interleave::{Clock, FromFn, Interleaved, Worker, WorkerConfig};
use io::{BLOCK_BYTES, Directory, Faults, OpenMode, SimulatedDisk};

use crate::{
    ChangesError, ChangesFrom, CheckpointConfig, Database, DatabaseConfig, Isolation, LogConfig,
    OpenError, RecoveryConfig, Session, checkpoint, fuzz::tamper, inspect, log::segments,
};

type Files = Vec<(String, Vec<u8>)>;

/// Checks, opens, streams and salvages a tampered directory.
///
/// # Panics
/// If the directory is called sound and then refused, or was not tampered with and cannot be
/// streamed.
pub fn recovery(data: &[u8]) {
    let mut source = Choices::new(data);
    let is_valid = source.is_empty();
    let mut files = valid().clone();
    while !source.is_empty() {
        let which = source.below_many(files.len());
        let (name, bytes) = &mut files[which];
        let kind = source.byte();
        if kind == 1 {
            files.remove(which);
            if files.is_empty() {
                break;
            }
            continue;
        }
        tamper::change(bytes, &mut source);
        match kind % 4 {
            0 => {}
            _ if segments::file_number(name).is_some() => tamper::mend_log(bytes),
            _ if checkpoint::file_number(name).is_some() => tamper::mend_part(bytes),
            _ => tamper::mend_manifest(bytes),
        }
    }
    let sound = match inspect::check(&disk(&files).directory(), &mut |_| {}) {
        Ok(report) => report.is_sound() && report.recovers_to.is_some(),
        Err(_) => false,
    };
    let opened = open(&disk(&files).directory(), false).map(|(database, worker)| {
        let streamed = stream(&database, worker);
        assert!(streamed.is_ok() || !is_valid, "{streamed:?}");
    });
    if sound && !matches!(opened, Ok(()) | Err(OpenError::MemoryExhausted)) {
        panic!("the check found nothing, but opening it: {opened:?}");
    }
    // The result is the rest of the data, or an error.
    let _ = open(&disk(&files).directory(), true);
}

/// Reads all changes that are kept; this ends for any content of the files.
fn stream(database: &Database, mut worker: Worker<Session>) -> Result<(), ChangesError> {
    let up_to = database.durable_up_to().expect("in a directory");
    let task = worker.handle().submit(move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let from = match session.changes(ChangesFrom::Beginning).await {
                Err(ChangesError::NotKept { oldest, .. }) => ChangesFrom::After(oldest),
                _ => ChangesFrom::Beginning,
            };
            let mut reader = session.changes(from).await?;
            while reader.position() < up_to {
                reader.next(&session).await?;
            }
            Ok(())
        }
    });
    worker.run_until(task).expect("ends")
}

fn disk(files: &Files) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Faults::default());
    let directory = disk.directory();
    for (name, bytes) in files {
        let file = directory.open(name, OpenMode::Create, false);
        let file = file.expect("a new file");
        file.write_at(bytes, 0).expect("there is room");
    }
    disk
}

fn open(
    directory: &Arc<dyn Directory>,
    salvage: bool,
) -> Result<(Arc<Database>, Worker<Session>), OpenError> {
    let config = DatabaseConfig {
        checkpoint: CheckpointConfig {
            log_bytes_max: 0,
            ..CheckpointConfig::default()
        },
        ..DatabaseConfig::with_memory(64 << 20)
    };
    let log = LogConfig {
        buffer_bytes: 4096,
        segment_bytes: 64 << 10,
        change_retention_bytes: 1 << 20,
        ..LogConfig::default()
    };
    let recovery = Database::open(config, log, RecoveryConfig { salvage }, directory.clone())?;
    let database = recovery.database().clone();
    let session = Session::new(&database).map_err(|_| OpenError::MemoryExhausted)?;
    let mut tasks = recovery.tasks(&session);
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    worker.set_source(FromFn(move |_: &Rc<Session>| tasks()));
    worker.run_until_idle();
    recovery.finish()?;
    Ok((database, worker))
}

/// Makes a directory with two tables, a checkpoint, log behind it, and more log of another
/// incarnation.
fn valid() -> &'static Files {
    static VALID: OnceLock<Files> = OnceLock::new();
    VALID.get_or_init(|| {
        let disk = SimulatedDisk::new(1, Faults::default());
        for incarnation in 0..2_u8 {
            let opened = open(&disk.directory(), false);
            let (database, mut worker) = opened.expect("a sound directory");
            if incarnation == 0 {
                database.create_table("t", b"").expect("a new table");
                database.create_table("u", b"").expect("a new table");
                write(&database, &mut worker, 0..20);
                let task = worker.handle().submit(|session: &Rc<Session>| {
                    let session = session.clone();
                    async move { session.checkpoint().await.map(drop) }
                });
                let taken = worker.run_until(task).expect("ends");
                taken.expect("a checkpoint");
            }
            write(&database, &mut worker, 10..30 + incarnation * 10);
        }
        contents(&disk.directory())
    })
}

fn write(database: &Arc<Database>, worker: &mut Worker<Session>, keys: std::ops::Range<u8>) {
    for key in keys {
        let name = if key % 2 == 0 { "t" } else { "u" };
        let table = database.table(name).expect("made before");
        let task = worker.handle().submit(move |session: &Rc<Session>| {
            let session = session.clone();
            async move {
                let transaction = session.begin(Isolation::Snapshot)?;
                let value = vec![key; usize::from(key) * 20];
                transaction
                    .upsert::<Interleaved>(&table, &[key], &value)
                    .await?;
                transaction.commit().await
            }
        });
        let committed = worker.run_until(task).expect("ends");
        committed.expect("commits");
    }
}

/// Returns all files, without the zeros at their ends.
fn contents(directory: &Arc<dyn Directory>) -> Files {
    let names = directory.list().expect("can be listed");
    let read = |name: String| {
        let read = crate::recovery::pieces::read_file(directory, &name, u64::MAX);
        let mut bytes = read.expect("can be read");
        if segments::file_number(&name).is_some() {
            let used = bytes
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |at| at + 1);
            bytes.truncate(used.next_multiple_of(BLOCK_BYTES));
        }
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}
