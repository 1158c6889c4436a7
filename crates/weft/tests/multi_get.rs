//! A read of many keys at once returns the same as single reads, whatever is in flight.

use weft::{
    Database, InFlight, Interleaved, Isolation, Options, Policy, Prefetching, Sequential, Table,
    Transaction,
};

fn check<P: Policy>(db: &Database, table: &Table<u64, u64>) {
    for count in [0, 1, 15, 16, 17, 100] {
        let table = table.clone();
        db.run_with::<P, _, _>(Isolation::Snapshot, async move |txn: &Transaction<P>| {
            let keys: Vec<u64> = (0..count).map(|n| n * 37 % 150).collect();
            let found = txn.multi_get(&table, &keys).await?;
            assert_eq!(found.len(), keys.len());
            for (key, value) in keys.iter().zip(found) {
                assert_eq!(value, (*key < 100).then_some(key * 3));
                assert_eq!(value, txn.get(&table, key).await?);
            }
            Ok(())
        })
        .wait()
        .unwrap();
    }
}

#[test]
fn many_keys_at_once_under_every_policy() {
    for in_flight in [InFlight::Fixed(1), InFlight::Fixed(8), InFlight::Auto] {
        let db = Database::open(Options {
            workers: 1,
            in_flight,
            ..Options::default()
        })
        .unwrap();
        let table: Table<u64, u64> = db.create_table("t").unwrap();
        let ours = table.clone();
        db.run_blocking(async move |txn: &Transaction| {
            for key in 0..100 {
                txn.insert(&ours, &key, &(key * 3)).await?;
            }
            Ok(())
        })
        .unwrap();
        check::<Interleaved>(&db, &table);
        check::<Prefetching>(&db, &table);
        check::<Sequential>(&db, &table);
    }
}

fn loaded() -> (Database, Table<u64, String>) {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, String> = db.create_table("t").unwrap();
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for key in 0..50 {
            txn.insert(&ours, &key, &format!("value {key}")).await?;
        }
        Ok(())
    })
    .unwrap();
    (db, table)
}

/// Each key that has a record is shown once for each of its positions, with that position,
/// including records that the transaction itself has written or deleted.
#[test]
fn values_are_shown_in_place() {
    let (db, table) = loaded();
    db.run_blocking(async move |txn: &Transaction| {
        txn.update(&table, &3, "changed").await?;
        txn.insert(&table, &60, "new").await?;
        txn.delete(&table, &4).await?;
        let mut keys: Vec<u64> = (0..70).rev().collect();
        keys.extend([7, 7, 99]);
        let mut shown = vec![Vec::new(); keys.len()];
        let found = txn
            .multi_get_with(&table, &keys, |at, value| shown[at].push(value.to_owned()))
            .await?;
        assert_eq!(found, 50 + 1 - 1 + 2);
        for (key, shown) in keys.iter().zip(shown) {
            let expected: Vec<String> = txn.get(&table, key).await?.into_iter().collect();
            assert_eq!(shown, expected, "key {key}");
        }
        Ok(())
    })
    .unwrap();
}

/// A value that does not decode as its type ends the whole call with that error.
#[test]
fn a_value_that_cannot_be_read_is_reported() {
    #[derive(Debug)]
    struct Even;

    impl weft::Value for Even {
        type Encoded<'v> = [u8; 1];

        fn type_name() -> std::borrow::Cow<'static, str> {
            "even".into()
        }

        fn encode(&self) -> [u8; 1] {
            [1]
        }

        fn decode(bytes: &[u8]) -> Result<Even, weft::DecodeError> {
            Err(weft::DecodeError::new(format_args!("{bytes:?} is odd")))
        }
    }

    impl weft::BorrowValue for Even {
        type Borrowed = Even;

        fn borrow(bytes: &[u8]) -> Result<&Even, weft::DecodeError> {
            Err(weft::DecodeError::new(format_args!("{bytes:?} is odd")))
        }
    }

    let (db, _) = loaded();
    let table: Table<u64, Even> = db.create_table("even").unwrap();
    let outcome = db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&table, &1, &Even).await?;
        let decoded = txn.multi_get(&table, &[1_u64]).await;
        assert!(matches!(decoded, Err(weft::Error::Decode(_))));
        txn.multi_get_with(&table, &[0_u64, 1], |_, _| panic!("nothing to show"))
            .await
    });
    assert!(
        matches!(outcome, Err(weft::Error::Decode(_))),
        "{outcome:?}"
    );
}
