//! Typed operations add little to the frames of the engine's.

#![allow(clippy::print_stdout)] // The sizes are for people.

use weft::{Context, Database, Interleaved, Isolation, Options, Table, Transaction};

/// The sizes are reported with `--nocapture`.
#[test]
fn typed_operations_add_little_to_the_engines_frames() {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, u64> = db.create_table("numbers").unwrap();
    let bytes: Table<Vec<u8>, Vec<u8>> = db.create_table("bytes").unwrap();
    let pairs: Table<(u64, String), u64> = db.create_table("pairs").unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    db.workers()[0].supply(move |context: Context| {
        let txn: Transaction<Interleaved> = context.begin(Isolation::Snapshot).unwrap();
        let sizes = [
            ("get u64", size_of_val(&txn.get(&table, &1))),
            ("get bytes", size_of_val(&txn.get(&bytes, b"key"))),
            ("get (u64, str)", size_of_val(&txn.get(&pairs, &(1, "a")))),
            ("update u64", size_of_val(&txn.update(&table, &1, &2))),
            ("insert u64", size_of_val(&txn.insert(&table, &1, &2))),
            ("upsert u64", size_of_val(&txn.upsert(&table, &1, &2))),
            ("delete u64", size_of_val(&txn.delete(&table, &1))),
            ("scan", size_of_val(&txn.scan(&table, ..).count())),
            ("multi_get", size_of_val(&txn.multi_get(&table, &[1, 2]))),
            (
                "multi_get_with",
                size_of_val(&txn.multi_get_with(&bytes, &[b"key"], |_, _| ())),
            ),
        ];
        sender.send(sizes).unwrap();
        || None::<fn() -> std::future::Ready<()>>
    });
    for (operation, bytes) in receiver.recv().unwrap() {
        println!("{operation}: {bytes} bytes");
        assert!(bytes < 4096, "{operation} has a frame of {bytes} bytes");
    }
}
