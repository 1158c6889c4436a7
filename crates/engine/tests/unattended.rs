//! A worker whose thread has turned to something else does not block other sessions.
//!
//! A checkpoint ended while the empty commit that it had logged was still in its session's buffer:
//! another session's block had made durable what the checkpoint waited for. The empty commit
//! counted in the claims of all later blocks: no commit was acknowledged any more until that thread
//! came back to its worker.

use crate::durable;

use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use durable::{Durable, open};
use engine::{Database, Durability, Isolation, Session};
use interleave::{Clock, Interleaved, Worker, WorkerConfig};
use io::{Faults, SimulatedDisk};

fn worker(database: &Arc<Database>) -> Worker<Session> {
    let session = Session::new(database).expect("a session");
    Worker::new(WorkerConfig::default(), session, Clock::real())
}

/// Writes a record; returns whether the commit was acknowledged while only this worker ran.
fn is_acknowledged(
    durable: &Durable,
    worker: &mut Worker<Session>,
    durability: Durability,
) -> bool {
    let table = durable.database.table("t").expect("there");
    let mut task = worker.handle().submit(move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let transaction = session.begin(Isolation::Snapshot)?;
            transaction.set_durability(durability);
            let upsert = transaction.upsert::<Interleaved>(&table, b"key", b"value");
            upsert.await?;
            transaction.commit().await
        }
    });
    if durability == Durability::Relaxed {
        return worker.run_until(task).expect("ends").is_ok();
    }
    // A worker that comes to rest writes its buffers, and wakes its tasks when it works again.
    (0..100).any(|_| {
        worker.run_until_idle();
        let polled = Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()));
        matches!(polled, Poll::Ready(Ok(Ok(_))))
    })
}

#[test]
fn commits_without_a_waiter_hold_up_no_other() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    let (mut unattended, mut other) = (worker(&durable.database), worker(&durable.database));
    for _ in 0..100 {
        assert!(is_acknowledged(
            &durable,
            &mut unattended,
            Durability::Relaxed
        ));
        assert!(is_acknowledged(
            &durable,
            &mut other,
            Durability::Synchronous
        ));
    }
}

#[test]
fn snapshots_of_the_past_keep_no_garbage() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    let (mut unattended, mut other) = (worker(&durable.database), worker(&durable.database));
    let table = durable.database.table("t").expect("there");
    let read = unattended.handle().submit(move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let transaction = session.begin(Isolation::Snapshot).expect("begins");
            let get = transaction.get::<Interleaved, _>(&table, b"key", |_| ());
            get.await.expect("reads");
            transaction.commit().await.expect("commits");
        }
    });
    unattended.run_until(read).expect("ends");
    for _ in 0..100 {
        assert!(is_acknowledged(
            &durable,
            &mut other,
            Durability::Synchronous
        ));
    }
    other.local().tend();
    other.run_until_idle();
    assert!(!other.local().has_garbage());
}
