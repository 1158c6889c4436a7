//! Many keys at once give what single reads give, whatever is in flight.

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
