//! A database without threads.

use std::{cell::RefCell, rc::Rc};

use weft::{
    Context, Database, Error, Interleaved, Isolation, LocalDatabase, Options, Table, Transaction,
};

fn open() -> LocalDatabase {
    Database::open_local(Options::default()).unwrap()
}

#[test]
fn transactions_run_on_the_calling_thread() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    // Neither the closure nor its result is `Send`.
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (ours, notes) = (table.clone(), seen.clone());
    let result: Rc<u64> = db
        .run(async move |txn: &Transaction| {
            txn.insert(&ours, &1, &10).await?;
            notes.borrow_mut().push(std::thread::current().id());
            Ok(Rc::new(7))
        })
        .unwrap();
    assert_eq!(*result, 7);
    assert_eq!(*seen.borrow(), [std::thread::current().id()]);
    // The creation of the table is one of the commits.
    assert_eq!(db.stats().commits, 2);
}

#[test]
fn many_transactions_run_together_and_retry() {
    let db = open();
    let table: Table<u8, u64> = db.create_table("t").unwrap();
    let increments = (0..200_u64).map(|number| {
        let table = table.clone();
        async move |txn: &Transaction| {
            let count = txn.get(&table, &0).await?.unwrap_or(0);
            txn.upsert(&table, &0, &(count + 1)).await?;
            Ok(number)
        }
    });
    let results = db.run_all(increments).unwrap();
    let numbers: Vec<u64> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    let count = db.run(async move |txn: &Transaction| txn.get(&table, &0).await);
    assert_eq!(count.unwrap(), Some(200));
}

#[test]
fn a_panic_is_contained() {
    let db = open();
    let result: Result<(), Error> = db.run(async |_: &Transaction| panic!("oh"));
    assert!(matches!(result, Err(Error::Panicked(message)) if message == "oh"));
    db.run(async |_: &Transaction| Ok(())).unwrap();
}

#[test]
fn running_inside_a_transaction_is_refused() {
    let db = Rc::new(open());
    let inner = db.clone();
    db.run(async move |_: &Transaction| {
        let nested = inner.run(async |_: &Transaction| Ok(()));
        assert!(matches!(nested, Err(Error::WouldBlockWorker)));
        Ok(())
    })
    .unwrap();
}

#[test]
fn transactions_begun_by_hand_and_a_source() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let (context, ours) = (db.context(), table.clone());
    db.block_on(async move {
        let txn: Transaction = context.begin(Isolation::Snapshot).unwrap();
        txn.insert(&ours, &1000, &1).await.unwrap();
        txn.commit().await.unwrap();
    })
    .unwrap();
    let ours = table.clone();
    db.supply(move |context: Context| {
        let mut keys = 0..500_u64;
        move || {
            let (key, context, ours) = (keys.next()?, context.clone(), ours.clone());
            Some(move || async move {
                let insert = async |txn: &Transaction| txn.insert(&ours, &key, &key).await;
                let run = context.run_counting::<Interleaved, _>(Isolation::Snapshot, &insert);
                assert_eq!(run.await.unwrap(), ((), 0));
            })
        }
    })
    .unwrap();
    db.run_until_idle().unwrap();
    let count = db.run(async move |txn: &Transaction| txn.scan(&table, ..).count().await);
    assert_eq!(count.unwrap(), 501);
}
