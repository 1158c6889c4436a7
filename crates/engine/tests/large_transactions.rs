//! Transactions of many writes end in turns with others, and are whole all the same.
//!
//! The commit of a COPY of millions of rows once kept its worker for half a second: it counted, logged and
//! stamped the rows in one go, and a rollback did so, too.

mod many_writes;
mod taken_back;

use crate::durable;

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    ops::{Bound, ControlFlow, Range},
    rc::Rc,
    sync::Arc,
    task::Poll,
};

use durable::{Durable, LOG, open, open_with};
use engine::{
    Abort, BuildError, Direction, Durability, Error, Extractor, IfLocked, IndexOptions, Isolation,
    LogConfig, OnConflict, RecoveryConfig, RowOutcome, Session, Strength, Table, Transaction,
};
use interleave::{Interleaved, Policy, Sequential, run_inline};
use io::{Faults, SimulatedDisk};

const WRITES: u64 = 20_000;

fn key(i: u64) -> [u8; 8] {
    i.to_be_bytes()
}

async fn write(transaction: &Transaction, table: &Table, records: Range<u64>, value: &[u8]) {
    for i in records {
        let at = key(i);
        let upsert = transaction.upsert::<Interleaved>(table, &at, value);
        upsert.await.expect("writes");
    }
}

/// Writes `WRITES` records whose values begin with the given byte.
async fn write_all(transaction: &Transaction, table: &Table, first: u8, value_bytes: usize) {
    write(transaction, table, 0..WRITES, &vec![first; value_bytes]).await;
}

/// Returns the first byte of all values, which is the same in all records except the first one, and how many
/// records there are.
async fn look<P: Policy>(session: &Rc<Session>, table: &Table) -> (Option<u8>, u64) {
    let transaction = session.begin(Isolation::Snapshot).expect("begins");
    let (mut first, mut count) = (None, 0);
    let range = (Bound::Unbounded, Bound::Unbounded);
    let scan = transaction.scan::<P>(table, range, Direction::Forward, |at, value| {
        let byte = value.first().copied();
        if *at != key(0) {
            assert!(first.is_none() || first == byte, "half of a transaction");
            first = byte;
        }
        count += 1;
        ControlFlow::Continue(())
    });
    scan.await.expect("scans");
    (first, count)
}

/// Checks that another transaction writes all records, and commits.
async fn nothing_is_in_the_way(session: &Rc<Session>, table: &Table) {
    let transaction = session.begin(Isolation::Snapshot).unwrap();
    write_all(&transaction, table, 3, 10).await;
    transaction.commit().await.expect("commits");
    let seen = look::<Interleaved>(session, table).await;
    assert_eq!(seen, (Some(3), WRITES));
}

/// Polls a future to its end, and calls a function whenever the future yields; the future is dropped if that
/// function breaks off.
async fn stepwise<F: Future>(
    future: F,
    mut between: impl FnMut(u64) -> ControlFlow<()>,
) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut steps = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => {
            steps += 1;
            match between(steps) {
                ControlFlow::Break(()) => Poll::Ready(None),
                ControlFlow::Continue(()) => Poll::Pending,
            }
        }
    })
    .await
}

/// Breaks off at the last step.
fn up_to(last: u64, step: u64) -> ControlFlow<()> {
    match step >= last {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

fn with_table(disk: &SimulatedDisk) -> (Durable, Arc<Table>) {
    let mut durable = open(disk.directory()).unwrap();
    let table = durable.create_table("t", b"").unwrap();
    (durable, table)
}

/// Returns the content of the database after it is opened again.
fn reopened(disk: &SimulatedDisk) -> (Option<u8>, u64) {
    let mut durable = open(disk.directory()).unwrap();
    let table = durable.database.table("t").unwrap();
    durable.run(async move |session| look::<Interleaved>(&session, &table).await)
}

/// Changes records in an order that is not the one in which they were written.
async fn rewrite(transaction: &Transaction, table: &Table, records: u64, value: &[u8]) {
    // A prime that divides no number of records here: each record comes once.
    for i in (0..records).map(|i| i * 7919 % records) {
        write(transaction, table, i..i + 1, value).await;
    }
}

#[test]
fn a_large_commit_gives_turns_and_is_seen_whole() {
    for (durability, value_bytes) in [
        (Durability::Synchronous, 1),
        (Durability::Synchronous, 100),
        (Durability::Relaxed, 100),
    ] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            for round in 1..4 {
                let transaction = session.begin(Isolation::Snapshot).unwrap();
                transaction.set_durability(durability);
                write_all(&transaction, &table, round, value_bytes).await;
                let old = (round > 1).then(|| round - 1);
                let (mut steps, mut is_new) = (0, false);
                let committed = stepwise(transaction.commit(), |step| {
                    steps = step;
                    // The look yields no turn: a wait for the end here would last for ever.
                    let seen = run_inline(look::<Sequential>(&session, &table));
                    let expected = if is_new { Some(round) } else { old };
                    is_new |= seen == (Some(round), WRITES);
                    let is_old = seen == (old, if old.is_some() { WRITES } else { 0 });
                    assert!(is_new || is_old && expected == old, "{seen:?}");
                    ControlFlow::Continue(())
                });
                committed.await.unwrap().expect("commits");
                assert!(steps > 2, "{steps}");
                let seen = look::<Interleaved>(&session, &table).await;
                assert_eq!(seen, (Some(round), WRITES));
            }
        });
        drop(durable);
        assert_eq!(reopened(&disk), (Some(3), WRITES));
    }
}

#[test]
fn committed_records_can_be_written_before_they_are_stamped() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (mut durable, table) = with_table(&disk);
    let added = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        write_all(&transaction, &table, 7, 100).await;
        let (mut refused, mut added) = (0, 0_u64);
        let committed = stepwise(transaction.commit(), |_| {
            let other = session.begin(Isolation::ReadCommitted).unwrap();
            let mut old = 0;
            let written = run_inline(other.modify::<Sequential>(&table, &key(0), |value, new| {
                old = value.len();
                new.extend_from_slice(value);
                new.push(9);
                ControlFlow::Continue(())
            }));
            match written {
                Ok(true) => {
                    assert_eq!(old as u64, 100 + added);
                    drop(other.commit());
                    added += 1;
                }
                // Before the commit there is nothing that the other transaction sees, or a write in its way.
                Ok(false) | Err(Error::Abort(Abort::WriteConflict)) => {
                    assert_eq!(added, 0);
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
            ControlFlow::Continue(())
        });
        committed.await.unwrap().expect("commits");
        assert!(refused > 0 && added > 0, "{refused}, {added}");
        added
    });
    drop(durable);
    let mut durable = open(disk.directory()).unwrap();
    let table = durable.database.table("t").unwrap();
    let records = durable.read(&table);
    assert_eq!(records[0].1.len() as u64, 100 + added);
    assert_eq!(records.len() as u64, WRITES);
}

#[test]
fn a_large_commit_that_is_given_up_is_whole_or_nothing() {
    let mut outcomes = Vec::new();
    for steps in (1..).map(|i| i * i) {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        let (given_up, seen) = durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 7, 100).await;
            let committed = stepwise(transaction.commit(), |step| up_to(steps, step));
            let given_up = committed.await.is_none();
            (given_up, look::<Interleaved>(&session, &table).await)
        });
        drop(durable);
        assert_eq!(reopened(&disk), seen);
        outcomes.push(seen);
        if !given_up {
            break;
        }
    }
    assert_eq!(outcomes.first(), Some(&(None, 0)));
    assert_eq!(outcomes.last(), Some(&(Some(7), WRITES)));
    assert!(
        outcomes
            .iter()
            .all(|&(_, count)| count == 0 || count == WRITES)
    );
}

/// Acknowledged transactions, of both kinds, when the disk was copied.
struct Copied {
    disk: SimulatedDisk,
    round: u8,
    small: u64,
}

/// Commits small transactions as long as large ones come. Copies the disk now and then, and when a large one
/// was acknowledged, in the state after a power failure.
async fn commit_small_ones(
    session: Rc<Session>,
    table: Arc<Table>,
    disk: SimulatedDisk,
    round: Rc<Cell<u8>>,
    copies: Rc<RefCell<Vec<Copied>>>,
) {
    let (mut small, mut copied) = (0, 0);
    while copied < ROUNDS {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let at = key(u64::MAX - small);
        let insert = transaction.insert::<Interleaved>(&table, &at, &[0]);
        insert.await.expect("inserts");
        transaction.commit().await.expect("commits");
        small += 1;
        if small % 20 == 0 || round.get() != copied {
            copied = round.get();
            copies.borrow_mut().push(Copied {
                disk: disk.after_crash(small),
                round: round.get(),
                small,
            });
        }
    }
}

const ROUNDS: u8 = 3;

/// Small transactions of the same session go on beside large ones, and acknowledged transactions of both kinds
/// survive a crash at any moment.
#[test]
fn large_and_small_commits_of_a_lane_survive_together() {
    for seed in 0..4 {
        let faults = Faults {
            delay_reaps_max: (seed % 4) as u32 * 3,
            ..Faults::default()
        };
        let disk = SimulatedDisk::new(seed, faults);
        let (mut durable, table) = with_table(&disk);
        let copies = durable.run({
            let disk = disk.clone();
            async move |session: Rc<Session>| {
                let (round, copies) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(Vec::new())));
                let mut small = Box::pin(commit_small_ones(
                    session.clone(),
                    table.clone(),
                    disk,
                    round.clone(),
                    copies.clone(),
                ));
                let mut large = Box::pin(async {
                    for i in 1..=ROUNDS {
                        let transaction = session.begin(Isolation::Snapshot).unwrap();
                        write_all(&transaction, &table, i, 100).await;
                        transaction.commit().await.expect("commits");
                        round.set(i);
                    }
                });
                let mut ended = (false, false);
                poll_fn(|context| {
                    ended.0 |= !ended.0 && small.as_mut().poll(context).is_ready();
                    ended.1 |= !ended.1 && large.as_mut().poll(context).is_ready();
                    match ended {
                        (true, true) => Poll::Ready(()),
                        _ => Poll::Pending,
                    }
                })
                .await;
                drop((small, large));
                copies.take()
            }
        });
        assert!(copies.iter().any(|copied| copied.round > 0));
        for copied in copies {
            let mut durable = open(copied.disk.directory()).unwrap();
            let table = durable.database.table("t").unwrap();
            let records = durable.read(&table);
            let (large, small): (Vec<_>, Vec<_>) =
                (records.iter()).partition(|(at, _)| at[..] < key(u64::MAX / 2)[..]);
            assert!(small.len() as u64 >= copied.small);
            let rounds = large.iter().map(|(_, value)| value[0]);
            let (oldest, newest) = (rounds.clone().min(), rounds.max());
            assert_eq!(oldest, newest, "half of a transaction");
            assert!(oldest.unwrap_or_default() >= copied.round);
            assert!(large.is_empty() || large.len() as u64 == WRITES);
        }
    }
}

#[test]
fn a_transaction_that_is_too_large_is_rolled_back_and_gives_its_memory_back() {
    let log = LogConfig {
        transaction_bytes_max: 1 << 20,
        ..LOG
    };
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open_with(disk.directory(), log, RecoveryConfig::default()).unwrap();
    let table = durable.create_table("t", b"").unwrap();
    let database = durable.database.clone();
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        write_all(&transaction, &table, 1, 100).await;
        let mut steps = 0;
        let refused = stepwise(transaction.commit(), |step| {
            steps = step;
            ControlFlow::Continue(())
        });
        let refused = refused.await.unwrap();
        assert!(matches!(refused, Err(Error::TransactionTooLarge { .. })));
        assert!(steps > 2, "{steps}");
        assert_eq!(look::<Interleaved>(&session, &table).await, (None, 0));
        let (mut log_bytes, mut at) = (None, 0);
        for _ in 0..5 {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write(&transaction, &table, at..at + 5_000, &[1; 100]).await;
            at += 5_000;
            transaction.commit().await.expect("commits");
            let now = database.memory().reserved_bytes;
            assert_eq!(*log_bytes.get_or_insert(now), now);
        }
    });
}
