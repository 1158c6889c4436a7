//! Types that cross threads, and futures that do.

use weft::{
    BlockingTransaction, Database, Error, InteractiveTransaction, Isolation, Options, Running,
    Stats, Table, Transaction, WorkerHandle,
};

fn send<T: Send>(value: T) -> T {
    value
}

const _: fn() = || {
    fn send_sync<T: Send + Sync + 'static>() {}
    send_sync::<Database>();
    send_sync::<Options>();
    send_sync::<Error>();
    send_sync::<Stats>();
    send_sync::<Table<(u64, String), Vec<u8>>>();
    send_sync::<WorkerHandle>();
    send_sync::<InteractiveTransaction>();
    send_sync::<BlockingTransaction>();
    fn only_send<T: Send + 'static>() {}
    only_send::<Running<String>>();
};

#[test]
fn futures_that_clients_await_are_send() {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, String> = db.create_table("t").unwrap();
    let client = send(async {
        send(db.run(async |_: &Transaction| Ok(()))).await?;
        let txn = send(db.begin_with(Isolation::ReadCommitted)).await?;
        send(txn.insert(&table, &1, "one")).await?;
        send(txn.get(&table, &1)).await?;
        send(txn.scan(&table, .., 1)).await?;
        send(txn.call(async |txn: &Transaction| Ok(txn.write_count()))).await?;
        send(txn.commit()).await
    });
    pollster::block_on(client).unwrap();
}
