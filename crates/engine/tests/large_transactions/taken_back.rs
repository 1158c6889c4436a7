//! Large transactions that are rolled back, wholly or in part.

use super::*;

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
fn writes_into_a_new_table_are_taken_back_in_turns_and_the_table_with_them() {
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
                    lock.await.expect("no other transaction has it");
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
