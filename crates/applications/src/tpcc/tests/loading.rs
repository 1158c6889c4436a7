//! Loading, opening again, requests.

use std::collections::HashSet;

use weft::{Key, Table, Value};

use super::*;
use commands::progress::Progress;

fn count<K: Key, V: Value>(database: &Database, table: &Table<K, V>) -> u64 {
    let table = table.clone();
    run(database, async move |txn: &Transaction| {
        txn.scan(&table, ..).count().await
    })
}

#[test]
fn each_table_has_the_rows_it_should_and_all_conditions_hold() {
    let (database, tpcc) = load(&tiny(3), in_memory(2));
    let tables = &tpcc.tables;
    assert_eq!(count(&database, &tables.warehouses), 3);
    assert_eq!(count(&database, &tables.districts), 6);
    assert_eq!(count(&database, &tables.customers), 60);
    assert_eq!(count(&database, &tables.history), 60);
    assert_eq!(count(&database, &tables.orders), 60);
    assert_eq!(count(&database, &tables.new_orders), 18);
    assert_eq!(count(&database, &tables.items), 100);
    assert_eq!(count(&database, &tables.stock), 300);
    assert_eq!(count(&database, &tables.suppliers), 10_000);
    assert_eq!(count(&database, &tables.nations), 62);
    assert_eq!(count(&database, &tables.regions), 5);
    assert_eq!(inconsistencies(&database, &tpcc), Vec::<String>::new());

    let ours = tpcc.clone();
    run(&database, async move |txn: &Transaction| {
        let population = &ours.population;
        let row = txn.get(&ours.tables.customers, &(3, 2, 10)).await?;
        assert_eq!(row, Some(population.customer(3, 2, 10)));
        let row = txn.get(&ours.tables.stock, &(2, 100)).await?;
        assert_eq!(row, Some(population.stock(2, 100)));
        let row = txn.get(&ours.tables.suppliers, &9_999).await?;
        assert_eq!(row, Some(population.supplier(9_999)));
        let customer = population.customers_of_orders(2, 1)[9];
        let row = txn.get(&ours.tables.orders, &(2, 1, 10)).await?;
        assert_eq!(row, Some(population.order(2, 1, 10, customer)));
        Ok(())
    });
}

/// The rows do not depend on the number of workers that load them.
#[test]
fn the_same_seed_loads_the_same_rows() {
    let rows = |workers| {
        let (database, tpcc) = load(&tiny(1), in_memory(workers));
        run(&database, async move |txn: &Transaction| {
            let tables = &tpcc.tables;
            let lines = txn.scan(&tables.order_lines, ..).collect().await?;
            Ok((txn.scan(&tables.customers, ..).collect().await?, lines))
        })
    };
    assert_eq!(rows(1), rows(2));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let database = Database::open(in_memory(1)).unwrap();
    let step = Progress::hidden().step("loading", 0);
    let loaded = Tpcc::load(&tiny(0), &database, &step);
    assert!(matches!(loaded, Err(commands::Error::Input(_))));
    assert!(database.tables().is_empty());
}

fn requests(tpcc: &Tpcc, worker: usize, seed: u64) -> Vec<Request> {
    let mut source = tpcc.source(worker, 2, seed);
    (0..1_000).map(|_| source()).collect()
}

/// Returns the keys of the payments among requests, and makes all of these keys equal.
fn take_keys(requests: &mut [Request]) -> Vec<u64> {
    requests
        .iter_mut()
        .filter_map(|request| match request {
            Request::Payment(payment) => Some(std::mem::take(&mut payment.key)),
            _ => None,
        })
        .collect()
}

#[test]
fn requests_follow_from_the_seed_and_keys_of_payments_are_unique() {
    let (_database, tpcc) = load(&tiny(2), in_memory(1));
    let (_other_database, other) = load(&tiny(2), in_memory(2));
    assert_eq!(requests(&tpcc, 0, 7), requests(&other, 0, 7));

    let mut all =
        [(0, 7), (0, 7), (1, 7), (0, 8)].map(|(worker, seed)| requests(&tpcc, worker, seed));
    let keys = all.each_mut().map(|requests| take_keys(requests));
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
    assert_ne!(all[0], all[3]);
    let unique: HashSet<u64> = keys.iter().flatten().copied().collect();
    assert_eq!(unique.len(), keys.iter().map(Vec::len).sum::<usize>());
}

/// A database that was closed and opened again is as it was, and payments go on with keys of their
/// own.
#[test]
fn a_database_that_is_opened_again_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options {
        data_dir: Some(directory.path().to_owned()),
        durability: weft::Durability::Relaxed,
        ..in_memory(2)
    };
    let settings = tiny(1);
    let (database, tpcc) = load(&settings, options());
    concurrent::work::<weft::Interleaved>(&database, &tpcc, Isolation::Snapshot, 200);
    let payments = count(&database, &tpcc.tables.history);
    database.close();
    drop((database, tpcc));

    let database = Database::open(options()).unwrap();
    let tpcc = Tpcc::open(&settings, &database).unwrap();
    assert_eq!(count(&database, &tpcc.tables.history), payments);
    concurrent::work::<weft::Interleaved>(&database, &tpcc, Isolation::Snapshot, 200);
    assert!(count(&database, &tpcc.tables.history) > payments);
    assert_eq!(inconsistencies(&database, &tpcc), Vec::<String>::new());
}

/// The sizes are reported with `--nocapture`.
#[test]
#[allow(clippy::print_stdout, reason = "they are for people")]
fn frames_of_all_kinds_are_small() {
    let (database, tpcc) = load(&tiny(1), in_memory(1));
    let bytes = run(&database, async move |txn: &Transaction| {
        Ok(tpcc.frame_bytes(txn))
    });
    assert_eq!(bytes.len(), Tpcc::KINDS.len());
    for (kind, bytes) in Tpcc::KINDS.iter().zip(bytes) {
        println!("{kind}: {bytes} bytes");
        assert!(bytes < 4096, "{kind} has a frame of {bytes} bytes");
    }
    println!("request: {} bytes", size_of::<Request>());
}
