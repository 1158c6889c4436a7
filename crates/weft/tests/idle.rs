//! An idle database sleeps: its workers go to sleep and stay asleep.

use std::time::Duration;

use weft::{Database, Options, Stats, Table, Transaction};

/// Lets time pass: waits on a channel to which nothing is sent.
fn pass(time: Duration) {
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    receiver.recv_timeout(time).unwrap_err();
}

/// Returns the counters once they have come to rest. Workers publish them before they sleep, which
/// is a moment after their last answer.
fn at_rest(db: &Database) -> Stats {
    let mut before = db.stats();
    for _ in 0..100 {
        pass(Duration::from_millis(50));
        let now = db.stats();
        if now.resumptions == before.resumptions && now.sleeps >= 2 {
            return now;
        }
        before = now;
    }
    panic!("the workers do not come to rest: {before}");
}

#[test]
fn idle_workers_sleep_and_resume_nothing() {
    let db = Database::open(Options {
        workers: 2,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    for key in 0..100 {
        let table = table.clone();
        db.run_blocking(async move |txn: &Transaction| txn.upsert(&table, &(key % 10), &key).await)
            .unwrap();
    }
    // An open transaction that waits for its client keeps no worker awake.
    let waiting = db.begin_blocking().unwrap();
    waiting.get(&table, &1).unwrap();
    let before = at_rest(&db);
    pass(Duration::from_millis(500));
    let after = db.stats();
    assert_eq!(
        after.resumptions - before.resumptions,
        0,
        "idle workers resumed transactions"
    );
    // Collecting garbage wakes a worker at most every 20 milliseconds.
    assert!(after.sleeps - before.sleeps <= 100, "{before}\n{after}");
}
