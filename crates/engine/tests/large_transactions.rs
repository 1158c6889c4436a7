//! Transactions of many writes end in turns with others, and are whole all the same.
//!
//! The commit of a COPY of millions of rows once kept its worker for half a second: it counted, logged and
//! stamped the rows in one go, and a rollback did so, too.

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

/// Each change of a record that the transaction had written once looked through all of its writes: an UPDATE of
/// 80,000 rows that the same transaction had inserted took 3 s, and one of 800,000 would have taken minutes.
#[test]
fn records_of_ones_own_are_found_among_many_writes() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (mut durable, table) = with_table(&disk);
    durable.run({
        let table = table.clone();
        async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 1, 1).await;
            rewrite(&transaction, &table, WRITES, &[2; 100]).await;
            let savepoint = transaction.savepoint().unwrap();
            write(&transaction, &table, WRITES..2 * WRITES, &[3]).await;
            rewrite(&transaction, &table, 2 * WRITES, &[3; 200]).await;
            transaction.rollback_to(&savepoint).unwrap();
            // The places of noted writes that are gone now have other writes.
            write(&transaction, &table, WRITES..WRITES + 1001, &[2]).await;
            rewrite(&transaction, &table, WRITES + 1001, &[4; 50]).await;
            transaction.commit().await.expect("commits");
            let seen = look::<Interleaved>(&session, &table).await;
            assert_eq!(seen, (Some(4), WRITES + 1001));
        }
    });
    drop(durable);
    assert_eq!(reopened(&disk), (Some(4), WRITES + 1001));
}

/// The places of many writes were once noted in one go, by an operation that may not wait for memory, or that
/// is alone on its worker: 83 ms for a million writes.
#[test]
fn a_record_of_ones_own_is_looked_for_in_turns_by_every_policy() {
    async fn change<P: Policy>(
        transaction: &Transaction,
        table: &Table,
        record: u64,
        value: &[u8],
    ) -> u64 {
        let at = key(record);
        let mut steps = 0;
        let changed = stepwise(transaction.update::<P>(table, &at, value), |step| {
            steps = step;
            ControlFlow::Continue(())
        });
        assert_eq!(changed.await, Some(Ok(true)));
        steps
    }
    const MANY: u64 = 100_000;
    let disk = SimulatedDisk::new(1, Faults::default());
    let (mut durable, table) = with_table(&disk);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        write(&transaction, &table, 0..MANY, &[1]).await;
        let steps = change::<Sequential>(&transaction, &table, MANY / 2, &[2; 100]).await;
        assert!(steps > 2, "{steps}");
        // A search that was given up halfway still finds the record the next time.
        let savepoint = transaction.savepoint().unwrap();
        write(&transaction, &table, MANY..2 * MANY, &[1]).await;
        // The key is not near the one that was found last.
        let at = key(MANY / 4);
        let change_it = transaction.update::<Sequential>(&table, &at, &[3]);
        assert!(stepwise(change_it, |step| up_to(2, step)).await.is_none());
        change::<Interleaved>(&transaction, &table, MANY / 4, &[3; 100]).await;
        transaction.rollback_to(&savepoint).unwrap();
        let read = transaction.get::<Interleaved, _>(&table, &at, <[u8]>::to_vec);
        assert_eq!(read.await, Ok(Some(vec![1])));
    });
}

/// Ways in which a transaction gives its locks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocksEnd {
    Return,
    ReturnInTurns,
    Rollback,
    Commit,
}

/// Each lock once looked through all locks of the transaction, and so did each record that was locked, then
/// written, and then taken back.
#[test]
fn many_locks_are_taken_and_given_up_one_by_one() {
    const LOCKS: u64 = 100_000;
    let disk = SimulatedDisk::new(1, Faults::default());
    let (mut durable, table) = with_table(&disk);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        write(&transaction, &table, 0..LOCKS, &[1]).await;
        transaction.commit().await.expect("commits");
        for end in [
            LocksEnd::Return,
            LocksEnd::ReturnInTurns,
            LocksEnd::Rollback,
            LocksEnd::Commit,
        ] {
            let transaction = session.begin(Isolation::ReadCommitted).unwrap();
            let savepoint = transaction.savepoint().unwrap();
            for strength in [Strength::KeyShare, Strength::Update, Strength::Share] {
                for i in 0..LOCKS {
                    let (at, wait) = (key(i), IfLocked::Fail);
                    let lock =
                        transaction.lock::<Interleaved, _>(&table, &at, strength, wait, |_| ());
                    assert!(lock.await.expect("locks").is_some());
                }
            }
            write(&transaction, &table, 0..LOCKS, &[1]).await;
            let mut steps = 0;
            let count = |step| {
                steps = step;
                ControlFlow::Continue(())
            };
            let mut returned = None;
            match end {
                LocksEnd::Return => {
                    transaction.rollback_to(&savepoint).unwrap();
                    returned = Some(transaction);
                }
                LocksEnd::ReturnInTurns => {
                    let returning = transaction.rollback_to_in_turns(&savepoint);
                    stepwise(returning, count).await.unwrap().unwrap();
                    returned = Some(transaction);
                }
                LocksEnd::Rollback => stepwise(transaction.rollback_in_turns(), count)
                    .await
                    .unwrap(),
                LocksEnd::Commit => {
                    let committed = stepwise(transaction.commit(), count).await;
                    committed.unwrap().expect("commits");
                }
            }
            assert!(end == LocksEnd::Return || steps > 10, "{end:?}: {steps}");
            // No transaction has the locks any more.
            let other = session.begin(Isolation::ReadCommitted).unwrap();
            for i in (0..LOCKS).step_by(999).chain([LOCKS - 1]) {
                let (at, wait) = (key(i), IfLocked::Skip);
                let lock =
                    other.lock::<Interleaved, _>(&table, &at, Strength::Update, wait, |_| ());
                assert!(lock.await.expect("locks").is_some(), "{end:?}: {i}");
            }
            drop(returned);
        }
    });
}

/// Moves a row to another key, as an update of the key in SQL.
async fn move_row(transaction: &Transaction, table: &Table, from: u64, to: u64) {
    let (from, to) = (key(from), key(to));
    let deleted = transaction.delete::<Interleaved>(table, &from).await;
    assert_eq!(deleted, Ok(true));
    let inserted = transaction.insert::<Interleaved>(table, &to, &[1]).await;
    inserted.expect("the key is free");
    transaction.note_move(table, &from, &to).expect("is open");
}

/// The commit of many moved rows once found out in one go where they had gone, as it took its timestamp. In
/// this test few rows are moved often: everything else that the commit has to do is soon done.
#[test]
fn where_rows_have_gone_is_found_out_in_turns_before_the_commit() {
    const ROWS: u64 = 200;
    const ROUNDS: u64 = 100;
    for given_up_after in [u64::MAX, 3] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write(&transaction, &table, 0..ROWS, &[1]).await;
            transaction.commit().await.expect("commits");
            let finder = session.begin(Isolation::ReadCommitted).unwrap();
            let statement = finder.statement_snapshot().unwrap();
            let mover = session.begin(Isolation::Snapshot).unwrap();
            for round in 0..ROUNDS {
                for row in 0..ROWS {
                    move_row(
                        &mover,
                        &table,
                        round % 2 * ROWS + row,
                        (round + 1) % 2 * ROWS + row,
                    )
                    .await;
                }
            }
            for row in 0..ROWS {
                move_row(&mover, &table, row, 2 * ROWS + row).await;
            }
            assert!(mover.write_count() < 1024);
            // Finds the row of a key, as a statement does that has begun before.
            let find = |row: u64| {
                let (table, by) = (&table, Some(&finder));
                let (strength, if_locked) = (Strength::Update, IfLocked::Skip);
                let at = key(row);
                let found =
                    finder.lock_row::<Sequential, _>(table, &at, by, strength, if_locked, |_| ());
                run_inline(found).expect("finds or skips it").found
            };
            let mut steps = 0;
            let committed = stepwise(mover.commit(), |step| {
                steps = step;
                let found = find(step % ROWS);
                match found.outcome {
                    RowOutcome::Left => assert_eq!(found.moved_to, None),
                    outcome => {
                        assert_eq!(outcome, RowOutcome::Done);
                        let moved_to = key(2 * ROWS + step % ROWS);
                        assert_eq!(found.moved_to.as_deref(), Some(&moved_to[..]));
                    }
                }
                up_to(given_up_after, step)
            });
            let is_committed = committed.await.is_some();
            assert_eq!(is_committed, given_up_after == u64::MAX);
            assert!(steps >= 3, "{steps}");
            for row in 0..ROWS {
                let found = find(row);
                assert_eq!(found.outcome, RowOutcome::Done);
                let moved_to = is_committed.then(|| key(2 * ROWS + row));
                let moved_to = moved_to.as_ref().map(|at| &at[..]);
                assert_eq!(found.moved_to.as_deref(), moved_to);
            }
            drop(statement);
            finder.commit().await.expect("commits");
        });
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
fn what_is_committed_and_not_stamped_yet_can_be_written_at_once() {
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

#[test]
fn a_large_rollback_gives_turns_and_nothing_is_left() {
    for given_up_after in [u64::MAX, 1, 3] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 1, 10).await;
            transaction.commit().await.expect("commits");
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 2, 10).await;
            write(&transaction, &table, WRITES..2 * WRITES, &[2]).await;
            let mut steps = 0;
            let rolled_back = stepwise(transaction.rollback_in_turns(), |step| {
                steps = step;
                let seen = run_inline(look::<Sequential>(&session, &table));
                assert_eq!(seen, (Some(1), WRITES));
                up_to(given_up_after, step)
            });
            rolled_back.await;
            assert!(steps > 0);
            nothing_is_in_the_way(&session, &table).await;
        });
    }
}

#[test]
fn a_large_return_to_a_savepoint_keeps_what_came_before_it() {
    for given_up_after in [u64::MAX, 1, 3] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 1, 10).await;
            let savepoint = transaction.savepoint().unwrap();
            write(&transaction, &table, WRITES..3 * WRITES, &[2]).await;
            let mut steps = 0;
            let returned = stepwise(transaction.rollback_to_in_turns(&savepoint), |step| {
                steps = step;
                up_to(given_up_after, step)
            });
            if let Some(returned) = returned.await {
                returned.expect("returns");
            }
            assert!(steps > 0);
            transaction.commit().await.expect("commits");
            let seen = look::<Interleaved>(&session, &table).await;
            assert_eq!(seen, (Some(1), WRITES));
        });
        drop(durable);
        assert_eq!(reopened(&disk), (Some(1), WRITES));
    }
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

/// Ways in which an aborted transaction ends.
#[derive(Clone, Copy, Debug)]
enum End {
    RolledBack,
    Undone,
    Dropped,
    /// The transaction is given up after so many turns.
    GivenUp(u64),
}

#[test]
fn a_large_transaction_that_is_aborted_keeps_others_waiting_until_its_owner_ends_it() {
    for end in [
        End::RolledBack,
        End::Undone,
        End::Dropped,
        End::GivenUp(1),
        End::GivenUp(3),
    ] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 1, 10).await;
            transaction.commit().await.expect("commits");
            let large = session.begin(Isolation::Snapshot).unwrap();
            large.will_be_undone_in_turns();
            // The snapshot of the transaction does not move.
            large.snapshot();
            write(&large, &table, 1..WRITES, &[2; 10]).await;
            let small = session.begin(Isolation::Snapshot).unwrap();
            write(&small, &table, 0..1, &[1; 10]).await;
            small.commit().await.expect("commits");
            let refused = large.upsert::<Interleaved>(&table, &key(0), &[2]).await;
            assert!(matches!(refused, Err(Error::Abort(_))), "{refused:?}");
            // The transaction can do nothing any more.
            let again = large.upsert::<Interleaved>(&table, &key(5), &[3]).await;
            assert_eq!(again.err(), refused.err());
            assert!(large.savepoint().is_err());
            let waiter = session.begin(Isolation::ReadCommitted).unwrap();
            waiter.set_on_conflict(OnConflict::Wait);
            let at = key(WRITES / 2);
            let waits = waiter.upsert::<Interleaved>(&table, &at, &[1; 10]);
            let mut waits = Box::pin(waits);
            let polled = poll_fn(|context| Poll::Ready(waits.as_mut().poll(context))).await;
            assert!(polled.is_pending());
            let mut steps = 0;
            let see = |step| {
                steps = step;
                let seen = run_inline(look::<Sequential>(&session, &table));
                assert_eq!(seen, (Some(1), WRITES));
                ControlFlow::Continue(())
            };
            match end {
                End::RolledBack => stepwise(large.rollback_in_turns(), see).await,
                End::Undone => stepwise(large.undo_aborted_in_turns(), see).await,
                End::Dropped => {
                    drop(large);
                    None
                }
                End::GivenUp(last) => {
                    let undone = large.undo_aborted_in_turns();
                    let undone = stepwise(undone, |step| up_to(last, step)).await;
                    drop(large);
                    undone
                }
            };
            if matches!(end, End::RolledBack | End::Undone) {
                assert!(steps > 2, "{end:?}: {steps}");
            }
            waits.await.expect("its turn has come");
            waiter.commit().await.expect("commits");
            nothing_is_in_the_way(&session, &table).await;
        });
    }
}

#[test]
fn what_was_written_into_a_new_table_is_taken_back_in_turns_and_the_table_with_it() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, _) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            for _ in 0..2 {
                let transaction = session.begin(isolation).unwrap();
                let table = transaction.create_table::<Interleaved>("new", b"");
                let table = table.await.expect("the name is free");
                write_all(&transaction, &table, 1, 10).await;
                let mut steps = 0;
                let rolled_back = stepwise(transaction.rollback_in_turns(), |step| {
                    steps = step;
                    ControlFlow::Continue(())
                });
                rolled_back.await;
                assert!(steps > 2, "{steps}");
                let transaction = session.begin(isolation).unwrap();
                let at = key(1);
                let seen = transaction.get::<Interleaved, _>(&table, &at, |_| ()).await;
                assert_eq!(seen.err(), Some(Error::TableDropped));
            }
        });
    }
}

#[test]
fn an_index_that_cannot_be_unique_is_taken_back_in_turns() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (mut durable, table) = with_table(&disk);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in 0..WRITES {
            // The last record has the value of the first.
            let value = key(i % (WRITES - 1));
            let at = key(i);
            let upsert = transaction.upsert::<Interleaved>(&table, &at, &value);
            upsert.await.expect("writes");
        }
        transaction.commit().await.expect("commits");
        let transaction = session.begin(Isolation::ReadCommitted).unwrap();
        let options = IndexOptions {
            unique: true,
            prefix_free: false,
        };
        let by_value: Extractor = Arc::new(|_, value, keys| keys.push(value));
        let created = transaction.create_index::<Interleaved>(&table, "i", b"", options, by_value);
        let written = RefCell::new(Vec::new());
        let created = stepwise(created, |_| {
            written.borrow_mut().push(transaction.write_count());
            ControlFlow::Continue(())
        });
        let refused = created.await.unwrap().err();
        assert!(matches!(refused, Some(BuildError::Duplicate { .. })));
        let written = written.into_inner();
        let turns = written.windows(2).filter(|pair| pair[1] < pair[0]);
        assert!(turns.count() > 2, "{written:?}");
        // The transaction goes on without the index.
        write(&transaction, &table, 0..1, &[1]).await;
        transaction.commit().await.expect("commits");
    });
}

#[test]
fn many_locks_are_given_up_in_turns() {
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (mut durable, table) = with_table(&disk);
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            write_all(&transaction, &table, 1, 10).await;
            transaction.commit().await.expect("commits");
            for (writes, commits) in [(0, true), (0, false), (5, true), (2000, true)] {
                let locker = session.begin(isolation).unwrap();
                for i in 0..5_000 {
                    let at = key(i);
                    let (strength, wait) = (Strength::Update, IfLocked::Fail);
                    let lock = locker.lock::<Interleaved, _>(&table, &at, strength, wait, |_| ());
                    lock.await.expect("nobody else has it");
                }
                write(&locker, &table, 0..writes, &[1; 10]).await;
                let mut steps = 0;
                let count = |step| {
                    steps = step;
                    ControlFlow::Continue(())
                };
                match commits {
                    true => {
                        let committed = stepwise(locker.commit(), count).await;
                        committed.unwrap().expect("commits");
                    }
                    false => drop(stepwise(locker.rollback_in_turns(), count).await),
                }
                assert!(steps > 1, "{steps}");
                let other = session.begin(Isolation::ReadCommitted).unwrap();
                write(&other, &table, 0..5_000, &[1; 10]).await;
                other.commit().await.expect("commits");
            }
        });
    }
}
