//! DDL beside writers, on two threads: no row disagrees with the definition in force when it was
//! committed.

use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use engine::{IfLocked, Session, TableLockMode};
use interleave::{Clock, Interleaved, Worker, WorkerConfig};
use types::{Result, SqlState};

use super::bed::{Bed, TEXT, begin, column, find, new_index, new_table};
use crate::{Behavior, Catalogs, Ddl, ObjectId, Target, failure::from_engine};

/// Writes rows that say under which definition they were written, until it is told to stop; returns
/// how many. Counts itself in once it has written.
async fn write(
    session: Rc<Session>,
    catalogs: Arc<Catalogs>,
    name: &str,
    stop: &AtomicBool,
    begun: &AtomicU32,
    worker: u32,
) -> Result<u32> {
    let mut written = 0;
    let mut catalog = catalogs.current();
    while !stop.load(Ordering::Relaxed) {
        let (transaction, changes) = begin(&session, &catalogs);
        // The writer goes by the definition that it knows, if that is current, as a cached plan
        // does.
        let Some(id) = find(&catalog, name) else {
            catalog = catalogs.current();
            interleave::sleep(Duration::from_micros(50)).await;
            continue;
        };
        let table = catalog.table(id).expect("it was found").clone();
        let storage = table.storage();
        let mode = TableLockMode::RowExclusive;
        transaction
            .lock_table(storage, mode, IfLocked::Wait)
            .await
            .map_err(from_engine)?;
        if !catalogs.is_current(&catalog) {
            catalog = catalogs.current();
            if find(&catalog, name)
                .and_then(|id| catalog.table(id))
                .is_none_or(|now| *now != table)
            {
                continue;
            }
        }
        for _ in 0..3 {
            let key = format!("{worker} {written}");
            let value = format!("{worker}-{written},{}", table.version);
            let put = transaction.upsert::<Interleaved>(storage, key.as_bytes(), value.as_bytes());
            put.await.map_err(from_engine)?;
            written += 1;
            interleave::sleep(Duration::from_micros(20)).await;
        }
        // The definition that the writer went by is in force when it commits.
        let now = changes.catalog();
        let current = find(&now, name).and_then(|id| now.table(id));
        assert_eq!(
            current,
            Some(&table),
            "the definition has changed under a writer"
        );
        transaction.commit().await.map_err(from_engine)?;
        if written == 3 {
            begun.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(written)
}

/// Changes the table in all ways, again and again.
async fn change(session: Rc<Session>, catalogs: Arc<Catalogs>, seed: u32) -> Result<u32> {
    let mut random = seed;
    let mut changed = 0;
    for _ in 0..40 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (transaction, changes) = begin(&session, &catalogs);
        let ddl = Ddl::new(&transaction, &changes);
        let id = find(&changes.catalog(), "t").expect("the table is always there");
        let outcome = async {
            let table = changes.catalog().table(id).cloned();
            let index = table.and_then(|table| table.indexes.first().map(|index| index.id));
            match (random >> 16) % 6 {
                0 => ddl
                    .add_column(id, column(&format!("c{random}"), TEXT))
                    .await
                    .map(drop),
                1 => ddl
                    .truncate(&[id], false, Behavior::Restrict)
                    .await
                    .map(drop),
                2 => match index {
                    None => ddl
                        .create_index(id, new_index("i", true, 0))
                        .await
                        .map(drop),
                    Some(index) => {
                        let index = [Target::Index(id, index)];
                        ddl.drop(&index, Behavior::Restrict).await.map(drop)
                    }
                },
                3 => {
                    ddl.rename(id, "other").await?;
                    ddl.rename(id, "t").await
                }
                4 => {
                    ddl.drop(&[Target::Object(id)], Behavior::Restrict).await?;
                    ddl.create_table(new_table("t", &["a", "b"]))
                        .await
                        .map(drop)
                }
                _ => ddl
                    .alter_column(id, 1, |column| column.not_null ^= true)
                    .await
                    .map(drop),
            }
        };
        let outcome = match outcome.await {
            Ok(()) if random.is_multiple_of(5) => {
                transaction.rollback();
                Ok(())
            }
            Ok(()) => transaction.commit().await.map(drop).map_err(from_engine),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => changed += 1,
            // Two sessions that change the table may conflict; then one of them gets an error.
            Err(error) => {
                let is_told = [
                    SqlState::DEADLOCK_DETECTED,
                    SqlState::SERIALIZATION_FAILURE,
                    // Both sessions have made an object that did not exist when they looked.
                    SqlState::DUPLICATE_TABLE,
                ];
                let is_gone = error.message().contains("dropped meanwhile");
                assert!(is_told.contains(&error.state()) || is_gone, "{error:?}");
            }
        }
        interleave::sleep(Duration::from_micros(200)).await;
    }
    Ok(changed)
}

fn on_a_thread<T: Send + 'static>(
    bed: &Bed,
    body: impl AsyncFnOnce(Rc<Session>, Arc<Catalogs>) -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    let (database, catalogs) = (bed.database.clone(), bed.catalogs.clone());
    std::thread::spawn(move || {
        let session = Session::new(&database).unwrap();
        let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
        let task = worker.handle().submit(move |session| {
            let session = session.clone();
            async move { body(session, catalogs).await }
        });
        worker.run_until(task).unwrap()
    })
}

#[test]
fn no_writer_goes_by_a_definition_that_is_not_in_force() {
    let mut bed = Bed::new();
    bed.table("t", &["a", "b"]);
    let stop = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicU32::new(0));
    let writers: Vec<_> = (0..2)
        .map(|worker| {
            let (stop, begun) = (stop.clone(), begun.clone());
            on_a_thread(&bed, async move |session, catalogs| {
                write(session, catalogs, "t", &stop, &begun, worker).await
            })
        })
        .collect();
    // On a busy machine a writer's thread once began when all changes had been made.
    while begun.load(Ordering::Relaxed) < 2 {
        assert!(!writers.iter().any(|writer| writer.is_finished()));
        std::thread::sleep(Duration::from_millis(1));
    }
    let changer = on_a_thread(&bed, async |session, catalogs| {
        change(session, catalogs, 7).await
    });
    let changed = bed
        .run(async |session, catalogs| change(session, catalogs, 1).await)
        .unwrap();
    let others = changer.join().unwrap().unwrap();
    stop.store(true, Ordering::Relaxed);
    let written = writers
        .into_iter()
        .map(|writer| writer.join().unwrap().unwrap());
    let written: u32 = written.sum();
    assert!(written > 6, "nobody came to write beside the changes");
    assert!(changed > 10 && others > 10, "{changed}, {others}");
    let id: ObjectId = bed.find("t").unwrap();
    bed.check_indexes(id);
    bed = bed.crash();
    assert_eq!(bed.find("t"), Some(id));
    bed.check_indexes(id);
}
