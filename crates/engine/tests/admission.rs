//! The end of a congestion is told to the transactions that it keeps from beginning, whatever ends it.
//!
//! A lane with many commits that wait for another lane admits no transaction. A commit that gave up its wait could end
//! the congestion without a ring of the bell. The next look at the lane found no congestion to end, and rang nothing
//! either: a transaction that waited for admission waited for ever, if the session committed nothing else.
//!
//! Wakers of such commits are dropped while nothing of the lane is borrowed. A waker's drop may run a task's own code,
//! as where it drops the last other wait: that panicked.

use crate::{durable, steps};

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Wake, Waker},
};

use durable::{Durable, open};
use engine::{Durability, Isolation, Session, Timestamp};
use interleave::{Sequential, WorkerLocal};
use io::{Faults, SimulatedDisk};
use steps::Stepped;

/// Commits that wait for the durable frontier, at most, while a lane admits transactions.
const WAITING_MAX: usize = 4096;

/// Commits a record in a lane that writes it only once it is told to.
fn commit_and_rest(durable: &Durable, session: &Rc<Session>) -> Timestamp {
    let table = durable.database.table("t").expect("there");
    let session_of_commit = session.clone();
    let mut commit = Stepped::new(async move {
        let transaction = session_of_commit.begin(Isolation::Snapshot)?;
        transaction.set_durability(Durability::None);
        let written = transaction.upsert::<Sequential>(&table, b"key", b"value");
        written.await?;
        transaction.commit().await
    });
    loop {
        match commit.step() {
            Some(committed) => return committed.expect("commits"),
            // The lane's first segment is prepared.
            None => session.push(),
        }
    }
}

/// Makes a database, and a session of it that has committed and written nothing yet. Returns both, and the commit's
/// timestamp.
fn with_resting_commit() -> (Durable, Rc<Session>, Timestamp) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    let other = Session::new(&durable.database).expect("a session");
    let timestamp = commit_and_rest(&durable, &other);
    (durable, other, timestamp)
}

#[test]
fn a_commit_that_gives_up_its_wait_admits_a_transaction() {
    let (durable, _other, timestamp) = with_resting_commit();
    let session = durable.session();
    let mut waits: Vec<_> = (0..WAITING_MAX)
        .map(|_| Stepped::new(session.durable(timestamp)))
        .collect();
    for wait in &mut waits {
        assert!(session.admits());
        assert!(wait.step().is_none(), "the other lane has written nothing");
    }
    assert!(!session.admits());
    let mut admission = Stepped::new(session.admission());
    assert!(admission.step().is_none());
    waits.pop();
    assert!(admission.is_woken());
    assert_eq!(admission.step(), Some(()));
}

type Wait = Pin<Box<dyn Future<Output = Result<(), engine::Error>>>>;

thread_local! {
    /// Wait that ends with the waker of another one.
    static OTHER_WAIT: RefCell<Option<Wait>> = const { RefCell::new(None) };
}

/// Waker whose drop ends another wait.
struct EndsOtherWait;

impl Wake for EndsOtherWait {
    fn wake(self: Arc<Self>) {}
}

impl Drop for EndsOtherWait {
    fn drop(&mut self) {
        drop(OTHER_WAIT.take());
    }
}

/// Makes two waits for a timestamp. Returns the first, whose waker ends the second when it is dropped.
fn wait_that_ends_another(session: &Rc<Session>, timestamp: Timestamp) -> Wait {
    let wait = || -> Wait {
        let session = session.clone();
        Box::pin(async move { session.durable(timestamp).await })
    };
    let (mut first, mut second) = (wait(), wait());
    let waker = Waker::from(Arc::new(EndsOtherWait));
    assert!(
        first
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut context = Context::from_waker(Waker::noop());
    assert!(second.as_mut().poll(&mut context).is_pending());
    OTHER_WAIT.set(Some(second));
    first
}

#[test]
fn a_waker_that_ends_another_wait_is_dropped_when_nothing_is_borrowed() {
    let (durable, _other, timestamp) = with_resting_commit();
    let session = durable.session();
    // The waker goes with its wait.
    drop(wait_that_ends_another(&session, timestamp));
    assert!(OTHER_WAIT.take().is_none());
    // The waker is replaced.
    let mut first = wait_that_ends_another(&session, timestamp);
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(OTHER_WAIT.take().is_none());
}
