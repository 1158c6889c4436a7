//! Own writes, locks and moves of a transaction that has many.

use super::*;

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
